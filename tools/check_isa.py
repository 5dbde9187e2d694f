"""Checks by disassembly that nothing outside a kernel family uses more than the lowest instruction set.

The rule is in core/kernels/isa.h, Note [Kernel families].

    python tools/check_isa.py BUILD_FOLDER

The linker keeps one copy of an inline function that several files share. If a family had such a function, a CPU without
AVX-512 might run the AVX-512 copy of it. So a family's object file may define no weak symbol, and the registers that a
level does not have may not occur in its files, nor in those of the baseline.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

# What may not occur in the files of a level. Mask registers come with AVX-512.
ABOVE_V2 = re.compile(r"%[yz]mm\d|%k[1-7]\b|\bv[a-z0-9]+ .*%xmm")
ABOVE_V3 = re.compile(r"%zmm\d|%k[1-7]\b|%[xy]mm(1[6-9]|2\d|3[01])\b")
FORBIDDEN = {"v2": ABOVE_V2, "v3": ABOVE_V3, "v4": re.compile(r"(?!)")}


def check(path: Path) -> list[str]:
    """What is wrong with one object file."""
    level = re.search(r"clew_kernels_(v\d)\.dir", str(path))
    forbidden = FORBIDDEN[level.group(1) if level else "v2"]
    wrong = [f"{path.name}: {line.strip()}" for line in disassembled(path) if forbidden.search(line)][:3]
    if level:
        symbols = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
        shared = re.findall(r"^[0-9a-f]+ [WVu] (.*)$", symbols, re.MULTILINE)
        wrong += [f"{path.name} ({level.group(1)}): {name} may be shared with other files" for name in shared]
    return wrong


def disassembled(path: Path) -> list[str]:
    command = ["objdump", "-d", "--no-show-raw-insn", path]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    objects = sorted(Path(sys.argv[1]).rglob("*.o"))
    families = [path for path in objects if "clew_kernels_v4.dir" in str(path)]
    if not families:
        print(f"check_isa: expected the build's object files under {sys.argv[1]}, got none; build it there first")
        return 2
    wrong = [line for path in objects for line in check(path)]
    # The check itself: the top level must show what it looks for.
    if not any(ABOVE_V3.search(line) for path in families for line in disassembled(path)):
        wrong.append("no AVX-512 in any family compiled for v4: is this disassembly what we think it is?")
    print("\n".join(wrong) or f"{len(objects)} object files use what their level has")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
