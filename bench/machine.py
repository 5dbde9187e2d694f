"""What the figures were measured on: processor, caches, clock, system, versions, commit."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

from clew.cli.system import cpu_info, read

_TOLD = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "amx_tile")


def caches() -> dict[str, str]:
    """Size of each cache of processor 0, as the kernel tells it."""
    found = {}
    for index in range(8):
        folder = f"/sys/devices/system/cpu/cpu0/cache/index{index}/"
        size, level, kind = (read(folder + name) for name in ("size", "level", "type"))
        if size:
            found[f"L{level}" + {"Data": "d", "Instruction": "i"}.get(kind, "")] = size
    return found


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True, text=True
        )
    except OSError:
        return ""
    return done.stdout.strip()


def describe() -> dict[str, Any]:
    """All that is known of the machine, as it goes into the JSON file."""
    flags = set(cpu_info("flags").split())
    family = "/".join(cpu_info(name) for name in ("vendor_id", "cpu family", "model", "stepping"))
    return {
        "processor": cpu_info("model name") or platform.processor(),
        "family": family,
        "processors": os.cpu_count(),
        "processors allowed": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "flags": [flag for flag in _TOLD if flag in flags],
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "unknown",
        "system": platform.platform(),
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB",
        "python": sys.version.split()[0],
        "commit": _git("rev-parse", "--short", "HEAD") + ("+changes" if _git("status", "--porcelain", "-uno") else ""),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
