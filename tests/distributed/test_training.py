"""Data-parallel training: gradients and curves against one process, and a run that is interrupted."""

import re

import pytest
from launching import launch, needs_mpi, passes

pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_it_is_training_with_the_whole_batch(ranks):
    assert passes(ranks, "training.py", seconds=150).count("all is as expected") == ranks


def losses(output):
    return [float(found) for found in re.findall(r"^loss \d+ (\S+)$", output, re.MULTILINE)]


def test_a_run_that_was_killed_goes_on_with_another_number_of_ranks(tmp_path):
    whole = losses(passes(1, "resuming.py", tmp_path / "whole", "-1"))
    status, output, _ = launch(2, "resuming.py", tmp_path / "cut", "3")
    assert status != 0
    parts = losses(output) + losses(passes(3, "resuming.py", tmp_path / "cut", "-1"))
    assert len(whole) == len(parts) == 6
    assert parts == pytest.approx(whole, rel=1e-9)
