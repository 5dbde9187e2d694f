"""A figure stands in one place: what shows it is made from there, and what only explains repeats none."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # behind everything installed

from bench import readme  # noqa: E402

# A time, a rate, or so many times as much: what a benchmark finds.
FIGURE = re.compile(r"\d[\d.,]*\s?(?:ns|µs|ms|GFLOP/s|GB/s)\b|\b\d[\d.,]* times (?:as|less|more|faster|slower|cheaper)")
# The bounds by which two runs are compared, which are asked, not measured.
ALLOWED = ("overheads: also more than 2 ns",)
EXPLAINING = ("README.md", "CHANGELOG.md", "docs/performance.md", "docs/internals/decisions.md")


def tool(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", EXPLAINING)
def test_no_figure_is_repeated(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    begin, end = (re.escape(f"<!-- {mark} -->") for mark in readme.MARKS)
    text = re.sub(f"{begin}.*?{end}", "", text, flags=re.DOTALL)
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)  # what programs print
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    found = [f"{match[0]!r} in {text[: match.start()].rpartition(chr(10))[2]!r}" for match in FIGURE.finditer(text)]
    assert not found


def test_the_table_of_the_readme_is_made_from_the_figures() -> None:
    figures = json.loads(readme.FIGURES.read_text(encoding="utf-8"))
    text = readme.README.read_text(encoding="utf-8")
    assert readme.filled(text, figures) == text, "run `python -m bench.readme`"
    assert text.count("\n| ") > len(readme.SHOWN)


def test_a_figure_that_changes_changes_the_table() -> None:
    figures = json.loads(readme.FIGURES.read_text(encoding="utf-8"))
    (row,) = (one for one in figures["rows"] if one["workload"] == "tiny MLP step, SGD" and one["threads"] == 1)
    results = row["results"]
    results["clew"]["best"], results["torch"]["best"], results["jax"]["best"] = 2000.0, 9000.0, 4000.0
    del results["autograd"]
    assert "| tiny MLP (8x4→16→1), SGD | 2 µs | 9 µs | 4 µs |  | 4.5× |" in readme.table(figures)  # noqa: RUF001


def test_what_the_readme_says_of_coverage_is_so() -> None:
    pytest.importorskip("torch")
    coverage = tool("make_coverage")
    for path, text in coverage.outputs().items():
        assert path.read_text(encoding="utf-8") == text, "run tools/make_coverage.py"


def test_what_the_readme_says_of_programs_is_so() -> None:
    from bench import programs

    results = json.loads(programs.RESULTS.read_text(encoding="utf-8"))
    told = programs.sentence({name: programs.Result(**values) for name, values in results.items()})
    text = readme.README.read_text(encoding="utf-8")
    assert readme.fill(*programs.MARKS, told, text) == text, "run bench/programs.py --write"


def test_the_coverage_page_counts_what_is_there() -> None:
    pytest.importorskip("torch")
    coverage = tool("make_coverage")
    ours = type(sys)("ours")
    ours.add = ours.digamma = None
    told = {name: coverage.state("", name, ours, {"add": "an-entry"})[0] for name in ("add", "digamma", "stft", "cuda")}
    assert told == {"add": "deviation", "digamma": "same", "stft": "missing", "cuda": "not applicable"}
    assert {"add", "vmap", "nn"} <= set(coverage.public_names(""))
    assert "relu" in coverage.public_names("nn.functional")
    assert "math" not in coverage.public_names("nn.functional")
