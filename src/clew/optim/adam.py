"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew
from clew import Tensor
from clew._core import ops, optimizer_step

from .adam_variants import recorded_adam
from .groups import Params, with_gradients
from .optimizer import Optimizer, evaluate
from .options import check_betas, check_not_negative, check_variants


class Adam(Optimizer):
    """Steps along the mean gradient over the root of the mean squared gradient (https://arxiv.org/abs/1412.6980).

    Args:
        params: parameters or groups of them.
        lr: the step size.
        betas: the decay rates of the two moving averages.
        eps: added to the root.
        weight_decay: a multiple of the parameter that is added to its gradient.
        amsgrad: use the largest squared mean so far (https://openreview.net/forum?id=ryQu7f-RZ).
        maximize: maximize the objective instead of minimizing it.
        foreach, fused, capturable: accepted; every step is fused, unless
        differentiable: record the step, so that derivatives go through it.
        decoupled_weight_decay: decay as `AdamW` does.

    The state of a parameter: "step" (a 0-dim tensor), "exp_avg", "exp_avg_sq" and, with `amsgrad`, "max_exp_avg_sq".

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.Adam([weight], lr=0.5)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([1.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_not_negative("lr", lr)
        check_not_negative("eps", eps)
        check_betas(betas)
        check_not_negative("weight_decay", weight_decay)
        check_variants(foreach, fused, differentiable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters; see `Optimizer.step`."""
        loss = None if closure is None else evaluate(closure)
        for group in self.param_groups:
            params, grads = with_gradients(group, type(self).__name__)
            if params:
                self._step_group(group, params, grads)
        return loss

    def _step_group(self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor]) -> None:
        amsgrad = group["amsgrad"]
        states = [self.state[parameter] or self._begin(parameter, amsgrad) for parameter in params]
        if group["differentiable"]:
            for parameter, grad, state in zip(params, grads, states, strict=True):
                state["step"].add_(1)
                recorded_adam(parameter, grad, state, group)
            return
        beta1, beta2 = group["betas"]
        optimizer_step(
            ops.adam_step,
            params,
            grads,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [state["max_exp_avg_sq"] for state in states] if amsgrad else None,
            [state["step"].add_(1) for state in states],
            float(group["lr"]),
            float(beta1),
            float(beta2),
            group["eps"],
            group["weight_decay"],
            group["decoupled_weight_decay"],
            group["maximize"],
        )

    def _begin(self, parameter: Tensor, amsgrad: bool) -> dict[str, Any]:
        """The state of a parameter before its first step."""
        state = self.state[parameter]
        state["step"] = clew.tensor(0.0)
        for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if amsgrad else 2]:
            state[name] = clew.zeros_like(parameter)
        return state


class AdamW(Adam):
    """Adam with decoupled weight decay: it shrinks the parameter itself, by `lr * weight_decay`.

    Loshchilov and Hutter, https://arxiv.org/abs/1711.05101. Arguments as for `Adam`.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.AdamW([weight], lr=0.5, weight_decay=0.1)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([1.4000])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
