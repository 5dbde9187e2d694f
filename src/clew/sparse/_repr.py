"""How a sparse tensor prints: as in PyTorch, to the character."""

from __future__ import annotations

from typing import Any

import clew
from clew import Tensor

from .._device import sparse_coo, sparse_csr
from .._tensor_str import _contents, _options

_INDENT = len("tensor(")


def _part(name: str, part: Tensor) -> str:
    prefix = f"{name}=tensor("
    if not part.numel():
        return f"{prefix}[], size={tuple(part.shape)})"
    return prefix + _contents(part.detach(), _INDENT + len(prefix)) + ")"


def text(sparse: Any) -> str:
    """`repr(sparse)`."""
    if sparse._kind is sparse_coo:
        parts = [("indices", sparse._index)]
    else:
        by_row = sparse._kind is sparse_csr
        parts = [
            ("crow_indices" if by_row else "ccol_indices", sparse._pointer),
            ("col_indices" if by_row else "row_indices", sparse._index[1 if by_row else 0]),
        ]
    parts.append(("values", sparse._content))
    said = "tensor(" + (",\n" + " " * _INDENT).join(_part(*part) for part in parts)
    suffixes = [f"size={tuple(sparse.shape)}", f"nnz={sparse._nnz()}"]
    if sparse.dtype not in (clew.get_default_dtype(), clew.int64, clew.bool, clew.complex64):
        suffixes.append(f"dtype={sparse.dtype}")
    suffixes.append(f"layout={sparse._kind}")
    if sparse.requires_grad:
        node = sparse.grad_fn
        suffixes.append("requires_grad=True" if node is None else f"grad_fn=<{type(node).__name__}>")
    length = _options.linewidth if sparse._kind is sparse_coo else len(said) - said.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > _options.linewidth:
            said += ",\n" + " " * _INDENT + suffix
            length = _INDENT + len(suffix)
        else:
            said += ", " + suffix
            length += len(suffix) + 2
    return said + ")"
