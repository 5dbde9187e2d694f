"""``clew.graph.gradient_flow``: how large the gradients of each layer are, to find where they vanish or explode."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._numeric import array_of
from ..model.notebook import Shown

VANISHING = 1e-7
EXPLODING = 1e3
_BAR = 24  # characters


@dataclass(frozen=True, slots=True)
class LayerFlow(Shown):
    """The parameters of one layer, taken together as one vector.

    Example:
        >>> model = clew.nn.Linear(2, 1)
        >>> model(clew.ones(1, 2)).sum().backward()
        >>> flow = clew.graph.gradient_flow(model)
        >>> layer = flow.layers[0]
        >>> layer.parameters, round(layer.gradient_norm, 4)
        (3, 1.7321)
    """

    name: str
    parameters: int
    """How many numbers."""
    norm: float
    """Euclidean norm of the parameters."""
    gradient_norm: float | None
    """Euclidean norm of the gradient; None: no parameter of the layer has one."""
    flag: str
    """``ok``, ``vanishing``, ``exploding``, ``zero``, ``not finite`` or ``no gradient``."""

    @property
    def ratio(self) -> float | None:
        """Gradient norm by parameter norm: by how much a step of learning rate 1 changes the layer."""
        if self.gradient_norm is None or self.norm == 0:
            return None
        return self.gradient_norm / self.norm


@dataclass(frozen=True, slots=True, repr=False)
class GradientFlow(Shown):
    """The answer of :func:`gradient_flow`: ``layers`` in the model's order.

    Example:
        >>> model = clew.nn.Linear(2, 1)
        >>> model(clew.ones(1, 2)).sum().backward()
        >>> flow = clew.graph.gradient_flow(model)
        >>> len(flow.layers), flow.suspects
        (1, ())
    """

    layers: tuple[LayerFlow, ...]

    def __iter__(self) -> Iterator[LayerFlow]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    @property
    def suspects(self) -> tuple[LayerFlow, ...]:
        """The layers that are not ``ok``."""
        return tuple(layer for layer in self.layers if layer.flag != "ok")

    def __str__(self) -> str:
        rows = [("layer", "parameters", "norm", "gradient", "ratio", ""), *map(_row, self.layers)]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        bars = ["", *self._bars()]
        lines = []
        for row, bar in zip(rows, bars, strict=True):
            name, *numbers = (f"{cell:>{width}}" for cell, width in zip(row[:5], widths, strict=True))
            lines.append("  ".join([f"{name.strip():<{widths[0]}}", *numbers, f"{bar:<{_BAR}}", row[5]]).rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def _bars(self) -> list[str]:
        """The gradient norms on a logarithmic scale of their own."""
        logs = [_log10(layer.gradient_norm) for layer in self.layers]
        known = [log for log in logs if log is not None]
        low, high = (min(known), max(known)) if known else (0.0, 0.0)
        step = (_BAR - 1) / max(high - low, 1.0)
        return ["" if log is None else "█" * (1 + round((log - low) * step)) for log in logs]

    def __rich__(self) -> object:
        from rich.table import Table

        table = Table("layer")
        for name in ("parameters", "norm", "gradient", "ratio"):
            table.add_column(name, justify="right")
        table.add_column("gradient, log")
        table.add_column("")
        for layer, bar in zip(self.layers, self._bars(), strict=True):
            style = {"ok": "", "no gradient": "dim", "vanishing": "blue", "zero": "blue"}.get(layer.flag, "red")
            *cells, flag = _row(layer)
            table.add_row(*cells, bar, flag, style=style)
        return table

    def plot(self, ax: Any = None) -> Any:
        """Draw the norms of each layer on a logarithmic scale with matplotlib.

        Args:
            ax: the axes to draw on; made by ``pyplot`` if None.

        Returns:
            The axes.

        Raises:
            ImportError: matplotlib is not installed.
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                raise ImportError(
                    "gradient_flow: plot expected matplotlib, got no module of that name; install it with "
                    "`pip install clew[viz]`, or print the table"
                ) from None
            _, ax = pyplot.subplots(figsize=(8, 1.5 + 0.28 * len(self.layers)), layout="constrained")
        places = np.arange(len(self.layers))
        ax.barh(places - 0.2, [_drawn(layer.norm) for layer in self.layers], 0.4, label="parameters", color="0.75")
        colours = [{"ok": "tab:green"}.get(layer.flag, "tab:red") for layer in self.layers]
        gradients = [_drawn(layer.gradient_norm) for layer in self.layers]
        ax.barh(places + 0.2, gradients, 0.4, label="gradient", color=colours)
        ax.set_xscale("log")
        labels = [layer.name if layer.flag == "ok" else f"{layer.name} ({layer.flag})" for layer in self.layers]
        ax.set_yticks(places, labels)
        ax.invert_yaxis()
        ax.set_xlabel("norm")
        ax.legend()
        return ax


def gradient_flow(
    model: Any, *, vanishing: float = VANISHING, exploding: float = EXPLODING, by_layer: bool = True
) -> GradientFlow:
    """Norms of parameters and gradients of each layer, after a backward.

    Args:
        model: a module, or the pairs of its ``named_parameters()``, or a mapping from names to tensors.
        vanishing: a layer is ``vanishing`` if its gradient norm is less than this part of its parameters' norm. With
            the default, a step of learning rate 1 would be lost in the rounding of float32 parameters.
        exploding: a layer is ``exploding`` if its gradient norm is more than this many times its parameters' norm. With
            the default, a step of learning rate 0.001 would change the layer by more than its own size.
        by_layer: take the parameters of one module together; False: each parameter alone.

    Returns:
        The layers. Print them as a table, or draw them with ``plot()``.

    Raises:
        TypeError: ``model`` has no ``named_parameters`` and is no collection of names and tensors.

    Example:
        >>> model = clew.nn.Linear(2, 1)
        >>> model(clew.ones(1, 2)).sum().backward()
        >>> [(layer.name, layer.parameters, layer.flag) for layer in clew.graph.gradient_flow(model)]
        [('(model)', 3, 'ok')]
    """
    layers: dict[str, list[Any]] = {}
    for name, parameter in _named_parameters(model):
        layer = (name.rpartition(".")[0] or "(model)") if by_layer else name
        layers.setdefault(layer, []).append(parameter)
    return GradientFlow(tuple(_flow(name, group, vanishing, exploding) for name, group in layers.items()))


def _named_parameters(model: Any) -> Iterable[tuple[str, Any]]:
    if hasattr(model, "named_parameters"):
        model = model.named_parameters()
    pairs = list(model.items() if isinstance(model, Mapping) else model) if _is_collection(model) else None
    if pairs is None or not all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and hasattr(pair[1], "grad_fn")
        for pair in pairs
    ):
        raise TypeError(
            f"gradient_flow: expected a module, or names and parameters, got {type(model).__name__}; pass the model or "
            "model.named_parameters()"
        )
    return pairs


def _is_collection(x: Any) -> bool:
    return isinstance(x, Iterable) and not hasattr(x, "grad_fn")


def _flow(name: str, parameters: list[Any], vanishing: float, exploding: float) -> LayerFlow:
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    count = sum(parameter.numel() for parameter in parameters)
    norm = _norm(parameters)
    if not gradients:
        return LayerFlow(name, count, norm, None, "no gradient")
    gradient = _norm(gradients)
    return LayerFlow(name, count, norm, gradient, _flag(norm, gradient, vanishing, exploding))


def _flag(norm: float, gradient: float, vanishing: float, exploding: float) -> str:
    if not math.isfinite(gradient):
        return "not finite"
    if gradient == 0:
        return "zero"
    if norm == 0 or not math.isfinite(norm):  # fresh biases: there is nothing to compare with
        return "ok"
    return "vanishing" if gradient < vanishing * norm else "exploding" if gradient > exploding * norm else "ok"


def _norm(tensors: list[Any]) -> float:
    """Of all elements together, in float64: squares of float32 would overflow and underflow."""
    total = 0.0
    with np.errstate(all="ignore"):
        for tensor in tensors:
            flat = np.abs(array_of(tensor)).astype(np.float64).ravel()
            total += float(flat @ flat)
    return math.sqrt(total)


def _row(layer: LayerFlow) -> tuple[str, str, str, str, str, str]:
    flag = "" if layer.flag == "ok" else layer.flag
    return (
        layer.name,
        f"{layer.parameters:,}",
        f"{layer.norm:.3g}",
        _number(layer.gradient_norm),
        _number(layer.ratio),
        flag,
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2e}"


def _log10(value: float | None) -> float | None:
    return math.log10(value) if value is not None and math.isfinite(value) and value > 0 else None


def _drawn(value: float | None) -> float:
    """What a logarithmic axis can show."""
    return value if value is not None and math.isfinite(value) and value > 0 else math.nan
