"""What PyTorch has for an operation of clew's registry: by the name of its schema, or by an entry of the table here."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

_aten = torch.ops.aten


class NoEquivalent(Exception):
    """PyTorch has no such operation. The text says why it is not checked."""


NOT_UNIQUE = {"qr", "svd", "eig", "eigh"}
"""Functions whose results may be others that are as good."""


def _parsed(schema: str) -> tuple[str, list[tuple[str, bool]]]:
    """The name, without its overload's; of each argument the name, and whether None is what it is by default."""
    name, _, inside = schema.partition("(")
    texts = re.split(r",\s*(?![^\[]*\])", inside.rstrip(")"))
    parts = [text.strip().partition(" ")[2].partition("=") for text in texts if text.strip() not in ("", "*")]
    return name.partition(".")[0], [(argument, default == "None") for argument, _, default in parts]


@functools.cache
def equivalent(schema: str, in_place: bool) -> tuple[Callable[[Sequence[Any]], Any], bool]:
    """What computes the same from the arguments in the schema's order, and whether it goes element by element.

    Raises:
        NoEquivalent: there is none.
    """
    name, arguments = _parsed(schema)
    if name.startswith("_") and name.endswith(("_backward", "_gradient")) and name not in _NOT_CHECKED:
        raise NoEquivalent(_BACKWARD)
    if name in _NOT_CHECKED:
        raise NoEquivalent(_NOT_CHECKED[name])
    if name in _TABLE:
        if in_place:
            raise NoEquivalent("PyTorch has it under another name, not in place")
        function = _TABLE[name]
        return lambda values: function(*values), False
    if in_place and not name.endswith("_"):
        name += "_"
    packet = getattr(_aten, name, None) or getattr(_aten, name.lstrip("_"), None)
    if packet is None:
        raise NoEquivalent("PyTorch has no operation of this name")
    for overload in packet.overloads():
        found = getattr(packet, overload)
        if (plan := _plan(arguments, found._schema.arguments)) is not None:
            return functools.partial(_call, packet, plan), torch.Tag.pointwise in found.tags
    raise NoEquivalent("PyTorch's operation of this name takes other arguments")


class _Given(NamedTuple):
    """How one of our arguments is given to PyTorch's operation."""

    name: str
    """Empty: it does not take it."""
    by_place: bool
    optional: bool
    """None is left out."""


def _plan(ours: Sequence[tuple[str, bool]], theirs: Sequence[Any]) -> list[_Given] | None:
    names = [one.name for one in theirs]
    plan: list[_Given] = []
    for place, (name, may_be_left_out) in enumerate(ours):
        if name not in names and place == 0 and names and names[0] in ("self", "input"):
            name = names[0]
        if name in names:
            other = theirs[names.index(name)]
            by_place = not other.kwarg_only and names.index(name) == place
            plan.append(_Given(name, by_place, other.has_default_value() or may_be_left_out))
        elif name == "divisor_override":
            plan.append(_Given("", False, True))
        else:
            return None
    return plan


def _call(packet: Callable[..., Any], plan: list[_Given], values: Sequence[Any]) -> Any:
    if packet in (_aten.index_put, _aten.index_put_) and not isinstance(values[2], torch.Tensor):  # takes no number
        values = [*values[:2], torch.tensor(values[2], dtype=values[0].dtype), *values[3:]]
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for place, (given, value) in enumerate(zip(plan, values, strict=True)):
        if value is None and given.optional:
            continue
        if not given.name:
            raise NoEquivalent("an argument that PyTorch's operation does not take")
        if given.by_place and len(positional) == place:
            positional.append(value)
        else:
            named[given.name] = value
    return packet(*positional, **named)


def _recurrent_layer(
    x: Any, hx: Any, cx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, kind: int, back: bool
) -> Any:
    weights = [w_ih, w_hh] if b_ih is None else [w_ih, w_hh, b_ih, b_hh]
    x = x.flip(0) if back else x
    states: Any = [hx[None], cx[None]] if kind == 0 else hx[None]
    run = (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu)[kind]
    output, *ends = run(x, states, weights, b_ih is not None, 1, 0.0, False, False, False)
    return [output.flip(0) if back else output, *(end[0] for end in ends)]


def _product(a: Any, b: Any, transpose_a: bool, transpose_b: bool, _: bool) -> Any:
    return (a.mT if transpose_a else a) @ (b.mT if transpose_b else b)


def _padded(x: Any, before: Sequence[int], after: Sequence[int], value: Any) -> Any:
    return F.pad(x, [n for pair in zip(before, after, strict=True) for n in pair], value=value)


def _upsample(name: str, axes: int, aligns: bool) -> Callable[..., Any]:
    function = getattr(_aten, f"upsample_{name}", None) or getattr(_aten, f"_upsample_{name}")

    def run(x: Any, output_size: Any, _: Any, align_corners: bool, *scales: float) -> Any:
        given = [scale or None for scale in scales[3 - axes :]]
        return function(x, output_size, *([align_corners] if aligns else []), *given)

    return run


_UPSAMPLE = {
    **{f"{kind}{axes}d": (axes, False) for kind in ("nearest", "nearest_exact") for axes in (1, 2, 3)},
    **{"linear1d": (1, True), "bilinear2d": (2, True), "bicubic2d": (2, True), "trilinear3d": (3, True)},
    **{"bilinear2d_aa": (2, True), "bicubic2d_aa": (2, True)},
}
_TABLE: dict[str, Callable[..., Any]] = {
    "H": lambda x: x.H,
    "T": lambda x: x.T,
    "_batched_product": _product,
    "_circular_pad1d": lambda x, padding: F.pad(x, padding, "circular"),
    "_circular_pad2d": lambda x, padding: F.pad(x, padding, "circular"),
    "_circular_pad3d": lambda x, padding: F.pad(x, padding, "circular"),
    "_cast": lambda x, dtype: x.to(dtype),
    "_cat": lambda tensors, dim, _: torch.cat(tensors, dim),
    "_constant_pad_nd": _padded,
    "_copy_laid_as": lambda x, _: x.clone(),
    "_cumsum_from_the_end": lambda x, dim: x.flip(dim).cumsum(dim).flip(dim),
    "_fft_r2c": lambda x, dim, normalization, onesided, _: _aten._fft_r2c(x, dim, normalization, onesided),
    "_flash_attention": lambda q, k, v, mask, causal, scale: [
        F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale)
    ],
    "_linalg_solve_ex": lambda a, b, left: torch.linalg.solve_ex(a, b, left=left),
    "_logcumsumexp": torch.logcumsumexp,
    "_lstm_cell": lambda x, h, c, *weights: torch.lstm_cell(x, [h, c], *weights),
    "_product": _product,
    "_rdiv": lambda x, other: other / x,
    "_recurrent_layer": _recurrent_layer,
    "_reshape_alias": torch.reshape,
    "_split_long": lambda x, sizes, dim: torch.split(x, sizes.tolist(), dim),
    **{f"_upsample_{name}": _upsample(name, *how) for name, how in _UPSAMPLE.items()},
    "logsigmoid": F.logsigmoid,
    "native_group_norm": lambda x, w, b, groups, eps: [F.group_norm(x, groups, w, b, eps)],
    "native_layer_norm": lambda x, w, b, axes, eps: torch.native_layer_norm(x, x.shape[x.ndim - axes :], w, b, eps),
    "nll_loss_forward": lambda *given: [_aten.nll_loss_forward(*given)[0]],
    "norm": lambda x, p, dim, keepdim, dtype: torch.norm(x, p, dim, keepdim, dtype=dtype),
}

_BACKWARD = "a part of a backward, whose gradients are compared as a whole"
_WHOLE = "a part of a function, whose result is compared as a whole"
_STEP = "a part of an optimizer's step, which is compared as a whole"
_APPROXIMATE = "in PyTorch an approximation, with errors up to 1e-3"
_NOT_CHECKED = {
    "_as_strided": "looks at memory beside its input's",
    "_as_strided_scatter": "looks at memory beside its input's",
    "_block_diag_parts": _WHOLE,
    "_dirichlet_grad": _APPROXIMATE,
    "_standard_gamma_grad": _APPROXIMATE,
    "_embed": _BACKWARD,
    "_elu_backward": _BACKWARD,
    "_max_pool_gradient": _BACKWARD,
    "_nll_loss_backward": _BACKWARD,
    "_scatter_extremum": _WHOLE,
    "_scatter_product": _WHOLE,
    "_to_meta": "has no values",
    "_unique2": _WHOLE,
    "_unique_consecutive": _WHOLE,
    "_unique_dim": _WHOLE,
    "adam_step": _STEP,
    "power_slope": _BACKWARD,
    "sgd_step": _STEP,
}
