"""Random compositions of transforms, three deep, over public functions: here, in torch.func, and by differences.

    python -m tests.fuzz.transforms --seconds 60 --seed X
    python -m tests.fuzz.transforms --run "jvp grad:square vmap | x.sum(0) | x=real(2, 3) | plain"

Transforms are written as they are applied, the first one innermost. A composition is compared step by step. Where clew
and PyTorch differ, or PyTorch refuses, differences of the step before decide, in float64. Prints each find as a line
that repeats it, as short as it gets. Exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import functools
import random
import shlex
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "ops")]

import derivatives  # noqa: E402
import numpy  # noqa: E402
import public_functions  # noqa: E402

Function = Callable[[Any], Any]
DEPTH = 3
LARGEST = 400  # elements of a result; a Jacobian of one that is larger than the root of it is not taken
STEP = 1e-3
LAYOUTS = {name: derivatives.LAYOUTS[name][0] for name in ("plain", "input transposed", "input expanded")}


def numbers(torch: Any, shape: Any, seed: int) -> Any:
    """Some that both libraries have."""
    return torch.from_numpy(numpy.random.default_rng(seed).uniform(-1.2, 1.2, tuple(shape)))


# ------------------------------------------------------------------------------------------------------- to one number
def _nonlinear(torch: Any, y: Any) -> Any:
    return (numbers(torch, y.shape, 1) * (1 + (y + 0.3) ** 2).sqrt()).sum()


SCALARS: dict[str, Callable[[Any, Any], Any]] = {
    "nonlinear": _nonlinear,
    "square": lambda torch, y: y.sum() ** 2,
    "linear": lambda torch, y: (numbers(torch, y.shape, 1) * y).sum(),
}


# ---------------------------------------------------------------------------------------------------------- transforms
# Each makes a function of one tensor into another. `along` is a direction at the input.
def _forward_ad(torch: Any, f: Function, x: Any, along: Any) -> Any:
    dual = torch.autograd.forward_ad
    with dual.dual_level():
        value, tangent = dual.unpack_dual(f(dual.make_dual(x, along)))
        return torch.zeros_like(value) if tangent is None else tangent


def _autograd(torch: Any, f: Function, x: Any, create_graph: bool) -> Any:
    leaf = x.view_as(x) if x.requires_grad else x.detach().requires_grad_()
    y = f(leaf)
    if not y.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(y.sum(), leaf, create_graph=create_graph, materialize_grads=True)[0]


@functools.cache
def _module_of(torch: Any) -> type:
    class Holder(torch.nn.Module):
        """A function of its parameter."""

        def __init__(self, f: Function, x: Any) -> None:
            super().__init__()
            self.f = f
            self.weight = torch.nn.Parameter(torch.zeros_like(x))

        def forward(self, shift: Any) -> Any:
            return self.f(self.weight) * shift

    return Holder


def _functional_call(torch: Any, f: Function, x: Any) -> Any:
    module = _module_of(torch)(f, torch.zeros(tuple(x.shape), dtype=torch.float64))
    return torch.func.functional_call(module, {"weight": x}, (numbers(torch, (), 3),))


def _pulled(torch: Any, f: Function, x: Any) -> Any:
    y, pull = torch.func.vjp(f, x)
    return pull(numbers(torch, y.shape, 4))[0]


def _linearized(torch: Any, f: Function, x: Any) -> Any:
    along = numbers(torch, x.shape, 2)
    if torch.__name__ == "torch":  # whose linearize crashes in tracing some functions
        return torch.func.jvp(f, (x,), (along,))[1]
    return torch.func.linearize(f, x)[1](along)


def _samples(torch: Any, x: Any) -> Any:
    return torch.stack([x, x * 0.9])


Transform = Callable[[Any, Function, Any], Any]
TRANSFORMS: dict[str, Transform] = {
    **{
        f"grad:{name}": lambda torch, f, x, scalar=scalar: torch.func.grad(lambda y: scalar(torch, f(y)))(x)
        for name, scalar in SCALARS.items()
    },
    "vjp": _pulled,
    "jvp": lambda torch, f, x: torch.func.jvp(f, (x,), (numbers(torch, x.shape, 2),))[1],
    "jvp:transposed": lambda torch, f, x: torch.func.jvp(
        f, (x,), (numbers(torch, tuple(reversed(x.shape)), 2).permute(*reversed(range(x.ndim))),)
    )[1],
    "jvp:expanded": lambda torch, f, x: torch.func.jvp(f, (x,), (numbers(torch, (), 2).expand(x.shape),))[1],
    "jvp:self": lambda torch, f, x: torch.func.jvp(f, (x,), (x,))[1],
    "jacrev": lambda torch, f, x: torch.func.jacrev(f)(x),
    "jacfwd": lambda torch, f, x: torch.func.jacfwd(f)(x),
    "hessian:square": lambda torch, f, x: torch.func.hessian(lambda y: SCALARS["square"](torch, f(y)))(x),
    "hessian:nonlinear": lambda torch, f, x: torch.func.hessian(lambda y: _nonlinear(torch, f(y)))(x),
    "vmap": lambda torch, f, x: torch.func.vmap(f)(_samples(torch, x)),
    "vmap:last": lambda torch, f, x: torch.func.vmap(f, -1, -1)(torch.stack([x, x * 0.9], -1)),
    "vmap(jvp)": lambda torch, f, x: torch.func.vmap(lambda v: torch.func.jvp(f, (x,), (v,))[1])(
        numbers(torch, (2, *x.shape), 5)
    ),
    "linearize": _linearized,
    "functional_call": _functional_call,
    "forward_ad": lambda torch, f, x: _forward_ad(torch, f, x, numbers(torch, x.shape, 2)),
    "autograd.grad": lambda torch, f, x: _autograd(torch, f, x, False),
    "autograd.grad(create_graph)": lambda torch, f, x: _autograd(torch, f, x, True),
}
WITHOUT_NESTING = ("forward_ad", "autograd.grad", "autograd.grad(create_graph)")  # only as the last of all
JACOBIANS = ("jacrev", "jacfwd", "hessian:square", "hessian:nonlinear")


# --------------------------------------------------------------------------------------------------------- differences
class Kink(Exception):
    """Differences do not agree."""


def _jacobian(f: Function, x: Any, step: float = STEP) -> numpy.ndarray:
    """By differences at four points for each element: the axes of the result, then that of all elements of x."""
    columns = []
    flat = numpy.array(x, dtype=float).reshape(-1)
    here = f(flat.reshape(x.shape))
    for i in range(flat.size):
        values = []
        for shift in (step, -step, step / 2, -step / 2):
            moved = flat.copy()
            moved[i] += shift
            values.append(f(moved.reshape(x.shape)))
        coarse, fine = (values[0] - values[1]) / (2 * step), (values[2] - values[3]) / step
        scale = max(1.0, float(abs(fine).max(initial=0.0)), float(abs(here).max(initial=0.0)))
        bends = [abs(values[i] - 2 * here + values[i + 1]) / (step / (1 + i / 2)) for i in (0, 2)]
        jumps = ((bends[1] > 0.75 * bends[0]) & (bends[1] > 1e-3 * scale)).any()
        if not (numpy.isfinite(fine).all() and abs(coarse - fine).max(initial=0.0) < 1e-3 * scale and not jumps):
            raise Kink
        columns.append((4 * fine - coarse) / 3)
    return numpy.stack(columns, -1) if columns else numpy.zeros((*here.shape, 0))


def by_differences(torch: Any, name: str, f: Function, x: numpy.ndarray) -> numpy.ndarray:
    """What the transform of f should give at x; f takes and gives arrays."""

    def array(tensor: Any) -> numpy.ndarray:
        return numpy.asarray(tensor.detach().numpy())

    def derivative(g: Function) -> numpy.ndarray:
        return _jacobian(g, x)

    kind, _, detail = name.partition(":")
    if kind in ("grad", "hessian"):

        def scalar(at: numpy.ndarray) -> numpy.ndarray:
            return array(SCALARS[detail](torch, torch.from_numpy(numpy.array(f(at)))))

        if kind == "grad":
            return derivative(scalar).reshape(x.shape)
        return _jacobian(lambda at: _jacobian(scalar, at, 4e-3), x, 4e-3).reshape(*x.shape, *x.shape)
    if kind in ("vjp", "autograd.grad", "autograd.grad(create_graph)"):
        found = derivative(f)
        shape = found.shape[:-1]
        weight = array(numbers(torch, shape, 4)) if kind == "vjp" else numpy.ones(shape)
        return numpy.tensordot(weight, found, weight.ndim).reshape(x.shape)
    if kind in ("jvp", "linearize", "forward_ad"):
        along = array(numbers(torch, x.shape, 2))
        if detail == "self":
            along = x
        elif detail == "transposed":
            along = array(numbers(torch, tuple(reversed(x.shape)), 2)).T
        elif detail == "expanded":
            along = numpy.broadcast_to(array(numbers(torch, (), 2)), x.shape)
        return derivative(f) @ along.reshape(-1)
    if kind in ("jacrev", "jacfwd"):
        found = derivative(f)
        return found.reshape(*found.shape[:-1], *x.shape)
    if kind == "vmap":
        return numpy.stack([f(x), f(x * 0.9)], -1 if detail else 0)
    if kind == "vmap(jvp)":
        found = derivative(f)
        return numpy.stack([found @ one.reshape(-1) for one in array(numbers(torch, (2, *x.shape), 5))])
    assert kind == "functional_call"
    return f(x) * float(numbers(torch, (), 3))


# -------------------------------------------------------------------------------------------------------- compositions
@dataclass(frozen=True)
class Composition:
    transforms: tuple[str, ...]
    function: public_functions.Function
    layout: str = "plain"

    def __str__(self) -> str:
        return f"{' '.join(self.transforms)} | {self.function} | {self.layout}"

    @classmethod
    def parsed(cls, text: str) -> Composition:
        transforms, function, inputs, layout = (part.strip() for part in text.split(" | "))
        is_module = function.startswith("nn.") and not function.startswith("nn.utils.parameters")
        return cls(tuple(transforms.split()), public_functions.Function(function, inputs, is_module), layout)

    def on(self, torch: Any) -> tuple[list[Function], Any]:
        """A function for each step, the plain one first, and where it is called: all by the first input."""
        function, values = self.function.on(torch)
        rest = [torch.from_numpy(one.copy()) for one in values[1:]]

        def plain(x: Any) -> Any:
            found = function(x, *rest)
            return found[0] if len(found) == 1 else torch.cat([one.reshape(-1) for one in found])

        steps: list[Function] = [plain]
        for name in self.transforms:
            steps.append(functools.partial(TRANSFORMS[name], torch, steps[-1]))
        array = derivatives._array(LAYOUTS[self.layout](values[0]))
        return steps, torch.from_numpy(array.copy()) if torch.__name__ == "torch" else LAYOUTS[self.layout](values[0])


def _called(f: Function, x: Any) -> tuple[numpy.ndarray | None, str]:
    """The result, or the error."""
    try:
        return numpy.array(f(x).detach().numpy()), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


REFUSED = (
    *derivatives.REFUSED,
    "Nested forward mode",
    "does not require grad",
    "vmap over",
    "random operation",
    "other samples",
)


def _breaks_pytorch(composition: Composition, transform: str) -> bool:
    """PyTorch 2.13 writes past its memory in vmap over the last axis of second derivatives of pooling."""
    return transform == "vmap:last" and "pool" in composition.function.text


def difference(composition: Composition) -> str:
    """What is wrong; empty if nothing is."""
    import torch

    import clew

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _difference(composition, clew, torch)


def _difference(composition: Composition, clew: Any, torch: Any) -> str:
    ours, x = composition.on(clew)
    theirs, y = composition.on(torch)
    before = None
    for step, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        found, error = _called(our, x)
        name = composition.transforms[step - 1] if step else ""
        wanted, refusal = (None, "") if _breaks_pytorch(composition, name) else _called(their, y)
        if error and (refusal or any(text in error for text in REFUSED)):
            return ""
        if found is not None and wanted is not None and _agree(found, wanted):
            before = our
            continue
        if step == 0 and error and composition.layout != "plain":
            return ""  # a view that such an input has not
        if step == 0:
            return f"value: {error or found} instead of {refusal or wanted}"
        if not error and found.size > LARGEST:
            return ""
        try:
            right = by_differences(clew, name, lambda at: _values(before, at), derivatives._array(x))  # noqa: B023
        except Kink:
            return ""
        except Exception as failed:  # of the step before at other points
            return f"{name}: {error or found}, and by differences {type(failed).__name__}: {failed}"
        if found is None or not _agree(found, right, 2e-3):
            said = error or numpy.round(found, 6).tolist()
            return f"{name}: {said} instead of {numpy.round(right, 6).tolist()}"
        before = our
    return ""


def _values(f: Function, at: numpy.ndarray) -> numpy.ndarray:
    import clew

    return numpy.array(f(clew.from_numpy(numpy.array(at, dtype=float))).detach().numpy())


def _agree(one: numpy.ndarray, other: numpy.ndarray, tolerance: float = 1e-7) -> bool:
    if one.shape != other.shape:
        return False
    scale = max(1.0, float(abs(other).max(initial=0.0)))
    return bool((abs(one - other) <= tolerance * scale).all())


def draw(seed: str) -> Composition:
    """Of up to three transforms, whose results stay small."""
    chosen = random.Random(seed)
    function = chosen.choice(public_functions.functions())
    names = list(TRANSFORMS)
    while True:
        transforms = tuple(chosen.choice(names) for _ in range(DEPTH))
        if any(name in WITHOUT_NESTING for name in transforms[:-1]):
            continue
        if sum(2 if name.startswith("hessian") else 1 for name in transforms if name in JACOBIANS) <= 2:
            break
    arrays = function.arrays()
    repeats = derivatives.Case("", lambda: [], [], function.inputs).may_repeat
    layouts = [name for name in LAYOUTS if repeats or name != "input expanded"]
    plain = function.is_module or "as_strided" in function.text or function.draws or not arrays
    return Composition(transforms, function, "plain" if plain else chosen.choice(layouts))


def shortest(composition: Composition, text: str) -> tuple[Composition, str]:
    """With as few transforms, and as plain an input, as still differ."""
    while True:
        for shorter in _shorter(composition):
            if found := difference(shorter):
                composition, text = shorter, found
                break
        else:
            return composition, text


def _shorter(composition: Composition) -> Iterator[Composition]:
    for i in range(len(composition.transforms)):
        kept = composition.transforms[:i] + composition.transforms[i + 1 :]
        if kept:
            yield Composition(kept, composition.function, composition.layout)
    if composition.layout != "plain":
        yield Composition(composition.transforms, composition.function)


@dataclass
class Tally:
    drawn: int = 0
    finds: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


def run(seed: str, count: int | None, seconds: float | None, show: Callable[[str], None] = lambda _: None) -> Tally:
    tally, began = Tally(), time.monotonic()
    while (count is None or tally.drawn < count) and (seconds is None or time.monotonic() - began < seconds):
        composition = draw(f"{seed}:{tally.drawn}")
        tally.drawn += 1
        text = difference(composition)
        if not text:
            continue
        composition, text = shortest(composition, text)
        tally.counts[" ".join(composition.transforms)] += 1
        if str(composition) not in tally.finds:
            tally.finds[str(composition)] = text
            show(f"python -m tests.fuzz.transforms --run {shlex.quote(str(composition))}\n    {text[:400]}")
    return tally


def main() -> int:
    import torch

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.transforms", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, help="stop after so long (60, if --count is not given)")
    parser.add_argument("--count", type=int, help="stop after so many compositions")
    parser.add_argument("--seed", help="a text; the same seed draws the same compositions (the commit)")
    parser.add_argument("--run", metavar="COMPOSITION", help="this one only")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if given.run:
        text = difference(Composition.parsed(given.run))
        print(text or "no difference")
        return 1 if text else 0
    seconds = given.seconds if given.seconds or given.count else 60.0
    seed = given.seed or derivatives.seed()
    began = time.monotonic()
    tally = run(seed, given.count, seconds, lambda text: print(text, flush=True))
    took = time.monotonic() - began
    print(f"{tally.drawn} compositions in {took:.0f} s, seed {seed!r}: {len(tally.finds)} finds")
    for transforms, times in tally.counts.most_common():
        print(f"{times:6} {transforms}")
    return 1 if tally.finds else 0


if __name__ == "__main__":
    sys.exit(main())
