"""Whether tables declare what a table may be; see `bottomup.tables`."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from bottomup.core.errors import UserError
from bottomup.core.schema import allowed, nearest
from bottomup.tables import Table

# The names of parts, as in `bottomup.core.names`, and what is made of them.
PARTS = {
    "run": (r"[^.]+", "runs, as from subjects.runs(...)"),
    "reading": (r"[^.]+\.(plain|as_trained)", "readings, as from subjects.readings()"),
    "pair": (r"[^.]+-\d+\.[^.]+-\d+", "pairs of runs, as from subjects.pairs_of_runs()"),
    "pruned": (r"[^.]+\.[^.]+\.[^.]+_.+", "pruned runs, as from subjects.pruned_runs()"),
}
# Tables of a study that other programs write beside these.
OTHERS = {"claims", "specifications", "calibration", "comparison", "rank_correlations"}
OTHERS |= {"gates", "heads"}
# The inputs from which a table sees, by the room whose `Seen` it is.
NEEDED = {"views": {"views", "occurrences"}, "subjects": {"model"}}


def require_declared(
    tables: Mapping[str, Table],
    parts: Mapping[str, Sequence[str]],
    reads: Mapping[str, Collection[str]],
) -> None:
    """Raise UserError unless these tables can be made.

    parts: those of each table. reads: by name in `Table.reads`, the names of inputs.
    """
    lines = [
        f"bottomup/tables/{name}.py: found a table that a study has beside these; rename the file"
        for name in sorted(OTHERS & {*tables})
    ]
    lines += [
        f"bottomup/tables/{name}.py: {line}"
        for name, table in tables.items()
        for line in [*_mistyped(table)] or _contradictions(table, parts[name], reads)
    ]
    if lines:
        raise UserError("\n".join(lines))


def _mistyped(table: Table) -> Iterator[str]:
    for name, annotation in Table.__annotations__.items():
        value = getattr(table, name)
        try:
            TypeAdapter(annotation).validate_python(value, strict=True)
        except ValidationError:
            what = allowed(FieldInfo.from_annotation(annotation))
            yield f"{name}: found {value!r}; allowed: {what}"


def _contradictions(
    table: Table, parts: Sequence[str], reads: Mapping[str, Collection[str]]
) -> Iterator[str]:
    if unknown := [name for name in table.reads if name not in reads]:
        yield f"reads: found {unknown[0]}; {nearest(unknown[0], [*reads])}"
        return
    inputs = {file for name in table.reads for file in reads[name]}
    if missing := sorted(NEEDED[table.sees] - inputs):
        yield f"reads: found nothing that gives {missing[0]}, which sees={table.sees!r} needs"
    if table.part == "reading" and "annotations" in table.reads:
        yield "reads: found annotations, which are of plain text; allowed: for a run, not a reading"
    form, kind = PARTS[table.part]
    if wrong := [part for part in parts[:1] if not re.fullmatch(form, part)]:
        yield f"parts: found {wrong[0]}; allowed: {kind}, since it is about a {table.part}"
