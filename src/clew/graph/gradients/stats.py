"""``clew.graph.stats``: histograms of what each module gives and of the gradient that comes back to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ..model.notebook import Shown
from .histograms import Histogram, histogram_of


@dataclass(slots=True)
class ModuleStats(Shown):
    """One module in a block of :func:`stats`: the first tensor that its last call gave, and the gradient of that.

    Example:
        >>> model = clew.nn.Sequential(clew.nn.Linear(3, 4), clew.nn.ReLU())
        >>> with clew.graph.stats(model) as seen:
        ...     model(clew.ones(2, 3)).sum().backward()
        >>> seen["1"].kind, seen["1"].calls, int(seen["1"].activations.counts.sum())
        ('ReLU', 1, 8)
    """

    path: str
    kind: str
    calls: int = 0
    activations: Histogram | None = None
    """None: it was not called, or gave no floating-point tensor."""
    gradients: Histogram | None = None
    """None: no backward came through."""


class Stats(Shown):
    """The context of :func:`stats`; afterwards its answer: a :class:`ModuleStats` for each path.

    Example:
        >>> model = clew.nn.Linear(3, 4)
        >>> with clew.graph.stats(model) as seen:
        ...     model(clew.ones(2, 3)).sum().backward()
        >>> [one.kind for one in seen]
        ['Linear']
    """

    def __init__(self, model: Any, bins: int) -> None:
        if not hasattr(model, "named_modules"):
            raise TypeError(f"stats: expected a module, got {type(model).__name__}; pass the model whose layers to see")
        if bins < 1:
            raise ValueError(f"stats: expected at least one bin, got {bins}")
        self._bins = bins
        self._modules = {path: one for path, one in model.named_modules() if not any(True for _ in one.children())}
        self._stats = {path: ModuleStats(path or "(model)", type(one).__name__) for path, one in self._modules.items()}
        self._hooks: list[Any] = []

    def __enter__(self) -> Stats:
        for path, module in self._modules.items():
            self._hooks.append(module.register_forward_hook(self._hook(self._stats[path])))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._modules.clear()

    def _hook(self, stats: ModuleStats) -> Any:
        def after_forward(module: Any, inputs: Any, output: Any) -> None:
            tensor = output[0] if isinstance(output, (tuple, list)) and output else output
            if not hasattr(tensor, "requires_grad") or not tensor.dtype.is_floating_point:
                return
            stats.calls += 1
            stats.activations = histogram_of(tensor, self._bins)
            if tensor.requires_grad:
                tensor.register_hook(after_backward)

        def after_backward(gradient: Any) -> None:
            stats.gradients = histogram_of(gradient, self._bins)

        return after_forward

    def __iter__(self) -> Iterator[ModuleStats]:
        return iter(self._stats.values())

    def __len__(self) -> int:
        return len(self._stats)

    def __getitem__(self, path: str) -> ModuleStats:
        """The module at a path as ``named_modules`` has it."""
        return self._stats[path]

    def __str__(self) -> str:
        rows = [_HEADER, *map(_row, self)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
        return "\n".join(
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        )

    def __rich__(self) -> object:
        from rich.table import Table

        table = Table(*_HEADER)
        for stats in self:
            both = [one for one in (stats.activations, stats.gradients) if one is not None]
            style = "red" if any(one.not_finite for one in both) else "" if both else "dim"
            table.add_row(*_row(stats), style=style)
        return table

    def plot(self, axes: Any = None) -> Any:
        """Draw both histograms of each module with matplotlib, a row each.

        Args:
            axes: an array of as many rows as there are modules and two columns; made by ``pyplot`` if None.

        Returns:
            The axes.

        Raises:
            ImportError: matplotlib is not installed.
        """
        if axes is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                raise ImportError(
                    "stats: plot expected matplotlib, got no module of that name; install it with "
                    "`pip install clew[viz]`, or print the table"
                ) from None
            size = (8, 1.6 * len(self))
            _, axes = pyplot.subplots(len(self), 2, figsize=size, squeeze=False, layout="constrained")
        for row, stats in zip(axes, self, strict=True):
            told = (("activations", stats.activations), ("gradients", stats.gradients))
            for ax, (what, histogram) in zip(row, told, strict=True):
                ax.set_title(f"{stats.path} {stats.kind}: {what}", fontsize=8, loc="left")
                if histogram is not None:
                    ax.stairs(histogram.counts, histogram.edges, fill=True)
        return axes


_HEADER = ("module", "", "calls", "activations", "mean ± std", "zeros", "gradients", "mean ± std", "zeros", "")


def _row(stats: ModuleStats) -> tuple[str, ...]:
    bad = sum(one.not_finite for one in (stats.activations, stats.gradients) if one is not None)
    cells = (*_cells(stats.activations), *_cells(stats.gradients))
    return (stats.path, stats.kind, str(stats.calls), *cells, f"{bad:,} not finite" if bad else "")


def _cells(histogram: Histogram | None) -> tuple[str, str, str]:
    if histogram is None:
        return "-", "-", "-"
    return histogram.spark, f"{histogram.mean:.2g} ± {histogram.std:.2g}", f"{100 * histogram.zeros:.0f} %"


def stats(model: Any, bins: int = 32) -> Stats:
    """Histograms of activations and gradients of each module, to find units that are dead, saturated or exploding.

    Args:
        model: a module. Its submodules that contain no others are observed, in every forward and backward of the block.
            If a module is called several times, the last call counts. The results of the model do not change.
        bins: the number of bins of the histograms.

    Returns:
        A context manager, and the answer: print it, display it with ``rich``, or call ``plot()``.

    Raises:
        TypeError: it is no module.
        ValueError: there is less than one bin.

    Example:
        >>> model = clew.nn.Sequential(clew.nn.Linear(3, 4), clew.nn.ReLU(), clew.nn.Linear(4, 1))
        >>> with clew.graph.stats(model) as seen:
        ...     model(clew.ones(2, 3)).sum().backward()
        >>> [(one.path, one.kind) for one in seen]
        [('0', 'Linear'), ('1', 'ReLU'), ('2', 'Linear')]
        >>> seen["2"].gradients.mean
        1.0
    """
    return Stats(model, bins)
