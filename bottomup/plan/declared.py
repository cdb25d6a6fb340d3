"""Whether tables declare what a table may be; see `bottomup.tables`."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from bottomup.core.errors import UserError
from bottomup.core.schema import allowed, nearest, uncounted, wrong_defaults
from bottomup.tables import Table

# The names of parts, as in `bottomup.core.names`, and what is made of them.
PARTS = {
    "run": (r"[^.]+", "runs, as from subjects.runs(...)"),
    "reading": (r"[^.]+\.(plain|as_trained)", "readings, as from subjects.readings()"),
    "pair": (r"[^.]+-\d+\.[^.]+-\d+", "pairs of runs, as from subjects.pairs_of_runs()"),
    "pruned": (r"[^.]+\.[^.]+\.[^.]+_.+", "pruned runs, as from subjects.pruned_runs()"),
}
# The outputs of a table, or of its parts, by its name.
OF_A_TABLE = re.compile(r"/measures/(\w+)(?:/.*|\.\w+)$")
TOLD = "one whose content `options` of TABLE tells, as in bottomup/tables/wordnet.py"
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
        f"bottomup/tables/{name}.py: {line}"
        for name, table in tables.items()
        for line in [*_mistyped(table)] or _contradictions(table, parts[name], reads)
    ]
    _raise(lines)


def require_sections(
    declared: Iterable[tuple[str, str, type[BaseModel], bool]], others: Collection[str]
) -> None:
    """Raise UserError for a section of `measures` that is declared twice, for a default that its
    key does not allow, and for a key that tells no plan what has changed.

    declared: as from `study.declared_sections`. others: sections that no table declares.
    """
    first: dict[str, tuple[str, type[BaseModel]]] = {}
    lines = []
    for table, section, model, more in declared:
        path, key = f"bottomup/tables/{table}.py", f"measures.{section}"
        owner, known = first.setdefault(section, (f"the table {table}", model))
        if section in others:
            owner, known = "bottomup/core/settings.py", BaseModel
        if known is model:
            lines += [f"{path}: default of {line}" for line in wrong_defaults(model, key)]
            lines += [f"{path}: {line}" for line in uncounted(model, key, "" if more else TOLD)]
        else:
            lines.append(
                f"{path}: found the section {key}, which {owner} declares with other keys; "
                "allowed: another section, or the Settings of that table"
            )
    _raise(lines)


def require_own_names(tables: Collection[str], written: Mapping[str, Iterable[str]]) -> None:
    """Raise UserError for a table that has the name of one that another program of a study writes.

    written: the outputs of each rule, by name.
    """
    others = {
        found[1]
        for rule, outputs in written.items()
        for output in outputs
        if (found := OF_A_TABLE.search(output)) and rule != f"measure_{found[1]}"
    }
    _raise(
        f"bottomup/tables/{name}.py: found a table that a study has beside these; rename the file"
        for name in sorted(others & {*tables})
    )


def _raise(lines: Iterable[str]) -> None:
    if lines := [*lines]:
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
