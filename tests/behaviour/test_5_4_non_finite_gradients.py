"""5.4 detect_anomaly finds the first gradient that is not a number."""

import warnings

import pytest


@pytest.fixture
def anomaly(torch):
    """PyTorch warns that the mode is slow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with torch.autograd.detect_anomaly():
            yield


def nan_through_where(torch):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    return x, torch.where(x > 0, x.sqrt() / x, torch.zeros(2)).sum()


@pytest.mark.usefixtures("anomaly")
def test_5_4_the_node_that_made_it_is_named(torch):
    _, y = nan_through_where(torch)
    with pytest.raises(RuntimeError, match=r"(Div|Sqrt)Backward0.*nan"):
        y.backward()


def test_5_4_without_the_mode_nothing_is_checked(torch):
    x, y = nan_through_where(torch)
    y.backward()
    assert x.grad.isnan().tolist() == [True, False]


@pytest.mark.usefixtures("anomaly")
def test_5_4_finite_gradients_pass(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    x.sqrt().sum().backward()
    assert x.grad.tolist() == [0.5, 0.25]


def test_5_4_the_mode_can_be_asked_and_ends(torch):
    assert not torch.is_anomaly_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with torch.autograd.detect_anomaly():
            assert torch.is_anomaly_enabled()
        with torch.autograd.set_detect_anomaly(True):
            assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()
