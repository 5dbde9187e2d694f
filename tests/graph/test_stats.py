"""`clew.graph.stats`: histograms of activations and gradients, beside NumPy's."""

import io

import numpy
import pytest

import clew
from clew import nn


@pytest.fixture
def model():
    clew.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Sequential(nn.Linear(7, 2)))


def test_they_are_numpys(model):
    x = clew.randn(11, 5)
    with clew.graph.stats(model, bins=9) as seen:
        model(x).square().sum().backward()
    with clew.no_grad():
        hidden = model[0](x)
        output = model[2](model[1](hidden))
    for path, values in (("0", hidden), ("1", hidden.relu()), ("2.0", output)):
        counts, edges = numpy.histogram(values.numpy().astype("float64"), 9)
        assert seen[path].activations.counts.tolist() == counts.tolist()
        assert seen[path].activations.edges == pytest.approx(edges)
        assert seen[path].activations.mean == pytest.approx(values.numpy().mean(), rel=1e-5)
        assert seen[path].activations.std == pytest.approx(values.numpy().std(), rel=1e-5)
    gradient = (2 * output).numpy().astype("float64")  # of the sum of squares
    assert seen["2.0"].gradients.counts.tolist() == numpy.histogram(gradient, 9)[0].tolist()
    assert seen["1"].activations.zeros == pytest.approx((hidden.numpy() <= 0).mean())


def test_nothing_is_changed_and_nothing_stays(model):
    x = clew.randn(4, 5)
    model(x).sum().backward()
    expected = [one.grad.clone() for one in model.parameters()]
    model.zero_grad()
    with clew.graph.stats(model) as seen:
        model(x).sum().backward()
    assert all(clew.equal(one.grad, other) for one, other in zip(model.parameters(), expected, strict=True))
    model(x)
    assert [one.calls for one in seen] == [1, 1, 1]
    assert all(not one._forward_hooks for one in model.modules())


def test_what_is_not_finite_is_told(model):
    with clew.graph.stats(model) as seen:
        model(clew.full((2, 5), float("inf")))
    assert seen["0"].activations.not_finite == 14
    assert seen["0"].gradients is None
    assert "14 not finite" in str(seen).splitlines()[1]


def test_the_table_has_a_line_for_each_module(model):
    with clew.graph.stats(model) as seen:
        model(clew.randn(4, 5)).sum().backward()
    lines = str(seen).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["0", "1", "2.0"]
    assert "█" in lines[1]
    assert "<pre" in seen._repr_html_()


def test_rich_and_matplotlib(model):
    console = pytest.importorskip("rich.console", reason="needs the extra [viz]")
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra [viz]")
    matplotlib.use("Agg")
    with clew.graph.stats(model, bins=6) as seen:
        model(clew.randn(4, 5)).sum().backward()
    screen = console.Console(width=200, record=True, file=io.StringIO())
    screen.print(seen)
    assert "ReLU" in screen.export_text()
    axes = seen.plot()
    assert axes.shape == (3, 2)
    assert axes[0, 0].patches[0].get_data().values.tolist() == seen["0"].activations.counts.tolist()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda model: clew.graph.stats(3), TypeError, "expected a module, got int"),
        (lambda model: clew.graph.stats(model, 0), ValueError, "expected at least one bin"),
    ],
)
def test_wrong_use(model, call, error, text):
    with pytest.raises(error, match=text):
        call(model)
