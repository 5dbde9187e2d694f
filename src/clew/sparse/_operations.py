"""What operations mean for sparse tensors, by name. Those that are not here are refused."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy

import clew
from clew import Tensor

from .._device import layout, sparse_coo, sparse_csc, sparse_csr, strided
from .._size import Size
from .._typed import named_dtype
from ._construction import dense_to_sparse
from ._products import matmul_dense, product_pairs, sparse_product
from ._tensor import (
    TABLE,
    SparseTensor,
    adopt,
    alike,
    coalesced,
    flat_places,
    in_layout,
    make,
    need_coo,
    sum_into,
    to_coo,
    unflattened,
    unsupported,
)

_F = TypeVar("_F", bound=Callable[..., Any])


def _defines(*names: str) -> Callable[[_F], _F]:
    """Make the function that of these names, as functions and as methods."""

    def define(function: _F) -> _F:
        for name in names:
            TABLE[name] = function
            if name not in SparseTensor.__dict__ and not name.startswith("__r"):
                setattr(SparseTensor, name, function)
        return function

    return define


def _is_sparse(value: Any) -> bool:
    return isinstance(value, SparseTensor)


def _is_number(value: Any) -> bool:
    return not isinstance(value, Tensor) or (value.dim() == 0 and not _is_sparse(value))


def _axis(name: str, sparse: Tensor, dim: int) -> int:
    if not -sparse.dim() <= dim < sparse.dim():
        raise IndexError(f"{name}: Dimension out of range (expected -{sparse.dim()} to {sparse.dim() - 1}, got {dim})")
    return operator.index(dim) % sparse.dim()


# ---------------------------------------------------------------------------------------------------------- conversions
@_defines("coalesce")
def _coalesce(self: SparseTensor) -> SparseTensor:
    need_coo(self, "coalesce")
    return coalesced(self)


@_defines("to_dense")
def _to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    assert isinstance(self, SparseTensor)
    sizes = self.shape[: self.sparse_dim()]
    count = 1
    for size in sizes:
        count *= size
    dense = sum_into(count, flat_places(self._index, sizes), self._content).reshape(self.shape)
    return dense if dtype is None else dense.to(dtype)


@_defines("to_sparse", "to_sparse_coo")
def _to_sparse(
    self: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> Tensor:
    if isinstance(sparse_dim, clew.layout):
        sparse_dim, layout = None, sparse_dim
    if blocksize is not None or dense_dim is not None:
        raise NotImplementedError("to_sparse: blocks and dense axes of compressed tensors are not supported")
    kind = sparse_coo if layout is None else layout
    if not isinstance(self, SparseTensor):
        return dense_to_sparse(self, sparse_dim, kind)
    if sparse_dim is not None and sparse_dim != self.sparse_dim():
        raise unsupported("to_sparse", "the number of its sparse axes stays")
    return in_layout(self, kind)


@_defines("to")
def _to(self: SparseTensor, *args: Any, **kwargs: Any) -> Tensor:
    if not _is_sparse(self):
        return self.to(*(one._content if _is_sparse(one) else one for one in args), **kwargs)
    args = tuple(one._content if _is_sparse(one) else one for one in args)
    kind = kwargs.pop("layout", None)
    content = self._content.to(*args, **kwargs)
    if content.is_meta:
        raise unsupported("to", "there are none on the device 'meta'")
    moved = self if content is self._content else alike(self, content)
    return moved if kind is None else in_layout(moved, kind)


@_defines("type")
def _type(self: SparseTensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    if dtype is None:
        family = "torch.sparse." if self._kind is sparse_coo else f"torch.{str(self._kind).split('.')[-1]}."
        name: str = self._content.detach().type()
        return name.replace("torch.", family)
    text = dtype.replace("torch.sparse.", "torch.") if isinstance(dtype, str) else dtype
    return self.to(getattr(text, "dtype", None) or named_dtype(text))


@_defines("clone")
def _clone(self: SparseTensor, *, memory_format: Any = None) -> SparseTensor:
    index = self._index.clone()
    return make(index, self._content.clone(), self.shape, self._coalesced, self._kind, self._pointer)


@_defines("new")
def _new(self: SparseTensor, *args: Any, device: Any = None) -> Tensor:
    if args and isinstance(args[0], Tensor):
        return clew.sparse_coo_tensor(*args, dtype=self.dtype)
    sizes = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
    return clew.sparse_coo_tensor(sizes, dtype=self.dtype)


@_defines("_full_like")
def _full_like(input: SparseTensor, value: Any, dtype: Any = None) -> Tensor:
    if value != 0:
        raise unsupported("ones_like, full_like", "a number would fill it")
    return _zeros_like(input, dtype=dtype)


@_defines("zeros_like", "empty_like")
def _zeros_like(input: SparseTensor, *, dtype: Any = None, layout: Any = None, **kwargs: Any) -> Tensor:
    if layout is strided:
        return clew.zeros(input.shape, dtype=dtype or input.dtype)
    if input._kind is not sparse_coo:
        raise unsupported("zeros_like", "compressed ones are not made so")
    content = input._content.new_zeros((0, *input._content.shape[1:]))
    return make(input._index[:, :0], content if dtype is None else content.to(dtype), input.shape, True)


@_defines("copy_")
def _copy_in(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if not _is_sparse(self) or not _is_sparse(src):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented; use to_dense() or to_sparse()")
    if self.shape != src.shape:
        raise RuntimeError(f"copy_: expected a tensor of shape {list(self.shape)}, got {list(src.shape)}")
    other = in_layout(src, self.layout)  # type: ignore[arg-type]
    return adopt(self, _clone(other.to(self.dtype)))  # type: ignore[arg-type]


@_defines("zero_")
def _zero_in(self: SparseTensor) -> SparseTensor:
    zeros = adopt(self, alike(self, clew.zeros_like(self._content)))
    if self._kind is not sparse_coo:
        return zeros
    return adopt(self, _zeros_like(self))  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------- elementwise
def _linear(name: str) -> None:
    function = getattr(clew, name)

    def on_content(self: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        return alike(self, function(self._content, *args, **kwargs))

    _defines(name)(on_content)


def _of_each(name: str) -> None:
    """A function that is zero at zero, of what all entries at a place add up to."""
    function = getattr(clew, name)

    def on_values(self: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        merged = coalesced(self)
        return alike(merged, function(merged._content, *args, **kwargs))

    _defines(name)(on_values)


for _name in ("neg", "negative", "conj", "real", "imag", "positive", "deg2rad", "rad2deg"):
    _linear(_name)
_ZERO_AT_ZERO = """
    abs sqrt square sin sinh asin arcsin asinh arcsinh tan tanh atan arctan atanh arctanh expm1 log1p relu sgn
    sign erf erfinv ceil floor round trunc isnan isinf nan_to_num signbit absolute
"""
for _name in _ZERO_AT_ZERO.split():
    _of_each(_name)


@_defines("pow", "__pow__")
def _pow(self: Any, exponent: Any) -> SparseTensor:
    if not _is_sparse(self) or not _is_number(exponent) or not float(exponent) > 0:
        raise unsupported("pow", "only a positive number as the exponent leaves zeros zero")
    merged = coalesced(self)
    return alike(merged, merged._content**exponent)


def _scaled(sparse: SparseTensor, factor: Any, function: Callable[[Any, Any], Tensor]) -> SparseTensor:
    return alike(sparse, function(sparse._content, factor))


@_defines("mul", "multiply", "__rmul__")
def _mul(self: Any, other: Any) -> SparseTensor:
    if not _is_sparse(self):
        self, other = other, self
    if _is_number(other):
        return _scaled(self, other, operator.mul)
    if not _is_sparse(other):
        sizes = clew.broadcast_shapes(self.shape, other.shape)
        if sizes != self.shape:
            raise unsupported("mul", f"it cannot be broadcast from {list(self.shape)} to {list(sizes)}")
        return alike(self, self._content * other.expand(self.shape)[tuple(self._index)])
    kind, merged = self._kind, self._coalesced and other._coalesced
    one, two = coalesced(to_coo(self)), coalesced(to_coo(other))
    _need_same_size("mul", one, two)
    sizes = one.shape[: one.sparse_dim()]
    flat = [flat_places(each._index, sizes).numpy() for each in (one, two)]
    _, first, second = numpy.intersect1d(flat[0], flat[1], assume_unique=True, return_indices=True)
    chosen = clew.from_numpy(first)
    content = one._content.index_select(0, chosen) * two._content.index_select(0, clew.from_numpy(second))
    return in_layout(make(one._index[:, chosen], content, one.shape, merged), kind)  # type: ignore[return-value]


@_defines("div", "divide", "true_divide")
def _div(self: Any, other: Any, *, rounding_mode: str | None = None) -> SparseTensor:
    if not _is_sparse(self) or not _is_number(other):
        raise RuntimeError("div: Sparse division requires a scalar or zero-dim dense tensor divisor; use to_dense()")
    if rounding_mode is None:
        return _scaled(self, other, operator.truediv)
    merged = coalesced(self)
    return alike(merged, clew.div(merged._content, other, rounding_mode=rounding_mode))


def _need_same_size(name: str, one: Tensor, two: Tensor) -> None:
    if one.shape != two.shape:
        raise RuntimeError(
            f"{name}: expected sizes of 'self' and 'other' to match, but {list(one.shape)} != {list(two.shape)}"
        )
    if _is_sparse(one) and _is_sparse(two) and one.sparse_dim() != two.sparse_dim():  # type: ignore[attr-defined]
        raise unsupported(name, "the two have different numbers of sparse axes")


def _dense_plus(dense: Tensor, sparse: SparseTensor, alpha: Any, in_place: bool) -> Tensor:
    _need_same_size("add", dense, sparse)
    content = sparse._content if alpha == 1 else sparse._content * alpha
    if not in_place:
        kind = clew.promote_types(dense.dtype, sparse.dtype)
        return dense.to(kind).index_put(tuple(sparse._index), content.to(kind), accumulate=True)
    if sparse.sparse_dim() == 1:
        return dense.index_add_(0, sparse._index[0], content.to(dense.dtype))
    return dense.index_put_(tuple(sparse._index), content.to(dense.dtype), accumulate=True)


@_defines("add", "__radd__")
def add(self: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """self + alpha * other."""
    if not _is_sparse(self):
        if not isinstance(self, Tensor) or not isinstance(other, Tensor):
            raise unsupported("add", "a number would fill it")
        return _dense_plus(self, other, alpha, False)  # type: ignore[arg-type]
    if not _is_sparse(other):
        if isinstance(other, Tensor) and other.dim() and self._kind is not sparse_coo:
            return _dense_plus(other * alpha, self, 1, False)
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    kind = self._kind
    one, two = to_coo(self), to_coo(other)
    _need_same_size("add", one, two)
    second = two._content if alpha == 1 else two._content * alpha
    content = clew.cat([one._content, second])
    total = make(clew.cat([one._index, two._index], 1), content, one.shape)
    if one._coalesced and two._coalesced:
        total = coalesced(total)
    return in_layout(total, kind)


def _in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    def changed(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        result = function(self, *args, **kwargs)
        return adopt(self, result) if _is_sparse(self) else self.copy_(result.to_dense())

    return changed


for _name, _function in (("mul_", _mul), ("multiply_", _mul), ("div_", _div), ("divide_", _div), ("pow_", _pow)):
    _defines(_name)(_in_place(_function))


@_defines("add_")
def _add_in(self: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    if _is_sparse(self):
        return adopt(self, add(self, other, alpha=alpha))  # type: ignore[arg-type]
    return _dense_plus(self, other, alpha, True)


# ------------------------------------------------------------------------------------------------------------- products
@_defines("mm", "spmm", "dsmm")
def mm(self: Tensor, mat2: Tensor) -> Tensor:
    """self @ mat2, of two matrices of which at least one is sparse."""
    if self.dim() != 2 or mat2.dim() != 2:
        raise RuntimeError(f"mm: expected two matrices, got {self.dim()} and {mat2.dim()} axes")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mm: mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, self.shape))} and "
            f"{'x'.join(map(str, mat2.shape))})"
        )
    for one in (self, mat2):
        if isinstance(one, SparseTensor) and one.sparse_dim() != 2:
            raise unsupported("mm", f"it takes those with two sparse axes, got {one.sparse_dim()}")
    if self.dtype is not mat2.dtype:
        raise RuntimeError(f"mm: expected two matrices of one dtype, got {self.dtype} and {mat2.dtype}; cast one")
    if not isinstance(self, SparseTensor):
        return matmul_dense(_transpose(mat2, 0, 1), self.t()).t()
    if not isinstance(mat2, SparseTensor):
        return matmul_dense(self, mat2)
    sizes = (self.shape[0], mat2.shape[1])
    if (found := sparse_product(self, mat2)) is not None:
        return in_layout(make(unflattened(found[0], sizes), found[1], Size(sizes), True), self._kind)
    one, other, places, inverse = product_pairs(self._index.numpy(), mat2._index.numpy(), sizes[1])
    factors = self._content[clew.from_numpy(one)], mat2._content[clew.from_numpy(other)]
    content = sum_into(len(places), clew.from_numpy(inverse), factors[0] * factors[1])
    return in_layout(make(unflattened(places, sizes), content, Size(sizes), True), self._kind)


def mm_reduced(self: Any, other: Tensor, reduce: str) -> Tensor:
    """The product of a sparse and a dense matrix, in which a row's products are reduced by their mean or extreme."""
    if reduce not in ("mean", "amax", "amin") or not _is_sparse(self) or _is_sparse(other):
        raise RuntimeError(
            f"sparse.mm: expected reduce to be sum, mean, amax or amin, of a sparse and a dense matrix, got {reduce!r}"
        )
    row, column = self._index
    products = self._content.unsqueeze(1) * other.index_select(0, column)
    start = other.new_zeros((self.shape[0], other.shape[1]))
    return start.scatter_reduce(0, row.unsqueeze(1).expand(products.shape), products, reduce, include_self=False)


@_defines("mv")
def _mv(self: Tensor, vec: Tensor) -> Tensor:
    if self.dim() != 2 or vec.dim() != 1 or self.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"mv: expected a matrix and a vector that fits, got {list(self.shape)} and {list(vec.shape)}"
        )
    if _is_sparse(vec):
        raise unsupported("mv", "the vector is dense")
    return mm(self, vec.unsqueeze(1)).squeeze(1)


@_defines("matmul", "__matmul__", "__rmatmul__")
def _matmul(self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 2 and other.dim() == 2:
        return mm(self, other)
    if self.dim() == 2 and other.dim() == 1:
        return _mv(self, other)
    if self.dim() == 1 and other.dim() == 2:
        return _mv(_transpose(other, 0, 1), self)
    raise unsupported("matmul", f"it takes matrices and vectors, got {self.dim()} and {other.dim()} axes")


@_defines("addmm")
def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * self + alpha * (mat1 @ mat2)."""
    product = mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return (self if beta == 1 else self * beta) + product


# ----------------------------------------------------------------------------------------------------------- reductions
@_defines("sum")
def sparse_sum(input: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over all axes, or over some; dense if no sparse axis is left."""
    sparse = input
    content = sparse._content if dtype is None else sparse._content.to(dtype)
    if dim is None or (isinstance(dim, Sequence) and not len(dim)):
        return content.sum()
    axes = {_axis("sum", sparse, one) for one in (dim if isinstance(dim, Sequence) else (dim,))}
    sparse = to_coo(sparse)
    content = sparse._content if dtype is None else sparse._content.to(dtype)
    count = sparse.sparse_dim()
    inner = [axis - count + 1 for axis in sorted(axes) if axis >= count]
    if inner:
        content = content.sum(inner, keepdim=keepdim)
    left = [axis for axis in range(count) if axis not in axes]
    if not left:
        dense = content.sum(0)
        return dense.reshape((1,) * count + tuple(dense.shape)) if keepdim else dense
    if content.dtype is not sparse.dtype or content.dtype.is_floating_point or content.dtype.is_complex:
        pass
    elif dtype is None:
        content = content.to(clew.int64)
    index = sparse._index[left]
    sizes = [sparse.shape[axis] for axis in left]
    summed = make(index, content, (*sizes, *content.shape[1:]), sparse._coalesced and len(left) == count)
    summed = coalesced(summed)
    if not keepdim:
        return summed
    summed._coalesced = False
    for axis in sorted(axis for axis in axes if axis < count):
        summed = _unsqueeze(summed, axis)
    return summed


@_defines("norm")
def _norm(self: SparseTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    if dim is not None or keepdim:
        raise unsupported("norm", "it is one of all entries")
    return coalesced(self)._content.norm(2 if p in ("fro", None) else p, dtype=dtype)


@_defines("any")
def _any(self: SparseTensor, *args: Any) -> Tensor:
    if args:
        raise unsupported("any", "it is one of all entries")
    return coalesced(self)._content.any()


def softmax(input: SparseTensor, dim: int, dtype: Any, log: bool) -> SparseTensor:
    """Softmax along an axis, in which what is not stored counts as minus infinity."""
    sparse = coalesced(to_coo(input))
    content = sparse._content if dtype is None else sparse._content.to(dtype)
    axis, count = _axis("softmax", sparse, dim), sparse.sparse_dim()
    if axis >= count:
        function = clew.log_softmax if log else clew.softmax
        return alike(sparse, function(content, axis - count + 1))
    others = [other for other in range(count) if other != axis]
    flat = flat_places(sparse._index[others], [sparse.shape[other] for other in others]).numpy()
    groups, group = numpy.unique(flat, return_inverse=True)
    member = clew.from_numpy(group.reshape(-1))
    wide = member.reshape(-1, *[1] * (content.dim() - 1)).expand(content.shape)
    lowest = content.detach().new_full((len(groups), *content.shape[1:]), -float("inf"))
    top = lowest.scatter_reduce(0, wide, content.detach(), "amax").index_select(0, member)
    shifted = content - top
    powers = shifted.exp()
    totals = sum_into(len(groups), member, powers)
    if log:
        return alike(sparse, shifted - totals.log().index_select(0, member))
    return alike(sparse, powers / totals.index_select(0, member))


# ------------------------------------------------------------------------------------------------------ axes and parts
@_defines("transpose", "swapaxes", "swapdims")
def _transpose(self: Any, dim0: int, dim1: int) -> SparseTensor:
    one, two = _axis("transpose", self, dim0), _axis("transpose", self, dim1)
    order = list(range(self.dim()))
    order[one], order[two] = order[two], order[one]
    return _permute(self, order)


@_defines("t")
def _t(self: SparseTensor) -> SparseTensor:
    if self.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.dim()}D")
    return self if self.dim() < 2 else _transpose(self, 0, 1)


@_defines("permute")
def _permute(self: SparseTensor, *dims: Any) -> SparseTensor:
    given = dims[0] if len(dims) == 1 and isinstance(dims[0], Sequence) else dims
    order = [_axis("permute", self, axis) for axis in given]
    if sorted(order) != list(range(self.dim())):
        raise RuntimeError(f"permute: expected each of {self.dim()} axes once, got {list(given)}")
    if order == sorted(order):
        return alike(self, self._content.view_as(self._content))
    count = self.sparse_dim()
    if any((place < count) != (axis < count) for place, axis in enumerate(order)):
        raise unsupported("transpose", "sparse and dense axes cannot change places")
    shape = Size([self.shape[axis] for axis in order])
    if self._kind is not sparse_coo:
        other: layout = sparse_csc if self._kind is sparse_csr else sparse_csr
        return make(self._index[[1, 0]], self._content, shape, False, other, self._pointer)
    content = self._content.permute(0, *[axis - count + 1 for axis in order[count:]])
    return make(self._index[order[:count]], content, shape, False)


for _name, _axes in (("T", None), ("mT", (-2, -1)), ("H", None), ("mH", (-2, -1))):

    def _transposed(self: SparseTensor, _axes: Any = _axes, _name: str = _name) -> SparseTensor:
        turned = _permute(self, list(range(self.dim()))[::-1]) if _axes is None else _transpose(self, *_axes)
        return alike(turned, turned._content.conj()) if _name.endswith("H") else turned

    setattr(SparseTensor, _name, property(_transposed))


@_defines("unsqueeze")
def _unsqueeze(self: SparseTensor, dim: int) -> SparseTensor:
    need_coo(self, "unsqueeze")
    rank = self.dim() + 1
    if not -rank <= dim < rank:
        raise IndexError(f"unsqueeze: Dimension out of range (expected -{rank} to {rank - 1}, got {dim})")
    axis, count = dim % rank, self.sparse_dim()
    shape = [*self.shape[:axis], 1, *self.shape[axis:]]
    if axis > count:
        return make(self._index, self._content.unsqueeze(axis - count + 1), shape, self._coalesced)
    index = clew.cat([self._index[:axis], self._index.new_zeros(1, self._nnz()), self._index[axis:]])
    return make(index, self._content, shape, self._coalesced)


@_defines("index_select")
def _index_select(self: SparseTensor, dim: int, index: Tensor) -> Tensor:
    kind, sparse = self._kind, to_coo(self)
    axis, count = _axis("index_select", sparse, dim), sparse.sparse_dim()
    wanted = index.reshape(-1).numpy()
    size = sparse.shape[axis]
    if len(wanted) and not (wanted.min() >= 0 and wanted.max() < size):
        raise IndexError(f"index_select: expected indices from 0 to {size - 1}, got {wanted.min()} to {wanted.max()}")
    shape = [len(wanted) if place == axis else one for place, one in enumerate(sparse.shape)]
    if axis >= count:
        return make(sparse._index, sparse._content.index_select(axis - count + 1, index), shape, sparse._coalesced)
    places = sparse._index[axis].numpy()
    order = numpy.argsort(places, kind="stable")
    begins = numpy.searchsorted(places[order], wanted)
    counts = numpy.searchsorted(places[order], wanted, side="right") - begins
    ends = numpy.cumsum(counts)
    within = numpy.arange(counts.sum()) - numpy.repeat(ends - counts, counts)
    source = clew.from_numpy(order[numpy.repeat(begins, counts) + within])
    chosen = sparse._index[:, source].clone()
    chosen[axis] = clew.from_numpy(numpy.repeat(numpy.arange(len(wanted)), counts))
    return in_layout(make(chosen, sparse._content.index_select(0, source), shape), kind)


@_defines("select")
def _select(self: SparseTensor, dim: int, index: int) -> Tensor:
    sparse = to_coo(self)
    axis, count = _axis("select", sparse, dim), sparse.sparse_dim()
    size, at = sparse.shape[axis], operator.index(index)
    if not -size <= at < size:
        raise IndexError(
            f"select(): index {at} out of range for tensor of size {list(sparse.shape)} at dimension {axis}"
        )
    shape = [*sparse.shape[:axis], *sparse.shape[axis + 1 :]]
    if axis >= count:
        return make(sparse._index, sparse._content.select(axis - count + 1, at), shape, sparse._coalesced)
    chosen = (sparse._index[axis] == at % size).nonzero()[:, 0]
    content = sparse._content.index_select(0, chosen)
    if count == 1:
        return content.sum(0).to(content.dtype)
    left = [place for place in range(count) if place != axis]
    return make(sparse._index[left][:, chosen], content, shape, sparse._coalesced)


@_defines("unbind")
def _unbind(self: SparseTensor, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(_select(self, dim, at) for at in range(self.shape[_axis("unbind", self, dim)]))


@_defines("__getitem__")
def _getitem(self: SparseTensor, key: Any) -> Tensor:
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in [one for one in keys if not isinstance(one, Tensor)]:
        at = next(place for place, one in enumerate(keys) if one is Ellipsis)
        keys[at : at + 1] = [slice(None)] * (self.dim() - sum(one is not None for one in keys) + 1)
    result: Any = self
    axis = 0
    for one in keys:
        if not _is_sparse(result):
            return result[(*[slice(None)] * axis, *keys[keys.index(one) :])]  # type: ignore[no-any-return]
        if isinstance(one, int | numpy.integer) and not isinstance(one, bool):
            result = _select(result, axis, int(one))
        elif isinstance(one, slice) and one == slice(None):
            axis += 1
        elif one is None:
            result, axis = _unsqueeze(result, axis), axis + 1
        elif isinstance(one, Tensor) and one.dim() == 0 and one.dtype is not clew.bool and not one.is_floating_point():
            result = _select(result, axis, int(one))
        else:
            raise unsupported("__getitem__", "it takes whole numbers, `:` and None; use index_select")
    return result  # type: ignore[no-any-return]


@_defines("cat", "concat", "concatenate")
def _cat(tensors: Sequence[Any], dim: int = 0) -> SparseTensor:
    if not tensors or not all(_is_sparse(one) and one._kind is sparse_coo for one in tensors):
        raise unsupported("cat", "all have to be sparse, in coordinate form")
    first = tensors[0]
    axis, count = _axis("cat", first, dim), first.sparse_dim()
    for one in tensors:
        fits = [a == b for place, (a, b) in enumerate(zip(one.shape, first.shape, strict=True)) if place != axis]
        if one.sparse_dim() != count or not all(fits):
            raise RuntimeError(f"cat: expected sparse tensors that differ along {dim} only, got {list(one.shape)}")
    shape = list(first.shape)
    shape[axis] = sum(one.shape[axis] for one in tensors)
    if axis >= count:
        raise unsupported("cat", "it joins along sparse axes")
    indices, begin = [], 0
    for one in tensors:
        moved = one._index.clone()
        moved[axis] += begin
        indices.append(moved)
        begin += one.shape[axis]
    content = clew.cat([one._content for one in tensors])
    return make(clew.cat(indices, 1), content, shape, False)


@_defines("stack")
def _stack(tensors: Sequence[Any], dim: int = 0) -> SparseTensor:
    return _cat([_unsqueeze(one, dim) for one in tensors], dim)


@_defines("sparse_mask")
def sparse_mask(self: Tensor, mask: Tensor) -> SparseTensor:
    """The elements of a tensor at the entries of another, a sparse one."""
    if not isinstance(mask, SparseTensor):
        raise RuntimeError("sparse_mask: expected a sparse tensor as the mask, got a strided one")
    _need_same_size("sparse_mask", self, mask)
    if not isinstance(self, SparseTensor):
        return alike(mask, self[tuple(mask._index)])
    source = coalesced(to_coo(self))
    sizes = mask.shape[: mask.sparse_dim()]
    known, asked = flat_places(source._index, sizes), flat_places(mask._index, sizes)
    if not len(known):
        return alike(mask, source._content.new_zeros((mask._nnz(), *source._content.shape[1:])))
    place = clew.searchsorted(known, asked).clamp(max=len(known) - 1)
    found = (known[place] == asked).reshape(-1, *[1] * source.dense_dim())
    return alike(mask, source._content.index_select(0, place) * found)


# ------------------------------------------------------------------------------------------ those that need one line
_defines("to_sparse_csr")(lambda self, dense_dim=None: _to_sparse(self, layout=sparse_csr))
_defines("to_sparse_csc")(lambda self, dense_dim=None: _to_sparse(self, layout=sparse_csc))
_defines("cpu", "resolve_conj", "resolve_neg")(lambda self, memory_format=None: self)
_defines("type_as")(lambda self, other: self.to(other.dtype))
_defines("is_same_size")(lambda self, other: self.shape == other.shape)
_defines("_empty_like")(lambda input, dtype=None: _zeros_like(input, dtype=dtype))
_defines("neg_", "negative_")(lambda self: adopt(self, -self))
_defines("sub", "subtract")(lambda self, other, *, alpha=1: add(self, other, alpha=-alpha))
_defines("sub_", "subtract_")(lambda self, other, *, alpha=1: _add_in(self, other, alpha=-alpha))
_defines("rsub", "__rsub__")(lambda self, other, *, alpha=1: add(other, self, alpha=-alpha))
_defines("__iter__")(lambda self: iter(_unbind(self)))

_CONVERSIONS = "double float half bfloat16 long int short char byte bool cfloat cdouble"


def _add_conversions() -> None:
    for name in _CONVERSIONS.split():

        def convert(self: SparseTensor, memory_format: Any = None, _name: str = name) -> SparseTensor:
            content = getattr(self._content, _name)()
            return self if content is self._content else alike(self, content)

        _defines(name)(convert)


_add_conversions()
