"""Sphinx makes the site from the documents as they are: `make docs`.

The source folder is the top of the project, so that a link leads to the same place on the site as
where documents are read as files. Nothing is fetched, neither by the build nor by a page.
"""

from __future__ import annotations

__all__ = ("setup",)

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from compass_agent import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Compass"
author = "The Compass maintainers"
release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
]
root_doc = "docs/index"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**"]
exclude_patterns = [".*", "build", "gen", "proto", "src", "tests", "dist"]
nitpicky = True
# What a signature shows beside public names: what is generated, or passed on as it came.
nitpick_ignore = [
    ("py:class", name)
    for name in (
        "Answer",
        "Batch",
        "Context",
        "Durability",
        "Guard",
        "Item",
        "Journal",
        "Mapping[str",
        "MeterProvider",
        "Publisher",
        "Server",
        "SessionMeta",
        "Source",
        "StreamedRun",
        "UpdateReader",
        "_Prompts",
        "compass_agent.adapters.acp._Prompts",
        "compass_agent.client.call.Hub",
        "compass_agent.client.link.Patience",
        "pathlib.Path",
        "tuple[str",
    )
]
nitpick_ignore_regex = [("py:class", r"compass_subscriber\..*|(\w+\.)*ValueType")]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# Docstrings quote code as Markdown does.
default_role = "code"
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
doctest_test_doctest_blocks = "default"

html_theme = "furo"
html_title = f"Compass {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

PUBLIC = (
    "compass_agent",
    "compass_agent.adapters",
    "compass_agent.client",
    "compass_agent.errors",
    "compass_agent.events",
    "compass_agent.frames",
    "compass_agent.log",
    "compass_agent.services.http",
    "compass_agent.services.mcp",
    "compass_agent.testing",
    "compass_agent.transport",
    "compass_agent.view",
)
"""The modules of docs/api: what they export is public, where it is defined is not."""

START = """<!doctype html>
<meta charset="utf-8">
<title>Compass</title>
<meta http-equiv="refresh" content="0; url=docs/index.html">
<a href="docs/index.html">Compass</a>
"""


def setup(app: Sphinx) -> None:
    """Let the top of the site lead to its first page."""
    for module in map(importlib.import_module, PUBLIC):
        for name in module.__all__:
            getattr(module, name)  # some are imported at their first use, and listed from then on
    app.connect("autodoc-process-signature", _without_constructor)
    app.connect("build-finished", _add_start)


def _without_constructor(
    _app: Sphinx, what: str, _name: str, of: object, _options: object, told: str, returns: str
) -> tuple[str, str]:
    """Show none for a protocol: nobody makes one, and Python's own takes anything."""
    is_protocol = what == "class" and getattr(of, "_is_protocol", False)
    return ("" if is_protocol else told, returns)


def _add_start(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        (Path(app.outdir) / "index.html").write_text(START, "utf-8")
