"""Recurrent networks over whole sequences."""

from __future__ import annotations

from typing import Any

from clew import Tensor

from ..utils.rnn import PackedSequence
from .cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from .rnn_base import RNNBase

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "GRUCell",
    "LSTMCell",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
]


class LSTM(RNNBase):
    """Layers of long short-term memory (Hochreiter & Schmidhuber, 1997) over a sequence.

    Arguments and parameters as for `RNNBase`, without `mode`. Call it with an input of shape (L, N, input_size) and a
    state (h, c), both of shape (layers * directions, N, hidden_size) and zeros by default; it gives the output of the
    last layer, (L, N, directions * hidden_size), and the last (h, c). All without N for a single sequence. A
    `PackedSequence` gives a packed output.

    Raises:
        ValueError, RuntimeError: shapes or dtypes do not fit.

    Example:
        >>> output, (h, c) = torch.nn.LSTM(3, 4)(torch.zeros(5, 2, 3))
        >>> output.shape == (5, 2, 4) and h.shape == c.shape == (1, 2, 4)
        True
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    get_expected_cell_size = RNNBase.get_expected_hidden_size

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        run = self._run_packed if isinstance(input, PackedSequence) else self._run
        output, states = run(input, hx)
        return output, (states[0], states[1])


class _OneState(RNNBase):
    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        run = self._run_packed if isinstance(input, PackedSequence) else self._run
        output, states = run(input, None if hx is None else (hx,))
        return output, states[0]


class GRU(_OneState):
    """Layers of gated recurrent units (Cho et al., https://arxiv.org/abs/1406.1078) over a sequence.

    Arguments and parameters as for `RNNBase`, without `mode`. Call it with an input of shape (L, N, input_size) and a
    state of shape (layers * directions, N, hidden_size), zeros by default; it gives the output of the last layer,
    (L, N, directions * hidden_size), and the last state. All without N for a single sequence.

    Raises:
        ValueError, RuntimeError: shapes or dtypes do not fit.

    Example:
        >>> output, h = torch.nn.GRU(3, 4, bidirectional=True)(torch.zeros(5, 2, 3))
        >>> output.shape == (5, 2, 8) and h.shape == (2, 2, 4)
        True
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("proj_size"):
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNN(_OneState):
    """Layers of an Elman network, `tanh(W_ih x + b_ih + W_hh h + b_hh)` or with relu, over a sequence.

    Arguments as for `RNNBase`, without `mode` and with `nonlinearity` ("tanh" or "relu") after `num_layers`. Call it
    as `GRU`.

    Raises:
        ValueError, RuntimeError: another nonlinearity; shapes or dtypes do not fit.

    Example:
        >>> output, h = torch.nn.RNN(3, 4, nonlinearity="relu")(torch.zeros(5, 3))
        >>> output.shape == (5, 4) and h.shape == (1, 4)
        True
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("proj_size"):
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **kwargs)
