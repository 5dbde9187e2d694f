"""Links of pages that are read in the repository, too: from a path there to a page of the site.

A page under docs/ keeps its name, a page elsewhere (`core/ops/README.md`) has its path in the repository.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = "about.md"  # what README.md is called on the site: its own name would make it the first page
OUTSIDE = {"README.md": HOME} | {
    str(path.relative_to(ROOT)): str(path.relative_to(ROOT))
    for path in [
        *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bind/README.md")),
        *sorted(ROOT.glob("core/*/README.md")),
    ]
    if path.exists()
}

# Pages that the site makes of sources: what a clone has instead.
MADE = {
    "src/clew/__init__.py": "reference/index.md",
    "src/clew/autograd/errors.py": "reference/autograd-errors.md",
    "src/clew/graph/iterations/growth.py": "reference/graph.md",
    "examples/questions": "questions/index.md",
}

FENCE = re.compile(r"^(```|~~~).*?^\1\s*?$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<open>\[(?P<text>[^\[\]]*(?:\[[^\]]*\][^\[\]]*)*)\]\()(?P<target>[^()\s]+)\)")


def outside_of_code(markdown: str, change: Callable[[str], str]) -> str:
    """The page with everything but its fenced code changed."""
    parts, end = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [change(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(markdown[end:])])


def place_of(uri: str) -> str:
    """Where a page of the site lies in the repository."""
    for place, name in OUTSIDE.items():
        if name == uri:
            return place
    return f"docs/{uri}"


def page_of(place: str) -> str | None:
    """The page of the site that a path of the repository is, if it is one."""
    page = place.removeprefix("docs/") if place.startswith("docs/") else (OUTSIDE | MADE).get(place)
    return page.replace(".ipynb", ".md") if page else None


def rewrite(markdown: str, uri: str, repository: str | None) -> str:
    """Links of a page as the site needs them: those to source code lead to the repository, or are text without one."""
    folder = posixpath.dirname(place_of(uri))

    def replaced(link: re.Match[str]) -> str:
        path, hash_, anchor = link["target"].partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return link[0]
        place = posixpath.normpath(posixpath.join(folder, path))
        page = page_of(place)
        if page is None and not (ROOT / place).exists():
            return link[0]  # mkdocs tells that it is broken
        if page is not None:
            return f"{link['open']}{posixpath.relpath(page, posixpath.dirname(uri) or '.')}{hash_}{anchor})"
        return f"{link['open']}{repository}blob/main/{place})" if repository else link["text"]

    return outside_of_code(markdown, lambda text: LINK.sub(replaced, text))


ITEM = re.compile(r"[*-] |\d+\. |\|")


def with_blank_lines(markdown: str) -> str:
    """Lists and tables may follow a paragraph at once on other renderers; here a blank line has to be between them."""

    def spaced(text: str) -> str:
        lines: list[str] = []
        for line in text.split("\n"):
            before = lines[-1] if lines else ""
            begins = ITEM.match(line) is not None and before.strip() != "" and not before.startswith(" ")
            if begins and (ITEM.match(before) is None or (line[0] == "|") != (before[0] == "|")):
                lines.append("")
            lines.append(line)
        return "\n".join(lines)

    return outside_of_code(markdown, spaced)
