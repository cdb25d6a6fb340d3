"""How the site is built: sphinx-build -W -b html docs site"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the library, for its docstrings

project = "bottomup"
author = "The bottomup authors"
version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# Captions are templates of the report, which is another page.
exclude_patterns = ["captions", "report.rst"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
default_role = "literal"  # of docstrings, which write code as Markdown does
autodoc_typehints = "none"  # types stand beside their arguments
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = "bottomup"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
