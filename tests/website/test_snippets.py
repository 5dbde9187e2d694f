"""The code on the pages runs and prints what they say."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = {"coverage.md", "deviations.md", "operations.md", "programs.md", "errors.md"}  # by tools, which have tests
GLOBS = ("*.md", "coming-from/*.md", "errors/*.md", "howto/*.md")
PAGES = sorted(str(path.relative_to(DOCS)) for glob in GLOBS for path in DOCS.glob(glob))
CODE = re.compile(r"^```(python|pycon|console)", re.MULTILINE)
PAGES = [page for page in PAGES if page not in MADE and CODE.search((DOCS / page).read_text())]
NEEDS = {"howto/gymnasium.md": "gymnasium", "howto/tensorboard.md": "tensorboard", "howto/scikit-learn.md": "sklearn"}

pytestmark = pytest.mark.beyond


def run(*arguments):
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "tools.website.snippets", *arguments],
        capture_output=True, text=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": paths}, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_page(page):
    if page in NEEDS and find_spec(NEEDS[page]) is None:
        pytest.skip(f"needs {NEEDS[page]}")
    ran = run(f"docs/{page}")
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```python\nprint(1)\n```\n```text\n2\n```\n", "expected:\n2\ngot:\n1"),
        ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
        ('```python title="a.py"\nx = 1\n```\n```python\nx\n```\n', "NameError"),
        ("```python\n>>> 1 + 1\n3\n```\n", "Got:\n    2"),
        ("```console\n$ python -c 'print(5)'\n```\n```text\n6\n```\n", "got:\n5"),
        ("no code\n", "nothing to run"),
    ],
)
def test_what_is_wrong_is_found(page, complaint, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(page)
    ran = run(str(path))
    assert ran.returncode == 1
    assert complaint in ran.stdout


def test_writing_changes_outputs_only(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("# T\n```python\nprint(1)\n```\n\n```text\n```\n`a`\n```python\nprint(2)\n```\n```text\n2\n```\n")
    assert run("--write", str(path)).returncode == 0
    assert (
        path.read_text()
        == "# T\n```python\nprint(1)\n```\n\n```text\n1\n```\n`a`\n```python\nprint(2)\n```\n```text\n2\n```\n"
    )


def test_every_error_has_a_page():
    """Those of graphs and programs, and the main ones of other modules."""
    import clew

    titles = (ROOT / "mkdocs.yml").read_text()
    ours = [name for name in vars(clew.autograd.errors) if re.fullmatch(r"[A-Z]\w+(Error|Warning)", name)]
    assert len(ours) >= 9
    for name in [*ours, "GrowthWarning", "GradcheckError", "CheckpointError", "LoadError"]:
        assert re.search(rf"^ +- {name}: errors/", titles, re.MULTILINE), name
