"""``clew.graph.film``: a picture that follows its graph through backward passes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ..model.events import listen, stop_listening
from ..model.notebook import Shown
from ..model.places import ReleaseRecord
from ..model.protocol import Node, Tensor
from ..model.records import Release
from .columns import OPERATION, norm_of
from .draw import Drawable, draw
from .picture import Picture


class Film(Shown):
    """The context of :func:`film`; entering it gives the :class:`Picture`.

    Example:
        >>> x = clew.ones(3, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> with clew.graph.film(loss) as picture:
        ...     loss.backward()
        >>> type(picture).__name__, len(picture.snapshots)
        ('Picture', 2)
    """

    def __init__(self, picture: Picture, gradients: bool = False) -> None:
        if not isinstance(picture, Picture):
            raise TypeError(f"Film: expected a Picture, as film(x) makes it, got {type(picture).__name__}")
        self.picture = picture
        self.gradients = gradients
        self._norms: dict[int, float] = {}
        self._hooks: list[Any] = []

    def __enter__(self) -> Picture:
        listen(self._after_backward)
        if self.gradients:
            for row, reference in enumerate(self.picture.columns.nodes):
                node = None if reference is None else reference()
                if node is not None and self.picture.columns.kind[row] == OPERATION:
                    self._hooks.append(node.register_prehook(_note_norm(self._norms, row)))
        return self.picture

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop_listening(self._after_backward)
        for hook in self._hooks:
            hook.remove()
        self.picture.snapshot("end", only_if_changed=True)

    def _after_backward(self, roots: tuple[Node, ...], release: Release | None) -> None:
        what = "a backward that kept the graph" if release is None else str(ReleaseRecord.of(release))
        self.picture.snapshot(f"after {what}", only_if_changed=True, flow=self._norms)
        self._norms.clear()


def film(x: Drawable, params: Mapping[str, Tensor] | None = None, *, gradients: bool = False, **options: Any) -> Film:
    """Draw ``x`` now, and add its state after each backward that happens in the ``with`` block.

    The page of the picture then has a slider, from built to freed.

    Args:
        x: as for :func:`draw`.
        params: as for :func:`draw`.
        gradients: whether each operation has the norm of the gradient that it received. This puts a hook on each node
            until the end of the block. Without it only leaves have norms.
        options: the other arguments of :func:`draw`.

    Example:
        >>> x = clew.ones(3, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> with clew.graph.film(loss, gradients=True) as picture:
        ...     loss.backward()
        >>> [snapshot.label for snapshot in picture.snapshots]  # doctest: +ELLIPSIS
        ['built', 'after backward() at ...']
        >>> [(row.title, round(row.gradient_norm, 3)) for row in picture.rows() if row.kind == "operation"]
        [('MulBackward0', 1.732), ('SumBackward0', 1.0)]
    """
    return Film(draw(x, params, **options), gradients)


def _note_norm(norms: dict[int, float], row: int) -> Any:
    def hook(incoming: tuple[Any, ...]) -> None:
        norms[row] = math.hypot(*(norm_of(gradient) for gradient in incoming if gradient is not None))

    return hook
