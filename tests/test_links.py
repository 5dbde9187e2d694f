"""Links of the README and the documentation, read from their sources: files, anchors, and the form of addresses."""

import functools
import json
import re
import warnings
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = {"build", "shared", "node_modules", "site"}
PAGES = sorted(
    path
    for path in [*ROOT.rglob("*.md"), *ROOT.glob("docs/**/*.ipynb")]
    if not any(part.startswith(".") or part in LEFT_OUT for part in path.relative_to(ROOT).parts)
)
CODE = re.compile(r"^(```|~~~).*?^\1|<!--.*?-->", re.DOTALL | re.MULTILINE)
CODE_SPAN = re.compile(r"(`+).+?\1", re.DOTALL)
LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
ATTRIBUTE = re.compile(r"\b(?:href|src)=\"([^\"]+)\"")


def markdown_of(page: Path) -> str:
    """The text of a page; of a notebook that of its cells of text."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


def links(page: Path) -> list[str]:
    text = CODE.sub("", markdown_of(page))
    text = CODE_SPAN.sub("`", text)
    return [*LINK.findall(text), *REFERENCE.findall(text), *ATTRIBUTE.findall(text)]


@functools.cache
def made() -> dict[str, str]:
    """The pages that the site makes of sources, by the place of these: a link to a source leads there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the questions are programs, which show warnings
        from tools.website import questions, reference
        from tools.website.links import MADE

        pages = questions.pages() | reference.pages()
        return {source: pages[page] for source, page in MADE.items()}


def anchors(text: str) -> set[str]:
    """Those of headings, by GitHub's rule, and those that are written out."""
    found = set(re.findall(r"<\w+[^>]*\b(?:id|name)=\"([^\"]+)\"", text)) | set(re.findall(r"\{ ?#([\w.-]+)", text))
    seen: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", CODE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"\{ ?#.*\}$", "", heading)).strip()
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(slug if slug not in seen else f"{slug}-{seen[slug]}")
        seen[slug] = seen.get(slug, 0) + 1
    return found


def complaint(page: Path, link: str) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        if parts.scheme == "mailto":
            return None if re.fullmatch(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", parts.path) else "no address"
        host = parts.hostname or ""
        good = parts.scheme == "https" and re.fullmatch(r"[\w-]+(\.[\w-]+)+", host)
        return None if good and "example." not in host else "expected https:// and a host"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if ROOT not in [target, *target.parents]:
        return "outside of the repository"
    if not target.exists():
        return "no such file"
    text = made().get(str(target.relative_to(ROOT))) if parts.fragment else None
    if text is None and target.suffix == ".md":
        text = target.read_text(encoding="utf-8")
    if parts.fragment and text is not None and unquote(parts.fragment) not in anchors(text):
        return "no such anchor"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page: Path) -> None:
    broken = {link: why for link in links(page) if (why := complaint(page, link))}
    assert broken == {}


def test_the_pages_with_most_links_were_read() -> None:
    assert {"README.md", "docs/index.md", "core/autograd/README.md"} <= {str(one.relative_to(ROOT)) for one in PAGES}
    assert len(links(ROOT / "README.md")) > 20


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[a](other.md)", None),
        ("[a](other.md#a-title-with-code)", None),
        ("[a](other.md#title-1) [b](#here)\n<a id='x'></a>\n## Here", None),
        ("[a](missing.md)", "no such file"),
        ("[`a`](missing.md \"title\")", "no such file"),
        ("[a](other.md#none)", "no such anchor"),
        ("![a](missing.png)", "no such file"),
        ("<img src=\"missing.png\">", "no such file"),
        ("[a]: missing.md", "no such file"),
        ("[a](http://pytorch.org)", "expected https:// and a host"),
        ("[a](https://nowhere)", "expected https:// and a host"),
        ("[a](https://example.com/x)", "expected https:// and a host"),
        ("[a](../../../../x.md)", "outside of the repository"),
        ("`[a](missing.md)`\n```\n[a](missing.md)\n```", None),
    ],
)  # fmt: skip
def test_what_is_found(text: str, why: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "other.md").write_text("# A title, with `code`\n## Title\n## Title\n")
    page = tmp_path / "page.md"
    page.write_text(text)
    assert {found for link in links(page) if (found := complaint(page, link))} == ({why} if why else set())
