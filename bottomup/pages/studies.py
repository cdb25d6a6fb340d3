"""The page of several studies side by side: what each says of every claim."""

from collections.abc import Mapping

import pandas as pd

from bottomup.claims import words
from bottomup.core.errors import UserError
from bottomup.core.settings import Section
from bottomup.pages import render
from bottomup.pages.claims import checked, counted, shown_value
from bottomup.pages.signs import VERDICTS


class Studies(Section):
    """The study that the page is of, and what its column and those of others are called."""

    study: str
    columns: list[str]


def page(study: str, claims: Mapping[str, pd.DataFrame]) -> str:
    """The page, to lie in the study's folder: the count of verdicts in each study, and a row for
    each claim that any of them has, by paper and then in their order.

    claims: by column, the claims of a study, with the columns of `claims.csv`.

    Raises UserError if a column is missing, a verdict or a paper is unknown, or two studies have
    another statistic for one claim.
    """
    every = {name: checked(table, f"claims of {name}") for name, table in claims.items()}
    by_name = {name: _by_claim(table) for name, table in every.items()}
    named = checked(pd.concat(every.values()).drop_duplicates("claim"))
    return render(
        "studies.html",
        study=study,
        names=list(every),
        counts=[counted(name, "", table) for name, table in every.items()],
        looks=VERDICTS,
        rows=[_row(claim, by_name) for claim in named.to_dict("records")],
    )


def _by_claim(claims: pd.DataFrame) -> dict[str, dict]:
    return {claim["claim"]: claim for claim in claims.to_dict("records")}


def _row(claim: dict, by_name: Mapping[str, Mapping[str, dict]]) -> dict:
    """A claim with its cell in each study; None where a study does not ask it."""
    cells = {name: claims.get(claim["claim"]) for name, claims in by_name.items()}
    asked = {name: of["statistic"] for name, of in cells.items() if of}
    first, *others = asked
    for name in others:
        if asked[name] != asked[first]:
            raise UserError(
                f"the claim {claim['claim']} has another statistic in {name} than in {first}: they "
                "were judged by different code; run the older study again"
            )
    said = {_said(of) for of in cells.values() if of and of["verdict"] != words.NOT_MEASURED}
    return {
        "statement": claim["statement"],
        "statistic": claim["statistic"],
        "paper": claim["paper"].capitalize(),
        "differs": len(said) > 1,
        "cells": [of and _cell(of) for of in cells.values()],
    }


def _cell(claim: dict) -> dict[str, str]:
    """What a study says of a claim, its value, and the marks without which no verdict is quoted."""
    measured = claim["verdict"] != words.NOT_MEASURED
    value = shown_value(claim) if measured else ""
    return {
        "verdict": claim["verdict"],
        "said": _said(claim),
        "value": value,
        "provisional": claim["provisional"],
    }


def _said(claim: dict) -> str:
    """The verdict, and in models that may still come to it, what it would be otherwise."""
    return f"{claim['verdict']}: {claim['otherwise']}" if claim["otherwise"] else claim["verdict"]
