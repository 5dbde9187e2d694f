"""Tries the wheel for Linux on aarch64 on this machine: tests run in an emulator.

    python tools/aarch64.py WHEEL [pytest arguments]     the wheel is that of tools/manylinux.py --arch aarch64

CPython is Debian's for arm64, fetched into build/aarch64/root by an apt of its own, so that nothing of the system
changes; NumPy, pytest and what else tests need come as wheels. `qemu-aarch64` (Debian: qemu-user) runs them. There
PyTorch is not: what tests of the registry expect of it is computed here first (tests/stored_values.py), and other
tests that ask it are left out. Needs Debian's apt and dpkg.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "aarch64"
SYSROOT, PACKAGES, VALUES = FOLDER / "root", FOLDER / "packages", FOLDER / "values.pickle"
DEBIAN = ("python3.11", "libstdc++6")
WHEELS = ("numpy", "scipy", "pytest", "pytest-timeout", "hypothesis")
# These start another interpreter, which the system would not run.
LEFT_OUT = "not importing_loads_little and not goes_back_to_the_system and not touches_no_new_pages"
RUNS = (
    ["tests/kernels", "-k", LEFT_OUT],
    ["tests/autograd", "-k", LEFT_OUT],
    ["tests/ops/test_registry.py", "-k", "values_and_gradients"],
)
NEEDS_PYTORCH = re.compile(r"^(?:import|from) torch", re.MULTILINE)  # as a whole; single tests are skipped


def fetch_python() -> None:
    """Debian's CPython, unpacked; nothing is installed."""
    if (SYSROOT / "usr/bin/python3.11").exists():
        return
    apt = FOLDER / "apt"
    for name in ("state/lists/partial", "cache/archives/partial"):
        (apt / name).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    said = {
        "Dir::State": apt / "state", "Dir::State::status": apt / "status", "Dir::Cache": apt / "cache",
        "APT::Architecture": "arm64", "APT::Architectures": "arm64", "APT::Sandbox::User": "root",
    }  # fmt: skip
    options = [f"-o{name}={value}" for name, value in said.items()]
    subprocess.run(["apt-get", "-q", *options, "update"], check=True)
    install = ["install", "-y", "-q", "--no-install-recommends", "--download-only"]
    subprocess.run(["apt-get", *options, *install, *DEBIAN], check=True)
    for package in sorted((apt / "cache/archives").glob("*.deb")):
        subprocess.run(["dpkg", "-x", package, SYSROOT], check=True)


def fetch_wheels(wheel: Path) -> None:
    """NumPy and the rest, and the wheel under test in place of what was there."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(PACKAGES), "--only-binary=:all:"]
    foreign = ["--platform=manylinux_2_28_aarch64", "--platform=manylinux2014_aarch64", "--python-version=3.11"]
    if not PACKAGES.exists():
        subprocess.run([*pip, *foreign, *WHEELS], check=True)
    shutil.rmtree(PACKAGES / "clew", ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(PACKAGES)


def emulated(*arguments: str) -> int:
    """Debian's CPython with these arguments; its exit code."""
    command = ["qemu-aarch64", "-L", str(SYSROOT), str(SYSROOT / "usr/bin/python3.11"), *arguments]
    environment = {"PYTHONPATH": str(PACKAGES), "PYTHONDONTWRITEBYTECODE": "1", "CLEW_STORED_VALUES": str(VALUES)}
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment).returncode


def main(arguments: list[str]) -> int:
    wheel, *tests = arguments
    if missing := [name for name in ("qemu-aarch64", "apt-get", "dpkg") if shutil.which(name) is None]:
        print(f"aarch64: skipped, there is no {missing[0]}")
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    fetch_python()
    fetch_wheels(Path(wheel).resolve())
    subprocess.run([sys.executable, "tests/stored_values.py", VALUES], cwd=ROOT, check=True)
    if code := emulated("-c", "import platform, clew; print(clew.__file__, platform.machine(), clew.ones(3).exp())"):
        return code
    others = [f"--ignore={path}" for path in ROOT.glob("tests/*/test_*.py") if NEEDS_PYTORCH.search(path.read_text())]
    pytest = ["-m", "pytest", "-p", "no:cacheprovider", *others]
    codes = [emulated(*pytest, *chosen) for chosen in ([tests] if tests else RUNS)]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
