"""Pages of a study that need no server: a gallery to read and an explorer.

A page is a module with a template of the same name beside it.
"""

from pathlib import Path

import jinja2

FOLDER = Path(__file__).parent


def render(template: str, **values: object) -> str:
    """A page from a template in this folder, with `values` as text unless they are markup."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(values)
