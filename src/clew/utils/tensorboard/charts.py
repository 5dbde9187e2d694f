"""What a writer does with histograms, curves and layouts of charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import summary


def _default_bins() -> list[float]:
    """Limits that grow by a tenth from 1e-12 to 1e20 on both sides of 0."""
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [-one for one in reversed(limits)] + [0] + limits


class ChartWriter:
    """The part of `SummaryWriter` for charts of more than one number."""

    default_bins = _default_bins()

    def _add(self, found: Any, global_step: Any = None, walltime: float | None = None) -> None:
        raise NotImplementedError

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add a histogram of the values.

        Args:
            values: a tensor or array of any shape.
            bins: "tensorflow" for limits that grow by a tenth, or what `numpy.histogram` takes.
            max_bins: with more bins than these, neighbours are merged.

        Raises:
            ValueError: no values.
        """
        limits = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, limits, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: Any,
        max: Any,
        num: Any,
        sum: Any,
        sum_squares: Any,
        bucket_limits: Sequence[Any],
        bucket_counts: Sequence[Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a histogram that was counted elsewhere: the values' moments, each bucket's upper limit and count.

        Raises:
            ValueError: not as many counts as limits.
        """
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                f"add_histogram_raw: expected a count for each of {len(bucket_limits)} limits, got {len(bucket_counts)}"
            )
        found = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(found, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add precision and recall of predictions (probabilities) of labels (0 or 1).

        Args:
            num_thresholds: how many points the curve has, at most 127.
            weights: how much each prediction counts.
        """
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a precision-recall curve that was counted elsewhere: vectors with a number for each threshold."""
        counts = true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts
        found = summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds)
        self._add(found, global_step, walltime)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Have these scalars shown in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Have a scalar shown with its margin: the tags of the value, the lower and the upper limit."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Say which scalars share a chart: `{category: {title: ["Multiline", tags]}}`. Only the last layout counts."""
        self._add(summary.custom_scalars(layout))
