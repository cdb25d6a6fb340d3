"""What the papers leave open: how much of what they say of objectives is due to the attention mask.

LM alone reads under a causal mask. To separate its mask from its target there are, under each mask,
one model that predicts the next token (LM; `lm_bidirectional`), one that predicts the masked token
(`mlm_causal`; MLM), and one untrained model. None of this is published. The margin is a share of
what the evolution paper has published of the same measure.
"""

from functools import partial

import numpy as np

from bottomup.claims.claim import BETWEEN_SHARES, Claim, Parts, collect
from bottomup.claims.curves import between_objectives, information, mean, neighbors, top
from bottomup.claims.evolution import information_lost
from bottomup.claims.tables import Tables

CLAIMS: list[Claim] = []
claim = collect(
    CLAIMS, paper="beyond", published_as="assumed", differs="Not a sentence of a paper."
)

INFORMATION = "The mask: information with the input"
DISTANCE = "The mask: distance between tasks"
TOKEN = "The mask: token identity"
# Sizes. NATS: what the paper's MLM forgets, the least of the three objectives. PWCCA and SHARE: the
# published values of mt_and_mlm_closest and lm_keeps_token_worst.
NATS, PWCCA, SHARE = 0.137, 0.0294, 0.116
MORE_RUNS = "studies/mask_and_target.yaml, or more seeds of it"
WIDER = "a wider model, as in studies/workstation.yaml"
LOST = "information with the input, loss since the embeddings, mean over layers"

information_claim = partial(
    claim, measure="mutual_information", section=INFORMATION, published=NATS, of_training=False
)


def lost(tables: Tables, objective: str) -> np.ndarray:
    return information_lost(information(tables, objective))


def same_token(tables: Tables, objective: str) -> np.ndarray:
    return mean(top(neighbors(tables, objective, "token")))


@information_claim(
    statement="Before any training, a causal mask alone makes a network lose information with the "
    "input.",
    statistic=f"{LOST}: that of the untrained causal network, less that of the untrained network "
    "that sees both sides, nats",
    contradicted_if="the untrained causal network loses less",
    undecided_until=WIDER,
)
def causal_mask_forgets(tables: Tables) -> Parts:
    return [lost(tables, "untrained_causal") - lost(tables, "untrained")]


@information_claim(
    statement="Training makes LM forget more of its input than its mask did before.",
    statistic=f"{LOST}: LM's less that of the untrained causal network, nats",
    contradicted_if="LM has lost less than its initial model",
    undecided_until=WIDER,
)
def lm_forgets_more_than_its_mask(tables: Tables) -> Parts:
    return [lost(tables, "lm") - lost(tables, "untrained_causal")]


@information_claim(
    statement="Under one mask, predicting the next token forgets more of the input than predicting "
    "the masked one.",
    statistic=f"{LOST}: LM's less MLM's, the smaller of the two under the causal mask and under "
    "the mask that sees both sides, nats",
    contradicted_if="under one of the masks the masked token's objective forgets more",
    undecided_until=MORE_RUNS,
)
def next_token_forgets_more(tables: Tables) -> Parts:
    return [
        lost(tables, "lm") - lost(tables, "mlm_causal"),
        lost(tables, "lm_bidirectional") - lost(tables, "mlm"),
    ]


@information_claim(
    statement="For one target, a causal mask forgets more of the input than one that sees both "
    "sides.",
    statistic=f"{LOST}: causal less both sides, the smaller of the two for next-token and for "
    "masked-token models, nats",
    contradicted_if="for one of the targets the causal mask forgets less",
    undecided_until=MORE_RUNS,
)
def causal_mask_forgets_more_when_trained(tables: Tables) -> Parts:
    return [
        lost(tables, "lm") - lost(tables, "lm_bidirectional"),
        lost(tables, "mlm_causal") - lost(tables, "mlm"),
    ]


@claim(
    measure="pwcca_between_runs",
    statement="What separates LM from MLM is the mask rather than the target: models with one mask "
    "are closer than models with one target.",
    section=DISTANCE,
    statistic="PWCCA distance, mean over layers: mean of the two pairs with one target and two "
    "masks, less mean of the two pairs with one mask and two targets",
    published=PWCCA,
    contradicted_if="models with one target are closer",
    undecided_until=MORE_RUNS,
    of_training=False,
    within=BETWEEN_SHARES,
)
def mask_parts_more_than_target(tables: Tables) -> Parts:
    def apart(a: str, b: str) -> np.ndarray:
        return mean(between_objectives(tables, a, b))

    of_target = [apart("lm", "lm_bidirectional"), apart("mlm", "mlm_causal")]
    of_mask = [apart("lm", "mlm_causal"), apart("mlm", "lm_bidirectional")]
    return [mean(of_target) - mean(of_mask)]


@claim(
    measure="neighbors",
    statement="For one target, token identity is kept worse under a causal mask.",
    section=TOKEN,
    statistic="share of neighbors with the same token, top third of the layers: both sides less "
    "causal, the smaller of the two for next-token and for masked-token models",
    published=SHARE,
    contradicted_if="for one of the targets the causal mask keeps it better",
    undecided_until=MORE_RUNS,
    of_training=False,
    within=BETWEEN_SHARES,
)
def causal_mask_keeps_token_worse(tables: Tables) -> Parts:
    return [
        same_token(tables, "lm_bidirectional") - same_token(tables, "lm"),
        same_token(tables, "mlm") - same_token(tables, "mlm_causal"),
    ]
