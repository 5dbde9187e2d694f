"""The site is built, strictly; then its pages are read: links, what they load, what the notebooks gave."""

import inspect
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}

pytestmark = [pytest.mark.beyond, pytest.mark.slow]


class Read(HTMLParser):
    """Anchors, links and what a page loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.words = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in {"script", "img", "iframe", "source"} and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") not in {"canonical", "prev", "next"}:
            self.loaded.append(found["href"])

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site."""
    for module in ("mkdocs", "material", "nbclient", "ipykernel"):
        pytest.importorskip(module, reason='the site needs `pip install "clew[docs]"`')
    folder = tmp_path_factory.mktemp("site")
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)],
        capture_output=True, text=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": paths}, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Read(path.read_text()) for path in site.rglob("*.html")}


def test_links_lead_somewhere(site, pages):
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                broken.append(f"{path.relative_to(site)}: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                broken.append(f"{path.relative_to(site)}: {link} (no such anchor)")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(pages):
    """A reader without network sees all of it."""
    foreign = {source for page in pages.values() for source in page.loaded if urlsplit(source).netloc}
    assert foreign == set()


def test_links_to_other_sites_are_no_placeholders(pages):
    hosts = {urlsplit(link).hostname for page in pages.values() for link in page.links if urlsplit(link).netloc}
    assert not {host for host in hosts if host and ("example." in host or host == "localhost")}


@pytest.mark.parametrize(
    ("notebook", "expected"),
    [
        ("1-first-graph", ["tensor([2., 4., 6.])", "tensor([5., 7., 9.])", "tensor(33.)"]),  # 2x; 2x + 3; 2 * 3 + 3 * 9
        ("2-what-is-freed", ["Trying to backward through the graph a second time", "tensor([2., 2., 2.])"]),
        ("3-finding-a-leak", ["`history` keeps the graphs of", "history[3]", "0 warnings"]),
        ("4-second-order", ["(tensor(12., grad_fn=<MulBackward0>), tensor(12.))", "tensor([4., 2.])"]),  # 3x², 6x; H e1
        ("5-keeping-a-graph", ["(5.0, tensor([[4., 0., 2.]]))", "(8.0, tensor([12.,  0.]))"]),  # Σa², 2a; Σa³, 3a²
    ],
)
def test_notebooks_show_what_mathematics_says(pages, site, notebook, expected):
    text = pages[site / "tutorial" / f"{notebook}.html"].text
    for words in expected:
        assert words in text
    assert (site / "tutorial" / f"{notebook}.ipynb").exists()  # to download


def test_every_question_of_the_examples_is_there(pages, site):
    sys.path.append(str(ROOT / "examples"))
    import which_is_freed

    text = " ".join(" ".join(page.text.split()) for path, page in pages.items() if path.parent.name == "questions")
    assert len(which_is_freed.QUESTIONS) >= 30
    for asked in which_is_freed.QUESTIONS:
        assert " ".join(asked.asked.split()) in text


def test_the_reference_has_what_the_package_has(pages, site):
    import clew

    anchors = set().union(*(page.anchors for path, page in pages.items() if path.parent.name == "reference"))
    for module in (clew.graph, clew.optim, clew.autograd.functional):
        for name in module.__all__:
            if not inspect.ismodule(getattr(module, name)):
                assert f"{module.__name__}.{name}" in anchors
    assert {"clew.exp", "clew.Tensor.backward", "clew.nn.Linear", "clew.linalg.solve"} <= anchors
