"""Sphinx: how the documentation is built (``make docs``).

Nothing is fetched while it is built or read: no inventories of other projects, no web fonts, no
formulas rendered by a script from elsewhere.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder, FileNameSortKey

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
os.environ.setdefault("SPD1_QUIET", "1")  # no lines about compiling in the gallery's output

from spd1.version import __version__  # noqa: E402

project = "spd1"
author = "The spd1 developers"
copyright = "The spd1 developers, BSD-3-Clause"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "auto_examples/*.ipynb", "auto_examples/*.py"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # an object below (the gallery's order) is not pickled
smartquotes = False  # options of the command line begin with two hyphens
nitpicky = True
nitpick_ignore = [("py:obj", "sparse_coef_")]  # numpydoc links properties of a class by name

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's Parameters sections say it in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(__init__|demo|linear_models)\.py",
    "within_subsection_order": FileNameSortKey,
    "subsection_order": ExplicitOrder([]),
    "download_all_examples": False,
    "remove_config_comments": True,
    "plot_gallery": os.environ.get("SPD1_GALLERY", "1") != "0",
    "min_reported_time": 1e9,
    "show_memory": False,
    "write_computation_times": False,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "capture_repr": ("_repr_html_", "__repr__"),
}

html_theme = "pydata_sphinx_theme"
html_title = "spd1"
html_static_path = ["_static"]
html_css_files = ["spd1.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "spd1"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "article_header_start": ["breadcrumbs"],
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}


def plain_bars(_app, _what, _name, _obj, _options, lines):
    """Docstrings write absolute values as in |x|, which is a substitution to reST: escape them."""
    literal = False
    for k, line in enumerate(lines):
        if line.strip() and not line.startswith(" "):
            literal = False
        if not literal and "|" in line and "``" not in line and not line.lstrip().startswith(">>>"):
            lines[k] = line.replace("|", "\\|")
        literal = literal or line.rstrip().endswith("::")


def setup(app):
    """Sphinx calls this."""
    app.connect("autodoc-process-docstring", plain_bars, priority=100)  # before numpydoc


linkcheck_ignore = [r"https?://.*"]  # internal links only: the build has no network
