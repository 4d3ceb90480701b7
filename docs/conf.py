"""Sphinx reads this: make docs writes build/docs/html. docs/decisions/0014 says why these tools."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "_ext"))

project = "Tangere"
author = "the Tangere authors"
copyright = "the Tangere authors, Apache-2.0"
extensions = ["myst_parser", "sphinx_design", "headers", "stubs", "offline_math"]
exclude_patterns = ["_build", "conf.py", "_ext"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence", "dollarmath", "attrs_block"]
myst_dmath_double_inline = True
myst_heading_anchors = 3
html_math_renderer = "offline"
primary_domain = None
highlight_language = "text"

html_theme = "furo"
html_title = "Tangere"
html_static_path = ["_static"]
html_css_files = ["tangere.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5fa5", "color-brand-content": "#0b5fa5"},
    "dark_css_variables": {"color-brand-primary": "#6db3f2", "color-brand-content": "#6db3f2"},
}
