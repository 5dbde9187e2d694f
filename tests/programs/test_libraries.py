"""Programs of libraries: their table, how their numbers are read, and what becomes of errors."""

from __future__ import annotations

import math
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

from bench import drawn, libraries, library_tests
from bench.libraries import Result, Rounds
from bench.programs import Failed

TABLE: list[dict[str, Any]] = tomllib.loads(libraries.TABLE.read_text())["library"]


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Rounds]]:
    logs = tmp_path_factory.mktemp("logs")
    made = [Rounds(engine, sys.executable, logs) for engine in libraries.ENGINES]
    yield made
    for each in made:
        each.close()


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(libraries, "PROGRAMS", tmp_path)
    return tmp_path


def test_the_table_has_each_program_once() -> None:
    names = [library["name"] for library in TABLE]
    assert sorted(names) == sorted(path.stem for path in libraries.PROGRAMS.glob("*.py"))
    assert len(names) >= 100
    for library in TABLE:
        assert library["distribution"]
        assert library["version"]
        assert libraries.summary(library["name"])


def test_the_table_of_tests_pins_each_source() -> None:
    for library in tomllib.loads(library_tests.TABLE.read_text())["library"]:
        assert ("distribution" in library) != ("repository" in library)
        assert len(library.get("commit", "0" * 40)) == 40


def test_rounds_give_the_same_numbers(programs: Path, engines: list[Rounds]) -> None:
    (programs / "small.py").write_text(
        "from bench.drawn import normal, perceptron, trained\n"
        "def main():\n"
        "    print('said')\n"
        "    model, points = perceptron(), normal(8, 4)\n"
        "    return trained(lambda: model(points).square().mean(), model), model(points), {'x': 2.5}\n"
    )
    result = libraries.measure({"name": "small"}, engines, 2)
    assert result.verdict == "same"
    assert len(result.clew) == 5 + 2 + 1
    assert result.clew[-1] == 2.5
    assert result.clew[4] < result.clew[0]
    assert 0 < result.clew_seconds < 10


def test_what_stops_a_program_is_kept(programs: Path, engines: list[Rounds]) -> None:
    (programs / "imports.py").write_text("import torch\nimport no_such_library\n")
    (programs / "raises.py").write_text("def main():\n    raise ValueError('no data here')\n")
    (programs / "waits.py").write_text("import time\ndef main():\n    time.sleep(30)\n")
    (programs / "good.py").write_text("def main():\n    return 1.0\n")
    errors = {
        name: libraries.measure({"name": name, "limit": 1}, engines, 1).error
        for name in ("imports", "raises", "waits", "good")
    }
    assert errors == {
        "imports": "torch: ModuleNotFoundError: No module named 'no_such_library'",
        "raises": "torch: ValueError: no data here",
        "waits": "torch: not done after 1 s",
        "good": "",
    }
    engines[1].begin({"name": "raises"})
    with pytest.raises(Failed, match="clew: ValueError"):
        engines[1].next()


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ([1.0, 2.0], [1.0, 2.0001], "same"),
        ([1.0, 2.0], [1.0, 2.001], "numbers differ"),
        ([1.0], [1.0, 2.0], "numbers differ"),
        ([], [], "numbers differ"),
        ([math.nan], [1.0], "numbers differ"),
    ],
)
def test_numbers_are_compared_relatively(ours: list[float], theirs: list[float], verdict: str) -> None:
    assert Result("x", ours, theirs).verdict == verdict


def test_the_page_lists_what_does_not_run() -> None:
    chosen = TABLE[:3]
    results = {library["name"]: Result(library["name"], [1.0], [1.0], 0.5, 1.0) for library in chosen}
    results[chosen[1]["name"]].error = "clew: ImportError: cannot import name 'x'"
    text = libraries.page(chosen, results)
    assert "2 of 3 run" in text
    assert f"- {chosen[1]['distribution']}: " in text
    assert "cannot import name 'x'" in text
    assert libraries.sentence(results).startswith("Of 3 libraries on PyPI that depend on PyTorch, 2 run")


def test_numbers_of_a_result_see_order_and_sign() -> None:
    import torch

    values = torch.arange(6.0)
    forms = [tuple(drawn.numbers(form)) for form in (values, values.flip(0), -values)]
    assert len(set(forms)) == 3
    assert list(drawn.numbers([torch.tensor([1, 2]), {"a": 3}, (True,)])) == [1, 2, 3, 1]
    assert list(drawn.numbers(torch.tensor([1 + 2j]))) == [1, 2]


def test_outcomes_are_read_from_a_report(tmp_path: Path) -> None:
    (tmp_path / "test_them.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert 1 == 2\n"
        "@pytest.mark.skip\n"
        "def test_skipped(): pass\n"
    )
    library = {"name": "them", "run": ["test_them.py"]}
    found = library_tests.run(library, "torch", sys.executable, tmp_path, 60)
    assert found["test_them::test_good"] == ""
    assert "assert 1 == 2" in found["test_them::test_bad"]
    assert len(found) == 2


def _is_installed(library: dict[str, Any]) -> bool:
    try:
        return metadata.version(library["distribution"]) == library["version"] and "reason" not in library
    except metadata.PackageNotFoundError:
        return False


@pytest.mark.parametrize("library", [*filter(_is_installed, TABLE)], ids=lambda library: library["name"])
def test_installed_libraries_agree(library: dict[str, Any], engines: list[Rounds]) -> None:
    result = libraries.measure(library, engines, 0)
    assert result.verdict == "same"
