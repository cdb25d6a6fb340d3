"""Sentences of other papers of the field, 2016 to 2026, that the tables of a study can answer.

Each `section` is the source. Few of these papers publish a number that is this statistic, and none
is of models like these: where `published_as` says *assumed*, the value only says what would count
as a size. `undecided_until` says what the sentence needs, so what a small study cannot show is said
before it is run.

The prior on how much runs vary is from the claims here alone, so that none changes a verdict on the
two papers. Layers are compared as thirds: the best of several layers looks better than it is.
"""

from functools import partial
from itertools import combinations

import numpy as np

from bottomup.claims import NotEnoughError, NotMeasuredError
from bottomup.claims.claim import BETWEEN_SHARES, LESS_A_HALF, Claim, Parts, collect
from bottomup.claims.curves import (
    Curve,
    at_steps,
    between_layers,
    between_objectives,
    bottom,
    layers,
    log_ratio,
    mean,
    middle,
    midpoint,
    of_heads,
    of_pairs,
    rows,
    top,
)
from bottomup.claims.evolution import MORE_TEXT, every, rise_and_fall
from bottomup.claims.heads import LONGER
from bottomup.claims.tables import Table, Tables, of_seeds, seeds

CLAIMS: list[Claim] = []
claim = collect(CLAIMS, paper="field", published_as="assumed")

START = {"mt": "untrained", "lm": "untrained_causal", "mlm": "untrained"}
# Sizes of statistics of which no number is published: a cosine, a share, the logarithm of two
# times, a loss in nats, a distance by PWCCA.
COSINE, SHARE, TWICE, NATS, PWCCA = 0.2, 0.05, float(np.log(2)), 0.1, 0.03
HALF = 0.5
DOUBLINGS = 1.0  # of updates
LEAST_STEPS = 4  # with fewer, a midpoint depends on where the steps happen to be

DEEPER = "twelve layers or more"
BILLIONS = "packed documents and billions of tokens, which no study here has"
HUNDREDS_OF_MILLIONS = (
    "packed documents and hundreds of millions of tokens, which no study here has"
)
FIVE, SWITCH = "more seeds of studies/five.yaml", "more seeds of studies/switch.yaml"
STEPS = "runs at a dozen steps that are doubled, of three seeds or more"
TAGGING = "accuracy of a linear classifier for parts of speech"
STITCHED = (
    "loss of a model that goes on from another one's states through an affine map, mean over layers"
)

# What all claims about a measure share; one may say otherwise.
geometry_claim = partial(claim, measure="geometry")
attention_claim = partial(claim, measure="attention_patterns", undecided_until=LONGER)
isotropy_claim = partial(claim, measure="isotropy", undecided_until=LONGER)
probes_claim = partial(claim, measure="probes")
structural_probe_claim = partial(claim, measure="structural_probe")
agreement_claim = partial(claim, measure="agreement", within=BETWEEN_SHARES)
stitching_claim = partial(
    claim,
    measure="stitching",
    section="Bansal et al. 2021 (Revisiting Model Stitching), arXiv 2106.07682",
    published=NATS,
    undecided_until=MORE_TEXT,
)

# Space


@geometry_claim(
    statement="A language model straightens the path of a sentence from the early to the deeper "
    "layers.",
    section="Hosseini and Fedorenko 2023, arXiv 2311.04930",
    statistic="LM, mean angle between one step of a sentence and the next: bottom third of the "
    "layers less top third, degrees",
    published=5.0,
    differs="Wider: from third to third, not at each layer. As in the preprint; the version at "
    "NeurIPS says to the middle layers.",
    contradicted_if="paths bend more in the upper layers",
    undecided_until=LONGER,
)
def lm_straightens_sentences(tables: Tables) -> Parts:
    angle = layers(tables, "geometry", "lm", measure="curvature_degrees")
    return [mean(bottom(angle)) - mean(top(angle))]


@geometry_claim(
    statement="In the middle of a language model the tokens of a sentence fall together; in a "
    "masked model they do not.",
    section="Skean et al. 2025 (Layer by Layer), arXiv 2502.02013",
    statistic="matrix entropy of a sentence, share of the most: the smallest of LM's falls from "
    "the bottom and from the top third of the layers to the middle, and of how much deeper its dip "
    "is than MLM's",
    published=0.1,
    differs="Wider: a less deep dip of MLM's stands for none.",
    contradicted_if="LM's entropy has no dip, or MLM's has a deeper one",
    undecided_until=DEEPER,
)
def lm_entropy_dips(tables: Tables) -> Parts:
    dips = {name: rise_and_fall(-entropy(tables, name)) for name in ("lm", "mlm")}
    return [*dips["lm"], mean(dips["lm"]) - mean(dips["mlm"])]


def entropy(tables: Tables, objective: str) -> Curve:
    return layers(tables, "geometry", objective, measure="matrix_entropy")


@geometry_claim(
    statement="A language model unfolds its input into many dimensions in its first half, and "
    "folds it again.",
    section="Cheng et al. 2025 (high-dimensional abstraction phase), arXiv 2405.15471",
    statistic="LM, log of the intrinsic dimension (TwoNN): the smaller of the rise from the bottom "
    "to the middle third of the layers and the fall from there to the top third",
    published=TWICE,
    differs="Another: TwoNN, where the paper has GRIDE. Wider: a peak in the middle third.",
    contradicted_if="the dimension rises to the top, or falls from the bottom",
    undecided_until=DEEPER,
)
def lm_dimension_peaks(tables: Tables) -> Parts:
    dimension = layers(tables, "geometry", "lm", measure="intrinsic_dimension")
    return rise_and_fall(np.log(dimension))


# What heads attend to


def attention(tables: Tables, objective: str, quantity: str, by: str = "weight") -> Table:
    """A quantity of the heads of an objective's encoder."""
    wanted = {"attention": "encoder", "by": by, "quantity": quantity}
    return rows(tables, "attention_patterns", objective=objective, **wanted)


def on_special(tables: Tables, objective: str, by: str) -> np.ndarray:
    """Mean share on special tokens, over heads and the layers above the bottom third."""
    shares = of_heads(attention(tables, objective, "special", by)).mean(axis=1)
    return mean(shares[len(bottom(shares)) :])


@attention_claim(
    statement="Above the lowest layers a masked model rests its attention on special tokens (in "
    "BERT's layers 6 to 10 of 12, more than half).",
    section="Clark et al. 2019 (What Does BERT Look At?)",
    statistic="MLM, share of attention on special tokens, mean over the layers above the bottom "
    "third, less that of attention that is spread evenly",
    published=0.5,
    published_as="of another statistic",  # [SEP] alone, in the layers with most of it
    differs="Wider: more than an even share, where BERT has half.",
    contradicted_if="special tokens get less than an even share",
    within=BETWEEN_SHARES,
)
def mlm_rests_on_special_tokens(tables: Tables) -> Parts:
    return rests_on_special(tables, "mlm")


def rests_on_special(tables: Tables, objective: str) -> Parts:
    even = mean(attention(tables, objective, "special").values("uniform"))
    return [on_special(tables, objective, "weight") - even]


def without_effect(tables: Tables, objective: str) -> Parts:
    """The log ratio of the share on special tokens by weight to the share by norm."""
    weight, norm = (on_special(tables, objective, by) for by in ("weight", "norm"))
    return [log_ratio(weight, norm)]


@attention_claim(
    statement="What a masked model's attention rests on special tokens has little effect: their "
    "vectors are short.",
    section="Kobayashi et al. 2020, arXiv 2004.10102",
    statistic="MLM, share on special tokens over the layers above the bottom third: log ratio of "
    "the share by weight to the share by norm; only if attention rests on them",
    where=mlm_rests_on_special_tokens,
    where_size=HALF,
    published=TWICE,
    differs="Wider: less effect than weight, where the paper has hardly any.",
    contradicted_if="special tokens have more effect than weight",
)
def mlm_special_tokens_do_little(tables: Tables) -> Parts:
    return without_effect(tables, "mlm")


@attention_claim(
    statement="The same holds in the encoder of a translation model.",
    section="Kobayashi et al. 2020, arXiv 2004.10102",
    statistic="as for mlm_special_tokens_do_little, of MT",
    where=lambda tables: rests_on_special(tables, "mt"),
    where_size=HALF,
    published=TWICE,
    differs="Another: the paper asks it of BERT; of translation it measures what the decoder "
    "attends to.",
    contradicted_if="special tokens have more effect than weight",
)
def mt_special_tokens_do_little(tables: Tables) -> Parts:
    return without_effect(tables, "mt")


@attention_claim(
    statement="Broad attention over the whole sentence is a matter of the lower layers.",
    section="Clark et al. 2019 (What Does BERT Look At?)",
    statistic="MLM, entropy of attention, mean over heads: bottom third of the layers less middle "
    "third, nats",
    published=HALF,
    differs="Wider: the mean over heads, where the paper has some heads.",
    contradicted_if="attention is broader in the middle",
)
def mlm_attends_broadly_below(tables: Tables) -> Parts:
    nats = of_heads(attention(tables, "mlm", "entropy_nats")).mean(axis=1)
    return [mean(bottom(nats)) - mean(middle(nats))]


@attention_claim(
    statement="Language models come to have attention sinks: heads that rest on the first token.",
    section="Gu et al. 2025 (ICLR), arXiv 2410.10781",
    statistic="share of sentences in which one of the first positions has more than 0.3 of a "
    "head's attention, mean over heads and layers: LM's less that of the untrained causal model",
    published=0.2,
    differs="Another: held-out sentences and one of four positions, where the paper has sequences "
    "of 64 tokens and the first one. Wider: one head in a hundred is enough.",
    contradicted_if="training takes sinks away",
    undecided_until=HUNDREDS_OF_MILLIONS,
    of_training=False,  # it already includes the initial models
    within=BETWEEN_SHARES,
)
def lm_has_sinks(tables: Tables) -> Parts:
    trained, untrained = (
        mean(attention(tables, name, "sink").values("value")) for name in ("lm", START["lm"])
    )
    return [trained - untrained]


@attention_claim(
    statement="Language models come to have induction heads, which attend to what followed the "
    "same token before.",
    section="Olsson et al. 2022, arXiv 2209.11895",
    statistic="LM, on repeated random tokens, each less the same places where nothing repeats: "
    "share of the best head on the token after an earlier one; the smaller of this and its lead "
    "over the best head on the token before it",
    published=HALF,
    differs="Wider: more than the mirror image, which is of no use, where the paper's heads rest "
    "there almost wholly.",
    contradicted_if="no head attends more to what followed than where nothing repeats, or one as "
    "much to what came before the same token",
    undecided_until=BILLIONS,
)
def lm_has_induction_heads(tables: Tables) -> Parts:
    after, before = (on_repeated(tables, f"{side}_of_earlier") for side in ("next", "previous"))
    return [after.max(axis=0) - before.max(axis=0), after.max(axis=0)]


def on_repeated(tables: Tables, quantity: str) -> np.ndarray:
    """The share of each head of LM on random tokens that repeat, less its share at the same places
    where tokens do not repeat, `[heads, draws]`. Other text does not change it."""
    table = attention(tables, "lm", quantity)
    shares = table.values("value") - table.values("baseline")
    return np.repeat(shares[:, :1], shares.shape[1], axis=1)


@attention_claim(
    statement="The heads of the middle layers are the least stable over seeds.",
    section="Bali et al. 2026, arXiv 2602.16740",
    statistic="LM, distance of a head to the head of another seed that is most like it in the same "
    "layer, by what it attends to (punctuation, previous token, itself, one of the first "
    "positions), mean over heads and pairs of seeds: middle third of the layers less the larger of "
    "bottom and top third",
    published=SHARE,
    differs="Another: four mean shares, where the paper compares maps of attention.",
    contradicted_if="heads of the lowest or of the highest layers are less stable",
    undecided_until=DEEPER,
    across_seeds=True,
)
def middle_heads_least_stable(tables: Tables) -> Parts:
    of_lm = {"attention_patterns": rows(tables, "attention_patterns", objective="lm")}
    each = [profiles(of_seeds(of_lm, {seed})) for seed in seeds(of_lm)]
    if len(each) < 2:
        raise NotMeasuredError("second seed of lm in the table attention_patterns")
    return rise_and_fall(mean([apart(*pair) for pair in combinations(each, 2)]))


def profiles(tables: Tables) -> np.ndarray:
    """What each head of LM attends to, `[quantities, layers, heads, draws]`."""
    names = ("punctuation", "previous", "itself", "position")
    return np.stack([of_heads(attention(tables, "lm", name)) for name in names])


def apart(a: np.ndarray, b: np.ndarray) -> Curve:
    """How far the heads of a layer are from the nearest of another model, mean over the heads of
    both, by layer: two arrays as from `profiles`."""
    distances = np.sqrt(((a[:, :, :, None] - b[:, :, None]) ** 2).sum(axis=0))
    return (distances.min(axis=1).mean(axis=1) + distances.min(axis=2).mean(axis=1)) / 2


# Directions


def anisotropy(tables: Tables, objective: str) -> np.ndarray:
    """Mean cosine of different tokens in the top third of the layers, less that of the
    embeddings."""
    wanted = {"version": "raw", "measure": "anisotropy", "adjusted": False}
    below = rows(tables, "isotropy", objective=objective, layer=0, **wanted).values("value")[0]
    return mean(top(layers(tables, "isotropy", objective, **wanted))) - below


@isotropy_claim(
    statement="Representations of trained models lie in a narrow cone, narrower in upper layers.",
    section="Ethayarajh 2019, arXiv 1909.00512",
    statistic="mean cosine of different tokens, top third of the layers less embeddings: the "
    "smaller of LM's and MLM's",
    published=COSINE,
    differs="Wider: from the embeddings to the top third, whatever lies between.",
    contradicted_if="under one of the objectives directions spread in upper layers",
    of_training=False,  # the next two ask what training does
)
def trained_models_lie_in_a_cone(tables: Tables) -> Parts:
    return every(("lm", "mlm"), lambda name: anisotropy(tables, name))


@isotropy_claim(
    statement="The cone belongs to self-attention: untrained models have it.",
    section="Godey et al. 2024 (Anisotropy Is Inherent to Self-Attention), arXiv 2401.12143",
    statistic="untrained models, mean cosine of different tokens, top third of the layers less "
    "embeddings: the smaller of the two masks",
    published=2 * COSINE,
    contradicted_if="under one of the masks directions spread in upper layers",
    of_training=False,
)
def untrained_models_lie_in_a_cone(tables: Tables) -> Parts:
    return every(("untrained", "untrained_causal"), lambda name: anisotropy(tables, name))


@isotropy_claim(
    statement="Trained models need not lie in a cone.",
    section="Machina and Mercer 2024 (NAACL; of the Pythia models)",
    statistic="mean cosine of different tokens, top third of the layers less embeddings: that of "
    "the untrained model with the same mask less the trained one's, the smaller of LM and MLM",
    published=COSINE,
    differs="Another: a wider cone than before training, where the paper has hardly any.",
    contradicted_if="training narrows the cone under one of the objectives",
    of_training=False,  # it already includes the initial models
)
def training_widens_the_cone(tables: Tables) -> Parts:
    def widened(objective: str) -> np.ndarray:
        return anisotropy(tables, START[objective]) - anisotropy(tables, objective)

    return every(("lm", "mlm"), widened)


@isotropy_claim(
    statement="Upper layers make representations more specific to their context: one token's are "
    "less alike there.",
    section="Ethayarajh 2019, arXiv 1909.00512",
    statistic="mean cosine of one token's occurrences, less that of any tokens: bottom third of "
    "the layers less top third, the smaller of LM's and MLM's",
    published=COSINE,
    differs="Wider: from third to third.",
    contradicted_if="one token's occurrences are more alike in the upper layers",
)
def upper_layers_depend_on_context(tables: Tables) -> Parts:
    def fall(objective: str) -> np.ndarray:
        wanted = {"version": "raw", "measure": "self_similarity", "adjusted": True}
        alike = layers(tables, "isotropy", objective, **wanted)
        return mean(bottom(alike)) - mean(top(alike))

    return every(("lm", "mlm"), fall)


# Probes


def tagging(tables: Tables, objective: str, metric: str = "accuracy") -> Curve:
    """How well a linear classifier tells parts of speech, from layer 1 up."""
    return layers(tables, "probes", objective, task="tag", metric=metric)


@probes_claim(
    statement="Middle layers are better than the last one.",
    section="Skean et al. 2025 (Layer by Layer), arXiv 2502.02013",
    statistic=f"{TAGGING}: middle third of the layers less top third, the smaller of LM's and "
    "MLM's",
    published=0.039,
    # Pythia-160m, mean of 32 tasks: layer 8 of 12 less layer 12, from the authors' scores.
    published_as="of another statistic",
    differs="Another: parts of speech and thirds, where the paper has tasks on sentences, and the "
    "best layer and the last. Its own models of six layers do best at the embeddings.",
    contradicted_if="the top third is better under one of the objectives",
    undecided_until=DEEPER,
    within=BETWEEN_SHARES,
)
def middle_beats_last(tables: Tables) -> Parts:
    def fall(objective: str) -> np.ndarray:
        accuracy = tagging(tables, objective)
        return mean(middle(accuracy)) - mean(top(accuracy))

    return every(("lm", "mlm"), fall)


@probes_claim(
    statement="A masked model works through the classical pipeline: parts of speech are found in "
    "lower layers than relations.",
    section="Tenney et al. 2019 (BERT Rediscovers the Classical NLP Pipeline)",
    statistic="MLM, expected layer of a mix of layers, as a share of the depth: that of dependency "
    "relations less that of parts of speech",
    published=0.1,
    differs="Narrower: two steps of the pipeline. Another: a word's relation by its own "
    "representation, where the paper labels pairs.",
    contradicted_if="relations are found lower than parts of speech",
    undecided_until=f"relation among measures.probes.tasks, and {LONGER}",
)
def parts_of_speech_before_relations(tables: Tables) -> Parts:
    def expected(task: str) -> np.ndarray:
        table = rows(tables, "probes", objective="mlm", task=task, metric="expected_layer")
        return table.values("value")[0]

    return [(expected("relation") - expected("tag")) / len(tagging(tables, "mlm"))]


@probes_claim(
    statement="Probes hardly tell objectives apart.",
    section="Alajrami and Aletras 2022, arXiv 2203.10415",
    statistic=f"{TAGGING}, mean over layers: half of what training adds to two objectives, less "
    "the difference of these, for the two of LM, MLM and MT where this is smallest",
    published=SHARE,
    differs="Another: LM, MLM and MT, where the paper has variants of MLM. Less than half of what "
    "training adds stands for hardly.",
    contradicted_if="two objectives differ by more than half of what training adds",
    undecided_until=MORE_TEXT,
    of_training=False,  # it already includes the initial models
)
def objectives_hardly_differ(tables: Tables) -> Parts:
    known = {name: mean(tagging(tables, name)) for name in START}
    added = {name: known[name] - mean(tagging(tables, start)) for name, start in START.items()}
    parts = []
    for a, b in combinations(START, 2):
        half, difference = (added[a] + added[b]) / 4, known[a] - known[b]
        parts += [half - difference, half + difference]
    return parts


@probes_claim(
    statement="How long a code of labels is tells trained from untrained models better than "
    "accuracy does.",
    section="Voita and Titov 2020, arXiv 2003.12298",
    statistic="parts of speech, mean over layers: log ratio of a trained model's compression to "
    "that of the untrained one with its mask, less the size of the same ratio of accuracies; the "
    "smaller of LM's and MLM's",
    published=0.25,
    contradicted_if="under one of the objectives accuracies differ by the larger factor, or codes "
    "are longer after training",
    undecided_until=MORE_TEXT,
    of_training=False,  # it already includes the initial models
)
def code_length_tells_more(tables: Tables) -> Parts:
    def factor(objective: str, metric: str) -> np.ndarray:
        trained, untrained = (tagging(tables, n, metric) for n in (objective, START[objective]))
        return mean(log_ratio(trained, untrained))

    parts = []
    for name in ("lm", "mlm"):
        of_codes, of_accuracy = factor(name, "compression"), factor(name, "accuracy")
        parts += [of_codes - of_accuracy, of_codes + of_accuracy]  # accuracy may fall, too
    return parts


@probes_claim(
    statement="Language modeling teaches more syntax than translation does.",
    section="Zhang and Bowman 2018, arXiv 1809.10040",
    statistic=f"{TAGGING}, mean over layers: LM's less MT's",
    published=SHARE,
    differs="Narrower: parts of speech alone, where the paper has CCG categories, too.",
    contradicted_if="MT's is higher",
    undecided_until=MORE_TEXT,
    within=BETWEEN_SHARES,
)
def lm_teaches_more_syntax(tables: Tables) -> Parts:
    return [mean(tagging(tables, "lm")) - mean(tagging(tables, "mt"))]


@probes_claim(
    statement="With two stacks of layers, translation teaches more than denoising does.",
    section="Li et al. 2024, arXiv 2407.15489",
    statistic=f"{TAGGING}, mean over layers: MT's less that of denoising",
    published=SHARE,
    differs="Narrower: parts of speech of one language.",
    contradicted_if="denoising's is higher",
    undecided_until=FIVE,
    within=BETWEEN_SHARES,
)
def translation_beats_denoising(tables: Tables) -> Parts:
    return [mean(tagging(tables, "mt")) - mean(tagging(tables, "denoising"))]


@probes_claim(
    statement="With one stack, translations help less than with two: the architecture tells which "
    "objective is best.",
    section="Li et al. 2024, arXiv 2407.15489",
    statistic=f"{TAGGING}, mean over layers: MT's less that of denoising, less the same of "
    "translation LM and MLM",
    published=SHARE,
    differs="Wider: less help, where the paper has another order of objectives. Narrower: parts of "
    "speech of one language.",
    contradicted_if="translations help more with one stack",
    undecided_until=FIVE,
)
def translations_help_two_stacks_more(tables: Tables) -> Parts:
    known = {name: mean(tagging(tables, name)) for name in ("mt", "denoising", "tlm", "mlm")}
    return [known["mt"] - known["denoising"] - (known["tlm"] - known["mlm"])]


@probes_claim(
    statement="A model that learns LM and then MLM is better than one that learns MLM for as many "
    "updates.",
    section="Gisserot-Boukhlef et al. 2025, arXiv 2507.00994",
    statistic=f"{TAGGING}, mean over layers: that of LM, then MLM, less that of MLM",
    published=SHARE,
    differs="Another: a classifier on frozen layers, where the paper fine-tunes.",
    contradicted_if="MLM alone is better",
    undecided_until=SWITCH,
    within=BETWEEN_SHARES,
)
def lm_first_helps_mlm(tables: Tables) -> Parts:
    return [mean(tagging(tables, "lm_then_mlm")) - mean(tagging(tables, "mlm"))]


def tagging_at_steps(tables: Tables, objective: str) -> dict[int, np.ndarray]:
    """How well parts of speech are told after each number of updates, mean over layers."""
    return at_steps(tables, "probes", objective, lambda name: mean(tagging(tables, name)))


@probes_claim(
    statement="A language model learns what it learns earlier than a masked model does.",
    section="Gisserot-Boukhlef et al. 2025, arXiv 2507.00994",
    statistic=f"{TAGGING}, mean over layers: midpoint of its rise from the first to the last of "
    "the steps that both have, MLM's less LM's, doublings of updates; only if it rises in both",
    where=lambda tables: rises(tagging_at_steps(tables, "mlm"), tagging_at_steps(tables, "lm")),
    where_size=HALF,
    published=DOUBLINGS,
    differs="Another: when, on the way to what each comes to, where the paper has how much after "
    "few updates, and fine-tunes.",
    contradicted_if="MLM's rise is earlier",
    undecided_until=STEPS,
    of_training=False,  # it is about training, not about what was there before
)
def lm_learns_earlier(tables: Tables) -> Parts:
    return later(tagging_at_steps(tables, "mlm"), tagging_at_steps(tables, "lm"))


def later(one: dict[int, np.ndarray], other: dict[int, np.ndarray]) -> Parts:
    """How much later one value rises than another of the same run or seed, in doublings of updates.

    one, other: by update; the steps that both have count. Values that rise together have 0.
    """
    steps = shared(one, other)
    times = np.log2(steps)
    a, b = (midpoint(times, np.stack([of[step] for step in steps])) for of in (one, other))
    return [a - b]


def rises(one: dict[int, np.ndarray], other: dict[int, np.ndarray]) -> Parts:
    """The rise of each value from the first to the last of the steps that both have."""
    steps = shared(one, other)
    return [of[steps[-1]] - of[steps[0]] for of in (one, other)]


def shared(one: dict[int, np.ndarray], other: dict[int, np.ndarray]) -> list[int]:
    """The steps that both have, in order, without step 0, which has no logarithm."""
    steps = sorted(one.keys() & other.keys() - {0})
    if len(steps) < LEAST_STEPS:
        raise NotEnoughError(f"{LEAST_STEPS} steps of training at which both were looked at")
    return steps


# Trees


def edges(tables: Tables, objective: str) -> Curve:
    """The share of a tree's edges that a linear map finds, from layer 1 up."""
    return layers(tables, "structural_probe", objective, metric="uuas")


@structural_probe_claim(
    statement="Trained models hold syntax trees in a linear map of their layers, untrained ones "
    "much less.",
    section="Hewitt and Manning 2019 (A Structural Probe)",
    statistic="share of edges found (UUAS), middle third of the layers: a trained model's less "
    "that of the untrained one with its mask, the smaller of LM's and MLM's",
    published=0.2,
    differs="Wider: any difference counts as much less.",
    contradicted_if="under one of the objectives the untrained model has more",
    undecided_until=MORE_TEXT,
    of_training=False,  # it already includes the initial models
    within=BETWEEN_SHARES,
)
def training_adds_trees(tables: Tables) -> Parts:
    def added(objective: str) -> np.ndarray:
        trained, untrained = (edges(tables, name) for name in (objective, START[objective]))
        return mean(middle(trained)) - mean(middle(untrained))

    return every(("lm", "mlm"), added)


@structural_probe_claim(
    statement="A masked model holds trees best in its middle layers.",
    section="Hewitt and Manning 2019 (A Structural Probe)",
    statistic="MLM, share of edges found (UUAS): the smaller of the rise from the bottom to the "
    "middle third of the layers and the fall from there to the top third",
    published=SHARE,
    contradicted_if="it falls to the middle, or goes on rising to the top",
    undecided_until=f"{DEEPER}, and {MORE_TEXT}",
    within=BETWEEN_SHARES,
)
def trees_best_in_the_middle(tables: Tables) -> Parts:
    return rise_and_fall(edges(tables, "mlm"))


@structural_probe_claim(
    statement="A masked model has syntax in its layers before it shows in what it predicts.",
    section="Chen et al. 2024 (Sudden Drops in the Loss), arXiv 2309.07311",
    statistic="MLM, midpoint of a rise from the first to the last step looked at: that of "
    "the share of verbs whose form that agrees is the more probable one, less that of the share of "
    "edges found (UUAS) in the middle third of the layers, doublings of updates; only if both rise",
    where=lambda tables: rises(*behavior_and_trees(tables)),
    where_size=HALF,
    published=DOUBLINGS,
    differs="Another: trees in a linear map and verbs of held-out text, where the paper has heads "
    "that follow relations, and made-up sentences. Wider: later, by whatever time.",
    contradicted_if="verbs agree before there are trees",
    undecided_until=STEPS,
    of_training=False,  # it is about training, not about what was there before
)
def trees_before_agreement(tables: Tables) -> Parts:
    return later(*behavior_and_trees(tables))


def behavior_and_trees(tables: Tables) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """After each number of updates of MLM, how often verbs agree, and the share of edges found."""
    return (
        at_steps(tables, "agreement", "mlm", lambda name: agreeing(tables, name, "all")),
        at_steps(tables, "structural_probe", "mlm", lambda name: mean(middle(edges(tables, name)))),
    )


# Behavior


def agreeing(
    tables: Tables, objective: str, attractors: str, score: str = "verb", by: str = "model"
) -> np.ndarray:
    """The share of verbs whose form that agrees is preferred, mean of both numbers."""
    wanted = {"by": by, "score": score, "attractors": attractors, "number": "both"}
    return rows(tables, "agreement", objective=objective, **wanted).values("accuracy")[0]


@agreement_claim(
    statement="Nouns of the other number between a subject and its verb mislead language models.",
    section="Linzen et al. 2016, arXiv 1611.01368",
    statistic="LM, share of verbs whose form that agrees is the more probable one: without such "
    "nouns less with them",
    published=4 * SHARE,
    differs="Another: a Transformer, where the paper has LSTMs.",
    contradicted_if="verbs agree more often with such nouns between",
    undecided_until=MORE_TEXT,
)
def attractors_mislead_lm(tables: Tables) -> Parts:
    return [agreeing(tables, "lm", "0") - agreeing(tables, "lm", "1+")]


@agreement_claim(
    statement="They do not mislead a masked model that sees both sides.",
    section="Goldberg 2019 (Assessing BERT's Syntactic Abilities), arXiv 1901.05287",
    statistic="MLM, share of verbs whose form that agrees is the more probable one, with nouns of "
    "the other number between, less a half",
    published=0.45,
    differs="Wider: more than half of the verbs, where BERT has nearly all.",
    contradicted_if="the noun between decides more often",
    undecided_until=LONGER,
    within=LESS_A_HALF,
)
def mlm_sees_through_attractors(tables: Tables) -> Parts:
    return [agreeing(tables, "mlm", "1+") - HALF]


@agreement_claim(
    statement="Neural language models know agreement better than 5-grams of the same text do.",
    section="Warstadt et al. 2020 (BLiMP), arXiv 1912.00582",
    statistic="share of sentences that are more probable with the form of the verb that agrees: "
    "LM's less that of 5-grams",
    published=0.198,
    published_as="of another statistic",  # an LSTM and 5-grams, six sets of BLiMP
    differs="Another: clauses of held-out text, where the paper has made-up sentences.",
    contradicted_if="5-grams are better",
    undecided_until=MORE_TEXT,
)
def lm_beats_ngrams(tables: Tables) -> Parts:
    def of(by: str) -> np.ndarray:
        return agreeing(tables, "lm", "all", "sentence", by)

    return [of("model") - of("5-grams")]


@agreement_claim(
    statement="A model that learns LM and MLM in turns is as good at either as one that learns it "
    "alone, or better.",
    section="Charpentier and Samuel 2024 (GPT-BERT), arXiv 2410.24159",
    statistic="share of verbs whose form that agrees is the more probable one: the smaller of what "
    "the model of both has more than MLM, seeing both sides, and than LM, seeing no later token",
    published=SHARE,
    differs="Narrower: better. Another: verbs of held-out text, and half of the text for each, "
    "where the paper has made-up sentences, and one batch in sixteen for LM.",
    contradicted_if="it is worse at one of them",
    undecided_until=SWITCH,
)
def both_are_better_than_either(tables: Tables) -> Parts:
    alone = {"mlm": "lm_with_mlm", "lm": "lm_with_mlm_as_lm"}
    return [
        agreeing(tables, both, "all") - agreeing(tables, one, "all") for one, both in alone.items()
    ]


# Order of words


def followed(tables: Tables, objective: str, part: str) -> Curve:
    """How far tokens follow the move of a word, from layer 1 up."""
    wanted = {"order": "moved", "quantity": "distance", "part": part}
    return layers(tables, "word_order", objective, **wanted)


@claim(
    measure="word_order",
    statement="Of a language model's context, order matters near by and hardly far away.",
    section="Khandelwal et al. 2018 (Sharp Nearby, Fuzzy Far Away), arXiv 1805.04623",
    statistic="LM, by how much its loss is above that of true sentences with words shuffled in "
    "windows of four; the smaller of this and its lead over half of that with words shuffled in "
    "the whole sentence, nats",
    published=NATS,
    differs="Another: windows of a sentence, where the paper shuffles what is more than so many "
    "tokens away, up to hundreds.",
    contradicted_if="most of the loss is due to order beyond four words, or none to order within",
    undecided_until=LONGER,
    of_training=False,  # a network that was not trained predicts nothing
)
def order_matters_near_by(tables: Tables) -> Parts:
    def above(order: str) -> np.ndarray:
        wanted = {"order": order, "quantity": "loss_nats", "part": "all"}
        return rows(tables, "word_order", objective="lm", **wanted).values("value")[0]

    return [above("within_4") - above("shuffled") / 2, above("within_4")]


@claim(
    measure="word_order",
    statement="A masked model's lower layers hold the places of words, its upper layers less so.",
    section="Lin et al. 2019 (Open Sesame), arXiv 1906.01698",
    statistic="MLM, distance of words between the old and the new place of a word that moved, "
    "which make room by one place, less that of the words before and after, which keep theirs, as "
    "a share of that of other occurrences: bottom third of the layers; the smaller of this and its "
    "lead over the top third",
    published=SHARE,
    differs="Another: how far representations follow, where the paper has a classifier for places.",
    contradicted_if="the upper layers follow more, or the lower ones not at all",
    undecided_until=LONGER,
)
def mlm_forgets_places(tables: Tables) -> Parts:
    kept = mean([followed(tables, "mlm", part) for part in ("before", "after")])
    of_place = followed(tables, "mlm", "between") - kept
    return [mean(bottom(of_place)) - mean(top(of_place)), mean(bottom(of_place))]


@claim(
    measure="bertscore",
    statement="How alike two sentences are is best told near the top of a masked model (of six "
    "layers, in the fifth).",
    section="Zhang et al. 2020 (BERTScore), arXiv 1904.09675",
    statistic="MLM, rank correlation of BERTScore with how alike the translations of two sentences "
    "are: top third of the layers less the larger of bottom and middle third",
    published=SHARE,
    differs="Another: likeness of translations, and ranks, where the paper correlates with ratings "
    "of people themselves. Wider: the top third, the last layer included.",
    contradicted_if="lower layers tell it better",
    undecided_until=LONGER,
)
def likeness_best_near_the_top(tables: Tables) -> Parts:
    likeness = layers(tables, "bertscore", "mlm", pairs="translation", centered=False)
    return [mean(top(likeness)) - mean(part(likeness)) for part in (bottom, middle)]


# Stitching


def cost(tables: Tables, objective: str, other: str) -> np.ndarray:
    """What it costs a model to go on from the states of another one, in nats, mean over layers. If
    both have one objective, the other one has another seed."""
    return mean(layers(tables, "stitching", objective, from_objective=other, fit="loss"))


@stitching_claim(
    statement="Another seed's states stand in better than another objective's.",
    statistic=f"{STITCHED}: from the two other objectives, mean, less from another seed, the "
    "smallest of LM's, MLM's and MT's, nats",
    differs="Another: of images, the paper finds that objectives stand in for each other as seeds "
    "do.",
    contradicted_if="under one of the objectives another one's states cost less",
    of_training=False,  # models that are not trained predict nothing
)
def seeds_stand_in_better(tables: Tables) -> Parts:
    def more(objective: str) -> np.ndarray:
        others = [cost(tables, objective, other) for other in START if other != objective]
        return mean(others) - cost(tables, objective, objective)

    return every(tuple(START), more)


@stitching_claim(
    statement="MT's states cannot stand in for LM's, nor LM's for MT's.",
    statistic=f"{STITCHED}: the other objective's, less half-way from another seed to what that "
    "objective started from, the smaller of LM's and MT's, nats",
    differs="Another: the paper finds that objectives can, of images. Wider: at least half as bad "
    "as an untrained network.",
    contradicted_if="one of them is nearer to a seed than to an untrained network",
    of_training=False,  # it already includes the initial models
)
def mt_and_lm_do_not_stand_in(tables: Tables) -> Parts:
    def beyond_half(objective: str, other: str) -> np.ndarray:
        ends = [cost(tables, objective, name) for name in (objective, START[other])]
        return cost(tables, objective, other) - mean(ends)

    return [beyond_half("lm", "mt"), beyond_half("mt", "lm")]


@stitching_claim(
    statement="What training made of a network stands in better than what it started from.",
    statistic=f"{STITCHED}: from an untrained network with its mask, less from another seed, the "
    "smallest of LM's, MLM's and MT's, nats",
    contradicted_if="under one of the objectives an untrained network's states cost less",
    of_training=False,  # it already includes the initial models
)
def untrained_states_cost_more(tables: Tables) -> Parts:
    def more(objective: str) -> np.ndarray:
        return cost(tables, objective, START[objective]) - cost(tables, objective, objective)

    return every(tuple(START), more)


# Features


def imbalance(tables: Tables, *objectives: str) -> np.ndarray:
    """How unequal the features of two objectives are, or of two seeds of one, mean over layers and
    pairs of runs."""
    table = rows(tables, "dictionary", measure="imbalance")
    return mean(of_pairs(table, {*objectives}, len(objectives) == 2).values("value"))


@claim(
    measure="dictionary",
    statement="Two objectives differ in their features more than two seeds of one do.",
    section="Lindsey et al. 2024 (Sparse Crosscoders)",
    statistic="how far the norms of a feature's two decoders are from equal, mean over what "
    "is active and over layers: of two objectives with one seed, less the mean of two seeds of "
    "either one, the smallest of LM and MLM, LM and MT, MLM and MT",
    published=SHARE,
    differs="Another: how unequal features are, where such work counts those that one model alone "
    "has, and has no second seed beside.",
    contradicted_if="two seeds of one objective differ more",
    undecided_until="more seeds",
    across_seeds=True,
    of_training=False,  # models that are not trained have no dictionary
)
def features_tell_objectives_apart(tables: Tables) -> Parts:
    def more(a: str, b: str) -> np.ndarray:
        of_one = mean([imbalance(tables, name) for name in (a, b)])
        return imbalance(tables, a, b) - of_one

    return [more(*pair) for pair in combinations(START, 2)]


# Diffusion and switched objectives


@claim(
    measure="pwcca_between_layers",
    statement="The lower layers of masked diffusion are redundant, those of a language model are "
    "not.",
    section="arXiv 2603.07475 (2026; of LLaDA, Qwen2.5 and Dream-7B)",
    statistic="PWCCA distance between consecutive layers, mean of all steps less the bottom third: "
    "diffusion's; the smaller of this and its lead over LM's",
    published=PWCCA,
    differs="Another: how much less a layer changes than others of its model, where the paper "
    "leaves layers out.",
    contradicted_if="lower layers of diffusion change more than the others, or than LM's do",
    undecided_until=f"{DEEPER}, and more seeds of studies/diffusion.yaml",
)
def diffusion_changes_less_below(tables: Tables) -> Parts:
    def less_below(objective: str) -> np.ndarray:
        steps = between_layers(tables, objective)
        return mean(steps) - mean(bottom(steps))

    return [less_below("diffusion") - less_below("lm"), less_below("diffusion")]


@claim(
    measure="pwcca_between_runs",
    statement="A model that goes on from an LM stays like it, whatever it learns afterwards.",
    section="arXiv 2603.07475 (2026; of Dream-7B, which started as Qwen2.5)",
    statistic="PWCCA distance of a model that learned LM, then MLM, and sees both sides, to models "
    "of its seed, mean over layers: to one that learned MLM alone less to one that learned LM "
    "alone",
    published=PWCCA,
    differs="Another: MLM, where the paper has diffusion.",
    contradicted_if="it is nearer to MLM",
    undecided_until=SWITCH,
    of_training=False,  # LM alone starts from a network with another mask
    within=BETWEEN_SHARES,
)
def mlm_stays_like_lm(tables: Tables) -> Parts:
    to_mlm, to_lm = (between_objectives(tables, "lm_then_mlm", name) for name in ("mlm", "lm"))
    return [mean(to_mlm) - mean(to_lm)]
