"""The adaptive softmax: classes by frequency, rare ones in clusters of smaller dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import clew
from clew import Tensor

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax over many classes that are sorted by frequency (Grave et al., Efficient softmax approximation, 2017).

    The head has the classes below the first cutoff, and one place for each cluster of those between two cutoffs.

    Args:
        in_features: size of a sample.
        n_classes: how many classes there are.
        cutoffs: where the clusters begin, ascending, at most `n_classes - 1`.
        div_value: each cluster works on so many times fewer features than the one before.
        head_bias: whether the head has a bias.

    Raises:
        ValueError: the cutoffs are not ascending positive integers up to `n_classes - 1`.
        RuntimeError: targets do not fit the input, or are no classes.

    `forward(input_, target_)` gives `output`, the log-probability of each target, and `loss`, minus their mean.

    Example:
        >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, cutoffs=[3, 6])
        >>> output, loss = layer(torch.randn(5, 16), torch.tensor([0, 2, 4, 8, 9]))
        >>> output.shape, layer.log_prob(torch.randn(5, 16)).shape
        (torch.Size([5]), torch.Size([5, 10]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        cutoffs = list(cutoffs)
        ascending = cutoffs == sorted(set(cutoffs)) and all(int(one) == one for one in cutoffs)
        if not cutoffs or not ascending or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                f"value is between 1 and n_classes-1, got {cutoffs}"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*cutoffs, n_classes]
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for place, (low, high) in enumerate(self._clusters()):
            size = int(in_features // div_value ** (place + 1))
            inner, outer = (
                Linear(in_features, size, bias=False, **options),
                Linear(size, high - low, bias=False, **options),
            )
            self.tail.append(Sequential(inner, outer))

    def _clusters(self) -> list[tuple[int, int]]:
        return list(zip(self.cutoffs, self.cutoffs[1:], strict=False))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        input, target = input_, target_
        if target.dim() not in (0, 1):
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with size "
                f"{input.size()}"
            )
        rows, classes = (input, target) if target.dim() else (input[None], target[None])
        if len(rows) != len(classes):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if classes.numel() and not 0 <= int(classes.min()) <= int(classes.max()) < self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{classes.min().item()}, "
                f"{classes.max().item()}] were found. "
            )
        place = classes
        for number, cutoff in enumerate(self.cutoffs[:-1]):
            place = clew.where(classes >= cutoff, self.shortlist_size + number, place)
        output = F.log_softmax(self.head(rows), 1).gather(1, place[:, None]).squeeze(1)
        for (low, high), cluster in zip(self._clusters(), self.tail, strict=True):
            own = ((classes >= low) & (classes < high)).nonzero().squeeze(1)
            if own.numel():
                inner = F.log_softmax(cluster(rows[own]), 1)
                output = output.index_add(0, own, inner.gather(1, classes[own, None] - low).squeeze(1))
        loss = (-output).mean()
        return _ASMoutput(output if target.dim() else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, of shape (N, n_classes)."""
        head = F.log_softmax(self.head(input), 1)
        clusters = [
            F.log_softmax(cluster(input), 1) + head[:, self.shortlist_size + number, None]
            for number, cluster in enumerate(self.tail)
        ]
        return clew.cat([head[:, : self.shortlist_size], *clusters], 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each sample. Clusters are computed for those samples only that need them."""
        head = self.head(input)
        found: Tensor = head.argmax(1)
        rare = (found >= self.shortlist_size).nonzero().squeeze(1)
        if rare.numel():
            found[rare] = self.log_prob(input[rare]).argmax(1)
        return found
