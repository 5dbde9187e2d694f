"""Steps of recurrent networks; `lstm_cell` is native."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain

__all__ = ["gru_cell", "rnn_relu_cell", "rnn_tanh_cell"]

_ops: Any = _core.ops


def _check(name: str, input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, gates: int) -> None:
    if any(one.dim() != 2 for one in (input, hx, w_ih, w_hh)):
        raise RuntimeError(
            f"{name}: expected input, hx and the weights to be matrices, got shapes {tuple(input.shape)}, "
            f"{tuple(hx.shape)}, {tuple(w_ih.shape)} and {tuple(w_hh.shape)}"
        )
    hidden = w_hh.shape[1]
    if input.shape[1] != w_ih.shape[1]:
        raise RuntimeError(f"{name}: input has inconsistent input_size: got {input.shape[1]} expected {w_ih.shape[1]}")
    if tuple(hx.shape) != (input.shape[0], hidden):
        raise RuntimeError(f"{name}: expected hx of shape {(input.shape[0], hidden)}, got {tuple(hx.shape)}")
    if w_ih.shape[0] != gates * hidden or w_hh.shape[0] != gates * hidden:
        raise RuntimeError(
            f"{name}: expected weights with {gates * hidden} rows, got {w_ih.shape[0]} and {w_hh.shape[0]}"
        )


@domain("input=real(a, b), hx=real(a, 2), w_ih=real(6, b), w_hh=real(6, 2), b_ih=real(6), b_hh=real(6)")
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a gated recurrent unit (Cho et al., https://arxiv.org/abs/1406.1078): the next hidden state (N, H).

    Args:
        input, hx: of shapes (N, I) and (N, H).
        w_ih, w_hh: of shapes (3H, I) and (3H, H): reset, update and new gate.
        b_ih, b_hh: of shape (3H).

    Example:
        >>> torch.gru_cell(torch.ones(1, 1), torch.ones(1, 1), torch.zeros(3, 1), torch.zeros(3, 1))
        tensor([[0.5000]])
    """
    _check("gru_cell", input, hx, w_ih, w_hh, 3)
    reset_in, update_in, new_in = _ops.linear(input, w_ih, b_ih).chunk(3, 1)
    reset_hidden, update_hidden, new_hidden = _ops.linear(hx, w_hh, b_hh).chunk(3, 1)
    reset, update = _ops.sigmoid(reset_in + reset_hidden), _ops.sigmoid(update_in + update_hidden)
    new = _ops.tanh(new_in + reset * new_hidden)
    result: Tensor = (hx - new) * update + new
    return result


@domain("input=real(a, b), hx=real(a, 2), w_ih=real(2, b), w_hh=real(2, 2), b_ih=real(2), b_hh=real(2)")
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """`tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)`: the next hidden state (N, H) of an Elman network.

    Args:
        input, hx: of shapes (N, I) and (N, H).
        w_ih, w_hh: of shapes (H, I) and (H, H).
        b_ih, b_hh: of shape (H).

    Example:
        >>> torch.rnn_tanh_cell(torch.ones(1, 1), torch.ones(1, 1), torch.ones(1, 1), torch.zeros(1, 1))
        tensor([[0.7616]])
    """
    _check("rnn_tanh_cell", input, hx, w_ih, w_hh, 1)
    result: Tensor = _ops.tanh(_ops.linear(hx, w_hh, b_hh).add_(_ops.linear(input, w_ih, b_ih)))
    return result


@domain("input=real(a, b), hx=real(a, 2), w_ih=real(2, b), w_hh=real(2, 2), b_ih=real(2), b_hh=real(2)")
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """`relu(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)`. Shapes as for `rnn_tanh_cell`.

    Example:
        >>> torch.rnn_relu_cell(torch.ones(1, 1), torch.ones(1, 1), torch.ones(1, 1), torch.ones(1, 1))
        tensor([[2.]])
    """
    _check("rnn_relu_cell", input, hx, w_ih, w_hh, 1)
    result: Tensor = _ops.relu(_ops.linear(hx, w_hh, b_hh).add_(_ops.linear(input, w_ih, b_ih)))
    return result
