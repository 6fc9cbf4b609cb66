"""Settings of the documentation site: python -m sphinx -W docs site."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import methods
import pages

project = "trialframe"
author = copyright = "trialframe contributors"  # noqa: A001 - the name that Sphinx reads
release = version = metadata.version("trialframe")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["dbt", "studies"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "trialframe"
html_extra_path = ["llms.txt"]
html_show_sourcelink = False

HERE = Path(__file__).resolve().parent
(HERE / "methods.md").write_text(methods.page(), encoding="utf-8")
for name, text in pages.generated().items():
    (HERE / name).write_text(text, encoding="utf-8")
