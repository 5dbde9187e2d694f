"""4.5 What the log of writes does not refuse: memory beside what was saved, in buffers that tensors share."""

import pytest
from graph_support import MODIFIED, assert_equal

pytestmark = pytest.mark.beyond


def refuses(result):
    with pytest.raises(RuntimeError, match=MODIFIED):
        result.sum().backward()


def test_only_the_bytes_that_were_saved_count(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x[:2] ** 2
    x.data[2] = 100.0
    y.sum().backward()
    assert_equal(x.grad, [2, 4, 0])
    y = x[:2] ** 2
    x.data[1] = 100.0
    refuses(y)


def test_a_buffer_filled_step_by_step(torch):
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    buffer = torch.zeros(5, 2)
    total = 0
    for step in range(5):
        buffer.data[step] = float(step + 1)
        total = total + (w * buffer[step]).sum()
    total.backward()
    assert_equal(w.grad, [15, 15])


def test_a_buffer_that_is_filled_again(torch):
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    buffer = torch.zeros(3, 2)
    total = 0
    for step in range(6):
        buffer.data[step % 3] = float(step + 1)
        total = total + (w * buffer[step % 3]).sum()
    refuses(total)


def test_a_buffer_filled_column_by_column(torch):
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    buffer = torch.zeros(2, 5)
    total = 0
    for step in range(5):
        buffer.data[:, step] = float(step + 1)
        total = total + (w * buffer[:, step]).sum()
    total.backward()
    assert_equal(w.grad, [15, 15])


def two_parameters(torch):
    flat = torch.tensor([1.0, 2.0, 3.0, 4.0])
    return flat, torch.nn.Parameter(flat[:2]), torch.nn.Parameter(flat[2:])


@pytest.mark.parametrize("how", ["data", "no_grad", "optimizer"])
def test_two_parameters_cut_from_one_buffer(torch, how):
    flat, a, b = two_parameters(torch)
    assert a.data_ptr() == flat.data_ptr()
    y = (a**2).sum()
    if how == "data":
        b.data += 1
    elif how == "no_grad":
        with torch.no_grad():
            b += 1
    else:
        b.grad = torch.full((2,), -1.0)
        torch.optim.SGD([b], lr=1.0).step()
    y.backward()
    assert_equal(a.grad, [2, 4])
    assert_equal(flat, [1, 2, 4, 5])


def test_the_whole_buffer_written_under_a_parameter(torch):
    flat, a, b = two_parameters(torch)
    y = (a**2).sum() + (b**2).sum()
    flat.mul_(2)
    assert a._version == 0
    refuses(y)


def test_the_part_of_the_buffer_that_is_not_saved(torch):
    flat, a, _ = two_parameters(torch)
    y = (a**2).sum()
    flat[2:].mul_(2)
    y.backward()
    assert_equal(a.grad, [2, 4])


def test_many_writes_beside_what_is_saved(torch):
    flat, a, b = two_parameters(torch)
    y = (a**2).sum()
    for _ in range(2000):
        b.data.mul_(1.0)
    y.backward()
    assert_equal(a.grad, [2, 4])
    assert_equal(flat[2:], [3, 4])
