"""The site of a study, which needs no server: figures, claims and an explorer.

A page is a module with a template of the same name beside it.
"""

from functools import cache
from pathlib import Path

import jinja2
from jinja2.meta import find_referenced_templates

from bottomup.core.plurals import plural

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.globals["plural"] = plural


def template_files(*templates: str) -> list[str]:
    """The paths, from the repository's root, of templates and of all that these take in."""
    files: dict[str, None] = {}
    for name in templates:
        files |= dict.fromkeys([f"bottomup/pages/{name}", *template_files(*_taken_in(name))])
    return [*files]


@cache
def _taken_in(template: str) -> list[str]:
    text = (Path(__file__).parent / template).read_text("utf-8")
    return sorted({*map(str, find_referenced_templates(TEMPLATES.parse(text)))})


def render(template: str, **values: object) -> str:
    """A page from a template in this folder, with `values` as text unless they are markup."""
    return TEMPLATES.get_template(template).render(values)
