"""The claims of Voita, Sennrich and Titov 2019 (EMNLP), "The Bottom-up Evolution of
Representations in the Transformer", in the paper's order.

Statements follow the authors' own post on the paper (lena-voita.github.io/posts/
emnlp19_evolution.html), unless `section`, the heading there, says that they are not in it.
`published` comes from the curves in `bottomup/published/curves`. PWCCA distances of groups are
compared as logarithms of ratios: what counts is how many times more one group changes or influences
than another. Thirds of the layers stand for bottom, middle and top, so that no claim depends on one
layer.
"""

from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd

from bottomup.claims import NotEnoughError
from bottomup.claims.claim import BETWEEN_SHARES, Claim, Parts, collect
from bottomup.claims.curves import (
    Curve,
    between_layers,
    between_objectives,
    between_seeds,
    bottom,
    by_group,
    by_rank,
    information,
    learning,
    log_ratio,
    mean,
    middle,
    neighbors,
    rounded,
    rows,
    top,
)
from bottomup.claims.tables import LEARNING, N_DRAWS, Tables
from bottomup.measures.jackknife import ANY

CLAIMS: list[Claim] = []
claim = collect(CLAIMS, paper="evolution")

PAPER = ("mt", "lm", "mlm")
FUNCTION_WORDS = ("IN", "CC", "DT")
CONTENT_WORDS = ("NN", "NNP", "VB", "JJ")
# Two runs count as equally long if one is longer by at most this share.
ALIKE = 0.05
# Runs are compared when their loss has fallen by this share. When it reaches its end is chance,
# since the end of a curve is flat.
MOST_OF_THE_FALL = 0.9

INPUT = "Mutual information with input"
BOTH = "Mutual information with both input and output"
CHANGE = "Amount of change"
INFLUENCE = "Amount of influence"
NEIGHBORS = "Lexical and syntactic context of past and future"

MORE_CLUSTERS = (
    "10,000 clusters of 1,000 tokens in 2 million occurrences, as in studies/paper_ende.yaml"
)
LONGER_MLM = "an MLM of width 512 trained on 200 million tokens, as in studies/gpu.yaml"
MORE_SEEDS = "five seeds at the papers' width, as in studies/gpu.yaml"
LARGER_VOCABULARY = (
    "a vocabulary that fills the bins to rank 30,000, and 5,000 sentences a group, as in "
    "studies/paper_ende.yaml"
)
EQUAL_TOKENS = "LM and MLM trained on equally many tokens, in three runs or more"
MORE_TEXT = "ten times the held-out text, as in studies/paper_ende.yaml"
UNMATCHED = "Narrower: groups are matched, those of the paper are not."

# What all claims about a measure share; one may say otherwise.
information_claim = partial(claim, measure="mutual_information", undecided_until=MORE_CLUSTERS)
between_runs_claim = partial(
    claim,
    measure="pwcca_between_runs",
    section="Distance between tasks; figure change_between_tasks",
    undecided_until=MORE_SEEDS,
    within=BETWEEN_SHARES,
)
between_layers_claim = partial(
    claim,
    measure="pwcca_between_layers",
    section="Change between layers; figure change_by_task",
)
# Published groups are not matched.
change_claim = partial(claim, measure="change", published_as="of another statistic")
influence_claim = partial(claim, measure="influence", published_as="of another statistic")
neighbors_claim = partial(
    claim, measure="neighbors", within=BETWEEN_SHARES, undecided_until=MORE_TEXT
)


def fall(curve: Curve) -> np.ndarray:
    """How far a curve falls from the embeddings to the top third of the layers."""
    return curve[0] - mean(top(curve[1:]))


def information_lost(curve: Curve) -> np.ndarray:
    """How far a curve is below its value at the embeddings, mean over layers."""
    return curve[0] - mean(curve[1:])


def rise_and_fall(curve: Curve) -> Parts:
    """The rise to the middle third and the fall from it."""
    peak = mean(middle(curve))
    return [peak - mean(bottom(curve)), peak - mean(top(curve))]


def rise_throughout(curve: Curve) -> Parts:
    """The rises to the middle third and from it."""
    center = mean(middle(curve))
    return [center - mean(bottom(curve)), mean(top(curve)) - center]


def fall_on_a_line(curve: Curve) -> np.ndarray:
    """The fall from the first place to the last, on the line of least squares. Unlike the largest
    fall, it is unbiased, however noisy the curve."""
    if len(curve) < 2:
        raise NotEnoughError("a model of three layers or more")
    places = np.arange(len(curve)) - (len(curve) - 1) / 2
    return -(places @ curve) / (places @ places) * (len(curve) - 1)


def over_two_steps(curve: Curve) -> Curve:
    """The rise over each two consecutive steps."""
    if len(curve) < 3:
        raise NotEnoughError("a model of four layers or more")
    return curve[2:] - curve[:-2]


def times(groups: list[Curve], others: list[Curve]) -> Curve:
    """At each layer, the log ratio of the mean of `groups` to that of `others`."""
    return log_ratio(mean(groups), mean(others))


def rare_to_frequent(tables: Tables, name: str, objective: str) -> Curve:
    """At each layer, the log ratio of the rarest third of the bins to the most frequent one."""
    ranks = by_rank(tables, name, objective)
    return times(top(ranks), bottom(ranks))


def parts_of_speech(
    tables: Tables, name: str, objective: str, tags: tuple[str, ...], others: tuple[str, ...]
) -> np.ndarray:
    """Mean over layers of the log ratio of classes `tags` to `others`."""
    groups = by_group(tables, name, objective, "pos")
    for tag in (*tags, *others):  # raises where one is missing
        rows(tables, name, objective=objective, grouping="pos", group=tag)
        if tag not in groups:
            raise NotEnoughError("a model of two layers or more")
    return mean(times([groups[tag] for tag in tags], [groups[tag] for tag in others]))


def rarest_stands_out(tables: Tables, objective: str) -> np.ndarray:
    """At the first layer, the log ratio of the rarest bin's influence to the next three bins'."""
    ranks = by_rank(tables, "influence", objective)
    if len(ranks) < 4:
        raise NotEnoughError("four bins of frequency ranks or more, by a larger vocabulary")
    return times(ranks[-1:], ranks[-4:-1])[0]


def every(objectives: tuple[str, ...], statistic: Callable[[str], np.ndarray]) -> Parts:
    """The statistic of each objective."""
    return [statistic(objective) for objective in objectives]


# Information


@information_claim(
    statement="LM gradually forgets the identity of the current input token.",
    section=f"{INPUT}; figure ib_mi_tasks",
    statistic="LM, information with the input: the smaller of two falls, from the bottom to the "
    "middle third of the layers and from there to the top third, nats",
    published=0.328,
    differs="Narrower: it must fall from third to third, not only on the whole.",
    contradicted_if="it rises from third to third",
    curves=(("mutual_information_input", "lm"),),
)
def lm_forgets_input(tables: Tables) -> Parts:
    return rise_throughout(-information(tables, "lm")[1:])


@information_claim(
    statement="Of the three objectives, LM forgets most of the input token.",
    section=f"{INPUT}; figure ib_mi_tasks",
    statistic="information with the input, fall from the embeddings to the top third of the "
    "layers: LM's less that of MT or MLM, whichever falls more, nats",
    published=0.482,
    contradicted_if="MT's or MLM's falls further than LM's",
    curves=tuple(("mutual_information_input", name) for name in PAPER),
)
def lm_forgets_most(tables: Tables) -> Parts:
    falls = {name: fall(information(tables, name)) for name in PAPER}
    return [falls["lm"] - falls["mt"], falls["lm"] - falls["mlm"]]


@information_claim(
    statement="MT behaves like LM, but its information with the input falls much less sharply.",
    section=f"{INPUT}; figure ib_mi_tasks",
    statistic="information with the input, fall from the embeddings to the top third of the "
    "layers: the smaller of MT's fall and of the difference LM's less MT's, nats",
    published=0.482,
    differs="Wider: any difference above the margin counts as much less.",
    contradicted_if="MT's does not fall, or falls further than LM's",
    curves=(("mutual_information_input", "mt"),),
)
def mt_forgets_less(tables: Tables) -> Parts:
    falls = {name: fall(information(tables, name)) for name in ("mt", "lm")}
    return [falls["mt"], falls["lm"] - falls["mt"]]


@information_claim(
    statement="MLM first loses information about the input token, then recovers it at the top "
    "layers (context encoding, token reconstruction).",
    section=f"{INPUT}; figure ib_mi_tasks",
    statistic="MLM, information with the input: the smaller of the fall from the bottom to the "
    "middle third of the layers and the rise from there to the top third, nats",
    published=0.0561,
    differs="Narrower: the lowest point must lie in the middle third.",
    contradicted_if="it rises to the middle, or goes on falling to the top",
    undecided_until=LONGER_MLM,
    curves=(("mutual_information_input", "mlm"),),
)
def mlm_reconstructs_input(tables: Tables) -> Parts:
    return rise_and_fall(-information(tables, "mlm")[1:])


@information_claim(
    statement="An untrained network is not forced to forget its input (Zhang and Bowman 2018).",
    section="MLM best preserves token identity",
    statistic="information with the input, loss since the embeddings, mean over layers: half of an "
    "objective's less that of the untrained model with the same mask, for the objective where this "
    "is smallest, nats",
    published=0.0685,
    published_as="assumed",  # the paper shows no such model; it counts as if it lost nothing
    differs="Another: the paper has no untrained model; less than half of what training takes away "
    "stands for not forced to forget.",
    contradicted_if="an untrained model forgets more than half of what an objective forgets",
    undecided_until=LONGER_MLM,
    of_training=False,  # it already includes the initial models
)
def untrained_forgets_nothing(tables: Tables) -> Parts:
    def lost(objective: str) -> np.ndarray:
        return information_lost(information(tables, objective))

    untrained = {"mt": "untrained", "lm": "untrained_causal", "mlm": "untrained"}
    return every(PAPER, lambda name: lost(name) / 2 - lost(untrained[name]))


@information_claim(
    statement="LM accumulates information about the token that it predicts.",
    section=f"{BOTH}; figure ib_src_dst_lm_mlm",
    statistic="LM, information with the output, less that with shuffled tokens: the smaller of two "
    "rises, from the bottom to the middle third of the layers and from there to the top third, "
    "nats",
    published=0.0684,
    differs="Narrower: it must rise from third to third, not only on the whole.",
    contradicted_if="it falls from third to third",
    curves=(("mutual_information_lm", "output: change"),),
)
def lm_predicts_output(tables: Tables) -> Parts:
    return rise_throughout(information(tables, "lm", "output")[1:])


@information_claim(
    statement="MLM, fed as in training, loses information about a token that it reads in place "
    "of another.",
    section=f"{BOTH}; figure ib_src_dst_lm_mlm",
    statistic="MLM fed as in training, information with the input at replaced positions: the "
    "smaller of two falls, from the bottom to the middle third of the layers and from there to the "
    "top third, nats",
    published=2.68,
    published_as="of another statistic",  # the curve also has masked positions
    differs="Narrower: replaced tokens alone; the published curve has masked ones, too.",
    contradicted_if="it rises from third to third",
    undecided_until=LONGER_MLM,
    curves=(("mutual_information_mlm", "input: change"),),
)
def mlm_forgets_false_input(tables: Tables) -> Parts:
    curve = information(tables, "mlm", "input", "as_trained", "replaced")
    return rise_throughout(-curve[1:])


@information_claim(
    statement="MLM, fed as in training, accumulates information about the token that it predicts.",
    section=f"{BOTH}; figure ib_src_dst_lm_mlm",
    statistic="MLM fed as in training, information with the output where it differs from the "
    "input, less that with shuffled tokens: the smaller of two rises, from the bottom to the "
    "middle third of the layers and from there to the top third, nats",
    published=0.676,
    differs="Narrower: only where the output differs from the input, and from third to third.",
    contradicted_if="it falls from third to third",
    undecided_until=LONGER_MLM,
    curves=(("mutual_information_mlm", "output: change"),),
)
def mlm_predicts_output(tables: Tables) -> Parts:
    return rise_throughout(information(tables, "mlm", "output", "as_trained", "changed")[1:])


# Distance between models and between layers


def seeds_closer(tables: Tables, same_seed: bool) -> Parts:
    """The distance of each two objectives less that of two seeds of either, mean over layers."""
    return [
        mean(between_objectives(tables, *pair, same_seed) - between_seeds(tables, name))
        for pair in combinations(PAPER, 2)
        for name in pair
    ]


@between_runs_claim(
    statement="Models trained for the same task from other initial weights are more similar than "
    "models trained with different objectives.",
    statistic="PWCCA distance, mean over layers: that of two objectives (with the same initial "
    "weights, as in the paper) less that of two seeds of either, for the pair of objectives where "
    "this is smallest",
    published=0.141,
    differs="Narrower: each two objectives, against the seeds of both.",
    contradicted_if="two seeds of an objective are further apart than it is from another",
    across_seeds=True,
    of_training=False,
    curves=(("distance_between_tasks", "definition"),),
)
def seeds_closer_than_objectives(tables: Tables) -> Parts:
    return seeds_closer(tables, same_seed=True)


@between_runs_claim(
    statement="The same holds if no two models share their initial weights: the distance reflects "
    "the objective rather than chance in training.",
    statistic="as for seeds_closer_than_objectives, with the two objectives trained from "
    "different initial weights",
    published=0.141,
    published_as="assumed",  # the paper compares objectives from the same initial weights only
    differs="Narrower: each two objectives, against the seeds of both; the paper has no such "
    "pairs.",
    contradicted_if="two seeds of an objective are further apart than it is from another",
    across_seeds=True,
    of_training=False,
)
def seeds_closer_without_shared_weights(tables: Tables) -> Parts:
    return seeds_closer(tables, same_seed=False)


@between_runs_claim(
    statement="Representations of MT and MLM are closer to each other than to those of LM.",
    statistic="PWCCA distance, mean over layers: the smaller of LM-MT and LM-MLM, less MT-MLM",
    published=0.0294,
    contradicted_if="LM is closer to MT or to MLM than these are to each other",
    curves=tuple(
        ("distance_between_tasks", "definition", pair) for pair in ("mt-mlm", "lm-mt", "lm-mlm")
    ),
)
def mt_and_mlm_closest(tables: Tables) -> Parts:
    together = mean(between_objectives(tables, "mt", "mlm"))
    return every(
        ("mt", "mlm"), lambda name: mean(between_objectives(tables, "lm", name)) - together
    )


@between_layers_claim(
    statement="From bottom to top, MT changes its representations less and less, unlike LM and "
    "MLM.",
    statistic="PWCCA distance of consecutive layers from 1-2 up, fall from the first step to the "
    "last on the line of least squares: the smallest of MT's own and of how much further MT's "
    "falls than LM's and than MLM's",
    # Untrained models, too, change less and less; so training must add to it.
    published=0.0261,
    differs="Wider: it need not fall at each step, only along a line.",
    contradicted_if="MT's rises, or falls less far than LM's or MLM's",
    undecided_until=MORE_SEEDS,
    curves=(("distance_between_layers", "definition", "mt"),),
)
def mt_changes_less_and_less(tables: Tables) -> Parts:
    falls = {name: fall_on_a_line(between_layers(tables, name)) for name in PAPER}
    return [falls["mt"], falls["mt"] - falls["lm"], falls["mt"] - falls["mlm"]]


@between_layers_claim(
    statement="For LM the change between layers does not fall monotonically.",
    statistic="LM, PWCCA distance of consecutive layers from 1-2 up: largest rise over two steps",
    published=0.0126,
    differs="Narrower: a rise over one step alone does not count.",
    contradicted_if="it falls over any two steps",
    one_of=True,
    undecided_until=MORE_SEEDS,
    curves=(("distance_between_layers", "definition", "lm"),),
    within=BETWEEN_SHARES,
)
def lm_change_not_monotonic(tables: Tables) -> Parts:
    return [*over_two_steps(between_layers(tables, "lm"))]


@between_layers_claim(
    statement="For MLM the change between layers does not fall monotonically.",
    statistic="MLM, PWCCA distance of consecutive layers from 1-2 up: largest rise over two steps",
    published=0.0481,
    differs="Narrower: a rise over one step alone does not count.",
    contradicted_if="it falls over any two steps",
    one_of=True,
    undecided_until=LONGER_MLM,
    curves=(("distance_between_layers", "definition", "mlm"),),
    within=BETWEEN_SHARES,
)
def mlm_change_not_monotonic(tables: Tables) -> Parts:
    return [*over_two_steps(between_layers(tables, "mlm"))]


# Change and influence, by frequency and part of speech


@change_claim(
    statement="In MT and LM frequent tokens change a lot more than rare ones.",
    section=f"{CHANGE}; figure change_freq",
    statistic="log ratio of the change of the most frequent third of the bins to the rarest "
    "third's, mean over layers: the smaller of MT's and LM's",
    published=0.576,
    differs=f"{UNMATCHED} Wider: any difference counts as a lot.",
    contradicted_if="rare tokens change more in MT or in LM",
    undecided_until=LARGER_VOCABULARY,
    curves=(("change_frequency_rank", "mt"), ("change_frequency_rank", "lm")),
)
def frequent_tokens_change_more(tables: Tables) -> Parts:
    return every(("mt", "lm"), lambda name: -mean(rare_to_frequent(tables, "change", name)))


@change_claim(
    statement="At the top layers of LM the amount of change is roughly the same for all "
    "frequencies.",
    section=f"{CHANGE}; figure change_freq",
    statistic="LM, log ratio of the change of the most frequent third of the bins to the rarest "
    "third's: half of it at the bottom third of the steps, less its absolute value at the top "
    "third",
    published=0.304,
    differs=f"{UNMATCHED} Half of the ratio at the bottom stands for roughly the same.",
    contradicted_if="more than half of the ratio at the bottom is left at the top, or rare tokens "
    "change as much more there, or more at the bottom",
    undecided_until=LARGER_VOCABULARY,
    curves=(("change_frequency_rank", "lm"),),
)
def lm_change_even_at_top(tables: Tables) -> Parts:
    ratios = -rare_to_frequent(tables, "change", "lm")
    half, left = mean(bottom(ratios)) / 2, mean(top(ratios))
    return [half - left, half + left]


@change_claim(
    statement="At the top layers of MLM, where token identity is recreated, rare tokens change "
    "more than frequent ones.",
    section=f"{CHANGE}; figure change_freq",
    statistic="MLM, top third of the steps: log ratio of the change of the rarest third of the "
    "bins to the most frequent third's",
    published=0.625,
    differs=UNMATCHED,
    contradicted_if="frequent tokens change more there",
    undecided_until=LONGER_MLM,
    curves=(("change_frequency_rank", "mlm"),),
)
def mlm_rare_tokens_change_more_at_top(tables: Tables) -> Parts:
    return [mean(top(rare_to_frequent(tables, "change", "mlm")))]


@change_claim(
    statement="Parts of speech with frequent tokens (prepositions, conjunctions, determiners) "
    "change most; those with less frequent ones (nouns, verbs, adjectives) change less.",
    section="figure change_pos",
    statistic="log ratio of the mean change of IN, CC, DT to that of NN, NNP, VB, JJ, mean over "
    "layers: the smallest of MT's, LM's and MLM's",
    published=0.375,
    differs=f"{UNMATCHED} As the paper groups them, it may hold where this does not.",
    contradicted_if="nouns, verbs and adjectives change more under one of the objectives",
    undecided_until=MORE_TEXT,
    curves=(("change_pos",),),
)
def function_words_change_most(tables: Tables) -> Parts:
    def ratio(objective: str) -> np.ndarray:
        return parts_of_speech(tables, "change", objective, FUNCTION_WORDS, CONTENT_WORDS)

    return every(PAPER, ratio)


@change_claim(
    statement="Verbs and adverbs change more than nouns and adjectives.",
    section="figure change_pos",
    statistic="log ratio of the mean change of VB, RB to that of NN, JJ, mean over layers: the "
    "smallest of MT's, LM's and MLM's",
    published=0.113,
    differs=UNMATCHED,
    contradicted_if="nouns and adjectives change more under one of the objectives",
    undecided_until=MORE_TEXT,
    curves=tuple(("change_pos", tag) for tag in ("VB", "RB", "NN", "JJ")),
)
def verbs_change_more_than_nouns(tables: Tables) -> Parts:
    def ratio(objective: str) -> np.ndarray:
        return parts_of_speech(tables, "change", objective, ("VB", "RB"), ("NN", "JJ"))

    return every(PAPER, ratio)


@influence_claim(
    statement="Rare tokens influence other tokens more than frequent ones.",
    section=f"{INFLUENCE}; figure influence_freq",
    statistic="log ratio of the influence of the rarest third of the bins to the most frequent "
    "third's, mean over layers: the smallest of MT's, LM's and MLM's",
    published=0.531,
    differs=UNMATCHED,
    contradicted_if="frequent tokens influence more under one of the objectives",
    undecided_until=LARGER_VOCABULARY,
    curves=(("influence_frequency_rank",),),
)
def rare_tokens_influence_more(tables: Tables) -> Parts:
    return every(PAPER, lambda name: mean(rare_to_frequent(tables, "influence", name)))


@influence_claim(
    statement="Nouns, verbs and adjectives influence other tokens most; parts of speech with "
    "frequent tokens (prepositions, conjunctions, determiners) influence them less.",
    section="figure influence_pos",
    statistic="log ratio of the mean influence of NN, NNP, VB, JJ to that of IN, CC, DT, mean "
    "over layers: the smallest of MT's, LM's and MLM's",
    published=0.575,
    differs=UNMATCHED,
    contradicted_if="prepositions, conjunctions and determiners influence more under one of the "
    "objectives",
    undecided_until=MORE_TEXT,
    curves=(("influence_pos",),),
)
def content_words_influence_most(tables: Tables) -> Parts:
    def ratio(objective: str) -> np.ndarray:
        return parts_of_speech(tables, "influence", objective, CONTENT_WORDS, FUNCTION_WORDS)

    return every(PAPER, ratio)


@influence_claim(
    statement="The rarest tokens have an extreme influence at the first layer of MT and LM.",
    section=f"{INFLUENCE}; figure influence_freq",
    statistic="first layer, log ratio of the influence of the rarest bin to the mean of the next "
    "three: the smaller of MT's and LM's",
    published=0.355,
    differs=f"{UNMATCHED} Wider: any lead over the next three bins counts as extreme; bins are "
    "those of this vocabulary.",
    contradicted_if="the rarest bin influences less than the next ones in MT or LM",
    undecided_until=LARGER_VOCABULARY,
    curves=(("influence_frequency_rank", "mt"), ("influence_frequency_rank", "lm")),
)
def rarest_tokens_extreme(tables: Tables) -> Parts:
    return every(("mt", "lm"), lambda name: rarest_stands_out(tables, name))


@influence_claim(
    statement="In contrast, the rarest tokens are not the most influential ones at the lower "
    "layers of MLM.",
    section=f"{INFLUENCE}; figure influence_freq",
    statistic="log ratio of rarest_tokens_extreme: the smaller of MT's and LM's, less MLM's; only "
    "if MT and LM have this influence",
    where=rarest_tokens_extreme,
    published=0.276,
    differs=f"{UNMATCHED} Wider: less extreme than in MT and LM stands for not the most "
    "influential.",
    contradicted_if="MLM has a higher ratio than MT or LM",
    undecided_until=LARGER_VOCABULARY,
    curves=(("influence_frequency_rank", "mlm"),),
)
def rarest_tokens_not_extreme_in_mlm(tables: Tables) -> Parts:
    of_mlm = rarest_stands_out(tables, "mlm")
    return [extreme - of_mlm for extreme in rarest_tokens_extreme(tables)]


@influence_claim(
    statement="With token dropout on the input in training (a tenth of the tokens replaced by "
    "random ones), MT and LM have no extreme influence of the rarest tokens.",
    section="Extreme influence of rare tokens: bug or feature?; figure influence_freq_iwd",
    statistic="log ratio of rarest_tokens_extreme: without token dropout less with it, the smaller "
    "of MT's and LM's; only if MT and LM have this influence",
    where=rarest_tokens_extreme,
    published=0.309,
    differs=f"{UNMATCHED} Wider: a smaller influence stands for none.",
    contradicted_if="the ratio is higher with token dropout in MT or LM",
    undecided_until=f"studies/token_dropout.yaml, with {LARGER_VOCABULARY}",
    of_training=False,  # it compares two ways to train
    curves=(
        ("influence_with_token_dropout", "mt_noise"),
        ("influence_with_token_dropout", "lm_noise"),
    ),
)
def token_dropout_ends_extreme_influence(tables: Tables) -> Parts:
    def lost(objective: str) -> np.ndarray:
        usual = rarest_stands_out(tables, objective)
        return usual - rarest_stands_out(tables, f"{objective}_noise")

    return every(("mt", "lm"), lost)


def mt_frequent_tokens_change_more(tables: Tables) -> Parts:
    return [-mean(rare_to_frequent(tables, "change", "mt"))]


@influence_claim(
    statement="Frequent tokens have little to say of themselves, but pass information on that they "
    "have taken in: they are hubs.",
    section=f"{INFLUENCE}, in other words; figure influence_freq",
    statistic="MT, log ratio of the influence of the most frequent third of the bins to the middle "
    "ones': mean over the layers above the first, less that of the first layer; only if frequent "
    "tokens change more than rare ones in MT",
    where=mt_frequent_tokens_change_more,
    where_size=0.576,  # that of frequent_tokens_change_more
    published=0.899,
    differs="Narrower: MT alone; under the paper's LM and MLM frequent tokens gain no influence "
    "above the first layer. Groups are matched, those of the paper are not. Wider: whose "
    "information it is that they pass on is not seen.",
    contradicted_if="above the first layer frequent tokens influence others even less, beside "
    "tokens of middle frequency, than at the first",
    undecided_until=LARGER_VOCABULARY,
    curves=(("influence_frequency_rank", "mt"),),
)
def frequent_tokens_pass_information_on(tables: Tables) -> Parts:
    ranks = by_rank(tables, "influence", "mt")
    if len(ranks) < 3:
        raise NotEnoughError("three bins of frequency ranks or more, by a larger vocabulary")
    first, *above = times(bottom(ranks), middle(ranks))
    if not above:
        raise NotEnoughError("a model of two layers or more")
    return [mean(above) - first]


# What a layer represents: its neighbors


def kept(tables: Tables, property: str) -> dict[str, np.ndarray]:
    """By objective, what neighbors in the top third of the layers share."""
    return {name: mean(top(neighbors(tables, name, property))) for name in PAPER}


@neighbors_claim(
    statement="MLM best preserves token identity.",
    section="MLM best preserves token identity; figure evolution_token",
    statistic="share of neighbors with the same token, top third of the layers: MLM's less the "
    "larger of MT's and LM's",
    published=0.0437,
    differs="Narrower: the top third of the layers alone.",
    contradicted_if="MT or LM has more neighbors with the same token",
    undecided_until=LONGER_MLM,
    curves=(("token", "mlm"),),
)
def mlm_keeps_token_best(tables: Tables) -> Parts:
    shares = kept(tables, "token")
    return every(("mt", "lm"), lambda name: shares["mlm"] - shares[name])


@neighbors_claim(
    statement="Layer by layer, LM mixes tokens most: it preserves token identity worst.",
    section="MLM best preserves token identity; figure evolution_token",
    statistic="share of neighbors with the same token, top third of the layers: the smaller of "
    "MT's and MLM's, less LM's",
    published=0.116,
    differs="Wider: the top third stands for layer by layer.",
    contradicted_if="LM has more neighbors with the same token than MT or MLM",
    curves=(("token", "lm"),),
)
def lm_keeps_token_worst(tables: Tables) -> Parts:
    shares = kept(tables, "token")
    return every(("mt", "mlm"), lambda name: shares[name] - shares["lm"])


@neighbors_claim(
    statement="MT best preserves token position.",
    section="MT best preserves token position; figure evolution_position",
    statistic="distance in position to neighbors of the same token, mean over layers: the smaller "
    "of LM's and MLM's, less MT's, tokens",
    published=2.67,
    contradicted_if="neighbors in LM or MLM are closer in position",
    curves=tuple(("position", name) for name in PAPER),
    within=ANY,  # tokens
)
def mt_keeps_position_best(tables: Tables) -> Parts:
    distances = {name: mean(neighbors(tables, name, "position")) for name in PAPER}
    return every(("lm", "mlm"), lambda name: distances[name] - distances["mt"])


@neighbors_claim(
    statement="For LM the importance of the previous token decreases, while information about "
    "the future token is being formed.",
    section=f"{NEIGHBORS}; figure same_left_right_tokens",
    statistic="LM, from the bottom to the top third of the layers: the smaller of the fall of the "
    "share of neighbors with the same left token and the rise of the share with the same right one",
    published=0.0316,
    contradicted_if="the left token gains or the right token loses importance",
    curves=(("left_token", "lm"), ("right_token", "lm")),
)
def lm_left_fades_right_forms(tables: Tables) -> Parts:
    left, right = (neighbors(tables, "lm", f"{side}_token") for side in ("left", "right"))
    return [mean(bottom(left)) - mean(top(left)), mean(top(right)) - mean(bottom(right))]


@neighbors_claim(
    statement="For MLM the importance of neighboring tokens gets higher at the lower layers and "
    "decreases after.",
    section=f"{NEIGHBORS}; figure same_left_right_tokens",
    statistic="MLM, share of neighbors with the same left and with the same right token: the "
    "smallest of the rises from the first layer to the next third of the layers and the falls from "
    "there to the last",
    published=0.0121,
    differs="Narrower: it rests on the first layer and on the last.",
    contradicted_if="it falls after the first layer, or goes on rising to the last",
    undecided_until=LONGER_MLM,
    curves=(("left_token", "mlm"), ("right_token", "mlm")),
)
def mlm_neighboring_tokens_rise_then_fall(tables: Tables) -> Parts:
    def around_peak(side: str) -> Parts:
        first, *above = neighbors(tables, "mlm", f"{side}_token")
        if not above:
            raise NotEnoughError("a model of two layers or more")
        peak = mean(above[: max(1, (1 + len(above)) // 3)])
        return [peak - first, peak - above[-1]]

    return around_peak("left") + around_peak("right")


@neighbors_claim(
    statement="The importance of CCG tags for MLM increases, then degrades at the higher layers.",
    section=f"{NEIGHBORS}; figure evolution_same_ccg",
    statistic="MLM, share of neighbors with the same CCG tag: the smaller of the rise from the "
    "bottom to the middle third of the layers and the fall from there to the top third",
    published=0.0121,
    differs="Narrower: the peak must lie in the middle third.",
    contradicted_if="it falls to the middle, or goes on rising to the top",
    undecided_until=LONGER_MLM,
    curves=(("ccg", "mlm"),),
)
def mlm_ccg_rises_then_falls(tables: Tables) -> Parts:
    return rise_and_fall(neighbors(tables, "mlm", "ccg"))


@neighbors_claim(
    statement="LM first accumulates information about the left part of the CCG tag, the syntax "
    "of the past; then this information gets dismissed.",
    section=f"{NEIGHBORS}; figure evolution_ccg_left_right",
    statistic="LM, share of neighbors with the same left part of the CCG tag: the smaller of the "
    "rise from the bottom to the middle third of the layers and the fall from there to the top",
    published=0.0189,
    differs="Narrower: the peak must lie in the middle third.",
    contradicted_if="it falls to the middle, or goes on rising to the top",
    curves=(("ccg_left", "lm"),),
)
def lm_left_ccg_rises_then_falls(tables: Tables) -> Parts:
    return rise_and_fall(neighbors(tables, "lm", "ccg_left"))


@neighbors_claim(
    statement="Meanwhile LM forms information about the right part of the CCG tag, the syntax of "
    "the future.",
    section=f"{NEIGHBORS}; figure evolution_ccg_left_right",
    statistic="LM, share of neighbors with the same right part of the CCG tag: rise from the "
    "bottom to the top third of the layers",
    published=0.0389,
    contradicted_if="it falls",
    curves=(("ccg_right", "lm"),),
)
def lm_right_ccg_forms(tables: Tables) -> Parts:
    right = neighbors(tables, "lm", "ccg_right")
    return [mean(top(right)) - mean(bottom(right))]


# Training


@claim(
    measure=LEARNING,
    statement="MLM learns two to four times slower than LM.",
    section="Training; not in the post",
    statistic="how many times more tokens MLM reads than LM until its dev loss is as low, in "
    "doublings: the smaller of the lead over one and the room below two; at nine tenths of the "
    "fall that both see, from the lower of their first losses to the higher of their lowest",
    published=0.5,
    published_as="assumed",  # a range; this is its middle
    differs="Narrower: at one loss, by tokens read, and of equally long trainings alone; else how "
    "long each training is would decide it. No interval stands for another dev text.",
    contradicted_if="MLM needs less than twice or more than four times the tokens",
    undecided_until=EQUAL_TOKENS,
    of_training=False,
)
def mlm_learns_slower(tables: Tables) -> Parts:
    lm, mlm = learning(tables, "lm"), learning(tables, "mlm")
    read = sorted(curve["tokens"].iloc[-1] for curve in (lm, mlm))
    if read[1] > (1 + ALIKE) * read[0]:
        raise NotEnoughError("LM and MLM trained on equally many tokens")
    first = min(curve["dev_loss_nats"].iloc[0] for curve in (lm, mlm))
    lowest = max(curve["dev_loss_nats"].iloc[-1] for curve in (lm, mlm))
    if lowest >= first:
        raise NotEnoughError("a dev loss that LM and MLM both come to, by longer training")
    loss = first - MOST_OF_THE_FALL * (first - lowest)
    (of_lm, step_lm), (of_mlm, step_mlm) = doublings_to(loss, lm), doublings_to(loss, mlm)
    slower = np.full(1 + 2 * N_DRAWS, of_mlm - of_lm)
    slower = rounded(slower, max(step_lm, step_mlm), tables, "tokens")
    return [slower - 1, 2 - slower]


def doublings_to(loss: float, curve: pd.DataFrame) -> tuple[float, float]:
    """The logarithm (base 2) of the tokens read until the loss is as low, on a line between two
    evaluations; and how far these are apart."""
    tokens, losses = np.log2(curve["tokens"].to_numpy(float)), curve["dev_loss_nats"].to_numpy()
    after = int(np.argmax(losses <= loss))
    before = after - 1
    share = (losses[before] - loss) / (losses[before] - losses[after])
    step = tokens[after] - tokens[before]
    return float(tokens[before] + share * step), float(step)
