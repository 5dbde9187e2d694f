"""A pytest plugin: ``pytest -p clew.pytest_as_torch`` runs tests that were written for PyTorch on clew."""

from __future__ import annotations

import clew


def pytest_load_initial_conftests() -> None:
    """Called before anything of the tests is imported."""
    clew.as_torch()


def pytest_report_header() -> str:
    """Said at the start of a run."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    return f"torch: clew ({torch.__version__})"
