"""The site of a study, which needs no server: figures, claims and an explorer.

A page is a module with a template of the same name beside it.
"""

from pathlib import Path

import jinja2

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, **values: object) -> str:
    """A page from a template in this folder, with `values` as text unless they are markup."""
    return TEMPLATES.get_template(template).render(values)
