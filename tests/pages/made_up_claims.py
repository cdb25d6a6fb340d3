"""Claims with verdicts of every kind."""

import io

import pandas as pd

# Made up, but as they may be; what is empty is not known.
CLAIMS = """
paper;measure;value;half;untrained;published;verdict;provisional;statement
evolution;mutual_information;.031;.012;.004;.0782;reproduced;;LM loses information on its input.
evolution;mutual_information;.021;.041;;.482;smaller than published;;LM forgets most of the \
input token.
evolution;mutual_information;.09;.03;;.482;depends on the estimator;;MT forgets less than LM.
evolution;mutual_information;-.052;.013;-.011;.0561;contradicted;;MLM first loses information \
about the input token, then recovers it at the top layers (context encoding, token reconstruction).
evolution;mutual_information;.11;.014;-.02;.0684;reproduced;one run;LM accumulates information \
about the token that it predicts.
evolution;pwcca_between_runs;-.053;.004;;.0904;contradicted;;Models trained for the same task from \
other initial weights are more similar than models trained with different objectives.
evolution;pwcca_between_runs;.041;.006;;.0294;reproduced;;MT and MLM are closer than either to LM.
evolution;change;.0019;.0008;.0017;.011;reproduced;;MT changes less and less from bottom to top.
evolution;change;.31;.04;.29;.576;reproduced;;In MT and LM frequent tokens change more \
than rare ones.
evolution;influence;-.42;.1;-.05;.531;contradicted;;Rare tokens influence others more than \
frequent ones.
evolution;neighbors;.054;.004;;.0437;reproduced;;MLM best preserves token identity.
evolution;neighbors;5.7;.3;;2.67;reproduced;;MT best preserves token position.
evolution;influence;;;;.131;not measured;;With token dropout on the input in training, MT and LM \
have no extreme influence of the rarest tokens.
heads;heads;-.55;.01;-.61;.09;absent, as before training;;There are positional heads: at \
least 90 % of the time their maximum rests on the previous token, or on the next.
heads;heads;.48;.09;.12;.476;reproduced;;The relevance of a head agrees with its confidence.
heads;pruning;.032;.08;;.0249;undecided;one run;Most encoder heads can be pruned with little loss.
heads;pruning;-.011;.005;;.0272;not yet;one run;Cross-attention heads are pruned last.
heads, asked anew;pruning;-.021;.009;;.0131;contradicted;one run;The heads that gates keep are \
better than as many drawn at random.
heads, asked anew;heads;.211;.03;-.12;.279;reproduced;;LM: some heads track objects and their verbs.
beyond;probes;.18;.02;.02;;depends on the estimator;;MLM keeps a part of speech up to its top layer.
beyond;isotropy;.02;.03;-.01;;undecided;;Representations become less isotropic from layer to layer.
"""


def claims() -> pd.DataFrame:
    """The table of claims."""
    table = pd.read_csv(io.StringIO(CLAIMS), sep=";", dtype={"provisional": str})
    undecided, depends = (
        table["verdict"].eq(name) for name in ("undecided", "depends on the estimator")
    )
    added, uncorrected = (
        table["value"] - table["untrained"],
        table["verdict"].mask(depends, "reproduced"),
    )
    return table.assign(
        claim=[f"claim_{place}" for place in table.index],
        section="Mutual information with input; figure ib_mi_tasks",
        statistic="information with the input, fall from the embeddings to the top third of the "
        "layers: LM’s less MT’s, or MLM’s if less, nats",
        ci_low=table["value"] - table["half"],
        ci_high=table["value"] + table["half"],
        margin=0.05 * table["published"].fillna(0.2),
        published_as="",
        differs="Narrower: it must fall from third to third.",
        share=table["value"] / table["published"],
        share_low=(table["value"] - table["half"]) / table["published"],
        share_high=(table["value"] + table["half"]) / table["published"],
        power=0.81 + 0 * table["value"],
        otherwise=table["verdict"].map({"not yet": "contradicted"}).fillna(""),
        not_ready=table["verdict"].map({"not yet": "mt: bleu 2, below 10"}).fillna(""),
        same_number_as="",
        added=added,
        added_low=added - 0.01,
        added_high=added + 0.01,
        uncorrected=uncorrected,
        p_value=0.0031,
        specifications=4 * table["value"].notna(),
        look=1 + 0 * table["value"],
        rests_on="lm mt mlm",
        specifications_agree=table["value"].notna()
        * (2 + uncorrected.isin(["undecided", "contradicted"])),
        runs=table["value"].notna() * 12,
        seeds="1 2",
        contradicted_if="MT’s or MLM’s falls further than LM’s",
        rank_correlation=0.94,
        curves="mutual_information_input, lm",
        undecided_until=undecided.map({True: "4.2 times the held-out text, if the values stay"}),
    )


def specifications() -> pd.DataFrame:
    """Four specifications of each measured claim: as it is judged, one that agrees, one by which it
    is undecided and one by which it is contradicted."""
    judged = claims().dropna(subset=["value"])
    own = judged[["claim", "value", "ci_low", "ci_high"]].assign(verdict=judged["uncorrected"])
    parts = [own.assign(estimator="as judged", layers="thirds", seeds="all")]
    for estimator, layers, seeds, factor, verdict in (
        ("classifier", "thirds", "all", 1.4, "undecided"),
        ("as judged", "halves", "all", 0.6, "contradicted"),
        ("as judged", "thirds", "without seed 1", 1.1, None),
    ):
        one = own.assign(estimator=estimator, layers=layers, seeds=seeds)
        one[["value", "ci_low", "ci_high"]] *= factor
        parts.append(one if verdict is None else one.assign(verdict=verdict))
    return pd.concat(parts).sort_values("claim", kind="stable")
