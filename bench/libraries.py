"""Libraries that depend on PyTorch, unmodified: a program of each, under ``clew run --as-torch`` and under PyTorch.

python bench/libraries.py --install DIR                 makes a virtual environment with all of them
python bench/libraries.py --python DIR/bin/python       all of them, without writing
python bench/libraries.py gpytorch --write              some; writes docs/libraries.md and the README's sentence

`bench/libraries.toml` is the table, `bench/libraries/NAME.py` are the programs, `bench/rounds.py` runs one of them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # behind everything installed: an installed clew is what is run, if there is one

from bench import machine  # noqa: E402
from bench.programs import Failed, command, environment, keep  # noqa: E402
from bench.programs_page import TOLERANCE, Compared  # noqa: E402
from bench.readme import README, fill  # noqa: E402
from bench.report import markdown  # noqa: E402

TABLE = ROOT / "bench" / "libraries.toml"
PROGRAMS = ROOT / "bench" / "libraries"
PAGE = ROOT / "docs" / "libraries.md"
MARKS = "libraries: made by bench/libraries.py --write", "end of libraries"
RESULTS = ROOT / "docs" / "benchmarks" / "libraries.json"
TEST_RESULTS = ROOT / "docs" / "benchmarks" / "library_tests.json"
CONSTRAINTS = "torch==2.13.0", "numpy<2.4"
ENGINES = "torch", "clew"


@dataclass
class Result(Compared):
    """What is known of a library: the program's numbers and the best time of several rounds, under each engine."""

    name: str
    clew: list[float] = field(default_factory=list)
    torch: list[float] = field(default_factory=list)
    clew_seconds: float = math.nan
    torch_seconds: float = math.nan
    error: str = ""

    @property
    def verdict(self) -> str:
        """What the page says of it."""
        return self.error or ("same" if self.difference <= TOLERANCE else "numbers differ")


class Rounds:
    """A process that has imported an engine, and runs rounds of programs in a fork of itself."""

    def __init__(self, engine: str, python: str, logs: Path) -> None:
        self.engine, self._logs = engine, logs
        self._process = subprocess.Popen(
            [*command(engine, python), str(ROOT / "bench" / "rounds.py")],
            env=environment(() if python == sys.executable else [ours(), str(ROOT)]),
            cwd=logs,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def begin(self, library: dict[str, Any]) -> None:
        """Import a library's program.

        Raises:
            Failed: the import ended with an error, or took too long.
        """
        name = library["name"]
        log = str(self._logs / f"{name}.{self.engine}")
        self._ask(json.dumps({"file": str(PROGRAMS / f"{name}.py"), "log": log, "limit": library.get("limit", 180)}))
        self._answer()

    def next(self) -> dict[str, Any]:
        """Run a round. Raises: as `begin`."""
        self._ask("round")
        return self._answer()

    def end(self) -> None:
        """Leave the program."""
        self._ask("end")

    def _ask(self, words: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process with {self.engine} has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(f"{self.engine}: {answer['error']}")
        return dict(answer)


def ours() -> str:
    """The folder of this checkout's clew, if it was built there."""
    return str(ROOT / "src") if list((ROOT / "src" / "clew").glob("_core.*.so")) else str(ROOT)


def measure(library: dict[str, Any], engines: Sequence[Rounds], rounds: int) -> Result:
    """Run rounds of its program, under both in turns. The first round is not timed."""
    result = Result(library["name"])
    seconds: dict[str, list[float]] = {each.engine: [] for each in engines}
    begun: list[Rounds] = []
    try:
        for each in engines:
            each.begin(library)
            begun.append(each)
            setattr(result, each.engine, each.next()["numbers"])
        for _ in range(rounds):
            for each in engines:
                seconds[each.engine].append(each.next()["seconds"])
        if rounds:
            result.torch_seconds, result.clew_seconds = (min(seconds[each.engine]) for each in engines)
    except Failed as error:
        result.error = str(error)
    for each in begun:
        each.end()
    return result


def install(libraries: Sequence[dict[str, Any]], folder: Path) -> None:
    """Make a virtual environment of all distributions, at the table's versions."""
    python = str(folder / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [python, "-m", "pip", "install", "--quiet"]
    (folder / "constraints.txt").write_text("\n".join(CONSTRAINTS) + "\n")
    pip += ["--constraint", str(folder / "constraints.txt")]
    for alone in (False, True):
        chosen = [one for one in libraries if one.get("alone", False) is alone]
        named = [f"{one['distribution']}=={one['version']}" for one in chosen]
        extra = ["--no-deps"] if alone else sorted({need for one in libraries for need in one.get("needs", [])})
        if named:
            subprocess.run([*pip, *extra, *named], check=True)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    libraries = tomllib.loads(TABLE.read_text())["library"]
    if options.install:
        install(libraries, options.install)
        return 0
    results: dict[str, Result] = {}
    logs = Path(options.logs or tempfile.mkdtemp(prefix="libraries-"))
    logs.mkdir(exist_ok=True)
    engines = [Rounds(engine, options.python, logs.absolute()) for engine in ENGINES]
    for library in libraries:
        if options.names and library["name"] not in options.names:
            continue
        result = results[library["name"]] = measure(library, engines, options.rounds)
        print(" | ".join([*row(library, result), result.error]), flush=True)
        if options.write:
            write(libraries, results)
    for each in engines:
        each.close()
    same = sum(result.verdict == "same" for result in results.values())
    print(f"{same} of {len(results)} run and agree; what they printed: {logs}")
    return int(same < len(results))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("bench/libraries.py", description="A program of each library, on both engines.")
    made.add_argument("names", nargs="*", metavar="NAME", help="only these")
    made.add_argument("--python", default=sys.executable, help="the Python that has the libraries (this one)")
    made.add_argument("--install", type=Path, metavar="DIR", help="make a virtual environment with them, and stop")
    made.add_argument("--rounds", type=int, default=3, help="how many rounds are timed (3)")
    made.add_argument("--logs", type=Path, metavar="DIR", help="where what they print goes (a new folder)")
    made.add_argument(
        "--write",
        action="store_true",
        help="write docs/libraries.md and the README's sentence; what was not run stays as it was",
    )
    return made


def write(libraries: Sequence[dict[str, Any]], results: dict[str, Result]) -> None:
    """Add these results to those that were there, and make the page of all of them."""
    names = [library["name"] for library in libraries]
    found = {name: Result(**values) for name, values in keep(RESULTS, results, names).items()}
    PAGE.write_text(page(libraries, found))
    README.write_text(fill(*MARKS, sentence(found), README.read_text()))


def page(libraries: Sequence[dict[str, Any]], results: dict[str, Result]) -> str:
    """docs/libraries.md."""
    shown = [(library, results[library["name"]]) for library in libraries if library["name"] in results]
    good = [result for _, result in shown if result.verdict == "same"]
    bad = [(library, result) for library, result in shown if result.verdict != "same"]
    ratios = sorted(result.clew_seconds / result.torch_seconds for result in good)
    heading = ["distribution", "program", "difference", "PyTorch ms", "clew ms", "verdict"]
    described = machine.describe()
    return _PAGE.format(
        same=len(good),
        all=len(shown),
        faster=sum(ratio <= 1 for ratio in ratios),
        median=f"{ratios[len(ratios) // 2]:.2f}" if ratios else "",
        table=markdown([heading, *(row(library, result) for library, result in shown)]),
        reasons="\n".join(f"- {library['distribution']}: {reason(library, result)}" for library, result in bad)
        or "None.",
        tests=tests_table(),
        load=f"{os.getloadavg()[2]:.0f} of {described['processors']}",
        machine=f"{described['processor']}, one thread, {described['date']}",
    )


def tests_table() -> str:
    """What became of the libraries' own tests, as far as it is kept."""
    found = json.loads(TEST_RESULTS.read_text()) if TEST_RESULTS.exists() else {}
    heading = ["library", "tests", "pass on PyTorch", "of these on clew", "share", "PyTorch s", "clew s"]
    return markdown([heading, *(one["row"] for one in found.values())])


def reason(library: dict[str, Any], result: Result) -> str:
    """Why it does not run: the table's words, or the error."""
    return library.get("reason", result.verdict)  # type: ignore[no-any-return]


def row(library: dict[str, Any], result: Result) -> list[str]:
    """A library's line of the table."""
    name = library["name"]
    distribution = f"{library['distribution']} {library['version']}"
    program = f"[{summary(name)}](../bench/libraries/{name}.py)"
    if result.error:
        return [distribution, program, "", "", "", "stops"]
    times = [f"{1000 * seconds:.1f}" for seconds in (result.torch_seconds, result.clew_seconds)]
    return [distribution, program, f"{result.difference:.1e}", *times, result.verdict]


def summary(name: str) -> str:
    """The first line of a program's description."""
    return (PROGRAMS / f"{name}.py").read_text().split('"""')[1].strip().splitlines()[0].rstrip(".")


def sentence(results: dict[str, Result]) -> str:
    """What the README says of them."""
    same = sum(result.verdict == "same" for result in results.values())
    return (
        f"Of {len(results)} libraries on PyPI that depend on PyTorch, {same} run unmodified under "
        "`clew run --as-torch` and give PyTorch's numbers\n([a program of each, with times](docs/libraries.md))."
    )


_PAGE = """# Libraries on clew

Made by `python bench/libraries.py --write`; do not edit. Each library is a distribution from PyPI, unmodified and at a
fixed version. A small program uses its main feature on generated data. The program runs under `clew run --as-torch`
and under PyTorch, from the same weights and data, on one thread.

- *difference*: the largest relative difference of the numbers that the program returns (losses, outputs, norms of
  gradients).
- Times are milliseconds of the program without imports, the best of several rounds, alternated between the engines.
  The first round is not timed.

{same} of {all} run and give the same numbers, within 1e-4. {faster} of these take no longer than with PyTorch; the
median ratio of times is {median}.

{table}

Measured on {machine}; processes that wanted a processor in the last quarter of an hour: {load}.

## Those that do not

{reasons}

## Their own tests

A fixed part of the tests that some libraries bring with them, run by pytest on both engines
(`python bench/library_tests.py --write`). Tests that do not pass on PyTorch are not counted.

{tests}
"""


if __name__ == "__main__":
    sys.exit(main())
