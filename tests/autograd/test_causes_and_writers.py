"""5.2, 5.3 Who wrote last to what was saved, and where history was lost: the cases that are easy to get wrong."""

import numpy
import pytest
from graph_support import MODIFIED, line_here

pytestmark = pytest.mark.beyond
HERE = "test_causes_and_writers.py"


def modified(torch, result):
    with pytest.raises(torch.autograd.errors.InplaceError, match=MODIFIED) as caught:
        result.sum().backward()
    return caught.value


def test_a_number_is_known_by_itself_not_by_its_value(torch):
    """`tensor(number)` tells of `item()` only if it is the very number that was read."""
    x = torch.ones(1, requires_grad=True)
    value, line = (x * 3).item(), line_here()
    lost = torch.tensor(value)._lost
    assert (lost.cause, lost.site.line) == ("item", line)
    assert torch.tensor([value, 1.0])._lost.site.line == line
    assert (torch.ones(1) * value)._lost.site.line == line
    assert torch.tensor(float(str(value)))._lost is None  # equal, but another number
    assert (torch.ones(1) * 3.0)._lost is None
    plain = torch.ones(1).item()
    assert torch.tensor(plain)._lost is None


def test_indices_tell_that_they_have_no_derivative(torch):
    x = torch.tensor([3.0, 1.0], requires_grad=True)
    (values, indices), line = torch.sort(x), line_here()
    assert values._lost is None
    assert (indices._lost.cause, indices._lost.site.line) == ("sort", line)
    assert torch.sort(torch.ones(2))[1]._lost is None


def test_a_buffer_tells_what_was_written_into_it(torch):
    x = torch.ones(2, requires_grad=True)
    buffer = torch.zeros(2, 2)
    buffer[0], line = x.detach(), line_here()
    assert (buffer._lost.cause, buffer._lost.site.line) == ("detach", line)
    buffer[1] = x  # now it has a history
    assert buffer._lost is None
    assert buffer.requires_grad


def test_data_from_an_array_does_not_hide_what_was_lost(torch):
    data = torch.from_numpy(numpy.ones(2))
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert (data * x.detach())._lost.cause == "detach"
    assert (x.detach() * data)._lost.cause == "detach"
    assert (data * 2)._lost.cause == "from_numpy"
    with pytest.raises(torch.autograd.errors.NoGradError, match="if the array is data, set requires_grad=True"):
        (data * 2).sum().backward()


def test_a_write_beside_what_was_saved_is_not_blamed(torch):
    """The last write that touched the saved elements is told, though a later one moved the version, too."""
    base = torch.zeros(4)
    x = torch.ones(2, requires_grad=True)
    y, saved = x * base[:2], line_here()
    _, written = base[:2].add_(1), line_here()
    base[2:].mul_(2)
    error = modified(torch, y)
    assert (error.saved_at.line, error.written_by, error.written_at.line) == (saved, "add_", written)
    assert f"The last write to it was 'add_' at {HERE}:{written}" in str(error)


def test_if_none_touched_it_the_last_one_is_told(torch):
    """As in PyTorch the version alone refuses; the message does not say that the write was to what was saved."""
    base = torch.zeros(4)
    y = torch.ones(2, requires_grad=True) * base[:2]
    _, written = base[2:].mul_(2), line_here()
    error = modified(torch, y)
    assert (error.written_by, error.written_at.line) == ("mul_", written)
    assert "The last write was 'mul_'" in str(error)


def test_a_step_of_an_optimizer_has_its_own_advice(torch):
    w = torch.ones(1, requires_grad=True)
    x = torch.ones(1, requires_grad=True)
    y = w * x
    y.sum().backward(retain_graph=True)
    torch.optim.SGD([w], lr=0.1).step()
    error = modified(torch, y)
    assert error.written_by == "sgd_step"
    assert "run every backward before the optimizer's step" in str(error)
