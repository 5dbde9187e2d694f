"""Walking over a module: its children, parameters and buffers, with their dotted names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from clew import Tensor

from ..parameter import Parameter
from .attributes import Attributes

if TYPE_CHECKING:
    from .module import Module


class Traversal(Attributes):
    """The part of a module that finds what lies below it."""

    def children(self) -> Iterator[Module]:
        """The direct child modules, each once.

        Example:
            >>> [type(child).__name__ for child in torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()).children()]
            ['ReLU', 'Tanh']
        """
        for _, child in self.named_children():
            yield child

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """`(name, child)` of the direct child modules, each child once.

        Example:
            >>> [name for name, _ in torch.nn.Sequential(torch.nn.ReLU()).named_children()]
            ['0']
        """
        seen: set[int] = set()
        for name, child in self._modules.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it, parents first; each once, or as often as it is there.

        Example:
            >>> [type(one).__name__ for one in torch.nn.Sequential(torch.nn.ReLU()).modules()]
            ['Sequential', 'ReLU']
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """`(dotted name, module)` of this module and all below it, parents first.

        Example:
            >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.ReLU()))
            >>> [name for name, _ in model.named_modules()]
            ['', '0', '1', '1.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, cast("Module", self)
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters of this module and, if `recurse`, of those below it; each once.

        Example:
            >>> [tuple(parameter.shape) for parameter in torch.nn.Linear(3, 2).parameters()]
            [(2, 3), (2,)]
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """`(dotted name, parameter)` of all parameters.

        Example:
            >>> [(name, tuple(p.shape)) for name, p in torch.nn.Sequential(torch.nn.Linear(3, 2)).named_parameters()]
            [('0.weight', (2, 3)), ('0.bias', (2,))]
        """
        return self._named_members(_own_parameters, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers of this module and, if `recurse`, of those below it; each once.

        Example:
            >>> [tuple(buffer.shape) for buffer in torch.nn.BatchNorm1d(3).buffers()]
            [(3,), (3,), ()]
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """`(dotted name, buffer)` of all buffers.

        Example:
            >>> [name for name, _ in torch.nn.BatchNorm1d(3).named_buffers()]
            ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return self._named_members(_own_buffers, prefix, recurse, remove_duplicate)

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """What `get_members_fn` finds in this module and, if `recurse`, in those below it, by dotted names."""
        seen: set[int] = set()
        own = iter([(prefix, cast("Module", self))])
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else own:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (f"{path}.{name}" if path else name), member

    def get_submodule(self, target: str) -> Module:
        """The module with the dotted name `target`; `""` is this module itself.

        Raises:
            AttributeError: there is none, or what is there is no module.

        Example:
            >>> torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU())).get_submodule("0.0")
            ReLU()
        """
        module: Traversal = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Traversal):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return cast("Module", module)

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` in the place of the dotted name `target`.

        Args:
            strict: there is a module in this place now; else the last name may be a new one.

        Raises:
            AttributeError: on the way there is no such module, or none in the place if `strict`.
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        parent, _, name = target.rpartition(".")
        owner = self.get_submodule(parent)
        if strict or hasattr(owner, name):
            owner.get_submodule(name)
        setattr(owner, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with the dotted name `target`.

        Example:
            >>> tuple(torch.nn.Sequential(torch.nn.Linear(3, 2)).get_parameter("0.weight").shape)
            (2, 3)
        """
        found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with the dotted name `target`."""
        found = self._get_member(target)
        path, _, name = target.rpartition(".")
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return cast(Tensor, found)

    def _get_member(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        return getattr(owner, name)


def _own_parameters(module: Module) -> list[tuple[str, Any]]:
    return list(module._parameters.items())


def _own_buffers(module: Module) -> list[tuple[str, Any]]:
    return list(module._buffers.items())
