"""Tests that libraries bring with them: a fixed part of each, on PyTorch and on clew.

python bench/library_tests.py --python DIR/bin/python             all of them, without writing
python bench/library_tests.py zuko --write                        one; adds it to docs/libraries.md
python bench/library_tests.py zuko --keep                         one, with the tests that fail on clew alone

`bench/library_tests.toml` is the table. Those are counted that pass on PyTorch; what PyTorch gave is kept in the cache.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import xml.etree.ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))

from bench.libraries import TEST_RESULTS, ours  # noqa: E402
from bench.programs import environment, keep  # noqa: E402
from bench.sources import CACHE, MissingSource, fetched  # noqa: E402

TABLE = ROOT / "bench" / "library_tests.toml"
GLUE = ROOT / "bench" / "library_glue"


@dataclass
class Result:
    """How many tests pass on PyTorch, how many of these on clew, and the others with their errors."""

    name: str
    torch: int = 0
    clew: int = 0
    torch_seconds: float = 0.0
    clew_seconds: float = 0.0
    failed: dict[str, str] = field(default_factory=dict)
    row: list[str] = field(default_factory=list)


def source(library: dict[str, Any], sources: Path | None) -> Path:
    """A folder with the library's source: from a repository, or the source distribution on PyPI."""
    if "repository" in library:
        return fetched(library, sources)
    name, version = library["distribution"], library["version"]
    folder = CACHE / f"{name}-{version}-source"
    if not folder.exists():
        with tempfile.TemporaryDirectory() as scratch:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
            got = subprocess.run([*command, f"{name}=={version}", "-d", scratch], capture_output=True, text=True)
            archives = list(Path(scratch).glob("*.tar.gz"))
            if not archives:
                raise MissingSource(f"{name} {version}: {got.stderr.strip().splitlines()[-1]}")
            shutil.unpack_archive(archives[0], scratch)
            shutil.move(next(path for path in Path(scratch).iterdir() if path.is_dir()), folder)
    return folder


def run(library: dict[str, Any], engine: str, python: str, folder: Path, limit: float) -> dict[str, str]:
    """Run the tests. Returns the outcome of each: nothing where it passed, else the error's line."""
    report = folder / f"{engine}.xml"
    plugin = ["-p", "clew.pytest_as_torch"] if engine == "clew" else []
    fixed = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=line", "--continue-on-collection-errors"]
    path = [str(folder / name) for name in library.get("import", ["."])]
    with (folder / f"{engine}.txt").open("w") as printed:
        subprocess.run(
            [python, "-m", "pytest", *plugin, *fixed, f"--junitxml={report}", *library["run"]],
            cwd=folder,
            env=environment([*path, ours(), str(ROOT)]) | library.get("environment", {}),
            timeout=limit,
            stdout=printed,
            stderr=subprocess.STDOUT,
        )
    if not report.exists():
        raise MissingSource("pytest came to no end: " + " ".join((folder / f"{engine}.txt").read_text().split())[-200:])
    return outcomes(report)


def of_torch(library: dict[str, Any], python: str, folder: Path, limit: float) -> tuple[dict[str, str], float]:
    """The outcomes on PyTorch, and the seconds it took: from the cache, or run now."""
    kept = CACHE / f"tests of {library['name']}.json"
    key = json.dumps([library["version"], library["run"]])
    if kept.exists() and (found := json.loads(kept.read_text()))["key"] == key:
        return found["outcomes"], found["seconds"]
    began = time.perf_counter()
    found = {"key": key, "outcomes": run(library, "torch", python, folder, limit)}
    found["seconds"] = time.perf_counter() - began
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(found))
    return found["outcomes"], found["seconds"]


def outcomes(report: Path) -> dict[str, str]:
    """Each test's error in a report of pytest; nothing for one that passed. Skipped tests are left out."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is not None:
            continue
        bad = next((child for child in case if child.tag in ("failure", "error")), None)
        words = "" if bad is None else " ".join((bad.get("message") or bad.text or "failed").split())[:200]
        name = f"{case.get('classname')}::{case.get('name')}"
        found[name] = found.get(name, "") or words
    return found


@contextlib.contextmanager
def copied(library: dict[str, Any], sources: Path | None) -> Iterator[Path]:
    """A copy of the source, with what the tests need besides."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "source"
        shutil.copytree(source(library, sources), folder)
        for name, text in library.get("files", {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        if "glue" in library:
            shutil.copy(GLUE / f"{library['glue']}.py", folder / "tests" / "test_glue.py")
        yield folder


def measure(library: dict[str, Any], python: str, sources: Path | None, limit: float) -> Result:
    """Run the tests on both engines, in a copy of the source."""
    result = Result(library["name"])
    with copied(library, sources) as folder:
        theirs, result.torch_seconds = of_torch(library, python, folder, limit)
        began = time.perf_counter()
        found = run(library, "clew", python, folder, 3 * limit)
        result.clew_seconds = time.perf_counter() - began
    passed = [name for name, words in theirs.items() if not words]
    result.torch = len(passed)
    result.failed = {name: words for name in passed if (words := found.get(name, "was not run"))}
    result.clew = result.torch - len(result.failed)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    libraries = tomllib.loads(TABLE.read_text())["library"]
    results: dict[str, Result] = {}
    for library in libraries:
        if options.names and library["name"] not in options.names:
            continue
        try:
            if options.torch:
                with copied(library, options.sources) as folder:
                    theirs, seconds = of_torch(library, options.python, folder, options.limit)
                passed = sum(not words for words in theirs.values())
                print(f"{library['name']}: {passed} of {len(theirs)} in {seconds:.0f} s", flush=True)
                continue
            result = measure(library, options.python, options.sources, options.limit)
        except (MissingSource, subprocess.TimeoutExpired) as error:
            print(f"{library['name']}: left out: {error}", flush=True)
            continue
        results[library["name"]] = result
        result.row = row(library, result)
        print(" | ".join(result.row), flush=True)
        for name, words in result.failed.items() if options.keep else ():
            print(f"    {name}: {words}")
        if options.write:
            keep(TEST_RESULTS, results, [one["name"] for one in libraries])
    return int(any(result.clew < 0.95 * result.torch for result in results.values()))


def row(library: dict[str, Any], result: Result) -> list[str]:
    """A library's line of the table."""
    chosen = " ".join(argument for argument in library["run"] if not argument.startswith("--"))
    share = f"{100 * result.clew / max(result.torch, 1):.1f} %"
    times = [f"{seconds:.0f}" for seconds in (result.torch_seconds, result.clew_seconds)]
    return [
        f"{library['name']} {library['version']}",
        f"`{chosen}`",
        str(result.torch),
        str(result.clew),
        share,
        *times,
    ]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("bench/library_tests.py", description="Tests of libraries, on both engines.")
    made.add_argument("names", nargs="*", metavar="NAME", help="only these")
    made.add_argument("--python", default=sys.executable, help="the Python that has the libraries (this one)")
    made.add_argument("--sources", type=Path, metavar="DIR", help="git repositories, each in DIR/owner+name")
    made.add_argument("--limit", type=float, default=300, help="seconds for a library's tests on PyTorch (300)")
    made.add_argument("--torch", action="store_true", help="run PyTorch's side alone, for the cache")
    made.add_argument("--keep", action="store_true", help="show the tests that fail on clew alone")
    made.add_argument("--write", action="store_true", help="keep the results for docs/libraries.md")
    return made


if __name__ == "__main__":
    sys.exit(main())
