"""Notebooks as pages: they run while the site is built, and are shown with what they gave."""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

STYLE = "body { font: 14px sans-serif }"


def run(path: Path) -> Any:
    """The notebook with its outputs; a cell that fails raises, unless it is tagged `raises-exception`."""
    notebook = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=120, startup_timeout=30, kernel_name="python3", resources=folder)
    client.execute(stderr=subprocess.DEVNULL)  # what the kernel itself says; that of cells is an output
    return notebook


def page(path: Path) -> str:
    """A page of Markdown."""
    parts = []
    for cell in run(path).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts += [f"```python\n{cell.source}\n```", *map(shown, cell.outputs)]
    parts.append(f'<a href="{path.name}" download>Download this notebook</a>')
    return "\n\n".join(parts) + "\n"


def shown(output: Any) -> str:
    """One output of a cell."""
    if output.output_type == "stream":
        return text(output.text)
    if output.output_type == "error":
        return text(f"{output.ename}: {output.evalue}")
    if "text/html" in output.data:
        return f'<div class="output">{embedded(output.data["text/html"])}</div>'
    return text(output.data["text/plain"])


def text(printed: str) -> str:
    """Plain text; colours of terminals are left out."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed).rstrip()
    return f"```text\n{plain}\n```"


def embedded(page: str) -> str:
    """HTML of an output in a frame of its own, so that its style and the site's stay apart."""
    if "<iframe" in page:
        return page.replace("\n", " ")
    document = html.escape(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{page}")
    document = document.replace("\n", "&#10;")
    return f'<iframe srcdoc="{document}" loading="lazy" width="100%" height="480"></iframe>'
