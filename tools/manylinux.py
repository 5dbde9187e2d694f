"""Builds the wheel for Linux on x86-64 with glibc 2.28 or newer (manylinux_2_28), on any Linux, and checks it.

    python tools/manylinux.py [FOLDER]     writes the sdist and the wheel into FOLDER (dist)

The compiler is that of the package `ziglang`, which brings the symbols of every glibc. `auditwheel` proves what the
wheel needs, `twine` that its metadata are whole; the wheel may be no larger than 5 MB and install in at most 5 s. Needs
`pip install ".[wheels]"`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLATFORM = "manylinux_2_28_x86_64"
TARGET = "x86_64-linux-gnu.2.28"
MOST_BYTES = 5_000_000
MOST_SECONDS = 5.0  # for its installation in a new environment
COMPILER = """#!/bin/bash
exec "{python}" -m ziglang {language} -target {target} "${{@//-march=x86-64-v/-march=x86_64_v}}"
"""  # what g++ calls x86-64-v3 is x86_64_v3 there


def compilers(folder: Path) -> dict[str, str]:
    """Two commands, for C and C++, as the variables of the environment that CMake reads."""
    found = {}
    for variable, language in (("CC", "cc"), ("CXX", "c++")):
        path = folder / language
        path.write_text(COMPILER.format(python=sys.executable, language=language, target=TARGET))
        path.chmod(0o755)
        found[variable] = str(path)
    return found


def run(*command: str | Path, **variables: str) -> None:
    """A command of Python's, or an error."""
    subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env=os.environ | variables, check=True)


def seconds_to_install(wheel: Path) -> float:
    """How long pip takes for the wheel in a new environment; NumPy, which it needs, is not counted."""
    with tempfile.TemporaryDirectory() as name:
        run("venv", name)
        pip = [str(Path(name, "bin", "python")), "-m", "pip", "install", "-q", "--no-index", "--no-deps", str(wheel)]
        start = time.perf_counter()
        subprocess.run(pip, check=True)
        return time.perf_counter() - start


def main(arguments: list[str]) -> int:
    out = Path(arguments[0] if arguments else "dist").resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run("build", "--sdist", "-o", out)
        run(
            "build", "--wheel", "-o", folder, "-C", "build-dir=build/manylinux", "-C", "cmake.define.CLEW_CCACHE=",
            **compilers(folder),
        )  # fmt: skip
        (wheel,) = folder.glob("*.whl")
        run("auditwheel", "show", wheel)
        run("auditwheel", "repair", "--plat", PLATFORM, "--only-plat", "-w", out, wheel)
    (built,) = out.glob(f"{wheel.name.rpartition('-')[0]}-*{PLATFORM}*.whl")
    run("twine", "check", "--strict", *out.glob("clew-*"))
    size, seconds = built.stat().st_size, seconds_to_install(built)
    print(f"{built.name}: {size / 1e6:.2f} MB, installed in {seconds:.1f} s")
    if size > MOST_BYTES or seconds > MOST_SECONDS:
        print(f"expected at most {MOST_BYTES / 1e6:.0f} MB and {MOST_SECONDS:.0f} s")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
