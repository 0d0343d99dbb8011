"""Sphinx configuration; build with ``sphinx-build -W --keep-going -b html docs docs/_build``. Nothing is fetched."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from restrict import __version__

ROOT = Path(__file__).resolve().parent.parent

project = "restrict"
author = "The restrict authors"
copyright = "2026, The restrict authors"
release = __version__
version = release

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "offline_math"]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "_extensions"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # a test holds that its outputs are those of a fresh run

# Short names in sections such as "Raises" may be those of several classes; the page still names the right one.
suppress_warnings = ["ref.python"]

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"

html_theme = "furo"
html_title = f"restrict {release}"
html_extra_path = ["schema"]
html_static_path = ["_static"]
html_css_files = ["pages.css"]
