"""The text of ``clew run --check``."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from typing import Any

from ...graph.model.wording import counted
from .observer import Line, Observer

_MOST = 20  # differences that are printed
_MOST_NAMES = 12  # of operations that were not checked, for one reason
_KINDS = {
    "operation": ("operation", "operations"),
    "function": ("function made of operations", "functions made of operations"),
    "gradient": ("gradient", "gradients"),
    "step": ("optimizer step", "optimizer steps"),
}


def report(found: dict[str, Any], observer: Observer, version: str, options: argparse.Namespace) -> tuple[str, bool]:
    """The text, and whether anything differs."""
    account = observer.account
    lines = [f"── clew run --check {options.script} beside PyTorch {version} ".ljust(100, "─")]
    differences = found["differences"]
    for site, name, part, count, (what, tolerance) in differences[:_MOST]:
        lines += _difference(observer.sites[site], name, part, count, what, tolerance, options.script)
    if len(differences) > _MOST:
        lines.append(f"… {len(differences) - _MOST:,} more lines with differences")
    if not differences:
        lines.append("No difference.")
    lines.append("")
    unchecked: Counter[tuple[str, str, str]] = Counter(found["unchecked"]) + account.not_sent
    for kind in _KINDS:
        if not account.seen[kind]:
            continue
        agree, differ = found["checked"].get(kind, 0), found["differ"].get(kind, 0)
        rest = sum(number for (which, _, _), number in unchecked.items() if which == kind)
        lines.append(
            f"{_KINDS[kind][1]}: {account.seen[kind]:,} ran; {agree:,} agree, {differ:,} differ, {rest:,} not checked"
        )
    if account.passed_over:
        lines.append(f"passed over: {account.passed_over:,} later calls at the same lines")
    lines += _holes(found, account)
    if unchecked:
        lines += ["", "not checked:", *_unchecked(unchecked)]
    return "\n".join(lines), bool(differences)


def _difference(line: Line, name: str, part: str, count: int, what: str, tolerance: str, script: str) -> list[str]:
    place = f"{os.path.relpath(line.file) if os.path.isabs(line.file) else line.file}:{line.line} in {line.function}"
    if line.script_line:
        place += f", from {script}:{line.script_line}"
    times = f", in {count:,} calls" if count > 1 else ""
    return [f"{name.partition('(')[0]}, {part}, at {place}{times}", f"    clew {what}", f"    tolerance {tolerance}"]


def _holes(found: dict[str, Any], account: Any) -> list[str]:
    """What neither side has counted: there should be none."""
    lost = []
    for kind in _KINDS:
        answered = found["checked"].get(kind, 0) + found["differ"].get(kind, 0)
        answered += sum(number for (which, _, _), number in found["unchecked"].items() if which == kind)
        if answered != account.sent[kind]:
            lost.append(f"{counted(account.sent[kind] - answered, kind)} without an answer from PyTorch's process")
    if (unseen := account.ledger - account.functional) > 0:
        lost.append(f"{counted(unseen, 'operation')} ran unseen")
    return lost


def _unchecked(unchecked: Counter[tuple[str, str, str]]) -> list[str]:
    reasons: dict[str, Counter[str]] = {}
    for (kind, name, reason), number in unchecked.items():
        label = name.partition("(")[0] + (" (gradient)" if kind == "gradient" else "")
        reasons.setdefault(reason, Counter())[label] += number
    lines = []
    for reason, names in sorted(reasons.items(), key=lambda item: -item[1].total()):
        shown = ", ".join(f"{name} {number:,}" for name, number in names.most_common(_MOST_NAMES))
        more = f", … {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        lines.append(f"    {names.total():,}: {reason}: {shown}{more}")
    return lines
