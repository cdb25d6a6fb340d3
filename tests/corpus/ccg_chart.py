"""Do categories combine into one phrase? Every derivation of a short sentence, in a chart.

The rules are those of CCGbank's grammar: application, composition, coordination, the absorption of
punctuation, and its changes of type.
"""

from functools import cache

PUNCTUATION = {",", ".", ":", "LRB", "RRB", "``", "''"}
VERB_PHRASES = {rf"S[{feature}]\NP" for feature in ("pss", "ng", "adj", "to")}


def phrases(categories: list[str]) -> set[str]:
    """What all of them together can be."""
    n = len(categories)
    chart = {(i, i + 1): retyped({category}) for i, category in enumerate(categories)}
    for start, end in ((i, i + width) for width in range(2, n + 1) for i in range(n - width + 1)):
        chart[start, end] = retyped(
            {
                phrase
                for middle in range(start + 1, end)
                for left in chart[start, middle]
                for right in chart[middle, end]
                for phrase in combined(left, right)
            }
        )
    return chart[0, n]


def retyped(found: set[str]) -> set[str]:
    """With what they may be instead."""
    more = {"NP"} if found & {"N", "N[num]", r"S[ng]\NP"} else set()
    if found & (VERB_PHRASES | {"S[dcl]/NP"}):
        more |= {r"NP\NP"}
    if found & VERB_PHRASES:
        more |= {r"(S\NP)\(S\NP)", "S/S"}
    return found | more


def combined(left: str, right: str):
    if left in PUNCTUATION or right in PUNCTUATION:
        yield right if left in PUNCTUATION else left
    if left in ("conj", ",", ":"):
        yield f"& {right}"
    if right == f"& {left}":
        yield left
    forward, backward = split(left), split(right)
    if forward[1] == "/":
        yield from applied(forward, right)
        yield from composed(forward, backward)
    if backward[1] == "\\":
        yield from applied(backward, left)
    if backward[1] == "\\" and forward[1] == "/":
        yield from composed(backward, forward)
    # The subject's type is raised, so that a clause may lack its object.
    if left in ("N", "NP") and backward[1] == "/" and split(backward[0])[1:] == ("\\", "NP"):
        yield f"{split(backward[0])[0]}/{grouped(backward[2])}"


def applied(functor, argument: str):
    result, _, wanted = functor
    if fits(wanted, argument):
        yield argument if result == wanted else result


def composed(functor, inner):
    result, _, wanted = functor
    if inner[1] and fits(wanted, inner[0]):
        yield grouped(inner[0] if result == wanted else result) + inner[1] + grouped(inner[2])


def fits(wanted: str, found: str) -> bool:
    """A category without feature fits each with one."""
    (a, slash, b), (c, other, d) = split(wanted), split(found)
    if slash or other:
        return slash == other and fits(a, c) and fits(b, d)
    bare = [category.partition("[")[0] for category in (wanted, found)]
    if bare[0] == bare[1]:
        return wanted == found or wanted in bare or found in bare
    return bare == ["NP", "N"]


@cache
def split(category: str) -> tuple[str, str, str]:
    """Result, slash and argument; empty strings after an atom."""
    depths = [category[:i].count("(") - category[:i].count(")") for i in range(len(category))]
    at = [i for i, depth in enumerate(depths) if category[i] in "/\\" and not depth]
    if not at or category.startswith("& "):
        return category, "", ""
    left, right = category[: at[0]], category[at[0] + 1 :]
    return unwrapped(left), category[at[0]], unwrapped(right)


def unwrapped(category: str) -> str:
    return category[1:-1] if category.startswith("(") else category


def grouped(category: str) -> str:
    return f"({category})" if split(category)[1] else category
