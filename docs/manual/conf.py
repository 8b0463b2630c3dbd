"""The manual: Sphinx with MyST-NB, static pages that work from disk.

``make docs`` builds it; warnings are errors. ``SYMDERIV_DOCS_EXECUTE=off`` leaves out the
notebooks' outputs, for a look at the text.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
TOP = HERE.parents[1]
sys.path.insert(0, str(HERE / "_ext"))

import symderiv  # noqa: E402

project = "symderiv"
author = "The symderiv developers"
project_copyright = author
version = release = symderiv.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinxcontrib.bibtex",
    "sphinx_copybutton",
    "sphinx_design",
    "native_mathml",
    "background_pages",
    "card_pictures",
    "engine_formulas",
    "reference_pages",
]
root_doc = "index"
exclude_patterns = ["_*", "**/.ipynb_checkpoints", "**/_examples"]

# --- text -----------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
html_math_renderer = "mathml"
bibtex_bibfiles = ["../bibliography.bib"]
bibtex_default_style = "alpha"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_custom_sections = ["Source"]
napoleon_use_rtype = False
napoleon_use_ivar = True

# --- notebooks ------------------------------------------------------------------------------------

nb_execution_mode = os.environ.get("SYMDERIV_DOCS_EXECUTE", "cache")
# without execution nothing says what language a cell is in
suppress_warnings = ["myst-nb.lexer"] if nb_execution_mode == "off" else []
# what is kept of notebooks is that of these sources
_SOURCES = hashlib.sha256(
    b"".join(
        path.read_bytes()
        for folder in ("symderiv", "codegen", "generated", "ledger", "models", "papers")
        for path in sorted((TOP / folder).rglob("*.py"))
    )
).hexdigest()[:16]
nb_execution_cache_path = str(TOP / "build" / "manual-notebooks" / _SOURCES)
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True
nb_merge_streams = True
# nothing is fetched from elsewhere when a page is read
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
# kernels find the examples and stored results of this tree wherever they run
os.environ["SYMDERIV_TOP"] = str(TOP)
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
# figures as SVG
_IPYTHON = TOP / "build" / "manual-ipython"
(_IPYTHON / "profile_default").mkdir(parents=True, exist_ok=True)
(_IPYTHON / "profile_default" / "ipython_kernel_config.py").write_text(
    'c.InlineBackend.figure_formats = {"svg"}\nc.IPKernelApp.log_level = 40\n', encoding="utf-8"
)
os.environ["IPYTHONDIR"] = str(_IPYTHON)

# --- pages ----------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "symderiv"
html_static_path = ["_static", "../../symderiv/show/pages/fonts/symderiv-math.woff"]
html_css_files = ["manual.css"]
html_copy_source = False
html_show_sourcelink = False
# results show the page's first lines by fetching it, which browsers refuse to pages from disk
html_show_search_summary = False
# pages without neighbours have nothing to navigate to at their side
_ALONE = ("tasks", "conventions", "gallery", "papers", "benchmarks", "bibliography")
html_sidebars: dict[str, list[str]] = {name: [] for name in _ALONE}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "back_to_top_button": False,
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
