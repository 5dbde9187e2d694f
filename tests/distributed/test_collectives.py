"""Every collective, dtype and kind of memory on 2 and on 4 ranks, with values by NumPy."""

import pytest
from launching import needs_mpi, passes

pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.slow), 4])
@pytest.mark.parametrize("program", ["reductions.py", "exchanges.py", "derivatives.py"])
def test_values_are_those_of_numpy(ranks, program):
    assert passes(ranks, program).count("all is as expected") == ranks
