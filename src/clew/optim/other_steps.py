"""Optimizers of kinds of their own: signs only, averages of the way, factored squares, orthogonal steps."""

from __future__ import annotations

import math
from typing import Any

import clew
from clew import Tensor

from .composed import ComposedOptimizer, as_number, rate_of, zeros_for
from .groups import Params, is_sparse, with_gradients, with_values
from .optimizer import Optimizer, evaluate
from .options import check_betas, check_not_negative, options_of

Group = dict[str, Any]
State = dict[str, Tensor]


class Rprop(ComposedOptimizer):
    """Steps by the gradient's sign; each element's step grows while the sign stays (Riedmiller and Braun, 1993).

    Args:
        params: parameters or groups of them.
        lr: the first step size.
        etas: factors of the step size when the sign changes, and when it stays.
        step_sizes: the smallest and the largest step.
        capturable, foreach: accepted, without effect.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step.

    The state of a parameter: "step", "prev" and "step_size".

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.Rprop([weight], lr=0.5)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([1.5000])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, **options_of(locals()))

    def _begin(self, parameter: Tensor, group: Group) -> State:
        return {"prev": clew.zeros_like(parameter), "step_size": clew.full_like(parameter, rate_of(group))}

    def _update(self, parameter: Tensor, grad: Tensor, state: State, group: Group) -> None:
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        same = grad.mul(state["prev"])
        factor = clew.where(same > 0, grow, clew.where(same < 0, shrink, 1.0)).to(grad.dtype)
        state["step_size"].mul_(factor).clamp_(least, most)
        # Where the sign changed, no step is made, and the next one is as after a first.
        used = clew.where(same < 0, 0.0, grad)
        parameter.addcmul_(used.sign(), state["step_size"].clone(), value=-1)
        state["prev"].copy_(used)


class ASGD(ComposedOptimizer):
    """Gradient descent that averages its iterates, in the state "ax" (https://dl.acm.org/doi/10.1137/0330046).

    Args:
        params: parameters or groups of them.
        lr: the first step size; it falls as `lr / (1 + lambd * lr * step) ** alpha`.
        lambd: the decay rate of the parameters and the step size.
        alpha: see `lr`.
        t0: the step at which averaging begins.
        weight_decay: a multiple of the parameter that is added to its gradient.
        capturable, foreach: accepted, without effect.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step.

    The state of a parameter: "step", "eta", "mu" and "ax".

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.ASGD([weight], lr=0.25)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([1.0000])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, **options_of(locals()))

    def _begin(self, parameter: Tensor, group: Group) -> State:
        return {"eta": clew.tensor(rate_of(group)), "mu": clew.ones(()), "ax": clew.zeros_like(parameter)}

    def _update(self, parameter: Tensor, grad: Tensor, state: State, group: Group) -> None:
        step, eta, mu = (as_number(state[name]) for name in ("step", "eta", "mu"))
        parameter.mul_(1 - group["lambd"] * eta).sub_(grad * eta)
        averaged = state["ax"] + parameter.sub(state["ax"]).mul(mu)
        state["ax"].copy_(clew.where(mu == 1, parameter, averaged))
        rate = rate_of(group)
        state["eta"].copy_(rate / (1 + group["lambd"] * rate * step) ** group["alpha"])
        state["mu"].copy_(1 / (step - group["t0"]).clamp(min=1))


class Adafactor(ComposedOptimizer):
    """Adam without a mean, whose squares of a matrix are kept by rows and columns (https://arxiv.org/abs/1804.04235).

    Args:
        params: parameters or groups of them.
        lr: the largest relative step.
        beta2_decay: the squares last the shorter, the larger the step's number to this power.
        eps: a bound of the squares (None: the dtype's epsilon) and one of the parameter's size.
        d: the largest root mean square of an update.
        weight_decay: shrinks the parameter, by `lr * weight_decay`.
        foreach: accepted, without effect.
        maximize: maximize the objective instead of minimizing it.

    The state of a parameter: "step" and "variance", or "row_var" and "col_var" if it has two axes or more.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.Adafactor([weight], lr=0.5)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([1.])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_not_negative("-beta2_decay", -beta2_decay)
        check_not_negative("epsilon1", eps[0] or 0.0)
        check_not_negative("epsilon2", eps[1])
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        super().__init__(params, **options_of(locals()))

    def _step_one(self, parameter: Tensor, grad: Tensor, group: Group) -> None:
        if parameter.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters; use Adam")
        super()._step_one(parameter, grad, group)

    def _begin(self, parameter: Tensor, group: Group) -> State:
        if parameter.dim() < 2:
            return zeros_for(parameter, "variance")
        *batch, rows, columns = parameter.shape
        return {"row_var": parameter.new_zeros([*batch, rows, 1]), "col_var": parameter.new_zeros([*batch, 1, columns])}

    def _prepare(self, parameter: Tensor, grad: Tensor, group: Group) -> Tensor:
        return -grad if group["maximize"] else grad  # the step decays, once it has measured the parameter

    def _update(self, parameter: Tensor, grad: Tensor, state: State, group: Group) -> None:
        least = clew.finfo(parameter.dtype).eps if group["eps"][0] is None else group["eps"][0]
        step = as_number(state["step"])
        fresh = (step ** group["beta2_decay"]).to(parameter.dtype)
        size = as_number(parameter.norm(2)) / math.sqrt(parameter.numel())
        scale = size.clamp(min=group["eps"][1]) * (1 / step.sqrt()).clamp(max=rate_of(group))
        parameter.mul_(1 - rate_of(group) * group["weight_decay"])
        squares = grad.square()
        if grad.dim() < 2:
            state["variance"].lerp_(squares, fresh)
            variance = state["variance"]
        else:
            state["row_var"].lerp_(squares.mean(-1, keepdim=True), fresh)
            state["col_var"].lerp_(squares.mean(-2, keepdim=True), fresh)
            total = state["row_var"].mean(-2, keepdim=True).clamp(min=least)
            variance = state["row_var"] @ state["col_var"] / total
        update = variance.clamp(min=least * least).rsqrt() * grad
        excess = as_number(update.norm(2)) / (math.sqrt(update.numel()) * group["d"])
        parameter.sub_(update * (scale / excess.clamp(min=1.0)))


class SparseAdam(Optimizer):
    """Adam for sparse gradients: only the entries that a gradient has, and their moments, change.

    Args:
        params: dense parameters or groups of them.
        lr: the step size.
        betas: decay rates of the moving averages of the gradient and of its square.
        eps: added to the root of the second.
        maximize: maximize the objective instead of minimizing it.

    The state of a parameter: "step", "exp_avg" and "exp_avg_sq".

    Raises:
        ValueError: an option is out of range, or a parameter is sparse.
        RuntimeError: from `step`, a gradient is dense.

    Example:
        >>> table = torch.nn.Embedding(3, 1, sparse=True)
        >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.5)
        >>> table(torch.tensor([1])).sum().backward()
        >>> before = table.weight.detach().clone()
        >>> optimizer.step()
        >>> (before - table.weight.detach()).round(decimals=3)
        tensor([[0.0000],
                [0.5000],
                [0.0000]])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_not_negative("lr", lr)
        check_not_negative("eps", eps)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [i for group in self.param_groups for i, one in enumerate(group["params"]) if is_sparse(one)]
        if places:
            raise ValueError(f"Sparse params at indices {places}: SparseAdam requires dense parameter tensors")

    def step(self, closure: Any = None) -> Any:
        """Update the parameters; see `Optimizer.step`.

        Raises:
            RuntimeError: a gradient is dense.
        """
        loss = None if closure is None else evaluate(closure)
        for group in self.param_groups:
            params, grads = with_gradients(group)
            if not all(map(is_sparse, grads)):
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
            with clew.no_grad():
                for parameter, grad in zip(params, grads, strict=True):
                    self._step_one(parameter, (-grad if group["maximize"] else grad).coalesce(), group)
        return loss

    def _step_one(self, parameter: Tensor, grad: Tensor, group: Group) -> None:
        state: dict[str, Any] = self.state[parameter]
        if not state:
            state.update({"step": 0} | zeros_for(parameter, "exp_avg", "exp_avg_sq"))
        state["step"] += 1
        (beta1, beta2), values = group["betas"], grad.values()
        means = []
        for name, beta, new in (("exp_avg", beta1, values), ("exp_avg_sq", beta2, values * values)):
            before = state[name].sparse_mask(grad).values()
            change = (new - before) * (1 - beta)
            state[name].add_(with_values(grad, change))
            means.append(before + change)
        correction1, correction2 = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
        rate = float(group["lr"]) * math.sqrt(correction2) / correction1
        parameter.add_(with_values(grad, means[0] / means[1].sqrt_().add_(group["eps"])), alpha=-rate)
