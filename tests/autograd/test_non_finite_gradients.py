"""5.4 detect_anomaly finds the first gradient that is not a number."""

import warnings

import pytest
from graph_support import line_here


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
def test_the_node_that_made_it_is_named(torch):
    _, y = nan_through_where(torch)
    with pytest.raises(RuntimeError, match=r"(Div|Sqrt)Backward0.*nan"):
        y.backward()


def test_without_the_mode_nothing_is_checked(torch):
    x, y = nan_through_where(torch)
    y.backward()
    assert x.grad.isnan().tolist() == [True, False]


@pytest.mark.usefixtures("anomaly")
def test_finite_gradients_pass(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    x.sqrt().sum().backward()
    assert x.grad.tolist() == [0.5, 0.25]


def test_the_mode_can_be_asked_and_ends(torch):
    assert not torch.is_anomaly_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with torch.autograd.detect_anomaly():
            assert torch.is_anomaly_enabled()
        with torch.autograd.set_detect_anomaly(True):
            assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()


def failing_node(torch, y, **options):
    with pytest.raises(torch.autograd.errors.NonFiniteError) as caught:
        y.backward(**options)
    return caught.value


@pytest.mark.beyond
@pytest.mark.usefixtures("anomaly")
@pytest.mark.parametrize("options", [{}, {"retain_graph": True}, {"create_graph": True}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_branch_that_was_not_chosen(torch, options, dtype):
    x = torch.tensor([0.0, 4.0], dtype=getattr(torch, dtype), requires_grad=True)
    root, made = x.sqrt(), line_here()
    y, chosen = torch.where(x > 0, root, 1.0), line_here()
    error = failing_node(torch, (y * 3).sum(), **options)
    assert (error.node, error.made_at.line) == (root.grad_fn, made)
    assert error.through_where.line == chosen
    assert error.incoming_was_zero


@pytest.mark.beyond
@pytest.mark.usefixtures("anomaly")
def test_a_where_that_has_no_part_in_it_is_not_named(torch):
    """It sets gradients to zero at the same place, but on another path; the zero comes from a mask."""
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    root = x.sqrt()
    aside = torch.where(x > 0, x * 2, 1.0)
    error = failing_node(torch, (root * (x > 0).float() + aside).sum())
    assert error.node is root.grad_fn
    assert error.incoming_was_zero
    assert error.through_where is None


@pytest.mark.beyond
@pytest.mark.usefixtures("anomaly")
def test_a_where_that_chose_the_branch_is_not_named(torch):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    root = x.sqrt()
    error = failing_node(torch, torch.where(x < 1, root, 1.0).sum())
    assert error.node is root.grad_fn
    assert error.through_where is None
    assert not error.incoming_was_zero


@pytest.mark.beyond
@pytest.mark.usefixtures("anomaly")
def test_through_a_sum_all_that_came_in_was_zero(torch):
    """Elements of what came in and of what went out do not correspond: the node is named by a zero for all of it."""
    x = torch.zeros(3, requires_grad=True)
    length = (x * x).sum().sqrt()
    y, chosen = torch.where(length > 0, length, 1.0), line_here()
    error = failing_node(torch, y)
    assert error.node is length.grad_fn
    assert error.through_where.line == chosen


@pytest.mark.beyond
@pytest.mark.usefixtures("anomaly")
def test_the_engine_works_on_after_it(torch):
    x = torch.tensor([0.0], requires_grad=True)
    failing_node(torch, x.sqrt().sum())
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gradients_inside_vmap_are_refused(torch, oracle):
    messages = []
    for library in (torch, oracle):
        with library.autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
            library.autograd.functional.jacobian(lambda x: x * 2, library.ones(3), vectorize=True)
        messages.append(str(caught.value))
    assert messages[0].startswith("MulBackward0: detect_anomaly can't look at gradients inside vmap")
