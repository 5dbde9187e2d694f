"""What recurrent networks over whole sequences share."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import clew
from clew import Tensor, _core

from .. import functional as F
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence, segments
from .module import Module

_ops: Any = _core.ops
_KINDS = {"LSTM": 0, "GRU": 1, "RNN_TANH": 2, "RNN_RELU": 3}
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What `RNN`, `LSTM` and `GRU` share.

    Each layer and direction is one native operation: one matrix product for the input's part of all steps, then the
    steps; its backward has one product over all steps for each weight. A second derivative is made of plain operations.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input_size, hidden_size: features of the input and of the hidden state.
        num_layers: how many layers, each fed with the output of the one below.
        bias: whether the gates have biases.
        batch_first: input and output are (N, L, ...) instead of (L, N, ...); states are as ever.
        dropout: the probability with which outputs between layers are dropped in training.
        bidirectional: a second network runs from the end; the outputs of both are concatenated.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0: of layer 0, as for the cells; `_reverse` is appended for
            the second direction. All are drawn from U(-k, k) with k = 1 / sqrt(hidden_size).

    Raises:
        ValueError, TypeError: an argument is out of range or of another type.
        NotImplementedError: `proj_size` is asked for.

    Example:
        >>> network = torch.nn.GRU(3, 4)
        >>> isinstance(network, torch.nn.RNNBase), network.mode, tuple(network.weight_ih_l0.shape)
        (True, 'GRU', (12, 3))
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_arguments(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._all_weights: list[list[str]] = []
        rows, directions = _GATES[mode] * hidden_size, 2 if bidirectional else 1
        for layer in range(num_layers):
            features = input_size if layer == 0 else hidden_size * directions
            for suffix in ("", "_reverse")[:directions]:
                shapes = {"weight_ih": (rows, features), "weight_hh": (rows, hidden_size)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}  # type: ignore[dict-item]
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    self.register_parameter(name, Parameter(clew.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def reset_parameters(self) -> None:
        """Draw new weights."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Do nothing: weights need no flattening here."""

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        for name, default in defaults.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text

    # What a subclass of a program may call before its own run ---------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise unless the input, packed if it comes with batch sizes, has the right shape and dtype."""
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        self._check_input(input)

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape that a first state has to have for such an input."""
        batch = input.shape[0 if self.batch_first else 1] if batch_sizes is None else int(batch_sizes[0])
        return len(self._all_weights), batch, self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise unless the state has this shape."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise unless input and first state, of an LSTM both, fit."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        if self.mode != "LSTM":
            return self.check_hidden_size(hidden, expected)
        for number, state in enumerate(hidden):
            self.check_hidden_size(state, expected, f"Expected hidden[{number}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state, of an LSTM both, of the sequences in this order."""
        if permutation is None:
            return hx
        if self.mode == "LSTM":
            return tuple(state.index_select(1, permutation) for state in hx)
        return hx.index_select(1, permutation)

    # One run ----------------------------------------------------------------------------------------------------------

    def _run(self, input: Tensor, states: tuple[Tensor, ...] | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The output and the last states, all without N if the input is."""
        name = self._get_name()
        if input.dim() not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        self._check_input(input)
        steps = input if batched else input.unsqueeze(1)
        if batched and self.batch_first:
            steps = steps.transpose(0, 1)
        if steps.shape[0] == 0:
            raise RuntimeError(f"{name}: Expected sequence length to be larger than 0 in RNN")
        states = self._states(steps, states, batched)
        output, last = self._layers(steps, states)
        if not batched:
            return output.squeeze(1), tuple(state.squeeze(1) for state in last)
        return output.transpose(0, 1) if self.batch_first else output, last

    def _check_input(self, input: Tensor) -> None:
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype != weight.dtype and not _core.autocast_state(None) & 1:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def _states(self, steps: Tensor, states: tuple[Tensor, ...] | None, batched: bool) -> tuple[Tensor, ...]:
        """The first states, each of shape (layers * directions, N, hidden_size)."""
        shape = (len(self._all_weights), steps.shape[1], self.hidden_size)
        if states is None:
            zeros = steps.new_zeros(shape)
            return (zeros, zeros) if self.mode == "LSTM" else (zeros,)
        for state, what in zip(states, ("hx", "cx"), strict=False):
            if state.dim() != (3 if batched else 2):
                form = "batched 3-D" if batched else "unbatched 2-D"
                raise RuntimeError(
                    f"For {form} input, {what} should also be {3 if batched else 2}-D but got {state.dim()}-D tensor"
                )
        if not batched:
            states = tuple(state.unsqueeze(1) for state in states)
        for state, what in zip(states, ("hidden[0]", "hidden[1]"), strict=False):
            if tuple(state.shape) != shape:
                raise RuntimeError(f"Expected {what} size {shape}, got {list(state.shape)}")
            if state.dtype != steps.dtype and not _core.autocast_state(None) & 1:
                raise RuntimeError(f"Expected {what} of dtype {steps.dtype}, got {state.dtype}; cast it")
        return states

    def _layers(
        self, steps: Tensor, states: tuple[Tensor, ...], batch_sizes: list[int] | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """All layers, over steps (L, N, ...) or, with batch sizes, over packed ones (sum of the lengths, ...)."""
        directions = 2 if self.bidirectional else 1
        kind, last = _KINDS[self.mode], []
        for index in range(0, len(self._all_weights), directions):
            if index > 0 and self.dropout > 0:
                steps = F.dropout(steps, self.dropout, self.training)
            outputs = []
            for direction in range(directions):
                at = index + direction
                weights = [getattr(self, name) for name in self._all_weights[at]]
                weights += [None] * (4 - len(weights))
                first = [state[at] for state in states]
                output, ends = _layer(steps, first, weights, kind, direction == 1, batch_sizes)
                outputs.append(output)
                last.append(ends)
            steps = outputs[0] if directions == 1 else clew.cat(outputs, -1)
        if len(last) == 1:
            return steps, tuple(state.unsqueeze(0) for state in last[0])
        return steps, tuple(clew.stack(list(each)) for each in zip(*last, strict=True))

    def _run_packed(
        self, input: PackedSequence, states: tuple[Tensor, ...] | None
    ) -> tuple[PackedSequence, tuple[Tensor, ...]]:
        """The packed output and the last states, of sequences of different lengths."""
        self._check_input(input.data)
        batch_sizes: list[int] = input.batch_sizes.tolist()
        if states is not None and input.sorted_indices is not None:
            states = tuple(state.index_select(1, input.sorted_indices) for state in states)
        first_steps = input.data[: batch_sizes[0]].unsqueeze(0)
        states = self._states(first_steps, states, batched=True)
        output, last = self._layers(input.data, states, batch_sizes)
        if input.unsorted_indices is not None:
            last = tuple(state.index_select(1, input.unsorted_indices) for state in last)
        return PackedSequence(output, *input[1:]), last


def _layer(
    steps: Tensor, states: list[Tensor], weights: list[Any], kind: int, reverse: bool, batch_sizes: list[int] | None
) -> tuple[Tensor, list[Tensor]]:
    """One layer in one direction: its output and its last states."""

    layer = _ops._recurrent_layer if batch_sizes is None else _packed_layer

    def run(steps: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        cell = states[1] if len(states) == 2 else None
        output, *ends = layer(steps, states[0], cell, *weights, kind, reverse)
        return output, ends[: len(states)]

    if batch_sizes is None:
        return run(steps, states)
    # Steps that the same sequences have are one run. Sequences come in or go out, at the end of the batch, in between.
    parts, done, start = [], [], 0
    for count, length in segments(batch_sizes):
        parts.append((count, steps[start : start + count * length].reshape(length, count, -1)))
        start += count * length
    waiting, outputs = states, []
    states = [state[: parts[-1][0]] for state in waiting] if reverse else states
    for count, part in reversed(parts) if reverse else parts:
        before = states[0].shape[0]
        if count > before:
            pairs = zip(states, waiting, strict=True)
            states = [clew.cat([state, first[before:count]]) for state, first in pairs]
        elif count < before:
            done.append([state[count:] for state in states])
            states = [state[:count] for state in states]
        output, states = run(part, states)
        outputs.append(output.reshape(-1, output.shape[-1]))
    outputs = outputs[::-1] if reverse else outputs
    ends = [clew.cat(list(each)) for each in zip(states, *done[::-1], strict=True)]
    return clew.cat(outputs), ends


def _check_arguments(
    mode: str,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    bias: bool,
    batch_first: bool,
    dropout: float,
    proj_size: int,
) -> None:
    if mode not in _KINDS:
        raise ValueError(f"Unrecognized RNN mode: {mode}; expected one of {', '.join(_KINDS)}")
    if not isinstance(dropout, numbers.Real) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, "
            f"got {dropout!r}"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, flag in [("bias", bias), ("batch_first", batch_first)]:
        if not isinstance(flag, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
    for name, size in [("input_size", input_size), ("hidden_size", hidden_size)]:
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero, got {size}")
    if num_layers <= 0:
        raise ValueError(f"num_layers must be greater than zero, got {num_layers}")
    if proj_size != 0:
        raise NotImplementedError(f"LSTM: proj_size={proj_size} is not supported; leave it at 0")


def _packed_layer(*arguments: Any) -> Any:
    state = _core.autocast_state(None)
    if not state & 1:
        return _ops._recurrent_layer(*arguments)
    from clew.amp import _lists, autocast_mode

    with autocast_mode.in_state(state & ~1):
        return _lists.recurrent_layer(_ops._recurrent_layer, *arguments, packed=True)
