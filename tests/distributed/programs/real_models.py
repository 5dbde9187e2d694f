"""Digits and a small GPT, trained by all ranks and by one process with the whole batch; run by training.py."""

import sys
from pathlib import Path

import common  # noqa: F401  makes the process group
import numpy

sys.path.append(str(Path(__file__).parents[3]))

from bench.scaling.curves import curve, digits, gpt


def check_losses_of_digits_and_of_a_small_gpt():
    for make, steps in ((digits, 20), (gpt, 5)):
        found, expected = curve(make, steps, shared=True), curve(make, steps, shared=False)
        assert numpy.allclose(found, expected, rtol=2e-5), (make.__name__, found, expected)
        assert expected[-1] < 0.95 * expected[0]
