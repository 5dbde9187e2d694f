"""Random programs as functions, compiled and run with new data beside eager."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy
from fuzz_kept import IMPURE, MAKER, bits, gradients, run, state, statements_of, tensors_in

import clew

ROUNDS = 4  # the first is recorded
CALLS_OUTSIDE = 3  # whose graphs go backward together


@dataclass
class Outcome:
    """What became of one program."""

    hits: int = 0
    why: str = ""
    differences: list[str] = field(default_factory=list)


def check(seed: str, rounds: int = ROUNDS) -> Outcome | None:
    """Compile a program of the fuzzer's, call it with new data, and compare with eager; None: it has nothing to run."""
    statements = statements_of(seed)
    return None if statements is None else check_statements(statements, seed, rounds)


def check_statements(statements: list[str], seed: str, rounds: int = ROUNDS) -> Outcome | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        makers = [one for one in statements if MAKER.match(one)]
        body = [one for one in statements if not MAKER.match(one) and not IMPURE.search(one)]
        trial: dict[str, Any] = {"torch": clew, "log": []}
        if run(trial, makers):
            return None
        raised = {one.rpartition(": ")[0] for one in run(trial, body)}
        body = [one for one in body if one not in raised]
        return Side.compare(makers, body, seed, rounds) if body else None


class Side:
    """A program with data of its own, as an eager or as a compiled function."""

    def __init__(self, makers: list[str], body: list[str], compiled: bool, captured: bool) -> None:
        self.makers, self.captured = makers, captured
        self.leaves = [MAKER.match(one).group(1) for one in makers]  # type: ignore[union-attr]
        self.namespace: dict[str, Any] = {"torch": clew, "log": []}
        made = dict.fromkeys(found.group() for one in body if (found := re.match(r"v\d+(?= = )", one)))
        results = ", ".join(f"'{name}': {name}" for name in made)
        parameters = "" if captured else ", ".join(self.leaves)
        lines = "".join("    " + line + "\n" for one in body for line in one.splitlines())
        exec(f"def program({parameters}):\n{lines}    return {{{results}}}\n", self.namespace)
        plain = self.namespace["program"]
        self.function = clew.compile(plain) if compiled else plain
        self.earlier: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.stream = clew.random.get_rng_state()

    def renew(self, factors: dict[str, Any]) -> None:
        """New values: in new tensors, or in those that the function has captured."""
        fresh: dict[str, Any] = {"torch": clew}
        run(fresh, self.makers)
        for name in self.leaves:
            if name in factors:
                with clew.no_grad():
                    fresh[name].detach().mul_(clew.tensor(factors[name], dtype=fresh[name].dtype))
            if self.captured and name in self.namespace:
                with clew.no_grad():
                    self.namespace[name].detach().copy_(fresh[name].detach())
            else:
                self.namespace[name] = fresh[name]

    def call(self) -> Any:
        """All that a call gives and leaves."""
        clew.random.set_rng_state(self.stream)
        given = [] if self.captured else [self.namespace[name] for name in self.leaves]
        try:
            with clew.enable_grad():  # a program that fails may leave another mode
                results = self.function(*given)
        except Exception as error:
            return type(error).__name__
        finally:
            self.stream = clew.random.get_rng_state()
        seen = {**{name: self.namespace[name] for name in self.leaves}, **results}
        values = {name: bits(one) for name, one in tensors_in(seen).items()}
        outcome = (
            *(state(seen, {*self.leaves, *results}), facts(seen), gradients(seen, self.leaves)),
            [bits(one) for one in self.namespace["log"] if isinstance(one, clew.Tensor)],
            bits(self.stream),
        )
        # What was given earlier is as it was, but for what the captured tensors share with it.
        changed = [] if self.captured else [self.changed(*one) for one in self.earlier]
        self.earlier.append((results, values))
        return *outcome, changed

    def outside(self) -> Any:
        """What a backward through the graphs of several calls leaves in the leaves."""
        clew.random.set_rng_state(self.stream)
        given = [] if self.captured else [self.namespace[name] for name in self.leaves]
        try:
            with clew.enable_grad():
                total = clew.zeros(())
                for turn in range(CALLS_OUTSIDE):
                    for one in tensors_in(self.function(*given)).values():
                        if one.grad_fn is not None and one.is_floating_point():
                            total = total + (one * (turn + 1)).sum()
                if total.grad_fn is None:
                    return None
                total.backward()
        except Exception as error:
            return type(error).__name__
        finally:
            self.stream = clew.random.get_rng_state()
        leaves = [self.namespace[name].grad for name in self.leaves]
        return [one if one is None else (one.stride(), bits(one)) for one in leaves]

    @staticmethod
    def changed(results: dict[str, Any], values: dict[str, Any]) -> list[str]:
        return [name for name, one in tensors_in(results).items() if bits(one) != values[name]]

    @staticmethod
    def compare(makers: list[str], body: list[str], seed: str, rounds: int) -> Outcome:
        outcome = Outcome()
        random = numpy.random.default_rng([ord(letter) for letter in seed])
        captured = bool(random.integers(2))
        clew.manual_seed(11)
        sides = [Side(makers, body, compiled, captured) for compiled in (False, True)]
        for turn in range(rounds):
            shapes = {name: one.shape for name, one in sides[0].shapes().items()}
            factors = {name: random.uniform(0.5, 1.5, tuple(shape)) if turn else 1.0 for name, shape in shapes.items()}
            try:
                for one in sides:
                    one.renew(factors)
            except RuntimeError:  # a captured tensor has another shape now
                break
            eager, compiled = (one.call() for one in sides)
            if eager != compiled:
                outcome.differences.append(f"round {turn}: {difference(eager, compiled)}")
                break
            eager, compiled = (one.outside() for one in sides)
            if eager != compiled:
                outcome.differences.append(
                    f"round {turn}: after a backward outside, {compiled!r:.300}, eager {eager!r:.300}"
                )
                break
        outcome.hits, outcome.why = sides[1].function.hits, sides[1].function.why()
        return outcome

    def shapes(self) -> dict[str, Any]:
        fresh: dict[str, Any] = {"torch": clew}
        run(fresh, self.makers)
        return {name: fresh[name] for name in self.leaves if fresh[name].is_floating_point()}


def facts(namespace: dict[str, Any]) -> Any:
    """What a tensor is beside its values, and which share memory."""
    found = tensors_in(namespace)
    places: dict[int, int] = {}
    return {
        name: (
            *(str(one.dtype), tuple(one.shape), one.stride(), one.storage_offset(), one.requires_grad),
            places.setdefault(id(one), len(places)),
            one.data_ptr()
            and one.numel()
            and [other for other, two in found.items() if two.data_ptr() == one.data_ptr()],
        )
        for name, one in found.items()
    }


def difference(eager: Any, compiled: Any) -> str:
    if isinstance(eager, str) or isinstance(compiled, str):
        return f"eager {eager!r:.200}, compiled {compiled!r:.200}"
    for mine, theirs in zip(compiled, eager, strict=True):
        if isinstance(theirs, dict):
            for name in theirs:
                if mine.get(name) != theirs[name]:
                    return f"{name}: compiled {mine.get(name)!r:.300}, eager {theirs[name]!r:.300}"
        elif mine != theirs:
            return f"compiled {mine!r:.300}, eager {theirs!r:.300}"
    return "which values there are"
