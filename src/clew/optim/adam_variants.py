"""NAdam, RAdam and the step of Adam that derivatives can go through."""

from __future__ import annotations

from typing import Any

import clew
from clew import Tensor

from .composed import ComposedOptimizer, as_number, as_real, negated_and_decayed, rate_of, zeros_for
from .groups import Params
from .options import check_betas, check_not_negative, options_of

Group = dict[str, Any]
State = dict[str, Tensor]


class NAdam(ComposedOptimizer):
    """Adam with Nesterov's momentum (T. Dozat, https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ).

    Args:
        params: parameters or groups of them.
        lr: the step size.
        betas: the decay rates of the two moving averages.
        eps: added to the root.
        weight_decay: a multiple of the parameter that is added to its gradient.
        momentum_decay: how fast the momentum grows towards `betas[0]`.
        decoupled_weight_decay: decay as `AdamW` does.
        capturable, foreach: accepted, without effect.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step.

    The state of a parameter: "step", "mu_product", "exp_avg" and "exp_avg_sq".

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.NAdam([weight], lr=0.5)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([1.4718])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_betas(betas)
        check_not_negative("momentum_decay", momentum_decay)
        super().__init__(params, **options_of(locals()))

    def _begin(self, parameter: Tensor, group: Group) -> State:
        return {"mu_product": clew.ones(()), **zeros_for(parameter, "exp_avg", "exp_avg_sq")}

    def _update(self, parameter: Tensor, grad: Tensor, state: State, group: Group) -> None:
        rate, decay, (beta1, beta2) = rate_of(group), group["momentum_decay"], group["betas"]
        step = as_number(state["step"])
        mu, mu_next = (beta1 * (1 - 0.5 * 0.96 ** (count * decay)) for count in (step, step + 1))
        state["mu_product"].mul_(mu.to(state["mu_product"].dtype))
        product = as_number(state["mu_product"])
        _take_means(state, grad, beta1, beta2)
        root = (state["exp_avg_sq"] / (1 - beta2**step)).sqrt().add(group["eps"])
        parameter.addcdiv_(grad * (-rate * (1 - mu) / (1 - product)), root)
        parameter.addcdiv_(state["exp_avg"] * (-rate * mu_next / (1 - product * mu_next)), root)


class RAdam(ComposedOptimizer):
    """Adam that leaves the second mean out until its variance is bounded (https://arxiv.org/abs/1908.03265).

    Args:
        params: parameters or groups of them.
        lr: the step size.
        betas: the decay rates of the two moving averages.
        eps: added to the root.
        weight_decay: a multiple of the parameter that is added to its gradient.
        decoupled_weight_decay: decay as `AdamW` does.
        capturable, foreach: accepted, without effect.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step.

    The state of a parameter: "step", "exp_avg" and "exp_avg_sq".

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.RAdam([weight], lr=0.5)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([0.])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_betas(betas)
        super().__init__(params, **options_of(locals()))

    def _begin(self, parameter: Tensor, group: Group) -> State:
        return zeros_for(parameter, "exp_avg", "exp_avg_sq")

    def _update(self, parameter: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        _take_means(state, grad, beta1, beta2)
        step = as_number(state["step"])
        mean = state["exp_avg"] / (1 - beta1**step) * rate_of(group)
        correction = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1  # the length that the average of squares tends to; `length` is that so far
        length = longest - 2 * step * beta2**step / correction
        is_bounded = length > 5
        bound = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
        # Where the variance isn't bounded yet, no derivative goes through this root.
        root = clew.where(is_bounded, state["exp_avg_sq"], 1.0).sqrt().add(group["eps"])
        parameter.sub_(mean * clew.where(is_bounded, (correction * bound).clamp(min=0).sqrt() / root, 1.0))


def _take_means(state: State, grad: Tensor, beta1: float, beta2: float) -> None:
    state["exp_avg"].lerp_(grad, 1 - beta1)
    state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad * (1 - beta2))


@clew.enable_grad()
def recorded_adam(parameter: Tensor, grad: Tensor, state: State, group: Group) -> None:
    """The step of `Adam` with tensor operations: derivatives go through it, to a learning rate that is a tensor, too.

    `state` is that of `Adam`; its "step" has been counted.
    """
    if parameter.is_complex():
        parameter, grad, state = as_real(parameter, grad, state)
    beta1, beta2 = group["betas"]
    rate, step = group["lr"], as_number(state["step"])
    grad = negated_and_decayed(parameter, grad, group, rate)
    _take_means(state, grad, beta1, beta2)
    squares = state["exp_avg_sq"].clone()
    if group["amsgrad"]:
        state["max_exp_avg_sq"].copy_(clew.maximum(state["max_exp_avg_sq"].clone(), squares))
        squares = state["max_exp_avg_sq"].clone()
    root = squares.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
    parameter.sub_(rate / (1 - beta1**step) * (state["exp_avg"].clone() / root))


@clew.enable_grad()
def recorded_sgd(parameter: Tensor, grad: Tensor, state: State, group: Group) -> None:
    """The step of `SGD` with tensor operations; `state` is that of `SGD`."""
    grad = negated_and_decayed(parameter, grad, group, group["lr"])
    momentum = group["momentum"]
    if momentum != 0:
        if "momentum_buffer" in state:
            state["momentum_buffer"].mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        else:
            state["momentum_buffer"] = grad.clone()
        velocity = state["momentum_buffer"].clone()
        grad = grad.add(velocity, alpha=momentum) if group["nesterov"] else velocity
    parameter.sub_(group["lr"] * grad)
