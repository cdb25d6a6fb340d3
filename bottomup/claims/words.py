"""The verdicts on a claim, each defined in a sentence; and the papers whose claims are judged."""

LEVEL = 0.05
PAPERS = {
    "evolution": "Voita, Sennrich, Titov 2019: The Bottom-up Evolution of Representations",
    "heads": "Voita, Talbot, Moiseev, Sennrich, Titov 2019: Analyzing Multi-Head Self-Attention",
    "heads, asked anew": "The same asked of LM and MLM, and of other ways to choose heads",
    "beyond": "Beyond the papers",
    "field": "Other papers of the field, 2016 to 2026",
}

REPRODUCED = "reproduced"
SMALLER = "smaller than published"
IN_PART = "learned in part"
ABSENT = "absent, as before training"
CONTRADICTED = "contradicted"
NOT_YET = "not yet"
ESTIMATOR = "depends on the estimator"
UNDECIDED = "undecided"
NOT_MEASURED = "not measured"
MEANING = {
    REPRODUCED: "The statistic is surely above the margin; where the sentence is about training "
    "and initial models are beside it, training surely adds to it.",
    SMALLER: "The statistic is surely below the published size, and not surely on either side: if "
    "it is there at all, it is smaller.",
    IN_PART: "The statistic is surely on the other side, but training surely moves it towards the "
    "sentence.",
    ABSENT: "The statistic is surely on the other side, and training does not surely move it "
    "either way: what the paper's models learned is not there.",
    CONTRADICTED: "The statistic is surely on the other side, and where the sentence is about "
    "training and initial models are beside it, training surely moves it there.",
    NOT_YET: "It is smaller, in part, absent or contradicted in models that may still come to it: "
    "they are weak, or their loss was still falling.",
    ESTIMATOR: "One estimator, or one choice of the layers that stand for bottom and top, finds it "
    "reproduced, another finds the statistic on the other side.",
    UNDECIDED: "None of these is sure: this study cannot tell, or, as a mark says, the sentence "
    "holds and training takes away from it.",
    NOT_MEASURED: "The study lacks what the statistic needs.",
}
# What is said of an undecided claim that more seeds would not decide.
OF_FIRST_SEED = (
    "its table is of the first seed alone; a study with another first seed tells how far runs are "
    "apart"
)
LESS_THAN_BEFORE = "no number of runs, since training takes away from it"
IN_VAIN = (OF_FIRST_SEED, LESS_THAN_BEFORE)
# The estimator, the layers and the seeds of the specification by which a claim is judged.
AS_JUDGED, THIRDS, ALL = "as judged", "thirds", "all"
# Verdicts that a longer training could change.
LACKING = (SMALLER, IN_PART, ABSENT, CONTRADICTED)
AGAINST = (IN_PART, ABSENT, CONTRADICTED)
# What a published value is, if it is not the statistic on the paper's own curves.
PUBLISHED_AS = {
    "": "",
    "of MT": "the paper gives it for MT alone",
    "of another statistic": "the paper's curve is of something alike, not of the same",
    "assumed": "no number of this statistic is published; this one stands in for it",
}
SIZES = ("", "of MT")  # which of these are a size of the statistic in the paper's models
