# Text: pairs of sentences -> cleaned -> splits by document -> sub-words -> token files.


# Nodes of a cluster often have no network.
rule fetch_corpus:
    input:
        files_of_source,
    output:
        pairs="<results>/corpus/pairs/{origin}.parquet",
    log:
        "<logs>/fetch_corpus.{origin}.log",
    benchmark:
        "<benchmarks>/fetch_corpus.{origin}.tsv"
    wildcard_constraints:
        origin=exactly(STUDY.corpus.source),
    priority: FIRST
    localrule: True
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 10),
        runtime=minutes(60, 0.1),
    params:
        settings=SLICES.fetch_corpus,
    shell:
        """
        python scripts/fetch_corpus.py --settings {params.settings:q} \
            --pairs {output.pairs:q} --downloads downloads &>{log:q}
        """


rule clean_corpus:
    input:
        pairs=expand(rules.fetch_corpus.output.pairs, origin=STUDY.corpus.source),
    output:
        clean="<results>/corpus/clean.parquet",
        counts="<results>/corpus/cleaning.csv",
        examples="<results>/corpus/cleaning_examples.csv",
    log:
        "<logs>/clean_corpus.log",
    benchmark:
        "<benchmarks>/clean_corpus.tsv"
    priority: FIRST
    group:
        "corpus"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(1000, 20),
        runtime=minutes(10, 0.1),
    params:
        settings=SLICES.clean_corpus(),
    shell:
        """
        python scripts/clean_corpus.py --settings {params.settings:q} \
            --pairs {input.pairs:q} --clean {output.clean:q} \
            --counts {output.counts:q} --examples {output.examples:q} &>{log:q}
        """


rule split_corpus:
    input:
        pairs=rules.clean_corpus.output.clean,
    output:
        train="<results>/corpus/train.parquet",
        dev="<results>/corpus/dev.parquet",
        test="<results>/corpus/test.parquet",
        counts="<results>/corpus/splits.csv",
    log:
        "<logs>/split_corpus.log",
    benchmark:
        "<benchmarks>/split_corpus.tsv"
    priority: FIRST
    group:
        "corpus"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(1000, 20),
        runtime=minutes(10, 0.1),
    params:
        settings=SLICES.split_corpus(),
    shell:
        """
        python scripts/split_corpus.py --settings {params.settings:q} \
            --pairs {input.pairs:q} --train {output.train:q} --dev {output.dev:q} \
            --test {output.test:q} --counts {output.counts:q} &>{log:q}
        """


rule learn_bpe:
    input:
        text=rules.split_corpus.output.train,
    output:
        tokenizer="<results>/corpus/tokenizer.{side}.json",
    log:
        "<logs>/learn_bpe.{side}.log",
    benchmark:
        "<benchmarks>/learn_bpe.{side}.tsv"
    wildcard_constraints:
        side=exactly(SIDES),
    priority: FIRST
    group:
        "corpus"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(1000, 30),
        runtime=minutes(10, 0.1),
    params:
        settings=SLICES.learn_bpe,
    shell:
        """
        python scripts/learn_bpe.py --settings {params.settings:q} --side {wildcards.side} \
            --text {input.text:q} --tokenizer {output.tokenizer:q} &>{log:q}
        """


rule learn_words:
    input:
        text=rules.split_corpus.output.train,
        tokenizer="<results>/corpus/tokenizer.source.json",
    output:
        tokenizer="<results>/corpus/tokenizer.words.json",
    log:
        "<logs>/learn_words.log",
    benchmark:
        "<benchmarks>/learn_words.tsv"
    priority: FIRST
    group:
        "corpus"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(1000, 30),
        runtime=minutes(10, 0.1),
    params:
        settings=code_alone("learn_words"),
    shell:
        """
        python scripts/learn_words.py --settings {params.settings:q} --text {input.text:q} \
            --tokenizer {input.tokenizer:q} --words {output.tokenizer:q} &>{log:q}
        """


rule encode_text:
    input:
        text="<results>/corpus/{split}.parquet",
        tokenizer="<results>/corpus/tokenizer.{side}.json",
    output:
        ids="<results>/corpus/tokens/{split}.{side}/ids.npy",
        offsets="<results>/corpus/tokens/{split}.{side}/offsets.npy",
        words="<results>/corpus/tokens/{split}.{side}/words.npy",
    log:
        "<logs>/encode_text.{split}.{side}.log",
    benchmark:
        "<benchmarks>/encode_text.{split}.{side}.tsv"
    priority: FIRST
    group:
        "corpus"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(1000, 20),
        runtime=minutes(10, 0.1),
    params:
        settings=code_alone("encode_text"),
    shell:
        """
        python scripts/encode_text.py --settings {params.settings:q} --side {wildcards.side} \
            --text {input.text:q} --tokenizer {input.tokenizer:q} \
            --ids {output.ids:q} --offsets {output.offsets:q} --words {output.words:q} &>{log:q}
        """


rule deal_blocks:
    input:
        text="<results>/corpus/{split}.parquet",
    output:
        blocks="<results>/corpus/blocks.{split}.npy",
    log:
        "<logs>/deal_blocks.{split}.log",
    benchmark:
        "<benchmarks>/deal_blocks.{split}.tsv"
    priority: FIRST
    group:
        "corpus"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(1000, 20),
        runtime=5,
    params:
        settings=SLICES.deal_blocks(),
    shell:
        """
        python scripts/deal_blocks.py --settings {params.settings:q} \
            --text {input.text:q} --blocks {output.blocks:q} &>{log:q}
        """


rule annotate_words:
    input:
        text="<results>/corpus/test.parquet",
        tokenizer="<results>/corpus/tokenizer.source.json",
        tokens=expand("<results>/corpus/tokens/test.source/{array}.npy", array=ARRAYS),
    output:
        annotation="<results>/corpus/annotation.parquet",
    log:
        "<logs>/annotate_words.log",
    benchmark:
        "<benchmarks>/annotate_words.tsv"
    priority: 20
    group:
        "corpus"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(3000, 30),
        runtime=minutes(240 if STUDY.annotation.depccg_model else 20, 0.1),
    params:
        settings=SLICES.annotate_words,
    shell:
        """
        python scripts/annotate_words.py --settings {params.settings:q} \
            --text {input.text:q} --tokenizer {input.tokenizer:q} \
            --tokens $(dirname {input.tokens[0]:q}) --annotation {output.annotation:q} &>{log:q}
        """


rule align_words:
    input:
        test=expand(
            "<results>/corpus/tokens/test.{side}/{array}.npy", side=SIDES, array=ARRAYS
        ),
        train=expand(
            "<results>/corpus/tokens/train.{side}/{array}.npy",
            side=SIDES,
            array=ARRAYS,
        ),
        tokenizers=expand("<results>/corpus/tokenizer.{side}.json", side=SIDES),
    output:
        translations="<results>/corpus/translations.parquet",
    log:
        "<logs>/align_words.log",
    benchmark:
        "<benchmarks>/align_words.tsv"
    priority: 20
    group:
        "corpus"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2500, 20),
        runtime=minutes(10, 0.1),
    params:
        settings=SLICES.align_words(),
    shell:
        """
        python scripts/align_words.py --settings {params.settings:q} \
            --test $(dirname {input.test[0]:q}) $(dirname {input.test[3]:q}) \
            --train $(dirname {input.train[0]:q}) $(dirname {input.train[3]:q}) \
            --tokenizers {input.tokenizers:q} --translations {output.translations:q} &>{log:q}
        """


rule count_tokens:
    input:
        ids="<results>/corpus/tokens/train.source/ids.npy",
        tokenizer="<results>/corpus/tokenizer.source.json",
    output:
        frequencies="<results>/corpus/frequencies.csv",
    log:
        "<logs>/count_tokens.log",
    benchmark:
        "<benchmarks>/count_tokens.tsv"
    priority: FIRST
    group:
        "corpus"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(1000, 5),
        runtime=minutes(5, 0.1),
    params:
        settings=code_alone("count_tokens"),
    shell:
        """
        python scripts/count_tokens.py --settings {params.settings:q} \
            --tokens-ids {input.ids:q} --tokenizer {input.tokenizer:q} \
            --frequencies {output.frequencies:q} &>{log:q}
        """


use rule count_tokens as count_words with:
    input:
        ids="<results>/corpus/tokens/train.words/ids.npy",
        tokenizer="<results>/corpus/tokenizer.words.json",
    output:
        frequencies="<results>/corpus/word_frequencies.csv",
    log:
        "<logs>/count_words.log",
    benchmark:
        "<benchmarks>/count_words.tsv"
