r"""CCG categories of words: derived from dependency trees, or from the supertagger depccg.

`derived` reads a tree with the labels and tags of spaCy's English pipelines and gives categories
in the notation of CCGbank (Hockenmaier and Steedman 2007). A tree says what depends on what, and
on which side; these rules turn that into a word's category.

- *Nouns* are `N`. Pronouns, and determiners that stand alone, are `NP`; the subject *there* is
  `NP[thr]`, an expletive *it* `NP[expl]`. A number after its noun is `N[num]`, the noun `N/N[num]`.
- *Before a noun*, determiners and possessive pronouns are `NP/N`, *'s* is `(NP/N)\NP`; adjectives,
  participles, numbers and nouns are `N/N`.
- *Verbs* are `S[f]\NP`, with their complements (objects, predicates, clauses) as arguments to the
  right, the nearest one outermost: *give* is `((S[b]\NP)/NP)/NP`. The feature f is dcl (finite), b
  (bare; imperatives, too), to, ng, pss (passive) or pt (perfect). A verb expects its subject
  whether the sentence has one or not. The subject of an infinitive that is a complement is an
  object of the verb above: *allows you to open*.
- *Auxiliaries* and *to* take the verb phrase that follows: *is* before *opened* is
  `(S[dcl]\NP)/(S[pss]\NP)`. What precedes its subject, *is* in *is it open?*, is
  `(S[q]/(S[adj]\NP))/NP`.
- *Adjectives* as predicates are `S[adj]\NP`, with their complements.
- *Modifiers* are X/X before and X\X after what they modify. X is `S` for what precedes the subject
  of its verb, else `S\NP`; `N` before a noun, `NP` after it or before its determiner; and what any
  other word is together with its arguments. A negation modifies the auxiliary before it.
- *Prepositions* are modifiers, or `PP` where they are complements: of adjectives, of *be* without
  another predicate, of prepositions and adverbs, or as indirect objects. They take what follows,
  `/NP` mostly; so *of* after a noun is `(NP\NP)/NP`.
- *Subordinators* take a clause: *that* in a complement is `S[em]/S[dcl]`, *whether*
  `S[qem]/S[dcl]`; others make a modifier of it, *if* before a main clause `(S/S)/S[dcl]`. *Relative
  and question words* take a clause without a part, `(NP\NP)/(S[dcl]\NP)`, and leave its verbs as
  they are.
- A conjunct has the role of the word that it is joined to; *and* is `conj`. Punctuation is
  itself: `,` or `.`, quotation marks, `LRB` and `RRB`; all other punctuation is `:`.
- The tree outweighs the tag: a word with an object, a subject or an auxiliary is a verb.

Phrases change type without a trace in the categories of words, as in CCGbank: `N` to `NP`,
participles after nouns to `NP\NP`, infinitives of purpose to `(S\NP)\(S\NP)`. The trees do not
tell which prepositional phrases are complements of verbs, nor which arguments conjuncts share.
"""

from collections.abc import Iterable, Sequence, Set
from itertools import chain, pairwise
from typing import Literal

import numpy as np
import pandas as pd

from bottomup.core.errors import UserError

PUNCTUATION = {tag: tag for tag in (",", ".", ":", "``", "''")}
PUNCTUATION |= {"-LRB-": "LRB", "-RRB-": "RRB", "HYPH": ":", "NFP": ":"}
# NNS is here because taggers often take a verb in -s without a subject for a plural noun.
FEATURES = dict.fromkeys(["MD", "VBZ", "VBP", "VBD", "NNS"], "dcl")
FEATURES |= {"VB": "b", "VBG": "ng", "TO": "to", "JJ": "adj", "JJR": "adj", "JJS": "adj"}
ADVERBIAL_TAGS = frozenset(["IN", "TO", "RB", "RBR", "RBS", "RP", "UH", "WRB"])
PRONOUN_TAGS = frozenset(["PRP", "EX", "DT", "PDT", "WDT", "WP"])
WH_TAGS = frozenset(["WDT", "WP", "WRB"])

SUBJECTS = frozenset(["nsubj", "nsubjpass", "csubj", "csubjpass", "expl"])
AUXILIARIES = frozenset(["aux", "auxpass"])
CLAUSAL = frozenset(["ccomp", "xcomp", "pcomp", "csubj", "csubjpass"])
OBJECTS = frozenset(["dobj", "dative", "attr", "acomp", "oprd", "ccomp", "xcomp"])
COMPLEMENTS = OBJECTS | CLAUSAL
NOMINAL = frozenset(["nsubj", "nsubjpass", "dobj", "pobj", "appos", "poss"])
BEFORE_NOUN = frozenset(["amod", "compound", "nummod", "nmod", "poss"])
MODIFIERS = frozenset(["advmod", "neg", "prt", "quantmod", "preconj", "predet", "intj"])
ADVERBIAL = MODIFIERS | {"prep", "agent"}
BE = frozenset(["am", "is", "are", "was", "were", "be", "been", "being", "'s", "'re", "’s", "’re"])

Kind = Literal[
    "punctuation", "conjunction", "auxiliary", "case", "mark", "determiner", "wh",
    "before noun", "adverbial", "verb", "adjective", "pronoun", "noun",
]  # fmt: skip


def categories(annotation: pd.DataFrame, depccg_model: str | None) -> pd.DataFrame:
    """The categories of annotated words, with their parts and where they come from.

    annotation: as from `annotation.annotate`. depccg_model: see `supertagged`; None for `derived`.
    Returns columns ccg, ccg_left, ccg_right (see `parts`), and ccg_source (derived or depccg).
    """
    starts = np.flatnonzero(np.diff(annotation["sentence"], prepend=-1))
    columns = [annotation[name].tolist() for name in ("text", "tag", "relation", "head")]
    sentences = [
        [column[start:end] for column in columns]
        for start, end in pairwise([*starts.tolist(), len(annotation)])
    ]
    if depccg_model is None:
        by_sentence = [derived(*sentence) for sentence in sentences]
    else:
        by_sentence = supertagged((words for words, *_ in sentences), depccg_model)
    table = pd.DataFrame({"ccg": list(chain.from_iterable(by_sentence))}, dtype=str)
    split = [parts(category) for category in table["ccg"]]
    table["ccg_left"] = [left for left, _ in split]
    table["ccg_right"] = [right for _, right in split]
    table["ccg_source"] = "derived" if depccg_model is None else "depccg"
    return table


def supertagged(sentences: Iterable[Sequence[str]], model: str) -> list[list[str]]:
    """The likeliest category of each word, by the supertagger of depccg (Yoshikawa et al. 2017).

    model: the folder of an English model of depccg 3.0. The tags are not parsed, so headings and
    fragments get tags, too.

    Raises UserError if the package or the model is missing.
    """
    try:
        from depccg.instance_models import load_model
    except ImportError as error:
        raise UserError(
            f"annotation.depccg_model: found {model}, but not the package ({error}); run: pip "
            "install depccg==3.0.0, or set it to null for derived categories"
        ) from error
    try:
        tagger, _ = load_model(model)
    except RuntimeError as error:
        raise UserError(
            f"annotation.depccg_model: found {model}; allowed: the folder of an English model with "
            f"tagger_model.pt or weights.th ({error}), or null for derived categories"
        ) from error
    # One at a time: in a batch, the padding of shorter sentences would change their scores.
    return [_likeliest(tagger, words) for words in sentences]


def _likeliest(tagger, words: Sequence[str]) -> list[str]:
    (scores,), names = tagger.predict_doc([words])
    return [names[best] for best in scores.tag_scores.argmax(axis=1)]


def derived(
    texts: Sequence[str], tags: Sequence[str], relations: Sequence[str], heads: Sequence[int]
) -> list[str]:
    """The category of each word of a text, by the rules above.

    heads: the index of each word's head, its own for a root.
    """
    tree = _Tree(texts, tags, relations, heads)
    return [tree.category(i) for i in range(len(texts))]


def parts(category: str) -> tuple[str, str]:
    r"""What a category says about the left side of its word, and about the right side.

    The left part is its result with the arguments to the left; the right part is the arguments to
    the right: `S\NP` and `/NP` for `(S\NP)/NP`. Arguments are taken off until an atom is left. So
    the parts of `(N/N)/(N/N)` are `N` and `/N/(N/N)`, and the right part of an atom is empty.
    """
    arguments: dict[str, list[str]] = {"\\": [], "/": []}
    while at := _main_slash(category):
        arguments[category[at]].insert(0, category[at:])
        category = category[1 : at - 1] if category[0] == "(" else category[:at]
    for argument in arguments["\\"]:
        category = _grouped(category) + argument
    return category, "".join(arguments["/"])


def _main_slash(category: str) -> int:
    """The place of the slash outside all brackets; 0 for an atom."""
    depth = 0
    for at, character in enumerate(category):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character in "/\\":
            return at
    return 0


def _grouped(category: str) -> str:
    return f"({category})" if _main_slash(category) else category


def _functor(result: str, slash: str, argument: str) -> str:
    return _grouped(result) + slash + _grouped(argument)


class _Tree:
    """A dependency tree that gives the categories of its words.

    A category is a result with complements as its arguments. For each word, `places` has the first
    word of its coordination (itself outside of one), and `relations` and `heads` are those of that
    first word; `own` has the word's own relation. `wh` has the wh-words, by the verb of the clause.
    """

    def __init__(
        self,
        texts: Sequence[str],
        tags: Sequence[str],
        relations: Sequence[str],
        heads: Sequence[int],
    ) -> None:
        self.words = [text.lower() for text in texts]
        self.tags, self.own = tags, relations
        self.children: list[list[int]] = [[] for _ in texts]
        for i, head in enumerate(heads):
            if head != i:
                self.children[head].append(i)
        self.places = list(range(len(texts)))
        for i in range(len(texts)):
            while relations[self.places[i]] == "conj":
                self.places[i] = heads[self.places[i]]
        self.relations = [relations[place] for place in self.places]
        self.heads = [heads[place] for place in self.places]
        self.kinds = [self._kind(i) for i in range(len(texts))]
        self.wh = {self._wh_clause(i): i for i, kind in enumerate(self.kinds) if kind == "wh"}

    def category(self, i: int) -> str:
        category = self._result(i)
        for _, argument in sorted(self._complements(i), reverse=True):
            category = _functor(category, "/", argument)
        return category

    def _child(self, i: int, relations: Set[str]) -> int | None:
        """The first child of `i` in one of these relations to it."""
        return next((c for c in self.children[i] if self.own[c] in relations), None)

    # The kind of a word

    def _kind(self, i: int) -> Kind:
        tag, relation = self.tags[i], self.relations[i]
        if tag in PUNCTUATION or relation == "punct":
            return "punctuation"
        if relation == "cc":
            return "conjunction"
        if relation in AUXILIARIES:
            return "auxiliary"
        if relation == "case":
            return "case"
        if relation == "mark":
            return "mark"
        if relation == "det" or tag in ("PRP$", "WP$"):
            return "determiner"
        if tag in WH_TAGS and self._wh_clause(i) is not None:
            return "wh"
        if relation in BEFORE_NOUN and i < self.heads[i] and self._child(i, {"case"}) is None:
            return "before noun"
        if relation in ADVERBIAL:
            return "adverbial"
        return self._open_kind(i)

    def _open_kind(self, i: int) -> Kind:
        tag = self.tags[i]
        if self._is_verb(i):
            return "verb"
        if self.relations[i] not in NOMINAL and self._child(i, {"det"}) is None:
            if tag in ADVERBIAL_TAGS:
                return "adverbial"
            if FEATURES.get(tag) == "adj":
                return "adjective"
        return "pronoun" if tag in PRONOUN_TAGS else "noun"

    def _is_verb(self, i: int) -> bool:
        """Whether a word is tagged as a verb, or has a subject, auxiliary or object; with a
        determiner, as in "the following", it is none."""
        tagged = self.tags[i] == "MD" or self.tags[i].startswith("VB")
        verbal = tagged or self._child(i, SUBJECTS | AUXILIARIES | {"dobj"}) is not None
        return verbal and self._child(i, {"det"}) is None

    # The result of a word

    def _result(self, i: int) -> str:
        match self.kinds[i]:
            case "punctuation":
                return PUNCTUATION.get(self.tags[i], ":")
            case "conjunction":
                return "conj"
            case "case":
                return r"(NP/N)\NP"
            case "determiner":
                return "NP/N"
            case "before noun":
                return "N/N"
            case "noun":
                return "N[num]" if self.own[i] == "nummod" else "N"
            case "pronoun":
                return self._nominal(i)
            case "adjective":
                return r"S[adj]\NP"
            case "verb" | "auxiliary":
                return self._verb(i)
            case "adverbial":
                return self._adverbial(i)
            case "mark":
                return self._mark(i)
            case "wh":
                return self._wh(i)

    def _nominal(self, i: int) -> str:
        if self.own[i] == "expl":
            return "NP[thr]" if self.tags[i] == "EX" else "NP[expl]"
        return "NP"

    def _adverbial(self, i: int) -> str:
        if self._is_complement(i):
            return "PP"
        # "the menu in which": the clause comes between.
        if any(c > i and self.kinds[c] == "wh" for c in self.children[i]):
            return r"NP\NP"
        return self._modifier(i)

    def _mark(self, i: int) -> str:
        clause = self.heads[i]
        if self._child(clause, {"mark"}) != i:  # the second of "so that"
            return "S[em]"
        if self.relations[clause] not in COMPLEMENTS:
            return self._modifier(clause)
        return "S[qem]" if self.words[i] in ("whether", "if") else "S[em]"

    def _modifier(self, i: int) -> str:
        place, head = self.places[i], self.heads[i]
        if place == head:
            return "S/S"
        x = self._modified(place, head)
        negates_auxiliary = self.own[i] == "neg" and self._verbs(head)[0] < i
        return _functor(x, "/" if place < head and not negates_auxiliary else "\\", x)

    def _modified(self, place: int, head: int) -> str:
        match self.kinds[head]:
            case "noun" | "pronoun":
                determiner = self._child(head, {"det", "poss"})
                before_determiner = determiner is not None and place < determiner
                before_noun = place < head and self.kinds[head] == "noun"
                return "N" if before_noun and not before_determiner else "NP"
            case "verb":
                subject = self._subject(head)
                return "S" if subject is not None and place < subject else r"S\NP"
            case "punctuation" | "conjunction" | "auxiliary":
                return r"S\NP"
        return self._result(head)

    # Verbs

    def _verbs(self, verb: int) -> list[int]:
        """The chain of a verb: its auxiliaries, then the verb."""
        return [*(c for c in self.children[verb] if self.own[c] in AUXILIARIES), verb]

    def _subject(self, verb: int) -> int | None:
        return None if self._is_raised(verb) else self._child(verb, SUBJECTS)

    def _is_raised(self, verb: int) -> bool:
        """Whether the subject is an object of the verb above, as in "allows you to open"."""
        subject = self._child(verb, SUBJECTS)
        return (
            subject is not None
            and self.relations[verb] in ("ccomp", "xcomp")
            and self.heads[verb] < subject
            and self._feature(self._verbs(verb), 0) != "dcl"
            and self._child(verb, {"mark"}) is None
        )

    def _is_inverted(self, verb: int) -> bool:
        subject = self._subject(verb)
        return subject is not None and subject > self._verbs(verb)[0]

    def _feature(self, verbs: list[int], k: int) -> str:
        """The feature of the k-th verb of a chain."""
        if self.tags[verbs[k]] == "VBN":
            passive = verbs[k] == verbs[-1] and (k == 0 or self.own[verbs[k - 1]] == "auxpass")
            return "pss" if passive else "pt"
        return FEATURES.get(self.tags[verbs[k]], "b")

    def _verb_phrase(self, verbs: list[int], k: int) -> str:
        """The category of the verb phrase that begins at the k-th verb of a chain."""
        subject = self._subject(verbs[-1])
        expected = "NP" if subject is None else self._nominal(subject)
        return rf"S[{self._feature(verbs, k)}]\{expected}"

    def _verb(self, i: int) -> str:
        verbs, k = self._chain(i)
        first_of_question = k == 0 and self._is_inverted(verbs[-1])
        return "S[q]" if first_of_question else self._verb_phrase(verbs, k)

    def _chain(self, i: int) -> tuple[list[int], int]:
        """The chain of verbs that `i`, a verb or an auxiliary, belongs to, and its place there."""
        if self.kinds[i] == "verb":
            verbs = self._verbs(i)
            return verbs, len(verbs) - 1
        verbs = self._verbs(self.heads[i])
        return verbs, verbs.index(self.places[i])

    # Arguments

    def _is_complement(self, i: int) -> bool:
        place, head = self.places[i], self.heads[i]
        return place != head and any(c == place for c, _ in self._complements(head))

    def _complements(self, i: int) -> list[tuple[int, str]]:
        """Places and categories of the arguments to the right."""
        children = self.children[i]
        match self.kinds[i]:
            case "verb" | "auxiliary":
                return self._verb_complements(i)
            case "adjective":
                right = [c for c in children if c > i and self.own[c] in CLAUSAL]
                right += [c for c in children if c > i and self.own[c] == "prep"][:1]
            case "adverbial":
                right = [c for c in children if self.own[c] in ("pobj", "pcomp")]
                right = (right or [c for c in children if c > i and self.own[c] == "prep"])[:1]
            case "noun":
                right = [c for c in children if c > i and self.own[c] == "nummod"][:1]
            case "mark":
                clause = self.heads[i]
                last = max(c for c in self.children[clause] if self.own[c] == "mark")
                return [(clause, "S[em]" if i < last else self._clause(clause))]
            case "wh":
                return self._wh_complements(i)
            case _:
                return []
        return [(c, self._phrase(c)) for c in right]

    def _verb_complements(self, i: int) -> list[tuple[int, str]]:
        verbs, k = self._chain(i)
        verb, subject = verbs[-1], self._subject(verbs[-1])
        inverted = []
        if subject is not None and k == 0 and self._is_inverted(verb):
            inverted = [(subject, self._nominal(subject))]
        if i != verb:
            return [*inverted, (verbs[k + 1], self._verb_phrase(verbs, k + 1))]
        return inverted + self._objects(verb)

    def _objects(self, verb: int) -> list[tuple[int, str]]:
        children = self.children[verb]
        objects = [
            (c, self._phrase(c))
            for c in children
            if self.own[c] in OBJECTS and (c > verb or self.kinds[c] in ("wh", "noun"))
        ]
        raised = [self._child(c, SUBJECTS) for c in children if self._is_raised(c)]
        objects += [(subject, "NP") for subject in raised if subject is not None]
        if self._child(verb, {"expl"}) is not None:
            objects += [(c, "NP") for c in children if c > verb and self.own[c] == "nsubj"]
        if not objects and self.words[verb] in BE:
            return [(c, "PP") for c in children if c > verb and self.own[c] == "prep"][:1]
        # "the file you opened"
        if not objects and self.relations[verb] == "relcl" and verb not in self.wh:
            return [(verb, "NP")] if self._subject(verb) is not None else []
        return objects

    def _phrase(self, i: int) -> str:
        """The category of the phrase whose head is `i`."""
        mark = self._child(i, {"mark"})
        if mark is not None:
            return self._result(mark)
        if i in self.wh:
            return "S[qem]"
        return "N[num]" if self.own[i] == "nummod" else self._clause(i)

    def _clause(self, i: int, without: int | None = None) -> str:
        """The category of that phrase without its subordinator, or the wh-word `without`."""
        if self.kinds[i] != "verb":
            return {"adjective": r"S[adj]\NP", "adverbial": "PP"}.get(self.kinds[i], "NP")
        if self._is_inverted(i):
            return "S[q]"
        verbs = self._verbs(i)
        if self._subject(i) in (None, without):
            return self._verb_phrase(verbs, 0)
        return f"S[{self._feature(verbs, 0)}]"

    # Relative and question words

    def _wh_clause(self, i: int) -> int | None:
        """The verb of the clause that a wh-word begins, if any."""
        verb = self.heads[i]
        if self.relations[i] == "pobj":
            verb = self.heads[verb]
        # "what you want to do"
        while self.relations[verb] in ("ccomp", "xcomp") and self.heads[verb] > i:
            verb = self.heads[verb]
        begins = verb > i and (self._is_verb(verb) or self.relations[verb] == "advcl")
        return verb if begins else None

    def _wh(self, i: int) -> str:
        clause = self._wh_clause(i)
        assert clause is not None  # or `_kind` would not call it "wh"
        match self.relations[clause]:
            case "relcl":
                result = r"NP\NP"
            case "acl" | "advcl":
                result = self._modifier(clause)
            case relation:
                result = "S[qem]" if relation in COMPLEMENTS else "S[wq]"
        if self._follows_preposition(i):
            return _functor(_functor(result, "/", self._clause(clause)), "\\", r"(NP\NP)/NP")
        return result

    def _wh_complements(self, i: int) -> list[tuple[int, str]]:
        if self._follows_preposition(i):
            return []
        clause = self._wh_clause(i)
        assert clause is not None  # as in `_wh`
        rest = self._clause(clause, without=i)
        is_part = self.relations[i] not in ADVERBIAL | SUBJECTS
        return [(clause, _functor(rest, "/", "NP") if is_part else rest)]

    def _follows_preposition(self, i: int) -> bool:
        return self.relations[i] == "pobj" and self.heads[i] < i
