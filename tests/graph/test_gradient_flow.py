"""Norms of parameters and gradients, layer by layer."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest

import clew


def chain(depth: int, activation: Any, scale: float = 1.0) -> Any:
    layers: list[Any] = []
    for _ in range(depth):
        linear = clew.nn.Linear(8, 8)
        with clew.no_grad():
            linear.weight.mul_(scale)
        layers += [linear, activation()]
    return clew.nn.Sequential(*layers)


def test_norms_are_numpys() -> None:
    model = chain(2, clew.nn.Tanh)
    model(clew.rand(4, 8)).pow(2).sum().backward()
    told = clew.graph.gradient_flow(model)
    assert [layer.name for layer in told] == ["0", "2"]
    for layer, module in zip(told, (model[0], model[2]), strict=True):
        values = np.concatenate([p.detach().numpy().ravel() for p in module.parameters()]).astype(np.float64)
        gradients = np.concatenate([p.grad.numpy().ravel() for p in module.parameters()]).astype(np.float64)
        assert layer.parameters == values.size == 72
        assert layer.norm == pytest.approx(np.linalg.norm(values), rel=1e-12)
        assert layer.gradient_norm == pytest.approx(np.linalg.norm(gradients), rel=1e-12)
        assert layer.ratio == pytest.approx(np.linalg.norm(gradients) / np.linalg.norm(values))
        assert layer.flag == "ok"
    assert told.suspects == ()


def test_sigmoids_in_a_row_make_the_first_gradients_vanish() -> None:
    model = chain(20, clew.nn.Sigmoid)
    model(clew.rand(4, 8)).sum().backward()
    flags = [layer.flag for layer in clew.graph.gradient_flow(model)]
    assert flags[0] == "vanishing"
    assert flags[-1] == "ok"
    assert flags == sorted(flags, reverse=True)  # from some layer on it is ok


def test_large_weights_make_the_first_gradients_explode() -> None:
    model = chain(12, clew.nn.Identity, scale=10.0)
    model(clew.rand(4, 8)).sum().backward()
    told = clew.graph.gradient_flow(model)
    assert told.layers[0].flag == "exploding"
    assert told.layers[0] in told.suspects


def test_no_gradient_zero_and_not_finite() -> None:
    a, b, c, d = (clew.ones(2, requires_grad=True) for _ in range(4))
    ((b * 0).sum() + (c * float("inf")).sum() + d.sum()).backward()
    flags = {
        layer.name: layer.flag for layer in clew.graph.gradient_flow({"a": a, "b": b, "c": c, "d": d}, by_layer=False)
    }
    assert flags == {"a": "no gradient", "b": "zero", "c": "not finite", "d": "ok"}
    text = str(clew.graph.gradient_flow({"a": a}, by_layer=False))
    assert text.splitlines()[1].split() == ["a", "2", "1.41", "-", "-", "no", "gradient"]


def test_squares_do_not_overflow() -> None:
    x = clew.full((2,), 1e30, requires_grad=True)
    (x * 1e-30).sum().backward()
    (layer,) = clew.graph.gradient_flow([("x", x)])
    assert layer.norm == pytest.approx(np.sqrt(2) * 1e30)
    assert layer.gradient_norm == pytest.approx(np.sqrt(2) * 1e-30)


def test_thresholds_are_the_callers() -> None:
    x = clew.ones(1, requires_grad=True)
    (x * 2).sum().backward()
    assert clew.graph.gradient_flow([("x", x)], exploding=1.5).layers[0].flag == "exploding"
    assert clew.graph.gradient_flow([("x", x)], vanishing=2.5).layers[0].flag == "vanishing"


def test_a_fresh_bias_has_no_ratio() -> None:
    x = clew.zeros(3, requires_grad=True)
    x.sum().backward()
    (layer,) = clew.graph.gradient_flow([("x", x)])
    assert (layer.ratio, layer.flag) == (None, "ok")


def test_table_as_text_and_in_colour() -> None:
    from rich.console import Console

    model = chain(20, clew.nn.Sigmoid)
    model(clew.rand(4, 8)).sum().backward()
    told = clew.graph.gradient_flow(model)
    rows = str(told).splitlines()
    assert len(rows) == 21
    assert rows[0].split() == ["layer", "parameters", "norm", "gradient", "ratio"]
    assert rows[1].endswith("vanishing")
    # Bars grow with the gradients.
    bars = [row.count("█") for row in rows[1:]]
    norms = [layer.gradient_norm or 0 for layer in told]
    assert bars[int(np.argmin(norms))] == 1
    assert bars[int(np.argmax(norms))] == max(bars) == 24
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(told)
    assert "vanishing" in console.export_text()


def test_plot() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    model = chain(3, clew.nn.Tanh)
    model(clew.rand(4, 8)).sum().backward()
    told = clew.graph.gradient_flow(model)
    ax = told.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0", "2", "4"]
    widths = [patch.get_width() for patch in ax.patches]
    assert widths == [*(layer.norm for layer in told), *(layer.gradient_norm for layer in told)]
    assert told.plot(ax=ax) is ax
    pyplot.close("all")


def test_plot_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    x = clew.ones(1, requires_grad=True)
    with pytest.raises(ImportError, match=r"pip install clew\[viz\]"):
        clew.graph.gradient_flow([("x", x)]).plot()


@pytest.mark.parametrize("wrong", [None, 3, "x", [1], [("a", 1)], clew.ones(2)])
def test_something_else(wrong: Any) -> None:
    with pytest.raises(TypeError, match="gradient_flow: expected a module"):
        clew.graph.gradient_flow(wrong)
