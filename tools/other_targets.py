"""Compiles the core for machines that we have not, so that it stays possible: nothing is linked or run.

    python tools/other_targets.py [TARGET ...]

The compiler is that of the package `ziglang`, which brings the headers of each target.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("x86_64-linux-musl", "aarch64-linux-gnu.2.28", "aarch64-macos", "x86_64-windows-gnu")
FLAGS = (
    "-std=c++20",
    "-I.",
    "-O0",
    "-w",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-DCLEW_ISA=v2",
    "-DCLEW_ONE_ISA=v2",
    "-DCLEW_HAS_V2=1",
)


def complaint(target: str, source: Path, folder: Path) -> str:
    """What the compiler says of one file that it refuses."""
    command = [sys.executable, "-m", "ziglang", "c++", "-target", target, *FLAGS, "-c", source]
    ran = subprocess.run([*command, "-o", folder / f"{source.stem}.o"], cwd=ROOT, capture_output=True, text=True)
    return f"{target}: {source}:\n{ran.stderr}" if ran.returncode else ""


def main(targets: list[str]) -> int:
    sources = sorted(path.relative_to(ROOT) for path in ROOT.glob("core/**/*.cpp"))
    wrong = 0
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(cpu_count()) as pool:
        for target in targets or TARGETS:
            found = list(filter(None, pool.map(lambda one, to=target: complaint(to, one, Path(name)), sources)))
            print(f"{target}: {len(sources) - len(found)} of {len(sources)} files compile", *found, sep="\n")
            wrong += len(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
