"""What ``clew.graph.watch`` says when graphs pile up."""

from __future__ import annotations

from ..model.notebook import Shown
from ..model.places import Place
from ..model.wording import bytes_text


class GrowthWarning(UserWarning, Shown):
    """The results of one line keep the graphs of more and more iterations alive.

    Attributes:
        made_at: the line that created these results.
        path: the variable that keeps them, as you can type it (``losses``, ``meter.total``, ``w.grad``); None if no
            variable does.
        iterations: from how many earlier iterations graphs are kept.
        nodes: how many nodes of earlier iterations are kept.
        nbytes: the bytes of these nodes, with what they have saved and still hold.
        text: what is kept and by which variable, in one sentence.
        advice: what to do.

    Example:
        >>> import warnings
        >>> w, total = clew.ones(3, requires_grad=True), clew.zeros(())
        >>> with clew.graph.watch() as watched, warnings.catch_warnings(action="ignore"):
        ...     for _ in range(20):
        ...         loss = (w * w).sum()
        ...         loss.backward()
        ...         total = total + loss
        >>> watched.warnings[0].path
        'total'
    """

    def __init__(self, made_at: Place, path: str | None, iterations: int, nodes: int, nbytes: int) -> None:
        super().__init__(made_at, path, iterations, nodes, nbytes)
        self.made_at = made_at
        self.path = path
        self.iterations = iterations
        self.nodes = nodes
        self.nbytes = nbytes

    @property
    def text(self) -> str:
        holder = "something that no variable references" if self.path is None else f"`{self.path}`"
        return (
            f"{holder} keeps the graphs of {self.iterations} iterations ({self.nodes} nodes, "
            f"{bytes_text(self.nbytes)}, graph metadata included), and more with each iteration"
        )

    @property
    def advice(self) -> str:
        if self.path is not None and self.path.endswith(".grad"):
            return "drop gradients that carry a graph, with zero_grad(set_to_none=True), or detach them"
        return "keep the value without its history: .item() for a number, .detach() for a tensor"

    def __str__(self) -> str:
        return (
            f"watch: expected an iteration's graph to be freed when the iteration ends, but {self.text}. "
            f"The graphs were created at {self.made_at}. To do: {self.advice}."
        )
