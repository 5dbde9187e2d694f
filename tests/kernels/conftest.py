"""For tests of the kernels' fast paths: sizes around what vectors, blocks, tiles and pieces hold."""

import numpy
import pytest


@pytest.fixture
def bits_at_any_thread_count(torch, on_oracle):
    """A function that calls another with one thread and with two, and gives its result once the bits are equal.

    PyTorch promises no such thing: there it is one thread alone.
    """
    before = torch.get_num_threads()

    def results(function):
        seen = []
        for count in (1,) if on_oracle else (1, 2):
            torch.set_num_threads(count)
            seen.append(function().numpy().copy())
        assert seen[0].dtype == seen[-1].dtype
        assert seen[0].tobytes() == seen[-1].tobytes(), "the bits depend on the number of threads"
        return seen[0]

    yield results
    torch.set_num_threads(before)


@pytest.fixture
def random():
    return numpy.random.default_rng(20)
