"""Pages of a study that need no server: what it shows, to read and to look around in.

A page is a module, and a template of its name beside it.
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
