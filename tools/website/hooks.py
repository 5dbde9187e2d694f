"""What mkdocs calls while it builds the site: pages that are made, and links that lead out of docs/."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from tools.website import links, notebooks, questions, reference  # noqa: E402

log = logging.getLogger("mkdocs.hooks")


def on_config(config: Any) -> Any:
    """Put the pages of modules into the navigation."""
    (section,) = (item["Reference"] for item in config.nav if "Reference" in item)
    section += reference.navigation()
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add what does not lie in docs/, or is made."""
    for place, uri in links.OUTSIDE.items():
        files.append(File.generated(config, uri, content=(ROOT / place).read_text()))
    for uri, text in {**questions.pages(), **reference.pages()}.items():
        files.append(File.generated(config, uri, content=text))
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            log.info("Running %s", file.src_uri)
            page = notebooks.page(ROOT / "docs" / file.src_uri)
            files.append(File.generated(config, file.src_uri.replace(".ipynb", ".md"), content=page))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Make links and lists fit for the site."""
    rewritten = links.rewrite(markdown, page.file.src_uri, config.repo_url or None)
    return links.with_blank_lines(rewritten)
