"""What all optimizers share: parameter groups, state, hooks, saving and loading."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import clew
from clew import Tensor

from .. import _core
from ..graph.program.optimizers import optimizer_is_here
from ..utils.grads import clear_grad
from ..utils.hooks import RemovableHandle, register
from .groups import Params, listed_params, required
from .state import load_state, pack_state

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Called after each step, while there are any, with what _count_state() was before it.
watchers: list[Callable[[Optimizer, int], None]] = []
HOOKS = ("step_pre", "step_post", "save_pre", "save_post", "load_pre", "load_post")


class Optimizer:
    """Base of the optimizers: a subclass gives `defaults` for each group's options and defines `step`.

    Args:
        params: parameters, or groups: dicts with "params" and the options in which the group differs, or
            `(name, parameter)` pairs as `named_parameters()` gives them.
        defaults: the options of groups that do not give them.

    Attributes:
        param_groups: a dict for each group: "params" and the options. Change an option by assigning to it.
        state: what the optimizer keeps for each parameter, a dict each.

    Raises:
        TypeError: what was given is not iterable, is a set, or has elements that are no tensors.
        ValueError: no parameters, a tensor with a history, or a parameter that is there twice.

    Example:
        >>> class Signs(torch.optim.Optimizer):
        ...     def __init__(self, params, lr):
        ...         super().__init__(params, {"lr": lr})
        ...     @torch.no_grad()
        ...     def step(self):
        ...         for group in self.param_groups:
        ...             for parameter in group["params"]:
        ...                 parameter -= group["lr"] * parameter.grad.sign()
        >>> weight = torch.tensor([2.0, -1.0], requires_grad=True)
        >>> (weight * weight).sum().backward()
        >>> Signs([weight], lr=0.5).step()
        >>> weight.detach()
        tensor([ 1.5000, -0.5000])
    """

    param_groups: list[dict[str, Any]]
    state: defaultdict[Tensor, dict[str, Any]]
    # Of a subclass that doesn't call `__init__`, as one that hands all on to another optimizer.
    _stepping = False
    _step_pre: Mapping[int, Callable[..., Any]] = MappingProxyType({})
    _step_post: Mapping[int, Callable[..., Any]] = MappingProxyType({})

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {type(params).__name__}"
            )
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._make_hook_tables()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)  # type: ignore[arg-type]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_step_hooks(cls.step)  # type: ignore[method-assign]

    def _make_hook_tables(self) -> None:
        optimizer_is_here(self)
        self._made_hooks: dict[str, OrderedDict[int, Callable[..., Any]]] = {kind: OrderedDict() for kind in HOOKS}
        self._step_pre, self._step_post = self._made_hooks["step_pre"], self._made_hooks["step_post"]
        self._stepping = False

    @property
    def _hooks(self) -> dict[str, OrderedDict[int, Callable[..., Any]]]:
        if "_made_hooks" not in self.__dict__:
            self._make_hook_tables()
        return self._made_hooks

    # The step ---------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients.

        Args:
            closure: clears the gradients, computes the loss, calls backward and returns the loss.

        Returns:
            The closure's loss.
        """
        raise NotImplementedError(f"{type(self).__name__}.step is not defined")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters or, with `set_to_none=False`, fill them with zeros.

        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
            >>> optimizer = torch.optim.SGD([weight], lr=0.25)
            >>> (weight * weight).sum().backward()
            >>> optimizer.zero_grad()
            >>> weight.grad is None
            True
        """
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                else:
                    clear_grad(parameter, set_to_none)

    # Groups -----------------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dict with "params" and the options in which it differs from the defaults.

        Example:
            >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.25)
            >>> optimizer.add_param_group({"params": [torch.zeros(1, requires_grad=True)], "lr": 0.5})
            >>> [group["lr"] for group in optimizer.param_groups]
            [0.25, 0.5]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = listed_params(param_group, bool(self.defaults.get("differentiable")))
        for name, value in self.defaults.items():
            if value is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, value)
        params = {id(parameter) for parameter in group["params"]}
        if len(params) != len(group["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                stacklevel=3,
            )
        if any(id(parameter) in params for other in self.param_groups for parameter in other["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise ValueError("all optimizer param groups should be with/without names, got both")
        self.param_groups.append(group)

    def _count_state(self) -> int:
        return sum(len(entries) for entries in self.state.values())

    def __repr__(self) -> str:
        texts = []
        for number, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            texts.append(f"\nParameter Group {number}\n" + "".join(options))
        return f"{type(self).__name__} ({''.join(texts)})"

    # Saving and loading -----------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hook_tables()

    def state_dict(self) -> dict[str, Any]:
        """The state and the groups' options, with parameters by their number; tensors are shared, not copied.

        Example:
            >>> torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.5).state_dict()["param_groups"][0]["lr"]
            0.5
        """
        for hook in list(self._hooks["save_pre"].values()):
            hook(self)
        packed = self._packed()
        for hook in list(self._hooks["save_post"].values()):
            changed = hook(self, packed)
            packed = packed if changed is None else changed
        return packed

    def _packed(self) -> dict[str, Any]:
        return pack_state(self.state, self.param_groups)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over state and options from what `state_dict()` gave; tensors are copied, to the parameters' dtypes.

        Raises:
            ValueError: the number of groups, or of parameters in one, differs.
        """
        given: Mapping[str, Any] = dict(state_dict)
        for hook in list(self._hooks["load_pre"].values()):
            changed = hook(self, given)
            given = given if changed is None else changed
        self.state, self.param_groups = load_state(given, self.param_groups, self.defaults)
        for hook in list(self._hooks["load_post"].values()):
            hook(self)

    # Hooks ------------------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return new `(args, kwargs)`."""
        return register(self._hooks["step_pre"], hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return register(self._hooks["step_post"], hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict()` is made."""
        return register(self._hooks["save_pre"], hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after it is made; it may return another."""
        return register(self._hooks["save_post"], hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another."""
        return register(self._hooks["load_pre"], hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return register(self._hooks["load_post"], hook, prepend)


def evaluate(closure: Callable[[], Any]) -> Any:
    """The closure's loss, with gradients recorded."""
    with clew.enable_grad():
        return closure()


def _with_step_hooks(step: Callable[_P, _R]) -> Callable[_P, _R]:
    """`step` with the optimizer's hooks around it; a `step` that it calls of its base class runs none."""

    @functools.wraps(step)
    def hooked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        optimizer: Any = args[0]
        if watchers and not _core.is_traced():  # who looks on is no part of what is compiled
            return _watched(hooked, args[0], args, kwargs)
        if optimizer._stepping or not (optimizer._step_pre or optimizer._step_post):
            return step(*args, **kwargs)
        optimizer._stepping = True
        try:
            for hook in list(optimizer._step_pre.values()):
                changed = hook(optimizer, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
            result = step(*args, **kwargs)
            for hook in list(optimizer._step_post.values()):
                hook(optimizer, args, kwargs)
            return result
        finally:
            optimizer._stepping = False

    return hooked


def _watched(step: Callable[..., _R], optimizer: Any, args: Any, kwargs: Any) -> _R:
    watching = watchers[:]
    watchers.clear()
    before = optimizer._count_state()
    for watcher in watching:
        if hasattr(watcher, "before_step"):
            watcher.before_step(optimizer)
    try:
        return step(*args, **kwargs)
    finally:
        watchers[:] = [*watching, *watchers]  # those that came meanwhile stay
        for watcher in watching:
            watcher(optimizer, before)
