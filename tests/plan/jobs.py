# ruff: noqa: E501 - a command is a line
"""What one job of each rule is to read, to be told and to write, written by hand from what the
programs in scripts/ say of their inputs. Not one file here is copied from what Snakemake plans.

A job is its command, without its settings and how it runs; `<` what it reads and `>` what it writes
besides what the command names; `=` parts of its settings. `{a,b}` is a choice, as in a shell;
`{model}` and `{arrays}` are the files of a model and of a token file, `model(folder)` those of a
model under the names that a table reads. A file that a job reads or writes through its folder has
to be named.
"""

# Of the study in checkouts.py: sub-words, two sources, controls.
SUBWORDS = """
fetch_corpus --pairs corpus/pairs/libreoffice_help.parquet --downloads downloads
= source libreoffice_help
fetch_corpus --pairs corpus/pairs/files.parquet --downloads downloads
< text/en.txt text/de.txt
= source files
clean_corpus --pairs corpus/pairs/{files,libreoffice_help}.parquet --clean corpus/clean.parquet --counts corpus/cleaning.csv --examples corpus/cleaning_examples.csv
= origins ["files", "libreoffice_help"]; languages ["en", "de"]; min_words 4; max_words 100; max_length_ratio 3.0
split_corpus --pairs corpus/clean.parquet --train corpus/train.parquet --dev corpus/dev.parquet --test corpus/test.parquet --counts corpus/splits.csv
= seed 1; test_words 200; dev_words 100; near_duplicates drop; packed_words null
learn_bpe --side source --text corpus/train.parquet --tokenizer corpus/tokenizer.source.json
= language en; merges 900; lowercase true; spaces false
learn_bpe --side target --text corpus/train.parquet --tokenizer corpus/tokenizer.target.json
= language de
encode_text --side target --text corpus/dev.parquet --tokenizer corpus/tokenizer.target.json --ids corpus/tokens/dev.target/ids.npy --offsets corpus/tokens/dev.target/offsets.npy --words corpus/tokens/dev.target/words.npy
encode_text --side source --text corpus/test.parquet --tokenizer corpus/tokenizer.source.json --ids corpus/tokens/test.source/ids.npy --offsets corpus/tokens/test.source/offsets.npy --words corpus/tokens/test.source/words.npy
deal_blocks --text corpus/test.parquet --blocks corpus/blocks.test.npy
= seed 1
deal_blocks --text corpus/dev.parquet --blocks corpus/blocks.dev.npy
annotate_words --text corpus/test.parquet --tokenizer corpus/tokenizer.source.json --tokens corpus/tokens/test.source --annotation corpus/annotation.parquet
< corpus/tokens/test.source/{arrays}
count_tokens --tokens-ids corpus/tokens/train.source/ids.npy --tokenizer corpus/tokenizer.source.json --frequencies corpus/frequencies.csv
train_mt=train --tokens corpus/tokens --tokenizers corpus/tokenizer.{source,target}.json --run runs/mt-2 --heads-from
< corpus/tokens/{train,dev}.{source,target}/{arrays}
> runs/mt-2/model/{model} runs/mt-2/metrics.jsonl
= module mt; objective mt; seed 2; training.warmup_steps 20; training.max_tokens 2700000; training.patience 3; model.layers 2; model.d_model 64
train_lm_half2=train --tokens corpus/tokens --tokenizers corpus/tokenizer.source.json --run runs/lm_half2-1 --heads-from
< corpus/tokens/{train,dev}.source/{arrays}
> runs/lm_half2-1/model/{model} runs/lm_half2-1/metrics.jsonl
= module lm; objective lm; seed 1; half.number 2; half.seed 1; training.max_tokens 3000000
train_untrained=train --tokens corpus/tokens --tokenizers corpus/tokenizer.source.json --run runs/untrained-2 --heads-from
< corpus/tokens/{train,dev}.source/{arrays}
> runs/untrained-2/model/{model} runs/untrained-2/metrics.jsonl
= module untrained; seed 2
measure_quality=measure --reads model(runs/mt-2/model) text=corpus/tokens/test.{source,target}/{arrays} blocks=corpus/blocks.test.npy translation=corpus/test.parquet translation=corpus/tokenizer.target.json --writes measures/quality/mt-2.csv measures/quality/mt-2.parquet
= run.objective mt; run.seed 2; options.scoring.translation.language de; options.scoring.seed 1; options.scoring.choose null; options.scoring.translation.beam_size 4; options.scoring.translation.sentences 500
measure_quality=measure --reads model(runs/mlm-1/model) text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy --writes measures/quality/mlm-1.csv measures/quality/mlm-1.parquet
= run.objective mlm; run.seed 1; options.scoring.translation null; options.scoring.choose 0.15
draw_occurrences --tokens corpus/tokens/test.source --blocks corpus/blocks.test.npy --frequencies corpus/frequencies.csv --table occurrences/plain/occurrences.parquet --text occurrences/plain
< corpus/tokens/test.source/{arrays}
> occurrences/plain/{arrays}
= n 1000; seed 1; masked null
draw_occurrences --tokens corpus/tokens/test.source --blocks corpus/blocks.test.npy --frequencies corpus/frequencies.csv --table occurrences/as_trained_mlm/occurrences.parquet --text occurrences/as_trained_mlm
< corpus/tokens/test.source/{arrays}
> occurrences/as_trained_mlm/{arrays}
= masked.module mlm; masked.draws 2; masked.n_tokens 100; masked.options.choose 0.4
annotate_occurrences --annotation corpus/annotation.parquet --occurrences occurrences/plain/occurrences.parquet --text occurrences/plain --annotations occurrences/plain/annotations.parquet
< occurrences/plain/{arrays}
extract_views --model runs/mlm-2/model --text occurrences/plain --occurrences occurrences/plain/occurrences.parquet --written --views views/mlm-2/plain.npy
< runs/mlm-2/model/{model} occurrences/plain/{arrays}
= dtype float16; pooling last
extract_views --model runs/mlm-2/model --text occurrences/as_trained_mlm --occurrences occurrences/as_trained_mlm/occurrences.parquet --written --views views/mlm-2/as_trained.npy
< runs/mlm-2/model/{model} occurrences/as_trained_mlm/{arrays}
measure_mutual_information=measure --reads views=views/mlm-2/as_trained.npy occurrences=occurrences/as_trained_mlm/occurrences.parquet frequencies=corpus/frequencies.csv --writes measures/mutual_information/mlm-2.as_trained.csv measures/mutual_information/mlm-2.as_trained.parquet
= run.objective mlm; run.seed 2; reading as_trained; table mutual_information; options.n_clusters 50; options.n_tokens 100; options.other_n_tokens [60]; labels [{"label": "input", "positions": "replaced"}, {"label": "output", "positions": "changed"}, {"label": "output", "positions": "masked"}, {"label": "output", "positions": "replaced"}]
measure_mutual_information=measure --reads views=views/mlm-2/plain.npy occurrences=occurrences/plain/occurrences.parquet frequencies=corpus/frequencies.csv --writes measures/mutual_information/mlm-2.plain.csv measures/mutual_information/mlm-2.plain.parquet
= run.objective mlm; run.seed 2; reading plain; labels [{"label": "input", "positions": "all"}]
measure_pwcca_between_runs=measure --reads views=views/lm-2/plain.npy views=views/mt-1/plain.npy occurrences=occurrences/plain/occurrences.parquet --writes measures/pwcca_between_runs/lm-2.mt-1.csv measures/pwcca_between_runs/lm-2.mt-1.parquet
= run.objective_a lm; run.seed_a 2; run.objective_b mt; run.seed_b 1; table pwcca_between_runs; options.variants ["definition", "svcca-2019"]; unit subword; null.permutations 15; null.seed 1
measure_similarity_between_runs=measure --reads views=views/lm-1/plain.npy views=views/mlm-1/plain.npy occurrences=occurrences/plain/occurrences.parquet --writes measures/similarity_between_runs/lm-1.mlm-1.csv measures/similarity_between_runs/lm-1.mlm-1.parquet
= run.objective_a lm; run.seed_a 1; run.objective_b mlm; run.seed_b 1; options.rsa_rows 100; null.permutations 15
measure_pwcca_between_layers=measure --reads views=views/mt-2/plain.npy occurrences=occurrences/plain/occurrences.parquet --writes measures/pwcca_between_layers/mt-2.csv measures/pwcca_between_layers/mt-2.parquet
= run.objective mt; run.seed 2; table pwcca_between_layers; null.permutations 15
measure_change=measure --reads views=views/mt-2/plain.npy occurrences=occurrences/plain/occurrences.parquet annotations=occurrences/plain/annotations.parquet --writes measures/change/mt-2.csv measures/change/mt-2.parquet
= run.objective mt; run.seed 2; table change; options.occurrences 300
measure_neighbors=measure --reads views=views/mt-2/plain.npy occurrences=occurrences/plain/occurrences.parquet annotations=occurrences/plain/annotations.parquet --writes measures/neighbors/mt-2.csv measures/neighbors/mt-2.parquet
= table neighbors; options.k 10; null.permutations 15
measure_context=measure --reads views=views/mlm-1/plain.npy occurrences=occurrences/plain/occurrences.parquet frequencies=corpus/frequencies.csv --writes measures/context/mlm-1.csv measures/context/mlm-1.parquet
= table context; options.occurrences 16000
measure_isotropy=measure --reads views=views/mlm-1/plain.npy occurrences=occurrences/plain/occurrences.parquet --writes measures/isotropy/mlm-1.csv measures/isotropy/mlm-1.parquet
= table isotropy; options.n 1000
measure_geometry=measure --reads views=views/mt-2/plain.npy occurrences=occurrences/plain/occurrences.parquet --writes measures/geometry/mt-2.csv measures/geometry/mt-2.parquet
= table geometry; options.points 3000
measure_lens=measure --reads model(runs/mt-1/model) dev=corpus/tokens/dev.{source,target}/{arrays} text=corpus/tokens/test.{source,target}/{arrays} blocks=corpus/blocks.test.npy annotation=corpus/annotation.parquet frequencies=corpus/frequencies.csv --writes measures/lens/mt-1.csv measures/lens/mt-1.parquet
= run.objective mt; run.seed 1; options.run.module mt; options.seed 1; options.choose null
measure_lens=measure --reads model(runs/mlm-1/model) dev=corpus/tokens/dev.source/{arrays} text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy annotation=corpus/annotation.parquet frequencies=corpus/frequencies.csv --writes measures/lens/mlm-1.csv measures/lens/mlm-1.parquet
= options.run.options.choose 0.4; options.choose 0.15
measure_agreement=measure --reads model(runs/mlm-1/model) pairs=corpus/test.parquet word_tokenizer=corpus/tokenizer.source.json annotation=corpus/annotation.parquet blocks=corpus/blocks.test.npy train=corpus/tokens/train.source/{arrays} --writes measures/agreement/mlm-1.csv measures/agreement/mlm-1.parquet
= run.objective mlm; run.seed 1; sees subjects; options.run.module mlm; options.items 250; options.whole_items 15; options.seen 20; options.seed 1
measure_sentence=measure --reads model(runs/mlm-1/model) views=views/mlm-1/plain.npy occurrences=occurrences/plain/occurrences.parquet --writes measures/sentence/mlm-1.csv
= run.objective mlm; run.seed 1; sees subjects; options.pooling last; options.text Click the button to open the file in the dialog.
measure_probes=measure --reads views=views/mlm-1/plain.npy occurrences=occurrences/plain/occurrences.parquet annotations=occurrences/plain/annotations.parquet --writes measures/probes/mlm-1.csv measures/probes/mlm-1.parquet
= table probes; options.tasks ["tag"]
align_words --test corpus/tokens/test.{source,target} --train corpus/tokens/train.{source,target} --tokenizers corpus/tokenizer.{source,target}.json --translations corpus/translations.parquet
< corpus/tokens/{test,train}.{source,target}/{arrays}
= languages ["en", "de"]
measure_senses=measure --reads views=views/mlm-2/plain.npy occurrences=occurrences/plain/occurrences.parquet annotations=occurrences/plain/annotations.parquet translations=corpus/translations.parquet --writes measures/senses/mlm-2.csv measures/senses/mlm-2.parquet
= table senses; options.k 5; options.occurrences 50; null.permutations 15
measure_structural_probe=measure --reads model(runs/mlm-1/model) text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy annotation=corpus/annotation.parquet frequencies=corpus/frequencies.csv --writes measures/structural_probe/mlm-1.csv measures/structural_probe/mlm-1.parquet
= run.objective mlm; run.seed 1; sees subjects; options.sentences 400
measure_edge_probes=measure --reads model(runs/mlm-1/model) text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy annotation=corpus/annotation.parquet frequencies=corpus/frequencies.csv --writes measures/edge_probes/mlm-1.csv measures/edge_probes/mlm-1.parquet
= run.objective mlm; run.seed 1; sees subjects; options.sentences 600
measure_dictionary=measure --reads views=views/lm-1/plain.npy views=views/mlm-1/plain.npy occurrences=occurrences/plain/occurrences.parquet --writes measures/dictionary/lm-1.mlm-1.csv measures/dictionary/lm-1.mlm-1.parquet
= run.objective_a lm; run.objective_b mlm; options.times 4; options.steps 90
measure_attention_trees=measure --reads model(runs/mlm-2/model) text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy annotation=corpus/annotation.parquet frequencies=corpus/frequencies.csv --writes measures/attention_trees/mlm-2.csv measures/attention_trees/mlm-2.parquet
= run.objective mlm; run.seed 2; sees subjects; of_heads looked at; options.sentences 110; options.seed 1
measure_head_distances=measure --reads model(runs/lm-1/model) model(runs/mlm-1/model) text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy --writes measures/head_distances/lm-1.mlm-1.csv measures/head_distances/lm-1.mlm-1.parquet
= run.objective_a lm; run.objective_b mlm; sees subjects; of_heads looked at; options.sentences 70; options.seed 1
measure_head_distances=measure --reads model(runs/mt-1/model) text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy --writes measures/head_distances/mt-1.mt-1.csv measures/head_distances/mt-1.mt-1.parquet
= run.objective_a mt; run.seed_a 1; run.objective_b mt; run.seed_b 1
measure_stitching=measure --reads model(runs/mlm-1/model) stitched(runs/lm-1/model) stitched(runs/mt-1/model) stitched(runs/untrained-1/model) stitched(runs/mlm-2/model) train=corpus/tokens/train.source/{arrays} text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy --writes measures/stitching/mlm-1.csv measures/stitching/mlm-1.parquet
= run.objective mlm; run.seed 1; options.run.module mlm; options.choose 0.15; options.layers 3; options.sentences 30
measure_word_order=measure --reads model(runs/mt-2/model) text=corpus/tokens/test.{source,target}/{arrays} blocks=corpus/blocks.test.npy --writes measures/word_order/mt-2.csv measures/word_order/mt-2.parquet
= run.objective mt; run.seed 2; sees subjects; options.run.module mt; options.sentences 80; options.seed 1
measure_bertscore=measure --reads model(runs/mt-2/model) text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy pairs=corpus/test.parquet --writes measures/bertscore/mt-2.csv measures/bertscore/mt-2.parquet
= run.objective mt; run.seed 2; sees subjects; options.sentences 1000; options.seed 1
measure_influence=measure --reads model(runs/mt-2/model) text=occurrences/plain/{arrays} occurrences=occurrences/plain/occurrences.parquet annotations=occurrences/plain/annotations.parquet --writes measures/influence/mt-2.csv measures/influence/mt-2.parquet
= run.objective mt; run.seed 2; options.sentences 100; options.hidden token
measure_projection=measure --reads views=views/mlm-1/plain.npy masked_views=views/mlm-1/as_trained.npy masked_occurrences=occurrences/as_trained_mlm/occurrences.parquet occurrences=occurrences/plain/occurrences.parquet annotations=occurrences/plain/annotations.parquet frequencies=corpus/frequencies.csv --writes measures/projection/mlm-1.csv
= run.objective mlm; run.seed 1; options.words ["is", "are"]
measure_projection=measure --reads views=views/lm-1/plain.npy occurrences=occurrences/plain/occurrences.parquet annotations=occurrences/plain/annotations.parquet frequencies=corpus/frequencies.csv --writes measures/projection/lm-1.csv
collect_tables --tables measures/change/{lm,mt,mlm,untrained}-{1,2}.csv --table measures/change.csv
collect_tables --tables measures/quality/{lm,mt,mlm}-{1,2}.csv --table measures/quality.csv
collect_tables --tables measures/projection/{lm,mt,mlm,untrained}-1.csv --table measures/projection.csv
collect_estimates=collect_tables --tables measures/neighbors/{lm,mt,mlm,untrained}-{1,2}.parquet --table measures/neighbors.parquet
measure_head_importance=measure --reads model(runs/mt-2/model) text=corpus/tokens/dev.{source,target}/{arrays} blocks=corpus/blocks.dev.npy --writes measures/head_importance/mt-2.csv measures/head_importance/mt-2.parquet
= run.objective mt; run.seed 2; options.sentences 10; options.seed 1; options.beam {"beam_size": 4, "length_penalty": 0.6}
measure_attention_patterns=measure --reads model(runs/mt-2/model) text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy --writes measures/attention_patterns/mt-2.csv measures/attention_patterns/mt-2.parquet
= run.objective mt; run.seed 2; options.sentences 90; options.seed 1
measure_head_functions=measure --reads model(runs/mt-2/model) text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy annotation=corpus/annotation.parquet frequencies=corpus/frequencies.csv --writes measures/head_functions/mt-2.csv measures/head_functions/mt-2.parquet
= run.objective mt; run.seed 2; options.positional 0.9; options.pairs 100
collect_heads --importance measures/head_importance.csv --functions measures/head_functions.csv --table measures/heads.csv
prune_heads --model runs/mt-1/model --text corpus/tokens/train.{source,target}/{arrays} --dev corpus/tokens/dev.{source,target}/{arrays} --chosen-by --folder pruned/mt-1/all/gates_0.5 --gates measures/gates/mt-1.all.gates_0.5.csv
< runs/mt-1/model/{model} corpus/tokens/{train,dev}.{source,target}/{arrays}
> pruned/mt-1/all/gates_0.5/model/{model} pruned/mt-1/all/gates_0.5/metrics.jsonl
= pruned.attention all; pruned.method gates; pruned.penalty 0.5; gates.learning_rate 0.05; training.max_tokens 1000
prune_heads --model runs/mt-1/model --text corpus/tokens/train.{source,target}/{arrays} --dev corpus/tokens/dev.{source,target}/{arrays} --chosen-by measures/gates/mt-1.encoder.gates_0.7.csv measures/head_importance/mt-1.csv --folder pruned/mt-1/encoder/gradient_0.7 --gates measures/gates/mt-1.encoder.gradient_0.7.csv
< runs/mt-1/model/{model} corpus/tokens/{train,dev}.{source,target}/{arrays}
> pruned/mt-1/encoder/gradient_0.7/model/{model} pruned/mt-1/encoder/gradient_0.7/metrics.jsonl
= pruned.attention encoder; pruned.method gradient; pruned.penalty 0.7
prune_heads --model runs/lm-1/model --text corpus/tokens/train.source/{arrays} --dev corpus/tokens/dev.source/{arrays} --chosen-by measures/gates/lm-1.encoder.gates_0.7.csv --folder pruned/lm-1/encoder/random_0.7 --gates measures/gates/lm-1.encoder.random_0.7.csv
< runs/lm-1/model/{model} corpus/tokens/{train,dev}.source/{arrays}
> pruned/lm-1/encoder/random_0.7/model/{model} pruned/lm-1/encoder/random_0.7/metrics.jsonl
= pruned.method random
measure_pruning=measure --reads weights(pruned/mt-1/all/gates_0.5/smaller) metrics=pruned/mt-1/all/gates_0.5/metrics.jsonl text=corpus/tokens/test.{source,target}/{arrays} blocks=corpus/blocks.test.npy translation=corpus/test.parquet translation=corpus/tokenizer.target.json --writes measures/pruning/mt-1.all.gates_0.5.csv measures/pruning/mt-1.all.gates_0.5.parquet
= options.pruned.attention all; options.pruned.method gates; options.scoring.translation.language de
shrink_pruned --model pruned/mt-1/all/gates_0.5/model --smaller pruned/mt-1/all/gates_0.5/smaller
< pruned/mt-1/all/gates_0.5/model/{weights}
> pruned/mt-1/all/gates_0.5/smaller/{weights}
measure_pruning=measure --reads weights(pruned/mt-1/all/none_0/smaller) metrics=runs/mt-1/metrics.jsonl quality=measures/quality/mt-1.parquet text=corpus/tokens/test.{source,target}/{arrays} blocks=corpus/blocks.test.npy translation=corpus/test.parquet translation=corpus/tokenizer.target.json --writes measures/pruning/mt-1.all.none_0.csv measures/pruning/mt-1.all.none_0.parquet
= options.pruned.method none; options.pruned.penalty null; run.seed 1
shrink_pruned --model runs/mt-1/model --smaller pruned/mt-1/all/none_0/smaller
< runs/mt-1/model/{weights}
> pruned/mt-1/all/none_0/smaller/{weights}
measure_pruned_functions=measure --reads model(pruned/mt-1/encoder/gates_0.7/model) text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy annotation=corpus/annotation.parquet frequencies=corpus/frequencies.csv --writes measures/pruned_functions/mt-1.encoder.gates_0.7.csv measures/pruned_functions/mt-1.encoder.gates_0.7.parquet
= run.objective mt; run.attention encoder; run.method gates; run.penalty 0.7
compare_with_published --figures figures/mutual_information_{input,lm,mlm}.csv figures/distance_between_{tasks,layers}.csv figures/{change,influence}_frequency_rank.csv figures/{change,influence}_pos.csv figures/neighbors_{token,position,left_right,ccg,ccg_left_right}.csv figures/head_{importance,functions}.csv figures/{syntactic_heads,quality_against_heads,functions_kept,heads_kept_by_attention,decoder_heads_by_layers}.csv --table measures/comparison.csv --correlations measures/rank_correlations.csv
judge_claims --tables measures/{agreement,attention_patterns,bertscore,change,dictionary,geometry,head_functions,head_importance,influence,isotropy,mutual_information,neighbors,probes,pruned_functions,pruning,pwcca_between_layers,pwcca_between_runs,stitching,structural_probe,word_order}.parquet measures/gates.csv --correlations measures/rank_correlations.csv --quality measures/quality.csv --metrics runs/{lm,mt,mlm}-{1,2}/metrics.jsonl --table measures/claims.csv --specifications measures/specifications.csv
= initial.mlm untrained; initial.mt untrained; estimators.mutual_information.n_clusters 50; estimators.mutual_information.n_tokens 100; estimators.mutual_information.estimator clusters; estimators.pwcca_between_layers {"variant": "definition", "weights": "x"}; estimators.change.matching matched; estimators.influence.matching matched; estimators.neighbors.metric cosine; estimators.head_importance.importance ["confidence", "relevance_alpha_beta"]; others.weighted by the second run ["pwcca_between_runs", {"variant": "definition", "weights": "y"}]; others.20 clusters ["mutual_information", {"estimator": "clusters", "n_clusters": 20, "n_tokens": 100}]; others.60 tokens ["mutual_information", {"estimator": "clusters", "n_clusters": 50, "n_tokens": 60}]; others.scikit-learn ["mutual_information", {"estimator": "scikit-learn"}]; others.relevance by ratios ["head_importance", {"importance": ["confidence", "relevance_ratio"]}]
plan_next_look --claims measures/claims.csv --look next_look.yaml
> next_look.yaml
= planned [2]; seeds.lm 2; initial.mlm untrained; tokens.untrained 0
calibrate_claims --tables measures/{agreement,attention_patterns,bertscore,change,dictionary,geometry,head_functions,head_importance,influence,isotropy,mutual_information,neighbors,probes,pruned_functions,pruning,pwcca_between_layers,pwcca_between_runs,stitching,structural_probe,word_order}.parquet measures/gates.csv --table measures/calibration.csv
< bottomup/published/curves/{ib_mi_tasks,ib_src_dst_lm_mlm,change_between_tasks,change_by_task,change_freq,change_pos,influence_freq,influence_freq_iwd,influence_pos,evolution_token,evolution_position,same_left_right_tokens,evolution_same_ccg,evolution_ccg_left_right,lrp_confidence,functions_ru_de_fr,heads_dying_enc_bleu_linear_x,bleu_all_attns,heads_dying_by_attn_type_both,heads_dying_decoder}.csv
= initial.mlm untrained; initial.mt untrained; studies 1000; seed 1; estimators.mutual_information.n_clusters 50; estimators.mutual_information.n_tokens 100
show_claims --claims measures/claims.csv --specifications measures/specifications.csv --between-runs measures/pwcca_between_runs.parquet --page claims.html
< bottomup/pages/{claims.html,claims.css,claims.js,counts.html,head.html,pages.css,svg.html}
= study planned; objectives.untrained.tokens null; model.layers 2; pwcca.variant definition; tables ["agreement", "attention_patterns", "bertscore", "change", "dictionary", "geometry", "head_functions", "head_importance", "influence", "isotropy", "mutual_information", "neighbors", "probes", "pruned_functions", "pruning", "pwcca_between_layers", "pwcca_between_runs", "stitching", "structural_probe", "word_order", "gates"]
show_studies --claims measures/claims.csv text/claims.csv --page studies.html
< bottomup/pages/{studies.html,counts.html,head.html,pages.css,svg.html}
= study planned; columns ["planned", "French"]
write_latex --measured measures/claims.csv --latex latex/verdicts.tex
write_latex --measured measures/quality.csv --latex latex/quality.tex
= table quality
measure_attention=measure --reads model(runs/mt-1/model) pairs=corpus/test.parquet target_tokenizer=corpus/tokenizer.target.json --writes measures/attention/mt-1.parquet
= run.objective mt; run.seed 1; options.sentences 5; options.seed 1
measure_beliefs=measure --reads model(runs/mlm-1/model) dev=corpus/tokens/dev.source/{arrays} text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy pairs=corpus/test.parquet --writes measures/beliefs/mlm-1.parquet
= options.run.objective mlm; options.seed 1; options.choose 0.15; options.sentences 5; options.drawn_by 1
measure_beliefs=measure --reads model(runs/mt-1/model) dev=corpus/tokens/dev.{source,target}/{arrays} text=corpus/tokens/test.{source,target}/{arrays} blocks=corpus/blocks.test.npy pairs=corpus/test.parquet target_tokenizer=corpus/tokenizer.target.json --writes measures/beliefs/mt-1.parquet
= options.choose null
show_explorer --tables measures/{mutual_information,context,lens,pwcca_between_runs,pwcca_between_layers,similarity_between_runs,change,influence,neighbors,bertscore,edge_probes,geometry,isotropy,probes,senses,structural_probe,word_order}.csv --heads measures/heads.csv --attention measures/attention/{lm,mt,mlm,untrained}-1.parquet --beliefs measures/beliefs/{lm,mt,mlm}-1.parquet --projection measures/projection.csv --text corpus/test.parquet --tokenizer corpus/tokenizer.source.json --claims measures/claims.csv --page explorer.html --library site/vega.js
< bottomup/pages/{explorer.html,explorer.js,head.html,pages.css,svg.html}
"""

# The same study of words, of one objective, a checkpoint, a run at a step and gates on a checkpoint.
OVERLAY = """\
study: words
objectives: {lm: null, mlm: null, untrained: null}
checkpoints: {bert: {package: a==1}, own: {folder: own}}
corpus: {splits: {seed: 2}}
quality: {seed: 3}
occurrences: {unit: word, seed: 4}
measures: {influence: {seed: 5}, mutual_information: {seed: 6}}
heads: {seed: 7}
pruning:
  penalties: {mt: {all: [0.5], encoder: null}, lm: null, mlm: null, bert: {encoder: [0.3]}}
  controls: {random: null, gradient: null, scratch: [0.5]}
training_halves: []
training_steps: {mt: [8]}
seeds: [1]
"""
WORDS = """
learn_words --text corpus/train.parquet --tokenizer corpus/tokenizer.source.json --words corpus/tokenizer.words.json
encode_text --side words --text corpus/test.parquet --tokenizer corpus/tokenizer.words.json --ids corpus/tokens/test.words/ids.npy --offsets corpus/tokens/test.words/offsets.npy --words corpus/tokens/test.words/words.npy
count_words=count_tokens --tokens-ids corpus/tokens/train.words/ids.npy --tokenizer corpus/tokenizer.words.json --frequencies corpus/word_frequencies.csv
draw_occurrences --tokens corpus/tokens/test.words --blocks corpus/blocks.test.npy --frequencies corpus/word_frequencies.csv --table occurrences/words/occurrences.parquet --text occurrences/words
< corpus/tokens/test.words/{arrays}
> occurrences/words/{arrays}
= seed 4
train_mt_to_step=train --tokens corpus/tokens --tokenizers corpus/tokenizer.{source,target}.json --run runs/mt_step8-1 --whole runs/mt-1/metrics.jsonl --heads-from
< corpus/tokens/{train,dev}.{source,target}/{arrays}
> runs/mt_step8-1/model/{model} runs/mt_step8-1/metrics.jsonl
= step 8; module mt; seed 1; training.max_tokens 2700000
open_checkpoint --model runs/bert-0/model --downloads downloads
> runs/bert-0/model/{model}
= twin_seed null; source.package a==1
open_checkpoint --model runs/bert_untrained-0/model --downloads downloads
> runs/bert_untrained-0/model/{model}
= twin_seed 1; source.package a==1
extract_views --model runs/bert-0/model --text occurrences/words --occurrences occurrences/words/occurrences.parquet --written corpus/test.parquet corpus/tokenizer.words.json --views views/bert-0/plain.npy
< runs/bert-0/model/{model} occurrences/words/{arrays}
deal_blocks --text corpus/test.parquet --blocks corpus/blocks.test.npy
= seed 2
split_corpus --pairs corpus/clean.parquet --train corpus/train.parquet --dev corpus/dev.parquet --test corpus/test.parquet --counts corpus/splits.csv
= seed 2
open_checkpoint --model runs/own-0/model --downloads downloads
< own/config.json own/model.safetensors
> runs/own-0/model/{model}
= twin_seed null; source.folder own
annotate_occurrences --annotation corpus/annotation.parquet --occurrences occurrences/words/occurrences.parquet --text occurrences/words --annotations occurrences/words/annotations.parquet
< occurrences/words/{arrays}
measure_alignment=measure --reads model(runs/bert-0/model) occurrences=occurrences/words/occurrences.parquet written=corpus/test.parquet written=corpus/tokenizer.words.json --writes measures/alignment/bert-0.csv
measure_lens=measure --reads model(runs/mt-1/model) dev=corpus/tokens/dev.{source,target}/{arrays} text=corpus/tokens/test.{source,target}/{arrays} blocks=corpus/blocks.test.npy annotation=corpus/annotation.parquet frequencies=corpus/frequencies.csv --writes measures/lens/mt-1.csv measures/lens/mt-1.parquet
= options.seed 3
measure_sentence=measure --reads model(runs/bert-0/model) views=views/bert-0/plain.npy occurrences=occurrences/words/occurrences.parquet written=corpus/test.parquet written=corpus/tokenizer.words.json --writes measures/sentence/bert-0.csv
measure_pwcca_between_runs=measure --reads views=views/bert_untrained-0/plain.npy views=views/bert-0/plain.npy occurrences=occurrences/words/occurrences.parquet --writes measures/pwcca_between_runs/bert_untrained-0.bert-0.csv measures/pwcca_between_runs/bert_untrained-0.bert-0.parquet
= run.objective_a bert_untrained; run.objective_b bert
measure_mutual_information=measure --reads views=views/bert-0/plain.npy occurrences=occurrences/words/occurrences.parquet frequencies=corpus/word_frequencies.csv --writes measures/mutual_information/bert-0.plain.csv measures/mutual_information/bert-0.plain.parquet
= unit word; options.seed 6; labels [{"label": "input", "positions": "all"}]
measure_influence=measure --reads model(runs/bert-0/model) text=occurrences/words/{arrays} occurrences=occurrences/words/occurrences.parquet annotations=occurrences/words/annotations.parquet written=corpus/test.parquet written=corpus/tokenizer.words.json --writes measures/influence/bert-0.csv measures/influence/bert-0.parquet
= options.seed 5
measure_head_importance=measure --reads model(runs/bert-0/model) text=corpus/dev.parquet blocks=corpus/blocks.dev.npy --writes measures/head_importance/bert-0.csv measures/head_importance/bert-0.parquet
= options.seed 7; options.beam null; options.run.module null
measure_projection=measure --reads views=views/bert-0/plain.npy occurrences=occurrences/words/occurrences.parquet annotations=occurrences/words/annotations.parquet frequencies=corpus/word_frequencies.csv --writes measures/projection/bert-0.csv
= unit word
collect_tables --tables measures/head_importance/{mt-1,mt_step8-1,bert-0,bert_untrained-0,own-0,own_untrained-0}.csv --table measures/head_importance.csv
collect_tables --tables measures/influence/{mt-1,mt_step8-1,bert-0,bert_untrained-0,own-0,own_untrained-0}.csv --table measures/influence.csv
collect_tables --tables measures/quality/{mt-1,mt_step8-1}.csv --table measures/quality.csv
measure_head_functions=measure --reads model(runs/mt-1/model) text=corpus/tokens/test.source/{arrays} blocks=corpus/blocks.test.npy annotation=corpus/annotation.parquet frequencies=corpus/frequencies.csv --writes measures/head_functions/mt-1.csv measures/head_functions/mt-1.parquet
measure_head_distances=measure --reads model(runs/bert_untrained-0/model) model(runs/bert-0/model) text=corpus/tokens/test.words/{arrays} blocks=corpus/blocks.test.npy written=corpus/test.parquet written=corpus/tokenizer.words.json --writes measures/head_distances/bert_untrained-0.bert-0.csv measures/head_distances/bert_untrained-0.bert-0.parquet
= run.objective_a bert_untrained; run.objective_b bert; of_heads looked at
measure_attention_patterns=measure --reads model(runs/bert-0/model) text=corpus/tokens/test.words/{arrays} blocks=corpus/blocks.test.npy written=corpus/test.parquet written=corpus/tokenizer.words.json --writes measures/attention_patterns/bert-0.csv measures/attention_patterns/bert-0.parquet
measure_head_functions=measure --reads model(runs/bert-0/model) text=corpus/tokens/test.words/{arrays} blocks=corpus/blocks.test.npy written=corpus/test.parquet written=corpus/tokenizer.words.json annotation=corpus/annotation.parquet frequencies=corpus/word_frequencies.csv --writes measures/head_functions/bert-0.csv measures/head_functions/bert-0.parquet
prune_heads --model runs/mt-1/model --text corpus/tokens/train.{source,target}/{arrays} --dev corpus/tokens/dev.{source,target}/{arrays} --chosen-by measures/gates/mt-1.all.gates_0.5.csv --folder pruned/mt-1/all/scratch_0.5 --gates measures/gates/mt-1.all.scratch_0.5.csv
< runs/mt-1/model/{model} corpus/tokens/{train,dev}.{source,target}/{arrays}
> pruned/mt-1/all/scratch_0.5/model/{model} pruned/mt-1/all/scratch_0.5/metrics.jsonl
= pruned.method scratch; training.max_tokens 2701000
prune_heads --model runs/bert-0/model --text corpus/train.parquet --dev corpus/dev.parquet --chosen-by --folder pruned/bert-0/encoder/gates_0.3 --gates measures/gates/bert-0.encoder.gates_0.3.csv
< runs/bert-0/model/{model}
> pruned/bert-0/encoder/gates_0.3/model/{model} pruned/bert-0/encoder/gates_0.3/metrics.jsonl
measure_pruning=measure --reads weights(pruned/bert-0/encoder/gates_0.3/model) metrics=pruned/bert-0/encoder/gates_0.3/metrics.jsonl gates=measures/gates/bert-0.encoder.gates_0.3.csv text=corpus/test.parquet blocks=corpus/blocks.test.npy --writes measures/pruning/bert-0.encoder.gates_0.3.csv measures/pruning/bert-0.encoder.gates_0.3.parquet
= options.pruned.penalty 0.3
measure_pruning=measure --reads weights(runs/bert-0/model) text=corpus/test.parquet blocks=corpus/blocks.test.npy --writes measures/pruning/bert-0.encoder.none_0.csv measures/pruning/bert-0.encoder.none_0.parquet
= options.scoring.seed 3; options.pruned.penalty null; options.pruned.method none; options.scoring.translation null
show_explorer --tables measures/{mutual_information,context,lens,pwcca_between_runs,pwcca_between_layers,similarity_between_runs,change,influence,neighbors,bertscore,edge_probes,geometry,isotropy,probes,senses,structural_probe,word_order}.csv --heads measures/heads.csv --attention measures/attention/{mt-1,bert-0,bert_untrained-0,own-0,own_untrained-0}.parquet --beliefs measures/beliefs/mt-1.parquet --projection measures/projection.csv --text corpus/test.parquet --tokenizer corpus/tokenizer.words.json --claims measures/claims.csv --page explorer.html --library site/vega.js
< bottomup/pages/{explorer.html,explorer.js,head.html,pages.css,svg.html}
measure_attention=measure --reads model(runs/bert-0/model) pairs=corpus/test.parquet --writes measures/attention/bert-0.parquet
= options.seed 7
"""

# The same study of variants of an objective, and of two kinds of initial models.
VARIANTS = """\
study: variants
objectives: {mlm: null, untrained_causal: {}, mt_noise: {}}
pruning:
  penalties: {mt: {all: [0.5], encoder: null}, mt_noise: {all: [0.5]}, lm: null, mlm: null}
  controls: {random: null, gradient: null}
training_halves: []
seeds: [1]
"""

# By figure: its tables, in order, and the published curves behind it.
RUNS, TRAINED, FIRST = "{lm,mt,mlm,untrained}-{1,2}", "{lm,mt,mlm}-{1,2}", "{lm,mt,mlm,untrained}-1"
SWEPT = (
    "lm-1.encoder.{gates,random,gradient}_0.7 mt-1.all.gates_{0,0.5} "
    "mt-1.all.{random,gradient}_0.5 mt-1.encoder.{gates,random,gradient}_0.7 "
    "mlm-1.encoder.{gates,random,gradient}_0.7"
)
FIGURES = {
    "mutual_information_input": (f"mutual_information/{RUNS}.plain.parquet", "ib_mi_tasks"),
    "first_look": (f"mutual_information/{FIRST}.plain.parquet", "ib_mi_tasks"),
    "mutual_information_estimators": (f"mutual_information/{RUNS}.plain.parquet", ""),
    "mutual_information_lm": ("mutual_information/lm-{1,2}.plain.parquet", "ib_src_dst_lm_mlm"),
    "mutual_information_mlm": (
        "mutual_information/mlm-{1,2}.as_trained.parquet",
        "ib_src_dst_lm_mlm",
    ),
    "distance_between_tasks": (
        "pwcca_between_runs/lm-1.{lm-2,{mt,mlm}-{1,2}}.parquet "
        "pwcca_between_runs/lm-2.{mt,mlm}-{1,2}.parquet "
        "pwcca_between_runs/mt-1.{mt-2,mlm-{1,2}}.parquet pwcca_between_runs/mt-2.mlm-{1,2}.parquet "
        "pwcca_between_runs/mlm-1.mlm-2.parquet pwcca_between_runs/untrained-1.untrained-2.parquet "
        "pwcca_between_runs/lm_half1-1.lm_half2-1.parquet "
        "pwcca_between_runs/lm_half1-2.lm_half2-2.parquet",
        "change_between_tasks",
    ),
    "distance_between_layers": (f"pwcca_between_layers/{RUNS}.parquet", "change_by_task"),
    "similarity_between_runs": (
        "similarity_between_runs/lm-1.{lm-2,mt-1,mlm-1}.parquet "
        "similarity_between_runs/mt-1.{mt-2,mlm-1}.parquet "
        "similarity_between_runs/mlm-1.mlm-2.parquet "
        "similarity_between_runs/untrained-1.untrained-2.parquet "
        "similarity_between_runs/lm_half1-1.lm_half2-1.parquet",
        "",
    ),
    "similarity_calibrated": (
        "similarity_between_runs/lm-1.{lm-2,mt-1,mlm-1}.parquet "
        "similarity_between_runs/mt-1.{mt-2,mlm-1}.parquet "
        "similarity_between_runs/mlm-1.mlm-2.parquet "
        "similarity_between_runs/untrained-1.untrained-2.parquet "
        "similarity_between_runs/lm_half1-1.lm_half2-1.parquet",
        "",
    ),
    "change_frequency_rank": (f"change/{RUNS}.parquet", "change_freq"),
    "change_pos": (f"change/{RUNS}.parquet", "change_pos"),
    "influence_frequency_rank": (f"influence/{RUNS}.parquet", "influence_freq"),
    "influence_pos": (f"influence/{RUNS}.parquet", "influence_pos"),
    "matching": (f"change/{RUNS}.parquet influence/{RUNS}.parquet", ""),
    "neighbors_token": (f"neighbors/{RUNS}.parquet", "evolution_token"),
    "neighbors_position": (f"neighbors/{RUNS}.parquet", "evolution_position"),
    "neighbors_left_right": (f"neighbors/{RUNS}.parquet", "same_left_right_tokens"),
    "neighbors_ccg": (f"neighbors/{RUNS}.parquet", "evolution_same_ccg"),
    "neighbors_ccg_left_right": (f"neighbors/{RUNS}.parquet", "evolution_ccg_left_right"),
    **{
        f"projection_{name}": (f"projection/{FIRST}.csv", "")
        for name in ("token", "position", "ccg")
    },
    "context": (f"context/{FIRST}.parquet", ""),
    "attention_patterns": (f"attention_patterns/{RUNS}.parquet", ""),
    "isotropy": (f"isotropy/{RUNS}.parquet", ""),
    "geometry": (f"geometry/{RUNS}.parquet", ""),
    "sentence": (f"sentence/{FIRST}.csv", ""),
    "lens": ("lens/{lm,mt,mlm}-1.parquet", ""),
    "dictionary": (
        "dictionary/lm-1.{lm-2,mt-1,mlm-1}.parquet dictionary/lm-2.{mt-2,mlm-2}.parquet "
        "dictionary/mt-1.{mt-2,mlm-1}.parquet dictionary/mt-2.mlm-2.parquet "
        "dictionary/mlm-1.mlm-2.parquet",
        "",
    ),
    "attention_trees": (f"attention_trees/{RUNS}.parquet", ""),
    "head_distances": (
        "head_distances/lm-1.lm-1.parquet head_distances/mt-1.mt-1.parquet "
        "head_distances/mlm-1.mlm-1.parquet head_distances/untrained-1.untrained-1.parquet "
        "head_distances/lm-1.{lm-2,mt-1,mlm-1}.parquet head_distances/mt-1.{mt-2,mlm-1}.parquet "
        "head_distances/mlm-1.mlm-2.parquet head_distances/untrained-1.untrained-2.parquet",
        "",
    ),
    "stitching": (
        "stitching/{lm,mt,mlm}-1.parquet similarity_between_runs/lm-1.{lm-2,mt-1,mlm-1}.parquet "
        "similarity_between_runs/mt-1.{mt-2,mlm-1}.parquet "
        "similarity_between_runs/mlm-1.mlm-2.parquet",
        "",
    ),
    "agreement": ("agreement/{lm,mlm,untrained}-{1,2}.parquet", ""),
    "probes": (f"probes/{RUNS}.parquet", ""),
    "structural_probe": (f"structural_probe/{RUNS}.parquet", ""),
    "edge_probes": (f"edge_probes/{FIRST}.parquet", ""),
    "senses": (f"senses/{RUNS}.parquet", ""),
    "word_order": (f"word_order/{RUNS}.parquet", ""),
    "bertscore": (f"bertscore/{RUNS}.parquet", ""),
    "head_importance": (f"head_importance/{TRAINED}.parquet", "lrp_confidence"),
    "importance_agreement": (f"head_importance/{TRAINED}.parquet", ""),
    "head_functions": (
        f"head_functions/{TRAINED}.parquet head_importance/{TRAINED}.parquet",
        "functions_ru_de_fr",
    ),
    "syntactic_heads": (f"head_functions/{TRAINED}.parquet", "syntactic_accuracy"),
    "attention_of_heads": (f"head_importance/{FIRST}.parquet head_functions/{FIRST}.parquet", ""),
    "heads_on_plane": (
        "head_distances/lm-1.lm-1.parquet head_distances/mt-1.mt-1.parquet "
        "head_distances/mlm-1.mlm-1.parquet head_distances/untrained-1.untrained-1.parquet",
        "",
    ),
    "quality_against_heads": (
        "pruning/lm-1.encoder.none_0.parquet pruning/mt-1.{all,encoder}.none_0.parquet "
        "pruning/mlm-1.encoder.none_0.parquet "
        + " ".join(f"pruning/{part}.parquet" for part in SWEPT.split()),
        "heads_dying_enc_bleu_linear_x bleu_all_attns",
    ),
    "functions_kept": (
        "pruned_functions/lm-1.encoder.gates_0.7.parquet pruned_functions/mt-1.all.gates_{0,0.5}.parquet "
        "pruned_functions/mt-1.encoder.gates_0.7.parquet pruned_functions/mlm-1.encoder.gates_0.7.parquet "
        + " ".join(f"gates/{part}.csv" for part in SWEPT.split()),
        "functions_retained",
    ),
    "relevance_kept": (
        "gates/lm-1.encoder.gates_0.7.csv gates/mt-1.all.gates_{0,0.5}.csv "
        "gates/mt-1.encoder.gates_0.7.csv gates/mlm-1.encoder.gates_0.7.csv "
        "head_importance/{lm,mlm,mt}-1.parquet",
        "",
    ),
    "heads_kept_by_attention": (
        "pruning/mt-1.all.none_0.parquet pruning/mt-1.all.gates_{0,0.5}.parquet",
        "heads_dying_by_attn_type_both",
    ),
    "decoder_heads_by_layers": ("gates/mt-1.all.gates_{0,0.5}.csv", "heads_dying_decoder"),
    "gates_over_time": ("gates/mt-1.all.gates_{0,0.5}.csv", ""),
    "corpus_overview": ("../corpus/{cleaning,splits,frequencies}.csv", ""),
    "learning_curves": (f"../runs/{TRAINED}/metrics.jsonl", ""),
}

ESTIMATE = {"n_clusters": 50, "n_tokens": 100}
# The questions of some figures, which their captions begin with.
TITLES = {
    "mutual_information_input": "How much each layer still knows of the token that it read",
    "first_look": "How much each layer still knows of the token that it read",
    "neighbors_token": "Whether each layer keeps the identity of its token",
    "corpus_overview": "The text that all models learn from",
}
# By figure: the module that draws it, if it is not the one of its name, and its options.
PLOTTED = {
    "mutual_information_input": ("", {"estimate": ESTIMATE}),
    "first_look": ("", {"estimate": ESTIMATE}),
    "mutual_information_lm": (
        "mutual_information_input_output",
        {"estimate": ESTIMATE, "objective": "lm", "reading": "plain"},
    ),
    "mutual_information_mlm": (
        "mutual_information_input_output",
        {"estimate": ESTIMATE, "objective": "mlm", "reading": "as_trained"},
    ),
    "mutual_information_estimators": ("", {"n_tokens": 100}),
    "similarity_calibrated": ("similarity_between_runs", {"calibrated": True}),
    "change_frequency_rank": ("change_of_groups", {"grouping": "frequency_rank"}),
    "change_pos": ("change_of_groups", {"grouping": "pos"}),
    "influence_frequency_rank": ("influence_of_groups", {"grouping": "frequency_rank"}),
    "influence_pos": ("influence_of_groups", {"grouping": "pos"}),
    "neighbors_token": ("neighbors", {"properties": ["token"]}),
    "neighbors_position": ("neighbors", {"properties": ["position"]}),
    "neighbors_left_right": ("neighbors", {"properties": ["left_token", "right_token"]}),
    "neighbors_ccg": ("neighbors", {"properties": ["ccg"]}),
    "neighbors_ccg_left_right": ("neighbors", {"properties": ["ccg_left", "ccg_right"]}),
    **{
        f"projection_{name}": ("projection", {"picture": name})
        for name in ("token", "position", "ccg")
    },
    "syntactic_heads": ("", {"threshold": 0.1}),
    "attention_of_heads": ("", {"initial": {"lm": None, "mlm": "untrained", "mt": "untrained"}}),
    "heads_kept_by_attention": ("", {"objective": "mt"}),
    "decoder_heads_by_layers": ("", {"objective": "mt"}),
    "gates_over_time": ("", {"objective": "mt", "attention": "all"}),
    "corpus_overview": ("", {"n_tokens": 100}),
}
