"""`torch.utils.benchmark`: what is counted and computed; times themselves are not looked at."""

import importlib

import pytest


def benchmark(m):
    return importlib.import_module(f"{m.__name__}.utils.benchmark")


def test_a_measurement_is_pytorchs(torch, oracle):
    def found(m):
        b = benchmark(m)
        spec = b.TaskSpec("f(x)", "pass", label="sums", sub_label="small", description="ours", num_threads=2)
        one = b.Measurement(10, [1.0, 2.0, 4.0, 8.0], spec)
        same = b.Measurement(2, [3.0], spec)
        numbers = [one.mean, one.median, one.iqr, same.mean, same.iqr, *one.times]
        return numbers, [one.title, one.as_row_name, one.stmt, one.num_threads, one.has_warnings], b.select_unit(2e-5)

    (numbers, *rest), (wanted, *rest_wanted) = found(torch), found(oracle)
    assert numbers == pytest.approx(wanted)
    assert rest == rest_wanted


def test_a_timer_runs_the_statement_so_often(torch, oracle):
    def found(m):
        runs, blocks = [], []
        names = {"runs": runs}
        timer = benchmark(m).Timer("runs.append(one)", "one = torch.ones(())", globals=names)
        measured = timer.timeit(100)
        assert all(type(one) is m.Tensor for one in runs)
        ranged = timer.blocked_autorange(lambda number, seconds: blocks.append(number), min_run_time=0.002)
        assert sum(ranged.raw_times) >= 0.002
        assert set(blocks) == {ranged.number_per_run}
        assert timer.adaptive_autorange(0.5, min_run_time=0.001, max_run_time=0.1).median > 0
        return measured.number_per_run, len(measured.raw_times), len(runs) >= 100, measured.mean > 0

    assert found(torch) == found(oracle)
    with pytest.raises(NotImplementedError, match="'python', got 'c"):
        benchmark(torch).Timer("x", language="c++")


def test_a_table_compares(torch):
    b = benchmark(torch)

    def measured(sub_label, description, seconds):
        return b.Measurement(1, [seconds], b.TaskSpec("f", "", "", "sums", sub_label, description))

    table = b.Compare([measured("small", "a", 1.23e-5), measured("small", "b", 3e-5)])
    table.extend_results([measured("large", "b", 2e-3)])
    assert [line.split() for line in str(table).splitlines()[1:4]] == [
        ["|", "a", "|", "b"],
        ["1", "threads:", "small", "|", "12.3", "|", "30.0"],
        ["1", "threads:", "large", "|", "|", "2000.0"],
    ]
    table.trim_significant_figures()
    assert "12" in str(table).split()
    assert "Times are in microseconds (us)." in str(table)
    assert "12.30 us" in repr(table.results[0])


def test_statements_may_be_indented(torch):
    timed = benchmark(torch).Timer("""
        x = y + 1
        x + 1
    """, "   y = 1")  # fmt: skip
    assert timed.timeit(3).median > 0
