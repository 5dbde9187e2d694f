"""A module's state as a flat mapping from dotted names to tensors, and back.

`_save_to_state_dict` and `_load_from_state_dict` are what a module overrides to keep its state in another form.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import clew
from clew import Tensor

from ...utils.hooks import RemovableHandle, register
from ..parameter import Parameter
from .state_hooks import IncompatibleKeys, StateHooks, WithoutModule, table
from .traversal import Traversal

if TYPE_CHECKING:
    from .module import Module

EXTRA_STATE = "_extra_state"


class State(Traversal):
    """The part of a module that saves and loads its state."""

    _version: int = 1
    _state_hooks: StateHooks | None = None
    _state_dict_pre_hooks = table("save_pre")
    _state_dict_hooks = table("save_post")
    _load_state_dict_pre_hooks = table("load_pre")
    _load_state_dict_post_hooks = table("load_post")

    # Saving -----------------------------------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by their dotted names, detached unless `keep_vars`.

        The tensors share memory with the module's: to keep a snapshot, copy them.

        Example:
            >>> list(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()).state_dict())
            ['0.weight', '0.bias']

        Example:
            >>> {name: tuple(tensor.shape) for name, tensor in torch.nn.Linear(3, 2).state_dict().items()}
            {'weight': (2, 3), 'bias': (2,)}
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            return self.state_dict(**{"destination": destination, "prefix": prefix, "keep_vars": keep_vars} | given)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # type: ignore[attr-defined]
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._run_state_hooks("save_pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._run_state_hooks("save_post"):
            changed = hook(self, destination, prefix, metadata)
            if changed is not None:
                destination = changed
        return destination

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._local_state():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _local_state(self) -> Iterator[tuple[str, Tensor]]:
        """This module's own parameters and persistent buffers."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                yield name, parameter
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                yield name, buffer

    def get_extra_state(self) -> Any:
        """What the module keeps in `state_dict()` besides tensors; override together with `set_extra_state`."""
        raise RuntimeError("get_extra_state: override it, together with set_extra_state, to keep more than tensors")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise RuntimeError("set_extra_state: override it, together with get_extra_state, to keep more than tensors")

    # Loading ----------------------------------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy the tensors of `state_dict` into this module's parameters and buffers of the same names.

        Args:
            state_dict: names to tensors, as `state_dict()` gives them.
            strict: whether missing and unexpected names are an error.
            assign: make the given tensors the module's own instead of copying their values.

        Raises:
            RuntimeError: names do not match (if `strict`) or a shape differs; all problems are in the one message.

        Example:
            >>> torch.nn.Linear(3, 2).load_state_dict(torch.nn.Linear(3, 2).state_dict())
            <All keys matched successfully>

        Example:
            >>> first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
            >>> second.load_state_dict(first.state_dict())
            <All keys matched successfully>
            >>> torch.equal(first.weight, second.weight)
            True
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None) or {}
        loading = _Loading(metadata, assign, IncompatibleKeys([], []), [])
        self._load_tree(loading, OrderedDict(state_dict), "")
        keys, errors = loading.keys, loading.errors
        if strict:
            summary = [("Missing", keys.missing_keys), ("Unexpected", keys.unexpected_keys)]
            errors = [
                f"{kind} key(s) in state_dict: " + ", ".join(f'"{name}"' for name in names) + ". "
                for kind, names in summary
                if names
            ] + errors
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return keys

    def _load_tree(self, loading: _Loading, state_dict: dict[str, Any], prefix: str) -> None:
        metadata = dict(loading.metadata.get(prefix[:-1], {}))
        if loading.assign:
            metadata["assign_to_params_buffers"] = True
        missing, unexpected = loading.keys
        self._load_from_state_dict(state_dict, prefix, metadata, True, missing, unexpected, loading.errors)
        for name, child in self._modules.items():
            if child is not None:
                path = f"{prefix}{name}."
                below = OrderedDict(item for item in state_dict.items() if item[0].startswith(path))
                child._load_tree(loading, below, path)
        for hook in self._run_state_hooks("load_post"):
            if hook(self, loading.keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own part; append to the three lists what is wrong."""
        for hook in self._run_state_hooks("load_pre"):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        local = dict(self._local_state())
        for name, tensor in local.items():
            if prefix + name in state_dict:
                assign = local_metadata.get("assign_to_params_buffers", False)
                error = self._load_tensor(name, prefix + name, tensor, state_dict[prefix + name], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(prefix + name)
        extra = prefix + EXTRA_STATE
        expects_extra = type(self).set_extra_state is not State.set_extra_state
        if expects_extra and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif expects_extra and strict:
            missing_keys.append(extra)
        if strict:
            for key in state_dict:
                name, _, below = key.removeprefix(prefix).partition(".")
                known = self._modules if below else local
                if key.startswith(prefix) and name not in known and not (expects_extra and key == extra):
                    unexpected_keys.append(key)

    def _load_tensor(self, name: str, key: str, tensor: Tensor, given: Any, assign: bool) -> str | None:
        """Copy or assign one tensor; the complaint if that cannot be done."""
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                f"from checkpoint but received {type(given)}"
            )
        if given.shape != tensor.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, "
                f"the shape in current model is {tensor.shape}."
            )
        try:
            with clew.no_grad():
                if not assign:
                    tensor.copy_(given)
                elif not isinstance(tensor, Parameter):
                    setattr(self, name, given)
                elif isinstance(given, Parameter):
                    setattr(self, name, given.requires_grad_(tensor.requires_grad))
                else:
                    setattr(self, name, Parameter(given, tensor.requires_grad))
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.shape} and '
                f"whose dimensions in the checkpoint are {given.shape}, an exception occurred : {error.args}."
            )
        return None

    # Hooks ------------------------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[[Module, str, bool], None]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before this module's part of `state_dict()` is made."""
        return register(self._own_state_hooks().save_pre, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after it is made; the hook may change the mapping."""

        def without_result(*args: Any) -> None:
            if hook(*args) is not None:
                raise RuntimeError("state_dict post-hook must return None")

        return register(self._own_state_hooks().save_post, without_result)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but what the hook returns, if not None, takes the mapping's place."""
        return register(self._own_state_hooks().save_post, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(module, *arguments of _load_from_state_dict)` before this module's part is loaded."""
        return register(self._own_state_hooks().load_pre, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        """As `register_load_state_dict_pre_hook`; the hook gets the module only if it asks."""
        called = hook if with_module else WithoutModule(hook)
        return register(self._own_state_hooks().load_pre, called)

    def register_load_state_dict_post_hook(self, hook: Callable[[Module, IncompatibleKeys], None]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; the hook may change the two lists of names."""
        return register(self._own_state_hooks().load_post, hook)

    def _own_state_hooks(self) -> StateHooks:
        if self._state_hooks is None:
            self._state_hooks = StateHooks()
        return self._state_hooks

    def _run_state_hooks(self, kind: str) -> list[Callable[..., Any]]:
        return [] if self._state_hooks is None else list(getattr(self._state_hooks, kind).values())


class _Loading(NamedTuple):
    """One call of `load_state_dict`."""

    metadata: Mapping[str, Any]
    assign: bool
    keys: IncompatibleKeys
    errors: list[str]
