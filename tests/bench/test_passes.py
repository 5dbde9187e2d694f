"""What `python -m bench.passes` prints."""

from bench import passes


def test_a_pass_without_which_a_loop_is_written_out(capsys):
    passes.main(["-k", "RK4", "--pass", "reroll_loops", "--rounds", "1"])
    name, _, title, _, row, *_ = capsys.readouterr().out.splitlines()
    assert name == "RK4, 2 elements, 100 steps"
    assert title == "Time without the pass, over the time with all; `workloads`: how many gain 3 % or more"
    word, ratio, *where = row.split()
    assert word == "reroll_loops"
    assert float(ratio) > 0
    assert " ".join(where).startswith("RK4, 2 elements, 100 steps")
