"""Programs of others: where they come from, how their numbers are read and compared, and those that packages bring."""

from __future__ import annotations

import math
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

from bench import programs, sources
from bench.programs import Failed, Runner, read
from bench.programs_page import TOLERANCE, Result

TABLE: list[dict[str, Any]] = tomllib.loads(programs.TABLE.read_text())["program"]
OF_PACKAGES = [program for program in TABLE if "package" in program]


@pytest.fixture(scope="module")
def runners() -> Iterator[dict[str, Runner]]:
    made = {library: Runner(library) for library in ("torch", "clew")}
    yield made
    for runner in made.values():
        runner.close()


def has(program: dict[str, Any]) -> bool:
    try:
        return metadata.version(program["package"]) == program["version"]
    except metadata.PackageNotFoundError:
        return False


@pytest.mark.parametrize("program", OF_PACKAGES, ids=lambda program: program["name"])
def test_programs_of_packages_give_the_same_losses(program: dict[str, Any], runners: dict[str, Runner]) -> None:
    if not has(program):
        pytest.skip(f"{program['package']} {program['version']} is not installed")
    result = programs.measure(program, sources.fetched(program, None), 1, [runners["torch"], runners["clew"]])
    assert result.error == ""
    assert result.steps >= 3
    assert result.difference <= TOLERANCE


def test_a_program_that_fails_is_told_in_its_own_words(tmp_path: Path, runners: dict[str, Runner]) -> None:
    (tmp_path / "main.py").write_text("import torch\nraise ValueError('no data here')\n")
    with pytest.raises(Failed, match="torch: ValueError: no data here"):
        runners["torch"].run({"file": "main.py"}, tmp_path, 0)
    (tmp_path / "main.py").write_text("import time\ntime.sleep(30)\n")
    with pytest.raises(Failed, match="torch: not done after 1 s"):
        runners["torch"].run({"file": "main.py", "limit": 1}, tmp_path, 0)


PROGRAM = """
import sys, torch
torch.manual_seed(5)
w = torch.zeros(3, requires_grad=True)
for step in range(int(sys.argv[1])):
    loss = ((w - torch.randn(3)) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
print("score", loss.item())
"""


@pytest.mark.parametrize("library", ["torch", "clew"])
def test_a_run_records_what_backwards_start_from(tmp_path: Path, library: str, runners: dict[str, Runner]) -> None:
    import torch

    (tmp_path / "main.py").write_text(PROGRAM)
    short: dict[str, Any] = {"file": "main.py", "arguments": ["3"]}
    program = short | {"metric": r"score (\S+)"}
    ran = runners[library].run(program, tmp_path, 2)
    torch.manual_seed(7)  # the program's own seed, shifted
    assert ran.losses[0] == pytest.approx(float((torch.randn(3) ** 2).sum()), rel=1e-6)
    assert len(ran.losses) == 3
    assert ran.metric == pytest.approx(ran.losses[-1], rel=1e-6)
    assert not ran.stopped
    stopped, other = (runners[library].run({**short, "steps": 2}, tmp_path, seed) for seed in (2, 3))
    assert stopped.stopped
    assert stopped.losses == ran.losses[:2]
    assert other.losses != stopped.losses


def test_numbers_are_read_from_what_is_printed() -> None:
    printed = "0 loss 4.0\n1 loss 2.0\naccuracy 0.5\naccuracy 0.75\n"
    result = {"losses": [9.0], "seconds": 1.0, "stopped": False}
    ran = read({"losses": r"loss (\S+)", "metric": r"accuracy (\S+)"}, result, printed)
    assert ran.losses == [4.0, 2.0]
    assert ran.metric == 0.75
    assert read({"name": "x"}, result, printed).metric == 9.0
    with pytest.raises(Failed, match="no losses"):
        read({"losses": "nothing"}, result, printed)


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ([1.0, 2.0], [1.0, 2.0001], "same"),
        ([1.0, 2.0], [1.0, 2.001], "losses differ"),
        ([1.0], [1.0, 2.0], "losses differ"),
        ([math.nan], [math.nan], "same"),
        ([math.nan], [1.0], "losses differ"),
    ],
)
def test_losses_are_compared_relatively(ours: list[float], theirs: list[float], verdict: str) -> None:
    assert Result("x", ours, theirs, [0.5], [0.4, 0.6]).verdict == verdict


def test_the_metric_must_lie_in_the_spread() -> None:
    assert Result("x", [1.0], [1.0], [0.1, 0.5], [0.4, 0.6]).verdict == "metric outside"
    assert Result("x", [1.0], [1.0], [0.3, 0.7], [0.4, 0.6]).verdict == "same"
    assert Result("x", [1.0], [1.0], [3.00001], [3.0]).verdict == "same"


def test_a_repository_is_taken_from_a_folder_of_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CACHE", tmp_path / "cache")
    work = tmp_path / "work"
    (work / "examples").mkdir(parents=True)
    (work / "examples" / "main.py").write_text("print('hello')\n")
    (work / "big.txt").write_text("not wanted\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], cwd=work, check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=work, capture_output=True, text=True, check=True).stdout
    bare = tmp_path / "sources" / "owner+name"
    subprocess.run(["git", "clone", "-q", "--bare", work, bare], check=True)
    program = {"repository": "owner/name", "commit": commit.strip(), "folder": "examples", "file": "main.py"}
    folder = sources.fetched(program, tmp_path / "sources")
    assert sorted(path.name for path in folder.iterdir()) == [".complete", "main.py"]
    with pytest.raises(sources.MissingSource, match="owner/other at"):
        sources.fetched(program | {"repository": "owner/other"}, tmp_path / "sources")
    with pytest.raises(sources.MissingSource, match="00000000"):
        sources.fetched(program | {"commit": "0" * 40}, tmp_path / "sources")


def test_a_missing_package_is_told() -> None:
    with pytest.raises(sources.MissingSource, match="no-such-package is not installed"):
        sources.fetched({"package": "no-such-package", "version": "1"}, None)


def test_the_table_pins_each_program() -> None:
    assert len({program["name"] for program in TABLE}) == len(TABLE)
    for program in TABLE:
        assert ("package" in program) != ("repository" in program)
        assert len(program.get("commit", "0" * 40)) == 40
