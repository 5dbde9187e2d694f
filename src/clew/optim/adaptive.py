"""Optimizers that scale the steps of each element by what its gradients have been: Adagrad and what came of it."""

from __future__ import annotations

from typing import Any

import clew
from clew import Tensor

from .composed import ComposedOptimizer, as_number, copy_if_recorded, rate_of, zeros_for
from .groups import Params, is_sparse, with_values
from .options import check_betas, check_not_negative, check_share, options_of

Group = dict[str, Any]
State = dict[str, Tensor]


class Adagrad(ComposedOptimizer):
    """Steps along the gradient over the root of the sum of its squares (https://jmlr.org/papers/v12/duchi11a.html).

    Args:
        params: parameters or groups of them.
        lr: the step size.
        lr_decay: the step size falls as `lr / (1 + (step - 1) * lr_decay)`.
        weight_decay: a multiple of the parameter that is added to its gradient.
        initial_accumulator_value: where the sum of squares begins.
        eps: added to the root.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step.
        foreach, fused: accepted, without effect.

    The state of a parameter: "step" and "sum".

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.Adagrad([weight], lr=0.5)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([1.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_not_negative("lr_decay", lr_decay)
        check_not_negative("initial_accumulator_value", initial_accumulator_value)
        super().__init__(params, **options_of(locals()))
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter] = self._first_state(parameter, group)

    def share_memory(self) -> None:
        """Let other processes see the sums, as `Tensor.share_memory_` does."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _begin(self, parameter: Tensor, group: Group) -> State:
        return {"sum": clew.full_like(parameter, group["initial_accumulator_value"])}

    def _refuser(self) -> str:
        return ""

    def _update(self, parameter: Tensor, grad: Tensor, state: State, group: Group) -> None:
        rate = rate_of(group) / (1 + (as_number(state["step"]) - 1) * group["lr_decay"])
        if is_sparse(grad):
            return self._update_sparse(parameter, grad.coalesce(), state["sum"], group["eps"], float(rate))
        state["sum"].addcmul_(grad, grad)
        parameter.addcdiv_(grad * -rate, state["sum"].sqrt().add(group["eps"]))
        return None

    @staticmethod
    def _update_sparse(parameter: Tensor, grad: Tensor, total: Tensor, eps: float, rate: float) -> None:
        """Only the rows that have a gradient change."""
        total.add_(grad * grad)
        values = grad.values() / total.sparse_mask(grad).values().sqrt().add_(eps)
        parameter.add_(with_values(grad, values), alpha=-rate)


class RMSprop(ComposedOptimizer):
    """Steps along the gradient over the root of the mean of its squares (G. Hinton, lecture notes 6e, 2012).

    Args:
        params: parameters or groups of them.
        lr: the step size.
        alpha: the decay rate of the moving average.
        eps: added to the root.
        weight_decay: a multiple of the parameter that is added to its gradient.
        momentum: the factor of the velocity.
        centered: take the variance instead of the mean square (https://arxiv.org/abs/1308.0850).
        capturable, foreach: accepted, without effect.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step.

    The state of a parameter: "step", "square_avg" and, if asked for, "momentum_buffer" and "grad_avg".

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.RMSprop([weight], lr=0.5)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([-3.])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_not_negative("alpha", alpha)
        check_not_negative("momentum", momentum)
        super().__init__(params, **options_of(locals()))

    def _begin(self, parameter: Tensor, group: Group) -> State:
        names = ["square_avg"]
        if group["momentum"] > 0:
            names.append("momentum_buffer")
        if group["centered"]:
            names.append("grad_avg")
        return zeros_for(parameter, *names)

    def _update(self, parameter: Tensor, grad: Tensor, state: State, group: Group) -> None:
        alpha, mean = group["alpha"], state["square_avg"]
        mean.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            state["grad_avg"].lerp_(grad, 1 - alpha)
            centre = copy_if_recorded(state["grad_avg"], group)
            mean = mean.addcmul(centre, centre, value=-1)
        root = mean.sqrt().add(group["eps"])
        if group["momentum"] > 0:
            state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, root)
            parameter.add_(state["momentum_buffer"], alpha=-rate_of(group))
        else:
            parameter.addcdiv_(grad, root, value=-rate_of(group))


class Adadelta(ComposedOptimizer):
    """Steps whose size follows from those made before: no rate to choose (https://arxiv.org/abs/1212.5701).

    Args:
        params: parameters or groups of them.
        lr: a factor for each step.
        rho: the decay rate of the two moving averages.
        eps: added under the roots.
        weight_decay: a multiple of the parameter that is added to its gradient.
        capturable, foreach: accepted, without effect.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step.

    The state of a parameter: "step", "square_avg" and "acc_delta".

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.Adadelta([weight])
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([1.9968])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_share("rho", rho)
        super().__init__(params, **options_of(locals()))

    def _begin(self, parameter: Tensor, group: Group) -> State:
        return zeros_for(parameter, "square_avg", "acc_delta")

    def _update(self, parameter: Tensor, grad: Tensor, state: State, group: Group) -> None:
        rho, eps = group["rho"], group["eps"]
        state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        change = state["acc_delta"].add(eps).sqrt() / state["square_avg"].add(eps).sqrt() * grad
        state["acc_delta"].mul_(rho).addcmul_(change, change, value=1 - rho)
        parameter.add_(change, alpha=-rate_of(group))


class Adamax(ComposedOptimizer):
    """Adam with the largest gradient in place of the root of the mean square (https://arxiv.org/abs/1412.6980, 7.1).

    Args:
        params: parameters or groups of them.
        lr: the step size.
        betas: the decay rates of the moving average and of the maximum.
        eps: added to the gradient's size.
        weight_decay: a multiple of the parameter that is added to its gradient.
        capturable, foreach: accepted, without effect.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step.

    The state of a parameter: "step", "exp_avg" and "exp_inf".

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.Adamax([weight], lr=0.5)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([1.5000])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_betas(betas)
        super().__init__(params, **options_of(locals()))

    def _begin(self, parameter: Tensor, group: Group) -> State:
        return zeros_for(parameter, "exp_avg", "exp_inf")

    def _update(self, parameter: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        state["exp_avg"].lerp_(grad, 1 - beta1)
        state["exp_inf"].copy_(clew.maximum(state["exp_inf"] * beta2, grad.abs().add(group["eps"])))
        mean, largest = copy_if_recorded(state["exp_avg"], group), copy_if_recorded(state["exp_inf"], group)
        parameter.addcdiv_(mean * (-rate_of(group) / (1 - beta1 ** as_number(state["step"]))), largest)
