"""Programs that others wrote for PyTorch, unmodified, under ``clew run --as-torch`` and under PyTorch.

python bench/programs.py                      all of them; writes docs/programs.md
python bench/programs.py -k gan --seeds 2     some, without writing
python bench/programs.py --packages           those that come with installed packages

`bench/programs.toml` is the table, `bench/watched.py` runs one of them once, `bench/sources.py` fetches them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # behind everything installed: an installed clew is what is run, if there is one

from bench import machine  # noqa: E402
from bench.programs_page import Result, page, row, sentence  # noqa: E402
from bench.readme import README, fill  # noqa: E402
from bench.sources import MissingSource, fetched  # noqa: E402

TABLE = ROOT / "bench" / "programs.toml"
PAGE = ROOT / "docs" / "programs.md"
MARKS = "programs: made by bench/programs.py --write", "end of programs"
RESULTS = ROOT / "docs" / "benchmarks" / "programs.json"
COMPARED = 20
AVERAGED = 10  # without a metric of its own, a program's is the mean of so many last losses
_CLEW = ["-c", "from clew.cli import main; raise SystemExit(main())", "run", "--as-torch"]


class Failed(Exception):
    """A run that did not come to its end, in its own last words."""


@dataclass
class Run:
    """One run of a program."""

    losses: list[float]
    metric: float
    seconds: float
    stopped: bool


class Runner:
    """A process that has imported a library and runs programs in forks of itself."""

    def __init__(self, library: str) -> None:
        self.library = library
        self._process = subprocess.Popen(
            [*command(library), str(ROOT / "bench" / "watched.py")],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def run(self, program: dict[str, Any], source: Path, seed: int) -> Run:
        """Run a program once, in a copy of its folder.

        Raises:
            Failed: it ended with an error, or took too long.
        """
        limit = program.get("limit", 120)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "program"
            shutil.copytree(source, folder)
            job = {
                "arguments": [],
                "directory": ".",
                "path": [],
                "steps": 0,
                "losses": "backward",
            }
            job |= {name: program[name] for name in ("file", *job) if name in program}
            code = self._ask(job | {"folder": str(folder), "seed": seed, "limit": limit})
            if code == -signal.SIGALRM:
                raise Failed(f"{self.library}: not done after {limit} s")
            if code:
                words = (folder / "errors.txt").read_text().strip().splitlines() or [f"ended with {code}"]
                raise Failed(f"{self.library}: {words[-1]}")
            return read(
                program,
                json.loads((folder / "result.json").read_text()),
                (folder / "printed.txt").read_text(),
            )

    def _ask(self, job: dict[str, Any]) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process with {self.library} has ended")
        return int(answer)


def command(library: str, python: str = sys.executable) -> list[str]:
    """How a script is run under "clew" or "torch"."""
    return [python, *(_CLEW if library == "clew" else [])]


def environment(path: Sequence[str] = ()) -> dict[str, str]:
    """One thread, no screen, and sets in one order: what the programs leave to chance besides their draws.

    ``path`` are folders of modules for another Python than this one.
    """
    paths = os.pathsep.join(path or [*(name for name in sys.path if name), str(ROOT)])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS")}
    fixed = {
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    return kept | fixed | {"PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": ""}


def read(program: dict[str, Any], result: dict[str, Any], printed: str) -> Run:
    """Losses and metric: as recorded, or as the program prints them where the table has a pattern for that."""
    losses = result["losses"]
    pattern = program.get("losses", "backward")
    if pattern not in ("backward", "grad"):
        losses = [float(found) for found in re.findall(pattern, printed, re.M)]
    if not losses:
        raise Failed("no losses were found")
    last = losses[-AVERAGED:]
    metric = sum(last) / len(last)
    if "metric" in program:
        found = re.findall(program["metric"], printed, re.M)
        if not found:
            raise Failed(f"its metric, {program['metric']!r}, was not printed")
        metric = float(found[-1])
    return Run(losses, metric, result["seconds"], result["stopped"])


def measure(program: dict[str, Any], source: Path, seeds: int, runners: Sequence[Runner]) -> Result:
    """Run it from each seed, under both in turns."""
    result = Result(program["name"])
    try:
        runs = [[runner.run(program, source, seed) for runner in runners] for seed in range(seeds)]
    except Failed as error:
        result.error = str(error)
        return result
    theirs, ours = zip(*runs, strict=True)
    result.torch, result.clew = theirs[0].losses[:COMPARED], ours[0].losses[:COMPARED]
    result.steps, result.stopped = len(theirs[0].losses), theirs[0].stopped
    result.torch_metrics, result.clew_metrics = ([one.metric for one in each] for each in (theirs, ours))
    result.torch_seconds, result.clew_seconds = (min(one.seconds for one in each) for each in (theirs, ours))
    return result


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        "bench/programs.py",
        description="Programs of others, under clew and under PyTorch.",
    )
    made.add_argument("-k", metavar="NAME", default="", help="only programs whose name contains NAME")
    made.add_argument(
        "--packages",
        action="store_true",
        help="only those that come with installed packages",
    )
    made.add_argument(
        "--sources",
        type=Path,
        metavar="DIR",
        help="git repositories, each in DIR/owner+name",
    )
    made.add_argument("--seeds", type=int, default=5, help="how many seeds (5)")
    made.add_argument(
        "--write",
        action="store_true",
        help="write docs/programs.md and the README's sentence; what was not run stays as it was",
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    programs = tomllib.loads(TABLE.read_text())["program"]
    results: dict[str, Result] = {}
    runners = [Runner("torch"), Runner("clew")]
    for program in programs:
        if options.k not in program["name"] or (options.packages and "package" not in program):
            continue
        try:
            source = fetched(program, options.sources)
        except MissingSource as missing:
            print(f"{program['name']}: left out: {missing}", flush=True)
            continue
        result = results[program["name"]] = measure(program, source, options.seeds, runners)
        print(" | ".join(row(program, result)), flush=True)
        if options.write:
            write(programs, results)
    for runner in runners:
        runner.close()
    return int(any(result.verdict != "same" for result in results.values()))


def keep(file: Path, results: dict[str, Any], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Add results (dataclasses) to those in a JSON file, drop those of other names, and return all."""
    kept = json.loads(file.read_text()) if file.exists() else {}
    kept |= {name: asdict(result) for name, result in results.items()}
    kept = {name: kept[name] for name in sorted(kept) if name in names}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(values)}" for name, values in kept.items())
    file.write_text("{\n" + lines + "\n}\n")
    return kept


def write(programs: Sequence[dict[str, Any]], results: dict[str, Result]) -> None:
    """Add these results to those that are kept, and make the page of all of them."""
    kept = keep(RESULTS, results, [program["name"] for program in programs])
    described = machine.describe()
    all_results = {name: Result(**values) for name, values in kept.items()}
    PAGE.write_text(page(programs, all_results, described))
    README.write_text(fill(*MARKS, sentence(all_results), README.read_text()))


if __name__ == "__main__":
    sys.exit(main())
