"""Random programs, kept, written to a file and read again: what is loaded does what was kept, to the bit."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import fuzz_kept
import numpy

import clew


def keep(seed: str) -> tuple[dict[str, Any], list[str], clew.keep.Program] | None:
    """The names of a program of the fuzzer's, those of its leaves, and it; None where it can't be kept."""
    statements = fuzz_kept.statements_of(seed)
    if statements is None:
        return None
    makers = [one for one in statements if fuzz_kept.MAKER.match(one)]
    body = [one for one in statements if not fuzz_kept.MAKER.match(one) and not fuzz_kept.IMPURE.search(one)]
    names: dict[str, Any] = {"torch": clew, "log": []}
    if fuzz_kept.run(names, makers):
        return None
    try:
        with clew.keep_graph() as program:
            fuzz_kept.run(names, body)
    except clew.KeepError:
        return None
    return names, [fuzz_kept.MAKER.match(one).group(1) for one in makers], program  # type: ignore[union-attr]


def named(names: dict[str, Any]) -> dict[str, clew.Tensor]:
    """The tensors of the program, one name for each."""
    found: dict[int, tuple[str, clew.Tensor]] = {}
    for name, tensor in fuzz_kept.tensors_in(names).items():
        found.setdefault(id(tensor), (name.replace(".", "_"), tensor))
    return dict(found.values())


def check(seed: str, folder: Path, counts: Counter[str]) -> list[str]:
    """Differences between a kept program and what comes back from its file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _check(seed, folder, counts)


def _check(seed: str, folder: Path, counts: Counter[str]) -> list[str]:
    kept = keep(seed)
    if kept is None:
        return []
    names, makers, program = kept
    tensors = {}
    for name, tensor in named(names).items():
        with contextlib.suppress(ValueError):  # the program neither reads nor makes it
            program.name(**{name: tensor})
            tensors[name] = tensor
    path = folder / "program.clew"
    clew.manual_seed(5)
    try:
        program.save(path)
    except NotImplementedError as error:
        counts[re.sub(r"\d+|\(.*|At .*", "", str(error))[:90]] += 1
        return []
    except clew.ReplayError:
        counts["changed since"] += 1
        return []
    counts["saved"] += 1
    loaded = clew.load_program(path)
    again = {name: loaded[name] for name in tensors}
    leaves = [f"{name}_0" for name in makers if f"{name}_0" in tensors]
    differences = _compare("loaded", tensors, again)
    random = numpy.random.default_rng([ord(letter) for letter in seed])
    for turn in range(2):
        fuzz_kept.renew([tensors, again], leaves, random)
        if _run(program) != _run(loaded):
            return [*differences, f"{turn}: one of the two runs"]
        counts["runs"] += 1
        differences += _compare(f"run {turn}", tensors, again)
    for name in tensors:
        fuzz_kept.renew([tensors, again], leaves, random)
        outcomes = [_forward(one[name], [one[leaf] for leaf in leaves]) for one in (tensors, again)]
        counts["forwards"] += outcomes[0][0] != "raises"
        if outcomes[0] != outcomes[1]:
            differences.append(f"forward of {name}: {outcomes}")
    return differences + _compare("at the end", tensors, again)


def _run(program: clew.keep.Program) -> str:
    try:
        program.run()
    except clew.ReplayError as error:
        return str(error)
    return "ran"


def _forward(tensor: clew.Tensor, leaves: list[clew.Tensor]) -> tuple[Any, ...]:
    inputs = [one for one in leaves if one.requires_grad]
    try:
        tensor.forward()
    except RuntimeError:
        return ("raises",)
    try:
        if not inputs or not tensor.requires_grad or tensor.is_leaf:
            return (fuzz_kept.bits(tensor),)
        found = clew.autograd.grad(tensor.sum(), inputs, retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        return fuzz_kept.bits(tensor), type(error).__name__
    return fuzz_kept.bits(tensor), [fuzz_kept.bits(one) for one in found]


def _compare(when: str, tensors: dict[str, clew.Tensor], again: dict[str, clew.Tensor]) -> list[str]:
    def seen(tensor: clew.Tensor) -> Any:
        try:
            _ = tensor.is_leaf
        except RuntimeError:  # a view that may not be read any more
            return "unreadable"
        return fuzz_kept.bits(tensor), tensor.requires_grad, tensor.is_leaf and fuzz_kept.bits(tensor.grad)

    pairs = {name: (seen(tensors[name]), seen(again[name])) for name in tensors}
    # In a file, what was a view is one by its memory, not for autograd.
    return [f"{when}: {name}" for name, (one, other) in pairs.items() if one not in ("unreadable", other)]
