"""Cells: one step of a recurrent network."""

from __future__ import annotations

import math
from typing import Any

import clew
from clew import Tensor

from .. import init
from ..parameter import Parameter
from .module import Module


class RNNCellBase(Module):
    """What the cells share: weights for the input and for the hidden state, stacked for `num_chunks` gates.

    Attributes:
        weight_ih: of shape (num_chunks * hidden_size, input_size).
        weight_hh: of shape (num_chunks * hidden_size, hidden_size).
        bias_ih, bias_hh: of shape (num_chunks * hidden_size), or None.

    All are drawn from U(-k, k) with k = 1 / sqrt(hidden_size).

    Example:
        >>> cell = torch.nn.LSTMCell(3, 4)
        >>> isinstance(cell, torch.nn.RNNCellBase), tuple(cell.weight_ih.shape)
        (True, (16, 3))
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(clew.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(clew.empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(clew.empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")

    def _check_dim(self, what: str, tensor: Tensor) -> None:
        if tensor.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected {what} to be 1D or 2D, got {tensor.dim()}D instead")

    def _initial(self, input: Tensor) -> Tensor:
        """The hidden state before the first step."""
        return input.new_zeros((*input.shape[:-1], self.hidden_size))


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory (Hochreiter & Schmidhuber, 1997).

    `i, f, o = sigmoid(...)`, `g = tanh(...)`, `c' = f * c + i * g`, `h' = o * tanh(c')`, where each `...` is
    `W_ih x + b_ih + W_hh h + b_hh` with rows of its own, in the order i, f, g, o.

    Call it with an input of shape (N, input_size) and a state (h, c), both of shape (N, hidden_size) and zeros by
    default; it gives the next (h, c). All without N for a single sample.

    Raises:
        ValueError, RuntimeError: in a call, shapes or dtypes do not fit.

    Example:
        >>> h, c = torch.nn.LSTMCell(3, 4)(torch.zeros(2, 3))
        >>> h.shape == c.shape == (2, 4)
        True
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check_dim("input", input)
        if hx is None:
            zeros = self._initial(input)
            hx = (zeros, zeros)
        else:
            self._check_dim("hx[0]", hx[0])
            self._check_dim("hx[1]", hx[1])
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        if input.dim() == 2:
            batched: tuple[Tensor, Tensor] = clew.lstm_cell(input, hx, *weights)
            return batched
        h, c = clew.lstm_cell(input.unsqueeze(0), (hx[0].unsqueeze(0), hx[1].unsqueeze(0)), *weights)
        return h.squeeze(0), c.squeeze(0)


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit (Cho et al., https://arxiv.org/abs/1406.1078).

    `r, z = sigmoid(W_ih x + b_ih + W_hh h + b_hh)`, `n = tanh(W_in x + b_in + r * (W_hn h + b_hn))`,
    `h' = (1 - z) * n + z * h`; the weights hold the rows of r, z and n in this order.

    Call it with an input of shape (N, input_size) and a state of shape (N, hidden_size), zeros by default; it gives
    the next state. Both without N for a single sample.

    Raises:
        ValueError, RuntimeError: in a call, shapes or dtypes do not fit.

    Example:
        >>> torch.nn.GRUCell(3, 4)(torch.zeros(2, 3)).shape == (2, 4)
        True
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        self._check_dim("input", input)
        if hx is None:
            hx = self._initial(input)
        self._check_dim("hidden", hx)
        reset_in, update_in, new_in = clew.linear(input, self.weight_ih, self.bias_ih).chunk(3, -1)
        reset_h, update_h, new_h = clew.linear(hx, self.weight_hh, self.bias_hh).chunk(3, -1)
        update = clew.sigmoid(update_in + update_h)
        new = clew.tanh(new_in + clew.sigmoid(reset_in + reset_h) * new_h)
        return new + update * (hx - new)


class RNNCell(RNNCellBase):
    """One step of an Elman network: `tanh(W_ih x + b_ih + W_hh h + b_hh)`, or with relu.

    Call it with an input of shape (N, input_size) and a state of shape (N, hidden_size), zeros by default; it gives
    the next state. Both without N for a single sample.

    Raises:
        ValueError: another nonlinearity, or in a call, inputs of other dimensions.

    Example:
        >>> torch.nn.RNNCell(3, 4)(torch.zeros(2, 3)).shape == (2, 4)
        True
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f'RNNCell: expected nonlinearity "tanh" or "relu", got {nonlinearity!r}')
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        self._check_dim("input", input)
        if hx is None:
            hx = self._initial(input)
        self._check_dim("hidden", hx)
        total = clew.linear(input, self.weight_ih, self.bias_ih) + clew.linear(hx, self.weight_hh, self.bias_hh)
        return clew.tanh(total) if self.nonlinearity == "tanh" else clew.relu(total)

    def extra_repr(self) -> str:
        shown = "" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}"
        return super().extra_repr() + shown
