"""Every way to a derivative, against differences in float64.

A function is called on all its inputs at once; derivatives are taken along one direction of all of them. One evaluation
of differences serves all ways. What differs is a `Fault`, whose text repeats it:

    python tests/derivatives.py "x.sum(0) | x=real(2, 3)" --way "jvp(grad)" --scalar square --layout plain
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

import clew
from clew.autograd import forward_ad
from clew.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

Tensors = tuple[clew.Tensor, ...]
STEP = 2e-4
FEW = 18  # elements of the inputs together, up to which Jacobians of Jacobians are taken
CHEAP = 12  # and third derivatives


@dataclass(frozen=True)
class Case:
    """A function of tensors that gives a list of them, and where it is called."""

    name: str
    function: Callable[..., list[clew.Tensor]]
    values: list[numpy.ndarray]
    arguments: str = ""  # what the values are, in the words of tests/sampling.py

    @property
    def may_repeat(self) -> bool:
        """Whether values may be equal: no maximum of them is asked for, no inverse of a matrix that they are."""
        words = ("distinct", "ascending", "dominant", "definite", "symmetric")
        singular = (
            "det(",
            "corrcoef(",
            "std_mean(",
            "pdist(",
            "_lu",
            "lu(",
            "qr(",
            "svd",
            "inv(",
            "lstsq",
            "eig",
            "cholesky",
            "solve",
        )
        return not any(word in f"{self.name} {self.arguments}" for word in (*words, *singular))

    def draws(self) -> bool:
        """Whether it draws random numbers."""
        clew.manual_seed(0)
        before = clew.default_generator.get_state()
        self.function(*map(plain, self.values))
        return not clew.equal(before, clew.default_generator.get_state())


# ------------------------------------------------------------------------------------------------------------- scalars
def _weights(tensor: clew.Tensor) -> clew.Tensor:
    return clew.linspace(0.5, 1.5, max(tensor.numel(), 1), dtype=tensor.dtype)[: tensor.numel()].reshape(tensor.shape)


def _nonlinear(outputs: Sequence[clew.Tensor]) -> clew.Tensor:
    moved = [one + 0.3 * (i + 1) for i, one in enumerate(outputs)]
    return sum(((_weights(one) + i) * (1 + one * one).sqrt()).sum() for i, one in enumerate(moved))


def _square(outputs: Sequence[clew.Tensor]) -> clew.Tensor:
    return sum(one.sum() ** 2 for one in outputs)


def _linear(outputs: Sequence[clew.Tensor]) -> clew.Tensor:
    return sum(((_weights(one) + i) * one).sum() for i, one in enumerate(outputs))


# What is made of the outputs. The first has a gradient of its own for each element; those of the others are expanded.
SCALARS = {"nonlinear": _nonlinear, "square": _square, "linear": _linear}


# ------------------------------------------------------------------------------------------------------------- layouts
def plain(array: numpy.ndarray) -> clew.Tensor:
    return clew.from_numpy(numpy.array(array))


def transposed(array: numpy.ndarray) -> clew.Tensor:
    """The same values, in memory the other way round; those of one axis with gaps."""
    if array.ndim >= 2:
        return clew.from_numpy(array.T.copy()).permute(*reversed(range(array.ndim)))
    return clew.from_numpy(numpy.stack([array, array], -1).copy())[..., 0]


def expanded(array: numpy.ndarray) -> clew.Tensor:
    """The first values along one axis, everywhere; what has no axis longer than 1 as it is."""
    axis = next((i for i, size in enumerate(array.shape) if size > 1), None)
    if axis is None:
        return plain(array)
    return clew.from_numpy(array.take([0], axis).copy()).expand(*array.shape)


# How the inputs and how their tangents lie.
LAYOUTS = {
    "plain": (plain, plain),
    "transposed": (transposed, transposed),
    "tangent transposed": (plain, transposed),
    "tangent expanded": (plain, expanded),
    "input transposed": (transposed, plain),
    "input expanded": (expanded, plain),
    "expanded": (expanded, expanded),
}


# ---------------------------------------------------------------------------------------------------------------- ways
def _dot(ones: Sequence[clew.Tensor], others: Sequence[clew.Tensor]) -> clew.Tensor:
    return sum((one * other).sum() for one, other in zip(ones, others, strict=True))


def _times(rows: Sequence[clew.Tensor], v: Tensors) -> Any:
    """A row of blocks of a matrix, times a vector in blocks."""
    total = None
    for block, one in zip(rows, v, strict=True):
        part = (block * one).reshape(*block.shape[: block.ndim - one.ndim], -1).sum(-1)
        total = part if total is None else total + part
    return total


def _doubles(v: Tensors) -> Tensors:
    """Two directions along a new axis: the first, and minus a half of it."""
    return tuple(clew.stack([one, -0.5 * one]) for one in v)


def _undoubled(found: Any) -> Any:
    """Both along the first direction."""
    return tuple(clew.stack([one[0], -2 * one[1]]) for one in found)


def _places(x: Tensors) -> tuple[int, ...]:
    return tuple(range(len(x)))


def _leaves(x: Tensors) -> Tensors:
    return tuple(one.detach().requires_grad_() for one in x)


def _dual_gradient(f: Any, x: Tensors, v: Tensors, create_graph: bool) -> Any:
    with forward_ad.dual_level():
        duals = tuple(forward_ad.make_dual(one, along) for one, along in zip(_leaves(x), v, strict=True))
        found = clew.autograd.grad(f(*duals), duals, create_graph=create_graph, materialize_grads=True)
        pairs = [forward_ad.unpack_dual(one) for one in found]
        return tuple(clew.zeros_like(one.primal) if one.tangent is None else one.tangent for one in pairs)


def _double_backward(f: Any, x: Tensors, v: Tensors) -> Any:
    leaves = _leaves(x)
    first = clew.autograd.grad(f(*leaves), leaves, create_graph=True, materialize_grads=True)
    total = _dot(first, v)
    if not total.requires_grad:
        return tuple(map(clew.zeros_like, leaves))
    return clew.autograd.grad(total, leaves, materialize_grads=True)


def _forward_hessian(f: Any, x: Tensors, v: Tensors) -> Any:
    blocks = clew.autograd.functional.hessian(f, x, vectorize=True, outer_jacobian_strategy="forward-mode")
    return tuple(_times(row, v) for row in blocks)


def _gradient(f: Any, x: Tensors) -> Any:
    return grad(f, _places(x))


# Each gives the second derivatives of f at x, times v, where f gives a number.
SECOND: dict[str, Callable[[Any, Tensors, Tensors], Any]] = {
    "grad(create_graph) twice": _double_backward,
    "jvp(grad)": lambda f, x, v: jvp(_gradient(f, x), x, v)[1],
    "vjp(grad)": lambda f, x, v: vjp(_gradient(f, x), *x)[1](v),
    "linearize(grad)": lambda f, x, v: linearize(_gradient(f, x), *x)[1](*v),
    "jacfwd(grad)": lambda f, x, v: tuple(_times(row, v) for row in jacfwd(_gradient(f, x), _places(x))(*x)),
    "jacrev(grad)": lambda f, x, v: tuple(_times(row, v) for row in jacrev(_gradient(f, x), _places(x))(*x)),
    "hessian": lambda f, x, v: tuple(_times(row, v) for row in hessian(f, _places(x))(*x)),
    "grad(jvp)": lambda f, x, v: grad(lambda *y: jvp(f, y, v)[1], _places(x))(*x),
    "grad(linearize)": lambda f, x, v: grad(lambda *y: linearize(f, *y)[1](*v), _places(x))(*x),
    "jvp(jacrev)": lambda f, x, v: jvp(jacrev(f, _places(x)), x, v)[1],
    "jvp(jacfwd)": lambda f, x, v: jvp(jacfwd(f, _places(x)), x, v)[1],
    "jvp(vjp)": lambda f, x, v: jvp(lambda *y: vjp(f, *y)[1](clew.ones((), dtype=x[0].dtype)), x, v)[1],
    "jacfwd(jacfwd)": lambda f, x, v: tuple(_times(row, v) for row in jacfwd(jacfwd(f, _places(x)), _places(x))(*x)),
    "jacrev(jacfwd)": lambda f, x, v: tuple(_times(row, v) for row in jacrev(jacfwd(f, _places(x)), _places(x))(*x)),
    "vmap(jvp(grad)) of tangents": lambda f, x, v: _undoubled(
        vmap(lambda *u: jvp(_gradient(f, x), x, u)[1])(*_doubles(v))
    ),
    "vmap(jvp(grad))": lambda f, x, v: _undoubled(
        vmap(lambda y, u: jvp(_gradient(f, x), y, u)[1])(tuple(clew.stack([one, one]) for one in x), _doubles(v))
    ),
    "vmap(vjp(grad))": lambda f, x, v: _undoubled(vmap(lambda *u: vjp(_gradient(f, x), *x)[1](u))(*_doubles(v))),
    "forward_ad of autograd.grad": lambda f, x, v: _dual_gradient(f, x, v, False),
    "forward_ad of autograd.grad(create_graph)": lambda f, x, v: _dual_gradient(f, x, v, True),
    "functional.hvp": lambda f, x, v: clew.autograd.functional.hvp(f, x, v)[1],
    "functional.hessian(forward-mode)": _forward_hessian,
}

# v times the second derivatives times v.
ALONG_BOTH: dict[str, Callable[[Any, Tensors, Tensors], Any]] = {
    "jvp(jvp)": lambda f, x, v: (jvp(lambda *y: jvp(f, y, v)[1], x, v)[1],),
    "linearize(jvp)": lambda f, x, v: (linearize(lambda *y: jvp(f, y, v)[1], *x)[1](*v),),
}

# The derivative of f along v and v, differentiated once more along v; of cheap functions.
THIRD: dict[str, Callable[[Any, Tensors, Tensors], Any]] = {
    "jacfwd(hessian)": lambda f, x, v: tuple(
        _times([_times(blocks, v) for blocks in row], v) for row in jacfwd(hessian(f, _places(x)), _places(x))(*x)
    ),
    "jvp(jvp(grad))": lambda f, x, v: jvp(lambda *y: jvp(_gradient(f, x), y, v)[1], x, v)[1],
    "grad(jvp(jvp))": lambda f, x, v: grad(lambda *y: jvp(lambda *z: jvp(f, z, v)[1], y, v)[1], _places(x))(*x),
    "jvp(grad(jvp))": lambda f, x, v: jvp(grad(lambda *y: jvp(f, y, v)[1], _places(x)), x, v)[1],
    "grad of vjp(grad)": lambda f, x, v: grad(lambda *y: _dot(vjp(_gradient(f, x), *y)[1](v), v), _places(x))(*x),
}


def _dual(f: Any, x: Tensors, v: Tensors) -> Any:
    with forward_ad.dual_level():
        outputs = f(*(forward_ad.make_dual(one, along) for one, along in zip(x, v, strict=True)))
        pairs = [forward_ad.unpack_dual(one) for one in outputs]
        return tuple(clew.zeros_like(one.primal) if one.tangent is None else one.tangent for one in pairs)


# Each gives the derivative along v of f, which gives a tuple.
FIRST: dict[str, Callable[[Any, Tensors, Tensors], Any]] = {
    "jvp": lambda f, x, v: jvp(f, x, v)[1],
    "linearize": lambda f, x, v: linearize(f, *x)[1](*v),
    "jacfwd": lambda f, x, v: tuple(_times(row, v) for row in jacfwd(f, _places(x))(*x)),
    "jacrev": lambda f, x, v: tuple(_times(row, v) for row in jacrev(f, _places(x))(*x)),
    "vmap(jvp) of tangents": lambda f, x, v: _undoubled(vmap(lambda *u: jvp(f, x, u)[1])(*_doubles(v))),
    "vmap(jvp)": lambda f, x, v: _undoubled(
        vmap(lambda y, u: jvp(f, y, u)[1])(tuple(clew.stack([one, one]) for one in x), _doubles(v))
    ),
    "vmap(linearize)": lambda f, x, v: _undoubled(
        vmap(lambda y, u: linearize(f, *y)[1](*u))(tuple(clew.stack([one, one]) for one in x), _doubles(v))
    ),
    "forward_ad": _dual,
}


# ------------------------------------------------------------------------------------------------------------- compare
@dataclass(frozen=True)
class Fault:
    case: str
    way: str
    scalar: str
    layout: str
    text: str

    def __str__(self) -> str:
        return (
            f"python tests/derivatives.py {self.case!r} --way {self.way!r} --scalar {self.scalar} "
            f"--layout {self.layout!r}\n    {self.text}"
        )


@dataclass(frozen=True)
class Expected:
    """What differences say, along one direction; None where there is a kink."""

    outputs: list[numpy.ndarray] | None
    value: dict[str, numpy.ndarray]  # along the direction, by scalar
    gradient: dict[str, list[numpy.ndarray]]  # at the point
    change: dict[str, list[numpy.ndarray] | None]  # of the gradient


def _richardson(points: Sequence[Sequence[numpy.ndarray]], here: Any) -> list[numpy.ndarray] | None:
    """Derivatives from values at +h, -h, +h/2, -h/2 and 0; None if the differences disagree."""
    found = []
    for more, less, half_more, half_less, middle in zip(*points, here, strict=True):
        coarse, fine = (more - less) / (2 * STEP), (half_more - half_less) / STEP
        scale = max(1.0, *(float(abs(one).max(initial=0.0)) for one in (fine, more)))
        if not (numpy.isfinite(fine).all() and (abs(coarse - fine) <= 1e-4 * scale).all()):
            return None
        # Where the slope jumps, it does so by as much for a smaller step.
        bend, half_bend = abs(more - 2 * middle + less) / STEP, abs(half_more - 2 * middle + half_less) / (STEP / 2)
        if ((half_bend > 0.75 * bend) & (half_bend > 1e-4 * scale)).any():
            return None
        found.append((4 * fine - coarse) / 3)
    return found


def _array(tensor: clew.Tensor) -> numpy.ndarray:
    return numpy.array(tensor.detach().numpy())


def _gradients_at(case: Case, values: Sequence[numpy.ndarray]) -> tuple[Any, ...]:
    leaves = tuple(plain(one).requires_grad_() for one in values)
    outputs = case.function(*leaves)
    totals = {name: scalar(outputs) for name, scalar in SCALARS.items()}
    gradients = {
        name: clew.autograd.grad(total, leaves, retain_graph=True, materialize_grads=True)
        if total.requires_grad
        else tuple(map(clew.zeros_like, leaves))
        for name, total in totals.items()
    }
    return (
        list(map(_array, outputs)),
        {name: _array(total) for name, total in totals.items()},
        {name: list(map(_array, found)) for name, found in gradients.items()},
    )


def _moved(values: Sequence[numpy.ndarray], along: Sequence[numpy.ndarray]) -> Iterator[list[numpy.ndarray]]:
    for step in (STEP, -STEP, STEP / 2, -STEP / 2):
        yield [one + step * v for one, v in zip(values, along, strict=True)]


def expected(case: Case, values: Sequence[numpy.ndarray], along: Sequence[numpy.ndarray]) -> Expected:
    points = [_gradients_at(case, moved) for moved in _moved(values, along)]
    here = _gradients_at(case, values)
    return Expected(
        outputs=_richardson([point[0] for point in points], here[0]),
        value={n: found[0] for n in SCALARS if (found := _richardson([[p[1][n]] for p in points], [here[1][n]]))},
        gradient=here[2],
        change={name: _richardson([point[2][name] for point in points], here[2][name]) for name in SCALARS},
    )


def _third(case: Case, scalar: Any, values: Any, along: Any) -> list[numpy.ndarray] | None:
    v = tuple(map(plain, along))

    def f(*x: clew.Tensor) -> clew.Tensor:
        return scalar(case.function(*x))

    points = [
        list(map(_array, _double_backward(f, tuple(map(plain, at)), v))) for at in (*_moved(values, along), values)
    ]
    return _richardson(points[:-1], points[-1])


def _differ(found: Any, wanted: Sequence[numpy.ndarray], scale: float) -> str:
    if len(found) != len(wanted):
        return f"{len(found)} tensors instead of {len(wanted)}"
    for one, other in zip(map(_array, found), wanted, strict=True):
        if one.shape not in (other.shape, (2, *other.shape)):
            return f"shape {one.shape} instead of {other.shape}"
        if one.dtype != other.dtype:
            return f"{one.dtype} instead of {other.dtype}"
        bound = 1e-6 * max(scale, float(abs(other).max(initial=0.0)))
        if not (abs(one - other) <= bound).all():
            return f"{numpy.round(one, 6).tolist()} instead of {numpy.round(other, 6).tolist()}"
    return ""


# What may be refused: a derivative that is not there says so; vmap refuses shapes that depend on values, and draws.
REFUSED = (
    "not implemented",
    "randomness",
    "dynamic shape",
    "data-dependent control flow",
    "is not possible because there exists a Tensor",
)


def directions(values: Sequence[numpy.ndarray], seed: int = 1) -> list[numpy.ndarray]:
    generator = numpy.random.default_rng(seed)
    return [generator.uniform(0.4, 1.2, one.shape) * generator.choice([-1, 1], one.shape) for one in values]


class Check:
    """All ways of one case."""

    def __init__(self, case: Case, ways: Any = None, layouts: Any = None, scalars: Any = None) -> None:
        self.case, self.faults = case, []
        self.ways, self.layouts, self.scalars = ways, layouts or LAYOUTS, scalars or SCALARS
        self.compared = 0

    def run(self) -> list[Fault]:
        known: dict[tuple[bool, bool], Expected] = {}
        draws = self.case.draws()
        for layout in self.layouts:
            of_input, of_tangent = LAYOUTS[layout]
            if of_input is not plain and "as_strided" in self.case.name:
                continue  # which looks at memory
            if of_input is not plain and draws:
                continue  # in the order of memory
            if of_input is expanded and not self.case.may_repeat:
                continue
            values = [_array(of_input(one)) for one in self.case.values]
            along = [_array(of_tangent(one)) for one in directions(values)]
            key = (of_input is expanded, of_tangent is expanded)
            try:
                self.case.function(*map(of_input, values))
                known[key] = known.get(key) or expected(self.case, values, along)
            except Exception as error:
                if "not implemented" in str(error):
                    return []
                if of_input is plain:
                    raise
                continue  # refuses such an input: a view, a singular matrix
            inputs = tuple(map(of_input, values)), tuple(map(of_tangent, along))
            self._first(layout, known[key], *inputs)
            if known[key].outputs is None:
                continue
            for scalar in self.scalars if layout == "plain" else list(self.scalars)[:2]:
                self._second(layout, scalar, known[key], *inputs)
                if layout == "plain" and sum(one.size for one in values) <= CHEAP and scalar != "linear":
                    self._higher(scalar, values, along)
        return self.faults

    def _first(self, layout: str, known: Expected, x: Tensors, v: Tensors) -> None:
        if known.outputs is None:
            if layout in ("plain", "transposed"):
                self._fault("values", "", layout, "there is a kink: choose other inputs")
            return
        for way, derivative in FIRST.items():
            self._compare(
                way, "", layout, derivative, lambda *y: tuple(self.case.function(*y)), x, v, known.outputs, 1.0
            )

    def _second(self, layout: str, scalar: str, known: Expected, x: Tensors, v: Tensors) -> None:
        along = [_array(one) for one in v]
        change = known.change[scalar]
        if change is None or scalar not in known.value:
            if layout in ("plain", "transposed"):
                self._fault("gradient", scalar, layout, "there is a kink: choose other inputs")
            return
        slope = sum(float((one * w).sum()) for one, w in zip(known.gradient[scalar], along, strict=True))
        scale = max(1.0, *(float(abs(one).max(initial=0.0)) for one in known.gradient[scalar]))
        if abs(slope - float(known.value[scalar])) > 1e-6 * scale:
            self._fault("gradient", scalar, layout, f"{slope} along the direction instead of {known.value[scalar]}")
        both = numpy.asarray(sum(float((one * w).sum()) for one, w in zip(change, along, strict=True)))

        def f(*y: clew.Tensor) -> clew.Tensor:
            return SCALARS[scalar](self.case.function(*y))

        few = sum(one.numel() for one in x) <= FEW
        for way, derivative in SECOND.items():
            if not few and way in ("jacfwd(jacfwd)", "jacrev(jacfwd)", "functional.hessian(forward-mode)"):
                continue
            self._compare(way, scalar, layout, derivative, f, x, v, change, scale)
        for way, derivative in ALONG_BOTH.items():
            self._compare(way, scalar, layout, derivative, f, x, v, [both], scale)

    def _higher(self, scalar: str, values: Any, along: Any) -> None:
        wanted = None

        def f(*y: clew.Tensor) -> clew.Tensor:
            return SCALARS[scalar](self.case.function(*y))

        with contextlib.suppress(RuntimeError, ValueError):  # which the ways to second derivatives report
            wanted = _third(self.case, SCALARS[scalar], values, along)
        if wanted is not None:
            x, v = tuple(map(plain, values)), tuple(map(plain, along))
            for way, derivative in THIRD.items():
                self._compare(way, scalar, "plain", derivative, f, x, v, wanted, 1.0)

    def _compare(
        self, way: str, scalar: str, layout: str, derivative: Any, f: Any, x: Any, v: Any, wanted: Any, scale: float
    ) -> None:
        if self.ways and way not in self.ways:
            return
        self.compared += 1
        try:
            found = derivative(f, x, v)
        except Exception as error:
            if not any(text in str(error) for text in REFUSED):
                self._fault(way, scalar, layout, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
            return
        if text := _differ(found if isinstance(found, tuple | list) else (found,), wanted, scale):
            self._fault(way, scalar, layout, text)

    def _fault(self, way: str, scalar: str, layout: str, text: str) -> None:
        self.faults.append(Fault(self.case.name, way, scalar or "linear", layout, text))


# --------------------------------------------------------------------------------------------------------------- cases
def case_of(function: Any) -> Case:
    """Of a line of a table."""
    return Case(str(function), *function.on(clew), function.inputs)


def cases_of(overload: Any) -> Iterator[Case]:
    """Of an operation of the registry, at each of its samples."""
    import sampling
    from test_registry import Prepared

    for number, sample in enumerate(sampling.samples(overload)):
        prepared = Prepared(sample)
        results = [one.requires_grad for one in prepared() if isinstance(one, clew.Tensor)] if prepared.leaves else []
        if not any(results):
            continue

        def function(*leaves: clew.Tensor, prepared: Any = prepared, differ: Any = tuple(results)) -> list[clew.Tensor]:
            tensors = [one for one in prepared(*leaves) if isinstance(one, clew.Tensor)]
            return [one for one, kept in zip(tensors, differ, strict=True) if kept]

        yield Case(
            f"{overload} #{number}",
            function,
            [_array(leaf) for leaf in prepared.leaves],
            overload.domain,
        )


def seed() -> str:
    """CLEW_SEED, else the commit: the same state draws the same."""
    if given := os.environ.get("CLEW_SEED"):
        return given
    here = Path(__file__).resolve().parent
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False, cwd=here)
    return done.stdout.strip() or "first"


def is_drawn(name: str, of: str, part: float) -> bool:
    """Whether it is in the part that this seed draws."""
    digest = hashlib.sha256(f"{of} {name}".encode()).digest()
    return int.from_bytes(digest[:4], "big") < part * 2**32


def all_cases() -> Iterator[Case]:
    import public_functions
    from test_registry import SAMPLED

    yield from map(case_of, public_functions.functions())
    for overload in SAMPLED:
        if overload.differentiable and not overload.has(1 << 22):
            yield from cases_of(overload)


def main() -> int:
    here = Path(__file__).resolve().parent
    sys.path[:0] = [str(here), str(here / "ops")]
    import public_functions

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("case", nargs="?", default="", help="a line of a table, or a part of the names of cases")
    parser.add_argument("--way", action="append")
    parser.add_argument("--scalar", choices=list(SCALARS))
    parser.add_argument("--layout", choices=list(LAYOUTS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    text, _, inputs = given.case.partition(" | ")
    if inputs:
        cases = iter([case_of(public_functions.Function(text, inputs, text.startswith("nn.") and "[" not in text))])
    else:
        cases = (one for one in all_cases() if given.case in one.name)
    count = compared = 0
    for case in cases:
        check = Check(case, given.way, given.layout and [given.layout], given.scalar and [given.scalar])
        try:
            faults = check.run()
        except Exception as error:
            faults = [Fault(case.name, "", "linear", "plain", f"{type(error).__name__}: {error}")]
        compared += check.compared
        count += len(faults)
        for fault in faults:
            print(fault, flush=True)
    print(f"{compared} comparisons, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
