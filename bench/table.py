"""The table of figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line: figures in nanoseconds or bytes, and what was asked of them."""

    name: str
    unit: str  # "ns" or "B"
    clew: float
    torch: float | None = None
    numpy: float | None = None
    bar: float | None = None  # torch / clew must be at least this
    most: float | None = None  # clew's figure must be at most this

    @property
    def ratio(self) -> float | None:
        """How many times PyTorch's figure is ours."""
        return self.torch / self.clew if self.torch is not None and self.clew > 0 else None

    @property
    def is_met(self) -> bool | None:
        """Whether the figure is what was asked; None if nothing was."""
        if self.bar is not None and self.ratio is not None:
            return self.ratio >= self.bar
        return None if self.most is None else self.clew <= self.most

    def as_dict(self) -> dict[str, object]:
        return asdict(self) | {"ratio": self.ratio, "is_met": self.is_met}


def show(rows: Sequence[Row]) -> None:
    """Print the rows with aligned columns."""
    width = max([len(row.name) for row in rows], default=0)
    print(f"{'':{width}}  {'clew':>10}  {'PyTorch':>10}  {'NumPy':>10}  {'PyTorch/clew':>12}  asked")
    for row in rows:
        ratio = f"{row.ratio:.1f}x" if row.ratio is not None else ""
        figures = "  ".join(f"{_figure(value, row.unit):>10}" for value in (row.clew, row.torch, row.numpy))
        print(f"{row.name:{width}}  {figures}  {ratio:>12}  {_asked(row)}".rstrip())


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit != "ns":
        return f"{value:.0f} {unit}"
    for size, name in ((1e6, "ms"), (1e3, "µs")):
        if abs(value) >= size:
            return f"{value / size:.2f} {name}"
    return f"{value:.1f} ns"


def _asked(row: Row) -> str:
    if row.bar is not None:
        asked = f"at least {row.bar:g}x"
    elif row.most is not None:
        asked = f"at most {row.most:g} {row.unit}"
    else:
        return ""
    return f"{asked}: {'yes' if row.is_met else 'NO'}"
