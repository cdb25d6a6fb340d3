# Measures: views, or a model and text -> tidy tables, a part for each run or pair of runs -> one
# table for each measure. Modules of bottomup/tables say what each table reads and what it takes.

from bottomup.plan.declared import require_declared

ANNOTATIONS = f"<results>/occurrences/{ROWS}/annotations.parquet"
PATTERNS = {"run": RUN, "reading": READING, "pair": PAIR, "pruned": names.PRUNED}
WORD_TOKENIZER = {"word_tokenizer": "<results>/corpus/tokenizer.source.json"}
TARGET_TOKENIZER = "<results>/corpus/tokenizer.target.json"
RATINGS = STUDY.measures.bertscore.ratings
RATINGS = [str(RATINGS)] if RATINGS else []

# What a table can be made from: under each name, the inputs of its jobs, which have names, too.
READS = {
    "model": MODEL,
    "pruned_model": PRUNED_MODEL,
    # For a run, the smaller model that computes the same.
    "judged_model": {
        **{
            name: of_subject(
                ours=f"{PRUNED}/smaller/{file}",
                theirs=pruned_or_whole(
                    f"{PRUNED}/model/{file}", f"{WHOLE}/model/{file}"
                ),
            )
            for name, file in SMALLER.items()
        },
        "metrics": of_subject(
            ours=pruned_or_whole(f"{PRUNED}/metrics.jsonl", f"{WHOLE}/metrics.jsonl"),
            theirs=pruned_or_whole(f"{PRUNED}/metrics.jsonl", []),
        ),
        # The model of a run tells which heads closed.
        "gates": of_subject(
            ours=[],
            theirs=pruned_or_whole(f"<results>/measures/gates/{names.PRUNED}.csv", []),
        ),
        "quality": of_subject(
            ours=pruned_or_whole([], f"<results>/measures/quality/{RUN}.parquet"),
            theirs=[],
        ),
    },
    "views": {"views": views_of, "occurrences": drawn("occurrences.parquet")},
    "masked_views": {
        "masked_views": where(
            trained_with_masks, f"<results>/views/{RUN}/as_trained.npy"
        ),
        "masked_occurrences": where(
            trained_with_masks,
            "<results>/occurrences/as_trained_{objective}/occurrences.parquet",
        ),
    },
    "occurrences": {"occurrences": drawn("occurrences.parquet")},
    "sentences": {
        "text": drawn(*(f"{array}.npy" for array in ARRAYS)),
        "occurrences": drawn("occurrences.parquet"),
    },
    "annotations": {"annotations": ANNOTATIONS},
    "frequencies": {"frequencies": FREQUENCIES[ROWS]},
    "translations": {"translations": "<results>/corpus/translations.parquet"},
    "written": {"written": WRITTEN},
    # Splits as a model reads and predicts them, with the blocks of their sentences.
    "dev": {"text": text_of("dev"), "blocks": "<results>/corpus/blocks.dev.npy"},
    "test": {"text": text_of("test"), "blocks": "<results>/corpus/blocks.test.npy"},
    "pairs": {"pairs": "<results>/corpus/test.parquet"},
    "ratings": {"ratings": RATINGS},
    # What a checkpoint needs to find the words of a split.
    "words": {"written": of_subject(ours=[], theirs=WRITTEN)},
    # The split dev, for what is fitted on it and measured on the split test.
    "fitted": {"dev": text_of("dev")},
    # The text of training as a model reads and predicts it, and the models whose states it goes on
    # from.
    "train": {"train": text_of("train")},
    "stitched": {"stitched": stitched_into},
    # Both runs of a pair.
    "models": {name: of_pair(path) for name, path in MODEL.items()},
    # What is known of the tokens of the split test.
    "known": {
        "annotation": ANNOTATION,
        "frequencies": of_subject(FREQUENCIES["plain"], FREQUENCIES["words"]),
    },
    # The split test as it was written, with its words and what is known of them; and the text of
    # training, in sub-words of ours.
    "written_test": {
        "pairs": "<results>/corpus/test.parquet",
        **WORD_TOKENIZER,
        "annotation": ANNOTATION,
        "blocks": "<results>/corpus/blocks.test.npy",
    },
    "word_tokenizer": WORD_TOKENIZER,
    "training_text": {"train": tokens_of(["train"], ["source"])},
    "translation": {
        "translation": where(
            SUBJECTS.translates, "<results>/corpus/test.parquet", TARGET_TOKENIZER
        )
    },
    "test_pairs": {
        "pairs": "<results>/corpus/test.parquet",
        "target_tokenizer": where(SUBJECTS.translates, TARGET_TOKENIZER),
    },
    # The split test in our sub-words or, for a checkpoint, in words.
    "held_out": {
        "text": of_subject(
            tokens_of(["test"], ["source"]), tokens_of(["test"], ["words"])
        ),
        "blocks": "<results>/corpus/blocks.test.npy",
        "written": of_subject(ours=[], theirs=WRITTEN),
    },
}

with in_one_line("the study cannot start:\n"):
    require_declared(TABLES, MEASURES, READS)


# A rule for each table: measure_NAME.
for name, table in TABLES.items():
    part = PATTERNS[table.part]

    rule:
        name:
            f"measure_{name}"
        input:
            **read_by(table),
        output:
            [f"<results>/measures/{name}/{part}.{kind}" for kind in table.writes],
        log:
            f"<logs>/measure_{name}.{part}.log",
        benchmark:
            f"<benchmarks>/measure_{name}.{part}.tsv"
        priority: partial(in_turn, name)
        group:
            group_of(table)
        conda:
            "../envs/bottomup.yaml"
        resources:
            **({"batch_tokens": table.batch_tokens} if table.batch_tokens else {}),
            mem_mb=memory(*table.memory),
            runtime=minutes(*table.minutes),
        params:
            settings=partial(SLICES.measure, name),
            reads=as_arguments,
            batches=in_batches,
        shell:
            """
            python scripts/measure.py --settings {params.settings:q} \
                --reads {params.reads:q} --writes {output:q} \
                {params.batches} --gpus {resources.gpu} &>{log:q}
            """


rule collect_tables:
    input:
        tables=parts_ending(".csv"),
    output:
        table="<results>/measures/{measure}.csv",
    log:
        "<logs>/collect_tables.{measure}.log",
    benchmark:
        "<benchmarks>/collect_tables.{measure}.tsv"
    wildcard_constraints:
        measure=exactly(COLLECTED),
    priority: 20
    localrule: True
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=500,
        runtime=5,
    params:
        settings=code_alone("collect_tables"),
    shell:
        """
        python scripts/collect_tables.py --settings {params.settings:q} \
            --tables @<(printf '%s\\n' {input.tables:q}) --table {output.table:q} &>{log:q}
        """


use rule collect_tables as collect_estimates with:
    input:
        tables=parts_ending(".parquet"),
    output:
        table="<results>/measures/{measure}.parquet",
    log:
        "<logs>/collect_estimates.{measure}.log",
    benchmark:
        "<benchmarks>/collect_estimates.{measure}.tsv"
    localrule: True
