"""Random programs, kept and run again beside eager."""

from __future__ import annotations

import contextlib
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import fuzz_programs
import fuzz_session
import numpy

import clew

MAKER = re.compile(r"^(v\d+) = torch\.tensor\(")
IMPURE = re.compile(r"manual_seed|set_grad_enabled")
# Their derivative is recorded with and without zeros among the factors, and one of the two is chosen. In a second
# derivative the other adds a zero, which makes 0 of -0.
BOTH_WAYS = re.compile(r"\b(cum)?prod_?\(")
ROUNDS = 3


def statements_of(seed: str) -> list[str] | None:
    """A program of the fuzzer's, up to where it met a deviation; None if it has nothing but leaves then."""
    program = fuzz_programs.Program(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # KeyError: a dtype that the session has no name for.
        with contextlib.suppress(fuzz_session.Unsupported, KeyError):
            program.grow()
    statements = program.session.program
    statements += [f"{name}.__exit__(None, None, None)" for name in reversed(program.names_of_modes)]
    return statements if any(not MAKER.match(one) and not IMPURE.search(one) for one in statements) else None


@dataclass
class Outcome:
    """What became of one program."""

    kept: bool = False
    refused: str = ""  # why it was not kept
    replays: int = 0
    raised: list[str] = field(default_factory=list)  # ReplayErrors
    forwards: int = 0
    signs_of_zero: bool = True  # whether -0 differs from 0
    differences: list[str] = field(default_factory=list)


def run(namespace: dict[str, Any], statements: list[str]) -> list[str]:
    """Which of them raise, and what."""
    raised = []
    for statement in statements:
        try:
            exec(fuzz_session.compiled(statement), namespace)
        except Exception as error:
            raised.append(f"{statement}: {type(error).__name__}")
    return raised


def tensors_in(namespace: dict[str, Any]) -> dict[str, clew.Tensor]:
    found = {}
    for name, value in namespace.items():
        if not re.fullmatch(r"v\d+", name):
            continue
        values = value if isinstance(value, list | tuple) else [value]
        found |= {f"{name}.{place}": one for place, one in enumerate(values) if isinstance(one, clew.Tensor)}
    return found


def bits(tensor: clew.Tensor | None) -> Any:
    if tensor is None:
        return None
    plain = tensor.detach()
    values = numpy.ascontiguousarray(plain.numpy())
    if values.dtype.kind in "fc":  # which of two NaNs a sum hands on is up to the compiler
        values = numpy.where(numpy.isnan(values), numpy.array(numpy.nan, values.dtype), values)
    return str(plain.dtype), tuple(plain.shape), values.tobytes()


def without_signs(seen: Any) -> Any:
    """The same with 0 for -0."""
    if isinstance(seen, list) or (isinstance(seen, tuple) and not isinstance(seen[-1], bytes)):
        return [without_signs(one) for one in seen]
    if isinstance(seen, tuple) and seen[0].removeprefix("torch.") in ("float32", "float64", "complex64", "complex128"):
        kind, shape, values = seen
        return kind, shape, (numpy.frombuffer(values, kind.removeprefix("torch.")) + 0.0).tobytes()
    return seen


def state(namespace: dict[str, Any], fixed: set[str]) -> dict[str, Any]:
    """Values, gradients and, of tensors from before the block, versions."""
    seen = {}
    for name, tensor in tensors_in(namespace).items():
        try:
            leaf = tensor.is_leaf
        except RuntimeError:  # a view that may not be read any more
            seen[name] = ("unreadable",)
            continue
        seen[name] = bits(tensor), tensor.requires_grad, leaf and bits(tensor.grad)
        if name.partition(".")[0] in fixed:
            seen[name] += (tensor._version,)
    return seen


def gradients(namespace: dict[str, Any], leaves: list[str]) -> dict[str, Any]:
    """Through the graphs of all results, as they are after the block."""
    found: dict[str, Any] = {}
    inputs = [namespace[name] for name in leaves if namespace[name].requires_grad]
    for name, tensor in tensors_in(namespace).items():
        try:
            if not inputs or not tensor.requires_grad or tensor.is_leaf:
                continue
            result = clew.autograd.grad(tensor.sum(), inputs, retain_graph=True, allow_unused=True)
            found[name] = [bits(one) for one in result]
        except RuntimeError as error:
            found[name] = type(error).__name__
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def renew(namespaces: list[dict[str, Any]], leaves: list[str], random: numpy.random.Generator) -> None:
    for name in leaves:
        tensor = namespaces[0][name]
        if not tensor.is_floating_point():
            continue
        factors = random.uniform(0.5, 1.5, tuple(tensor.shape))
        for namespace in namespaces:
            with clew.no_grad():
                namespace[name].detach().mul_(clew.tensor(factors, dtype=tensor.dtype))


def check(seed: str, rounds: int = ROUNDS) -> Outcome | None:
    """Keep a program of the fuzzer's, run it again with new data, and compare with eager."""
    statements = statements_of(seed)
    return None if statements is None else check_statements(statements, seed, rounds)


def check_statements(statements: list[str], seed: str, rounds: int = ROUNDS) -> Outcome | None:
    makers = [one for one in statements if MAKER.match(one)]
    body = [one for one in statements if not MAKER.match(one) and not IMPURE.search(one)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _check(makers, body, seed, rounds)


def _check(makers: list[str], body: list[str], seed: str, rounds: int) -> Outcome | None:
    outcome = Outcome(signs_of_zero=not any(map(BOTH_WAYS.search, body)))
    kept: dict[str, Any] = {"torch": clew, "log": []}
    eager: dict[str, Any] = {"torch": clew, "log": []}
    if run(kept, makers) or run(eager, makers):
        return None
    leaves = [MAKER.match(one).group(1) for one in makers]  # type: ignore[union-attr]
    outer, fixed = dict(eager), set(leaves)
    clew.manual_seed(11)
    try:
        with clew.keep_graph() as program:
            first = run(kept, body)
    except clew.KeepError as error:
        outcome.refused = str(error)
        return outcome
    outcome.kept = True
    clew.manual_seed(11)
    run(eager, body)
    compare(outcome, "recorded", state(kept, fixed), state(eager, fixed))
    random = numpy.random.default_rng([ord(letter) for letter in seed])
    for turn in range(rounds):
        renew([kept, outer], leaves, random)
        before, stream = state(kept, fixed), clew.random.get_rng_state()
        try:
            program.run()
        except clew.ReplayError as error:
            outcome.raised.append(str(error))
            compare(outcome, "changed by a failure", state(kept, fixed), before)
            if not clew.equal(stream, clew.random.get_rng_state()):
                outcome.differences.append("a failure drew numbers")
            return outcome
        drawn = clew.random.get_rng_state()
        clew.random.set_rng_state(stream)
        eager = dict(outer)
        again = run(eager, body)
        if again != first:
            outcome.differences.append(f"round {turn}: replayed where eager raises {again}, then {first}")
            return outcome
        outcome.replays += 1
        compare(outcome, f"round {turn}", state(kept, fixed), state(eager, fixed))
        compare(outcome, f"gradients of round {turn}", gradients(kept, leaves), gradients(eager, leaves))
        if not clew.equal(drawn, clew.random.get_rng_state()):
            outcome.differences.append(f"round {turn}: other numbers drawn")
        if outcome.differences:
            return outcome
    if not any(step.draws for step in program.steps):
        _check_forward(outcome, kept, outer, body, leaves, random, fixed)
    return outcome


def _check_forward(
    outcome: Outcome,
    kept: dict[str, Any],
    outer: dict[str, Any],
    body: list[str],
    leaves: list[str],
    random: numpy.random.Generator,
    fixed: set[str],
) -> None:
    """y.forward() of each result whose block writes nothing from before it."""
    for name, tensor in tensors_in(kept).items():
        if name.partition(".")[0] in fixed:
            continue
        renew([kept, outer], leaves, random)
        before = contents(kept, leaves)
        try:
            tensor.forward()
        except RuntimeError:
            continue
        if before != contents(kept, leaves):
            return  # it wrote to them: eager would write more
        eager, before = dict(outer), contents(outer, leaves)
        run(eager, body)
        if before != contents(outer, leaves):
            return
        outcome.forwards += 1
        other = tensors_in(eager).get(name)
        compare(outcome, "forward", {name: bits(tensor)}, {name: bits(other)})
        mine = gradients({name.partition(".")[0]: tensor, **{one: kept[one] for one in leaves}}, leaves)
        theirs = gradients({name.partition(".")[0]: other, **{one: eager[one] for one in leaves}}, leaves)
        for key, value in theirs.items():
            if isinstance(value, list) and mine.get(key) != value:
                outcome.differences.append(f"gradient after forward of {name}: {mine.get(key)} != {value}")


def contents(namespace: dict[str, Any], leaves: list[str]) -> dict[str, Any]:
    """A write through .data moves no version."""
    return {one: (namespace[one]._version, bits(namespace[one])) for one in leaves}


def compare(outcome: Outcome, when: str, mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    for name in theirs:
        if mine.get(name) != theirs[name]:
            if not outcome.signs_of_zero and without_signs(mine.get(name)) == without_signs(theirs[name]):
                continue
            outcome.differences.append(f"{when}: {name}: kept {mine.get(name)!r:.300}, eager {theirs[name]!r:.300}")
