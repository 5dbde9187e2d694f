"""The model of what training by several ranks costs, and the pictures of it."""

import json

import pytest

from bench.scaling import pictures
from bench.scaling.model import Machine, Network, fitted, over_network, pipelined

pytestmark = pytest.mark.beyond

MACHINE = Machine(2, 1e-4, 2e9)
SIZES = {"many": [1e6] * 4, "one": [4e6]}


def figures(ranks):
    """Those of a machine that does what the model says."""
    ways = {
        way: {"step": MACHINE.step(0.01, sizes, ranks), "sizes": sizes, "ready": [0.004, 0.005, 0.006, 0.007],
              "end": 0.008}
        for way, sizes in SIZES.items()
    }  # fmt: skip
    marks = [0.0, 0.003, 0.008, 0.009, 0.01]
    run = {"step": 0.01, "marks": marks, "reductions": [{"began": 0.004, "ended": 0.006, "bytes": 1e6}]}
    return {"ranks": ranks, "models": {"net": {"alone": 0.01, "ways": ways, "wire": {"True": run, "False": run}}}}


def test_what_was_put_in_is_found_again():
    found = fitted(2, figures(1), figures(2))
    assert found.latency == pytest.approx(1e-4, rel=1e-6)
    assert found.bandwidth == pytest.approx(2e9, rel=1e-6)


def test_two_ranks_of_one_core_compute_one_after_the_other():
    assert MACHINE.step(0.01, [4e6], 1) == 0.01
    assert MACHINE.step(0.01, [4e6], 2) == pytest.approx(0.01 + 1e-4 + 0.002)
    assert MACHINE.step(0.01, [4e6], 4) == pytest.approx(0.02 + 2e-4 + 2 * 0.002 * 4.25 / 4.5)


def test_a_network_takes_one_bucket_after_the_other():
    # From 1 to 3; the second one, ready at 2, when the last gradient comes at 4; the third from 6 to 8; the end is 5.
    assert pipelined([1.0, 2.0, 4.0], 5.0, [2.0, 2.0, 2.0]) == 3.0
    assert pipelined([1.0, 2.0, 4.0], 5.0, [0.5, 0.5, 0.5]) == 0.0


def test_overlap_saves_what_fits_beside_the_backward():
    model, network = figures(1)["models"]["net"], Network("", 0.0, 1e9)
    cores = MACHINE.seconds(SIZES["many"], 2)
    assert network.seconds(1e6, 2) == pytest.approx(1e-3)
    assert over_network(model, MACHINE, network, 2, overlap=False) == pytest.approx(0.01 + cores + 4e-3)
    assert over_network(model, MACHINE, network, 2, overlap=True) == pytest.approx(0.01 + cores)
    assert over_network(model, MACHINE, network, 1, overlap=False) == 0.01


def test_pictures_and_the_trace_are_written(tmp_path):
    by_ranks = {ranks: figures(ranks) for ranks in (1, 2, 4)}
    for one in by_ranks.values():
        one["models"]["other"] = one["models"]["net"]
    pictures.scaling(by_ranks, MACHINE, tmp_path / "scaling.svg")
    pictures.overlap(by_ranks[2]["models"]["net"], "title", tmp_path / "overlap.svg")
    losses = {ranks: {"digits": [2.0, 1.0], "gpt": [5.0, 4.0]} for ranks in (1, 2, 4)}
    pictures.curves(losses, tmp_path / "curves.svg")
    assert all((tmp_path / f"{name}.svg").stat().st_size > 1000 for name in ("scaling", "overlap", "curves"))
    events = json.loads(json.dumps(pictures.trace(by_ranks[2]["models"]["net"])))
    assert {one["name"] for one in events if one["ph"] == "X"} == {"1,000,000 bytes", *pictures.PARTS}
