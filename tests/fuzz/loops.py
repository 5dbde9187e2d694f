"""Random loops, compiled and called five times with new data: values, gradients and arguments must be eager's.

    python -m tests.fuzz.loops --programs 10000 --seed X
    CLEW_CODE=now python -m tests.fuzz.loops --programs 1000

A loop has a state of two matrices, a parameter, a sequence that it reads, a buffer that it fills and a sum that it adds
to. In half of the programs a second one follows, which reads what one turn of the first has made. Most are so long that
their turns are folded. Prints what differs and how many were folded. Exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import clew

SIZE = 4
CALLS = 5
UNARY: list[Callable[[Any], Any]] = [
    lambda a: a.sin(), lambda a: -a, lambda a: a * 0.5, lambda a: 0.5 - a, lambda a: a.tanh(), lambda a: a.clone(),
    lambda a: a.flip(0), lambda a: a[..., :2].repeat(1, 2), lambda a: a.clamp(-1, 1), lambda a: a.t().contiguous(),
    lambda a: a.t(), lambda a: a.sigmoid(), lambda a: a - a.mean(), lambda a: a / (a.abs().sum() + 1),
    lambda a: a.relu(), lambda a: a.softmax(-1), lambda a: clew.zeros_like(a) + a, lambda a: clew.ones(4, 4) * a,
    lambda a: a.reshape(2, 8).view(4, 4), lambda a: clew.cat([a[:2], a[2:] * 0.5]), lambda a: a.detach(),
    lambda a: a.cumsum(0) * 0.3, lambda a: a.roll(1, 0), lambda a: clew.tensor([[0.5, -1.0, 2.0, 0.1]]) * a,
    lambda a: a.expand(2, 4, 4).sum(0) * 0.5, lambda a: a.sort(1)[0], lambda a: clew.where(a > 0, a, 0.1 * a),
    lambda a: a.double().float(), lambda a: a.diagonal().diag() + a,
]  # fmt: skip
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a - b * 0.5, lambda a, b: clew.maximum(a, b),
    lambda a, b: a / (b * b + 1), lambda a, b: clew.where(a > b, a, b), lambda a, b: a @ b * 0.2,
    lambda a, b: clew.add(a, b, alpha=0.3), lambda a, b: clew.lerp(a, b, 0.3),
    lambda a, b: clew.stack([a, b]).mean(0), lambda a, b: clew.addmm(a, a, b) * 0.1,
]  # fmt: skip
IN_PLACE: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a.mul_(b), lambda a, b: a.add_(b, alpha=0.1), lambda a, b: a.copy_(b), lambda a, b: a.clamp_(-1, 1),
    lambda a, b: a.neg_(), lambda a, b: a[0].mul_(0.5), lambda a, b: a[:, 1:].add_(b[:, 1:]), lambda a, b: a.zero_(),
]  # fmt: skip
KINDS = {
    "unary": 40, "binary": 30, "in place": 8, "earlier": 6, "sum": 4, "sequence": 6, "places": 1, "fill": 4,
    "filled": 4,
}  # fmt: skip


@dataclass
class Statement:
    kind: str
    of: float
    other: float
    operation: float
    turns: int

    def choose(self, operations: list[Any]) -> Any:
        return operations[int(self.operation * len(operations))]


@dataclass
class Drawn:
    turns: int
    statements: list[Statement]
    carried: list[float]
    gradient: str  # "", "grad", "backward", "twice"
    normed: bool
    unbound: bool
    each_turn: bool
    given: int
    second: float  # which turn's state a second loop reads in place of a parameter; over 1: there is none


def draw(seed: str) -> Drawn:
    chosen = random.Random(seed)
    count = chosen.randrange(3, 26)
    kinds = chosen.choices(list(KINDS), weights=list(KINDS.values()), k=count)
    statements = [
        Statement(kind, chosen.random(), chosen.random(), chosen.random(), chosen.randrange(1, 4)) for kind in kinds
    ]
    turns = min(160, chosen.randrange(max(8, 1000 // (3 * count)), max(12, 2000 // (2 * count))))
    return Drawn(
        turns,
        statements,
        [chosen.random(), chosen.random()],
        chosen.choice(["", "grad", "backward", "twice"]),
        chosen.random() < 0.7,
        chosen.random() < 0.3,
        chosen.random() < 0.2,
        chosen.randrange(4),
        2 * chosen.random(),
    )


def function_of(drawn: Drawn) -> Callable[..., list[Any]]:
    def turn(state: list[Any], earlier: list[Any], w: Any, at: int, places: dict[str, Any]) -> list[Any]:
        made, fresh = [*state, w], []
        for one in drawn.statements:
            a, b = (made[int(place * len(made))] for place in (one.of, one.other))
            new = None
            if one.kind == "unary":
                new = one.choose(UNARY)(a)
            elif one.kind == "binary":
                new = one.choose(BINARY)(a, b)
            elif one.kind == "earlier":
                new = one.choose(BINARY)(earlier[-one.turns], a)
            elif one.kind == "sequence":
                sequence = places["sequence"]
                last = drawn.turns - 1 - at
                new = one.choose(BINARY)(sequence[last if one.turns == 3 and not drawn.unbound else at], a)
            elif one.kind == "places":
                sequence, last = places["sequence"], drawn.turns - 1 - at
                new = one.choose(BINARY)(sequence[0 if one.turns == 1 else last], sequence[at])
                new = clew.stack([new, a]).sum(0)
            elif one.kind == "filled":
                buffer = places["buffer"]
                before = buffer[max(at - 1, 0)].clone() if one.turns == 2 else buffer.sum(0) * 0.1
                new = one.choose(BINARY)(a, buffer[at] if one.turns == 3 else before)
            elif one.kind == "in place" and fresh:
                target = fresh[int(one.of * len(fresh))]
                if target.requires_grad:
                    new = target = target.clone()
                one.choose(IN_PLACE)(target, b)
            elif one.kind == "sum":
                places["sum"].add_(a.detach(), alpha=0.1)
            elif one.kind == "fill":
                buffer = places["buffer"]
                buffer[drawn.turns - 1 - at].add_(a.detach()) if one.turns == 3 else buffer[at].copy_(a.detach())
            if new is not None:
                made.append(new)
                fresh.append(new)
        carried = [made[-1 - int(place * min(6, len(made) - 1))] for place in drawn.carried]
        return [one.tanh() for one in carried] if drawn.normed else carried

    def function(x: Any, y: Any, w: Any, sequence: Any) -> list[Any]:
        if drawn.gradient:
            x, w = (one.detach().clone().requires_grad_() for one in (x, w))
        if drawn.gradient and drawn.normed:
            sequence = sequence.detach().clone().requires_grad_()
        state, earlier, outs, kept = [x, y], [x] * 3, [], w
        places = {
            "buffer": clew.zeros(drawn.turns, SIZE, SIZE),
            "sum": clew.zeros(SIZE, SIZE),
            "sequence": sequence[: drawn.turns].unbind(0) if drawn.unbound else sequence,
        }
        read, of_turn = w, int(drawn.second * drawn.turns)
        for _ in range(2 if drawn.second < 1 else 1):
            for at in range(drawn.turns):
                state = turn(state, earlier, read, at, places)
                earlier = [*earlier[1:], state[0]]
                kept = state[0] if at == of_turn else kept
                if drawn.each_turn:
                    outs.append(state[0].sum())
            read = kept
        given = [state[0].sum()] if drawn.given == 1 else [*state, places["sum"]]
        given += [state[0][1:]] if drawn.given == 2 else []
        given += [clew.stack(outs)] if outs else []
        return [one.detach() for one in given] + gradients(state, outs, [x, w])

    def gradients(state: list[Any], outs: list[Any], leaves: list[Any]) -> list[Any]:
        if not drawn.gradient:
            return []
        loss = (state[0] * state[0]).sum() + state[1].sum() * 0.1 + sum(one * 0.5 for one in outs)
        if drawn.gradient == "backward":
            loss.backward()
            return [one.grad for one in leaves if one.grad is not None]
        twice = drawn.gradient == "twice"
        found = [
            one for one in clew.autograd.grad(loss, leaves, allow_unused=True, create_graph=twice) if one is not None
        ]
        if twice and any(one.requires_grad for one in found):
            again = sum((one * one).sum() for one in found)
            more = clew.autograd.grad(again, leaves, allow_unused=True)
            found += [one for one in more if one is not None]
        return [one.detach() for one in found]

    return function


def arguments(call: int) -> list[Any]:
    chosen = np.random.default_rng(call)
    shapes = [(SIZE, SIZE)] * 3 + [(170, SIZE, SIZE)]
    return [clew.from_numpy((0.7 * chosen.standard_normal(shape)).astype(np.float32)) for shape in shapes]


def bits(tensors: list[Any]) -> list[Any]:
    """Any NaN is as good as another."""
    found = []
    for one in tensors:
        array = one.detach().contiguous().numpy()
        found.append((one.shape, one.dtype, one.stride(), np.where(np.isnan(array), np.float32(99), array).tobytes()))
    return found


@dataclass
class Outcome:
    folded: bool = False
    hits: int = 0
    difference: str = ""


def check(seed: str) -> Outcome | None:
    """None: the function raises."""
    function = function_of(draw(seed))
    try:
        function(*arguments(0))
    except RuntimeError:
        return None
    compiled, outcome = clew.compile(function), Outcome()
    for call in range(CALLS):
        eager, given = arguments(call), arguments(call)
        wanted = bits(function(*eager)) + bits(eager)
        if bits(compiled(*given)) + bits(given) != wanted:
            outcome.difference = f"call {call} differs"
            break
    outcome.hits = compiled.hits
    outcome.folded = "of them iterations of" in compiled.why()
    return outcome


@dataclass
class Tally:
    programs: int = 0
    folded: int = 0
    hits: int = 0
    finds: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.programs} loops called {CALLS} times, {self.hits} calls replayed; {self.folded} were folded; "
            f"{len(self.finds)} differ"
        )


def outcomes(seed: str, wanted: int) -> Iterator[tuple[str, Outcome]]:
    place = 0
    while wanted:
        name = f"{seed}:{place}"
        place += 1
        if outcome := check(name):
            wanted -= 1
            yield name, outcome


def tally(seed: str, wanted: int, say: bool = False) -> Tally:
    found, began = Tally(), time.monotonic()
    for name, outcome in outcomes(seed, wanted):
        found.programs += 1
        found.folded += outcome.folded
        found.hits += outcome.hits
        if outcome.difference:
            found.finds.append(f"{name}: {outcome.difference}")
            if say:
                print(found.finds[-1], flush=True)
        if say and found.programs % 1000 == 0:
            print(f"after {time.monotonic() - began:.0f} s: {found}", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.loops", description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", default="0", help="a text; the same seed draws the same programs")
    given = parser.parse_args()
    found = tally(given.seed, given.programs, say=True)
    print(found)
    return 1 if found.finds else 0


if __name__ == "__main__":
    sys.exit(main())
