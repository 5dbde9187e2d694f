"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew
from clew import Tensor

from .groups import Params
from .line_search import DECREASE, FLATTEN, Point, least_of_cubic, strong_wolfe
from .optimizer import Optimizer, evaluate


class LBFGS(Optimizer):
    """Steps along the gradient times an estimate of the inverse Hessian, made from the last gradients.

    Nocedal & Wright, Numerical Optimization, algorithm 7.4. One `step` does several iterations and needs a closure;
    there is one parameter group.

    Args:
        params: parameters.
        lr: the step length, or with a line search the first one that is tried.
        max_iter: iterations in a step.
        max_eval: evaluations of the closure in a step; 5 / 4 of `max_iter` by default.
        tolerance_grad: stop when no gradient is larger.
        tolerance_change: stop when the loss or all parameters change by less.
        history_size: how many gradients are kept.
        line_search_fn: None or "strong_wolfe".

    Raises:
        ValueError: several parameter groups.
        RuntimeError: another line search.
        TypeError: `step` without a closure.

    Example:
        >>> x = torch.nn.Parameter(torch.tensor([4.0]))
        >>> optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((x - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item()
        9.0
        >>> x.detach()
        tensor([1.])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError(f"only 'strong_wolfe' is supported, got {line_search_fn!r}")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        params: list[Tensor] = self.param_groups[0]["params"]
        return params

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Iterate until nothing changes or the limits are reached; the loss before."""
        if closure is None:
            raise TypeError("LBFGS.step: expected a closure that computes the loss and its gradients, got None")
        with clew.no_grad():
            return self._iterate(closure)

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        # What is kept for all parameters is kept with the first.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluate(closure)
        loss, grad = float(first_loss), self._flat_grad()
        state["func_evals"] += 1
        evaluations, iteration = 1, 0
        done = _largest(grad) <= group["tolerance_grad"]
        while not done and iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            t = float(group["lr"])
            if state["n_iter"] == 1:
                t *= min(1.0, 1.0 / float(grad.abs().sum()))
            slope = float(grad.dot(direction))
            state.update(d=direction, t=t, prev_flat_grad=grad.clone(), prev_loss=loss)
            if slope > -group["tolerance_change"]:
                break
            start = Point(0.0, loss, grad, slope)
            last = iteration == group["max_iter"]
            point, used = self._move(closure, direction, start, t, group, group["max_eval"] - evaluations, last)
            evaluations += used
            state["func_evals"] += used
            state["t"] = point.t
            done = (
                evaluations >= group["max_eval"]
                or _largest(point.grad) <= group["tolerance_grad"]
                or _largest(direction * point.t) <= group["tolerance_change"]
                or abs(point.loss - loss) < group["tolerance_change"]
            )
            loss, grad = point.loss, point.grad
        return first_loss

    def _direction(self, state: dict[str, Any], grad: Tensor, history_size: int) -> Tensor:
        """Minus the estimated inverse Hessian times the gradient."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return -grad
        change, step = grad - state["prev_flat_grad"], state["d"] * state["t"]
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        curvature = float(change.dot(step))
        if curvature > 1e-10:
            if len(changes) == history_size:
                for history in (changes, steps, inverses):
                    history.pop(0)
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / float(change.dot(change))
        direction, weights = -grad, []
        for y, s, inverse in zip(reversed(changes), reversed(steps), reversed(inverses), strict=True):
            weights.append(float(s.dot(direction)) * inverse)
            direction.add_(y, alpha=-weights[-1])
        direction.mul_(state["H_diag"])
        for y, s, inverse, weight in zip(changes, steps, inverses, reversed(weights), strict=True):
            direction.add_(s, alpha=weight - float(y.dot(direction)) * inverse)
        return direction

    def _move(
        self,
        closure: Callable[[], Any],
        direction: Tensor,
        start: Point,
        t: float,
        group: dict[str, Any],
        limit: int,
        last: bool,
    ) -> tuple[Point, int]:
        """Go along the direction; where that leads, and how often the closure was called."""
        if group["line_search_fn"] is None:
            self._add(direction, t)
            if last:
                return start._replace(t=t), 0
            loss = float(evaluate(closure))
            return Point(t, loss, self._flat_grad(), 0.0), 1
        origin = [parameter.clone() for parameter in self._params]
        calls = 0

        def at(t: float) -> Point:
            nonlocal calls
            calls += 1
            self._add(direction, t)
            loss, grad = float(evaluate(closure)), self._flat_grad()
            for parameter, value in zip(self._params, origin, strict=True):
                parameter.copy_(value)
            return Point(t, loss, grad, float(grad.dot(direction)))

        point = strong_wolfe(at, start, t, _largest(direction), group["tolerance_change"], limit)
        self._add(direction, point.t)
        return point, calls

    def _flat_grad(self) -> Tensor:
        """All gradients as one vector, with zeros where there is none."""
        grads = [clew.zeros_like(one) if one.grad is None else one.grad for one in self._params]
        flat: Tensor = clew.cat([_real(grad).reshape(-1) for grad in grads])
        return flat

    def _add(self, direction: Tensor, t: float) -> None:
        """Add `t` times the direction to the parameters."""
        views = [_real(parameter) for parameter in self._params]
        for parameter, part in zip(views, direction.split([one.numel() for one in views]), strict=True):
            parameter.add_(part.view(parameter.shape), alpha=t)


def _strong_wolfe(
    obj_func: Callable[..., tuple[float, Tensor]],
    x: Any,
    t: float,
    d: Tensor,
    f: float,
    g: Tensor,
    gtd: Any,
    c1: float = DECREASE,
    c2: float = FLATTEN,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, Tensor, float, int]:
    """PyTorch's line search as libraries call it: ``obj_func(x, t, d)`` is the loss and the gradient at ``x + t d``."""
    if (c1, c2) != (DECREASE, FLATTEN):
        raise NotImplementedError(f"_strong_wolfe: expected c1={DECREASE} and c2={FLATTEN}, got {c1} and {c2}")
    calls = 0

    def at(length: float) -> Point:
        nonlocal calls
        calls += 1
        loss, grad = obj_func(x, length, d)
        return Point(length, float(loss), grad, float(grad.dot(d)))

    start = Point(0.0, float(f), g, float(gtd))
    found = strong_wolfe(at, start, float(t), _largest(d), tolerance_change, max_ls)
    return found.loss, found.grad, found.t, calls


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None
) -> float:
    """Where the cubic through two points with their slopes is least, within bounds, as libraries ask for it."""
    none = clew.empty(0)  # a gradient is not read
    one, other = (Point(float(x), float(f), none, float(g)) for x, f, g in ((x1, f1, g1), (x2, f2, g2)))
    low, high = bounds or (min(x1, x2), max(x1, x2))
    return least_of_cubic(one, other, float(low), float(high))


def _real(tensor: Tensor) -> Tensor:
    """A view of complex numbers as pairs of real ones."""
    return clew.view_as_real(tensor) if tensor.is_complex() else tensor


def _largest(tensor: Tensor) -> float:
    return float(tensor.abs().max())
