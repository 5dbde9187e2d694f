"""What the system tells of the machine; empty where it tells nothing."""

from __future__ import annotations


def read(path: str) -> str:
    """The text of a file."""
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""


def cpu_info(field: str) -> str:
    """A field of the first processor, such as ``model name`` or ``flags``."""
    for line in read("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return ""
