"""Methods of Tensor that are no operations: hooks, and questions about it.

The type is C++'s; each function here is added to it under its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Tensor
from ._device import strided
from ._domains import domain
from ._methods import method
from ._unsupported import unsupported
from .autograd.handles import HookHandle


# -------------------------------------------------------------------------------------------------------- kept programs
@method
@domain("unsampled, 'it needs a kept block'")
def forward(self: Tensor) -> Tensor:
    """Compute this tensor again, in place, from the present values of what its block did not make; see `keep_graph`.

    Its graph is ready for `backward()` afterwards, as often as one likes.

    Raises:
        ReplayError: the block can't run again as it was recorded; nothing has been changed.
        RuntimeError: no block that was kept made this tensor.

    Example:
        >>> a = clew.ones(2)
        >>> with clew.keep_graph():
        ...     y = a.sum()
        >>> a.data = clew.tensor([3.0, 4.0])
        >>> y.forward()
        tensor(7.)
    """
    _core.kept_forward(self)
    return self


# ---------------------------------------------------------------------------------------------------------------- hooks
@method
@domain("unsampled, 'it takes a function'")
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> HookHandle:
    """Call `hook(grad)` each time this tensor's gradient has been computed. What it returns, if not None, replaces it.

    Raises:
        RuntimeError: the tensor needs no gradient.

    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> (x * 2).backward()
        >>> x.grad
        tensor([20.])
    """
    return HookHandle(*self._add_hook(hook))


@method
@domain("unsampled, 'it takes a function'")
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> HookHandle:
    """Call `hook(tensor)` each time a gradient was added to the `.grad` of this leaf.

    Raises:
        RuntimeError: it is no leaf, or needs no gradient.

    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> (x * 2).backward()
        tensor([2.])
    """
    return HookHandle(*self._add_accumulate_hook(hook))


@method
@domain("self=real(d, a), split_size=2; self=real(d, a), split_size=(2, d - 2)")
def split(self: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive parts along an axis: `clew.split`.

    Example:
        >>> torch.tensor([1, 2, 3]).split(2)
        (tensor([1, 2]), tensor([3]))
    """
    from .ops.rearrange import split as function  # it is loaded after this module

    return function(self, split_size, dim)


@method
@domain("real; integer")
def is_floating_point(self: Tensor) -> bool:
    """Whether the dtype is a floating one.

    Example:
        >>> torch.zeros(2).is_floating_point()
        True
    """
    return bool(self.dtype.is_floating_point)


@method
@domain("real; integer")
def is_complex(self: Tensor) -> bool:
    """Whether the dtype is complex.

    Example:
        >>> torch.tensor([1j]).is_complex()
        True
    """
    return bool(self.dtype.is_complex)


@method
@domain("real; mask")
def is_signed(self: Tensor) -> bool:
    """Whether the dtype has negative values.

    Example:
        >>> torch.tensor([1], dtype=torch.uint8).is_signed()
        False
    """
    return bool(self.dtype.is_signed)


@method
@domain("self=real(1); self=index(1)")
def is_nonzero(self: Tensor) -> bool:
    """Whether its one element is not zero.

    Example:
        >>> torch.tensor([2.0]).is_nonzero()
        True
    """
    return bool(self)


@method
@domain("real; self=real(a, b), other=real(b)")
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether the other tensor has the same shape.

    Example:
        >>> torch.zeros(2).is_same_size(torch.ones(2))
        True
    """
    return bool(self.shape == other.shape)


@method
@domain("real")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether the other tensor looks at the same elements in the same order.

    Example:
        >>> x = torch.zeros(2)
        >>> x.is_set_to(x.view(2)), x.is_set_to(x.clone())
        (True, False)
    """
    mine, other = (
        (one._storage_id, one.storage_offset(), tuple(one.shape), one.stride(), one.dtype) for one in (self, tensor)
    )
    return mine == other


@method
@domain("real")
def is_conj(self: Tensor) -> bool:
    """False: conjugation is never lazy.

    Example:
        >>> torch.tensor([1j]).is_conj()
        False
    """
    return False


@method
@domain("real")
def is_neg(self: Tensor) -> bool:
    """False: negation is never lazy.

    Example:
        >>> torch.ones(1).is_neg()
        False
    """
    return False


@method
@domain("real")
def resolve_conj(self: Tensor) -> Tensor:
    """Itself, since conjugation is never lazy.

    Example:
        >>> torch.tensor([1 + 2j]).resolve_conj()
        tensor([1.+2.j])
    """
    return self


@method
@domain("real")
def resolve_neg(self: Tensor) -> Tensor:
    """Itself, since negation is never lazy.

    Example:
        >>> torch.ones(1).resolve_neg()
        tensor([1.])
    """
    return self


@method
@domain("real")
def is_pinned(self: Tensor) -> bool:
    """False: memory is pinned for accelerators only.

    Example:
        >>> torch.ones(1).is_pinned()
        False
    """
    return False


@method
@domain("real")
def is_shared(self: Tensor) -> bool:
    """False: the memory belongs to this process.

    Example:
        >>> torch.ones(1).is_shared()
        False
    """
    return False


def _sparse(name: str) -> Any:
    """A function of the table of sparse operations, which is loaded when one is asked for."""
    from .sparse._tensor import TABLE

    return TABLE[name]


@method
@domain("unsampled, 'it gives a sparse tensor'")
def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None) -> Tensor:
    """A sparse tensor of the elements that are not zero.

    Args:
        sparse_dim: how many axes are sparse, of which the others are entries; by default all.
        layout: `sparse_coo` (the default), `sparse_csr` or `sparse_csc`.

    Raises:
        NotImplementedError: another layout, or compressed rows of what is no matrix.

    Example:
        >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse().indices()
        tensor([[0, 1],
                [1, 0]])
    """
    made: Tensor = _sparse("to_sparse")(self, sparse_dim, layout=layout)
    return made


for _name, _shown in (("coo", "indices()[0]"), ("csr", "col_indices()"), ("csc", "row_indices()")):

    def _to_layout(self: Tensor, dense_dim: int | None = None, *, _name: str = f"to_sparse_{_name}") -> Any:
        return _sparse(_name)(self)

    _to_layout.__name__ = f"to_sparse_{_name}"
    _to_layout.__doc__ = f"""A tensor of the layout `sparse_{_name}`, of the elements that are not zero.

    Example:
        >>> torch.tensor([[1.0, 0.0], [0.0, 1.0]]).to_sparse_{_name}().{_shown}
        tensor([0, 1])
    """
    method(domain("unsampled, 'it gives a sparse tensor'")(_to_layout))


@method
@domain("unsampled, 'it takes a sparse tensor'")
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the entries of a sparse tensor, as a sparse tensor.

    Example:
        >>> mask = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 1.0], (2, 2))
        >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).sparse_mask(mask).coalesce().values()
        tensor([2., 3.])
    """
    made: Tensor = _sparse("sparse_mask")(self, mask)
    return made


@method
@domain("real; real, dtype=float64")
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool = True) -> Tensor:
    """Itself, as it is dense; of a sparse tensor a dense one. In `dtype`, if one is given.

    Example:
        >>> torch.sparse_coo_tensor([[1]], [2.0], (3,)).to_dense()
        tensor([0., 2., 0.])
    """
    return self if dtype is None else self.to(dtype)


_OF_SPARSE = {
    "coalesce": ("in order, with one entry at each place", "_coo().coalesce().values()", "tensor([1., 1.])"),
    "is_coalesced": ("whether it is so", "_coo().is_coalesced()", "True"),
    "indices": ("the places", "(1).indices()", "tensor([[0, 1]])"),
    "values": ("the entries", "_coo().values()", "tensor([1., 1.])"),
    "crow_indices": ("where each row ends", "_csr().crow_indices()", "tensor([0, 1, 2])"),
    "col_indices": ("the column of each entry", "_csr().col_indices()", "tensor([0, 1])"),
    "ccol_indices": ("where each column ends", "_csc().ccol_indices()", "tensor([0, 1, 2])"),
    "row_indices": ("the row of each entry", "_csc().row_indices()", "tensor([0, 1])"),
    **{name: (f"see `{name[1:]}`", "().is_coalesced()", "True") for name in ("_indices", "_values", "_nnz")},
}
for _name, (_what, _call, _given) in _OF_SPARSE.items():

    def _need_sparse(self: Tensor, _name: str = _name) -> Any:
        raise RuntimeError(f"{_name} expected a sparse tensor but got a strided one; to_sparse() makes one")

    _need_sparse.__name__ = _name
    _need_sparse.__doc__ = f"""Of a sparse tensor: {_what}.

    Raises:
        RuntimeError: the tensor is strided.

    Example:
        >>> torch.eye(2).to_sparse{_call}
        {_given}
    """
    method(domain("unsampled, 'it takes a sparse tensor'")(_need_sparse))


for _name in ("share_memory_", "pin_memory", "rename"):

    def _refuse(self: Tensor, *args: Any, _name: str = _name, **kwargs: Any) -> Any:
        raise unsupported(f"Tensor.{_name}")

    _refuse.__name__ = _name
    _refuse.__doc__ = "Not supported: raises NotImplementedError."
    method(domain("unsampled, 'it is not supported'")(_refuse))


def _constant(value: Any) -> property:
    return property(lambda self: value)


for _name, _value in (("layout", strided), ("is_mps", False), ("is_sparse_csr", False), ("is_nested", False)):
    _core.add_method(_name, _constant(_value))

_core.add_method("_cdata", property(lambda self: id(self), doc="A number that only this tensor has while it lives."))
