"""A rank that raises, dies, is late or never comes."""

import time

import pytest
from launching import launch, needs_mpi

pytestmark = needs_mpi
ABSENT = "(in no call: busy, or gone)"


def test_an_exception_of_one_rank_ends_all_with_its_traceback():
    begin = time.monotonic()
    status, output, errors = launch(4, "failures.py", "raises")
    assert status != 0
    assert "rank 3 of 4 failed, so all ranks end:" in errors
    assert 'raise LookupError("this rank fails")' in errors
    assert "all came" not in output
    assert time.monotonic() - begin < 20


def test_a_rank_that_dies_ends_all():
    status, output, _ = launch(2, "failures.py", "dies")
    assert status != 0
    assert "all came" not in output


def test_a_rank_that_ends_its_program_ends_those_that_wait_for_it():
    begin = time.monotonic()
    status, output, _ = launch(3, "failures.py", "exits")
    assert status != 0
    ended = "expected rank 2 of the group to come, got the end of its program: by sys.exit"
    assert f"rank 0: recv: {ended}" in output
    assert f"rank 1: all_reduce: {ended}" in output
    assert time.monotonic() - begin < 20  # and not after the time that calls wait for


@pytest.mark.parametrize("case", ["leaves", "exits in a call"])
def test_a_rank_with_fewer_calls_ends_those_that_wait_for_it(case):
    begin = time.monotonic()
    status, output, _ = launch(2, "failures.py", case)
    assert status != 0
    assert "rank 0: all_reduce: expected rank 1 of the group to come, got the end of its program" in output
    assert time.monotonic() - begin < 20


def test_a_late_rank_is_waited_for():
    status, output, errors = launch(2, "failures.py", "late")
    assert (status, output.count("all came")) == (0, 2), errors


def test_each_rank_that_waits_says_who_is_missing():
    status, output, _ = launch(4, "failures.py", "collective")
    assert status != 0
    for rank in range(3):
        assert f"rank {rank}: all_reduce: waited 0.5 s for rank 3 {ABSENT}\n" in output


def test_a_receiver_says_from_whom_nothing_came():
    status, output, _ = launch(2, "failures.py", "receive")
    assert status != 0
    assert f"rank 0: recv: waited 0.5 s for rank 1 {ABSENT}\n" in output


def test_a_timeout_tells_where_others_wait():
    status, output, _ = launch(3, "failures.py", "elsewhere")
    assert status != 0
    assert f"monitored_barrier: waited 0.5 s for rank 2 {ABSENT}, rank 1 (waiting in all_reduce)\n" in output
