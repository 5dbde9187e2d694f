"""3.1 The arguments of backward() and grad()."""

import pytest
from graph_support import SECOND_TIME, assert_close, assert_equal


def pair(torch):
    return torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)


def test_a_scalar_needs_no_gradient(torch):
    x, _ = pair(torch)
    (x * x).sum().backward()
    assert_equal(x.grad, [2, 4])
    for shape in ((), (1,), (1, 1, 1)):
        x.grad = None
        (x * x).sum().reshape(shape).backward()
        assert_equal(x.grad, [2, 4])


def test_others_need_one(torch):
    x, _ = pair(torch)
    y = x * x
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        y.backward()
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.grad(y, x)
    assert x.grad is None
    y.backward(torch.tensor([1.0, 10.0]))
    assert_equal(x.grad, [2, 40])


def test_gradient_by_keyword_and_for_scalars(torch):
    x, _ = pair(torch)
    (x * x).sum().backward(gradient=torch.tensor(3.0))
    assert_equal(x.grad, [6, 12])


def test_gradients_must_have_the_shape_of_the_output(torch):
    x, _ = pair(torch)
    y = x * x
    with pytest.raises(RuntimeError, match=r"[Mm]ismatch in shape"):
        y.backward(torch.ones(3))
    assert x.grad is None
    y.backward(torch.ones(2))
    assert_equal(x.grad, [2, 4])


def test_backward_of_what_needs_no_gradient(torch):
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        torch.ones(1).backward()
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        torch.autograd.grad(torch.ones(1), torch.ones(1, requires_grad=True))


def test_backward_of_a_leaf(torch):
    x = torch.tensor(2.0, requires_grad=True)
    x.backward()
    x.backward()
    assert_equal(x.grad, 2)


def test_inputs_limits_where_gradients_go(torch):
    x, w = pair(torch)
    (x * w).sum().backward(inputs=[x])
    assert_equal(x.grad, [3, 4])
    assert w.grad is None
    (x * w).sum().backward(inputs=w)
    assert_equal(w.grad, [1, 2])
    assert_equal(x.grad, [3, 4])


def test_inputs_may_be_a_result(torch):
    x, _ = pair(torch)
    h = x * 2
    (h * h).sum().backward(inputs=[h])
    assert x.grad is None
    assert_equal(h.grad, [4, 8])


def test_inputs_must_not_be_empty(torch):
    x, _ = pair(torch)
    with pytest.raises(RuntimeError, match=r"inputs.* cannot be empty"):
        (x * x).sum().backward(inputs=[])


def test_autograd_backward_of_several(torch):
    x, w = pair(torch)
    torch.autograd.backward([(x * x).sum(), x * w], [None, torch.tensor([1.0, 10.0])])
    assert_equal(x.grad, [2 + 3, 4 + 40])
    assert_equal(w.grad, [1, 20])
    x.grad = None
    torch.autograd.backward((x * x).sum())
    assert_equal(x.grad, [2, 4])
    x.grad = None
    torch.autograd.backward((x * x,), grad_tensors=(torch.ones(2),), retain_graph=False, create_graph=False, inputs=[x])
    assert_equal(x.grad, [2, 4])


def test_several_outputs_that_share_a_part_are_run_once(torch):
    x, _ = pair(torch)
    h = x * x
    seen = []
    h.grad_fn.register_hook(lambda *_: seen.append(1))
    torch.autograd.backward([h.sum(), (2 * h).sum()])
    assert seen == [1]
    assert_equal(x.grad, [6, 12])


def test_grad_returns_a_tuple_and_touches_no_grad(torch):
    x, w = pair(torch)
    result = torch.autograd.grad((x * w).sum(), [x, w])
    assert type(result) is tuple
    assert_equal(result[0], [3, 4])
    assert_equal(result[1], [1, 2])
    assert x.grad is None
    assert w.grad is None
    (single,) = torch.autograd.grad((x * w).sum(), x)
    assert_equal(single, [3, 4])


def test_grad_with_grad_outputs(torch):
    x, w = pair(torch)
    (result,) = torch.autograd.grad([x * w, x * x], [x], grad_outputs=[torch.tensor([1.0, 2.0]), torch.ones(2)])
    assert_equal(result, [3 + 2, 8 + 4])
    (single,) = torch.autograd.grad(x * w, x, torch.tensor([1.0, 2.0]))
    assert_equal(single, [3, 8])
    (mixed,) = torch.autograd.grad([(x * w).sum(), x * x], [x], [None, torch.ones(2)])
    assert_equal(mixed, [5, 8])


def test_grad_of_intermediates(torch):
    x, _ = pair(torch)
    h = x * 2
    y = (h * h).sum()
    by_h, by_x = torch.autograd.grad(y, [h, x])
    assert_equal(by_h, [4, 8])
    assert_equal(by_x, [8, 16])


def test_grad_of_an_output_by_itself(torch):
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    assert_equal(torch.autograd.grad(y, y, retain_graph=True)[0], 1)
    assert_equal(torch.autograd.grad(x, x)[0], 1)
    assert_equal(torch.autograd.grad(y, x)[0], 6)


def test_the_same_input_twice(torch):
    x, w = pair(torch)
    first, _, second = torch.autograd.grad((x * w).sum(), [x, w, x])
    assert_equal(first, [3, 4])
    assert_equal(second, [3, 4])


def test_grad_keeps_the_graph_only_when_told(torch):
    x, _ = pair(torch)
    y = (x * x).sum()
    torch.autograd.grad(y, x, retain_graph=True)
    torch.autograd.grad(y, x)
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        torch.autograd.grad(y, x)


def test_unused_inputs(torch):
    x, w = pair(torch)
    y = (x * x).sum()
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(y, [x, w], retain_graph=True)
    by_x, by_w = torch.autograd.grad(y, [x, w], allow_unused=True, retain_graph=True)
    assert_equal(by_x, [2, 4])
    assert by_w is None
    by_x, by_w = torch.autograd.grad(y, [x, w], materialize_grads=True)
    assert_equal(by_w, [0, 0])
    assert tuple(by_w.shape) == (2,)


def test_only_inputs_is_accepted_and_has_no_effect(torch):
    x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    gradients = torch.autograd.grad(outputs=x * w, inputs=x, create_graph=True, retain_graph=True, only_inputs=True)
    assert [gradient.tolist() for gradient in gradients] == [[3.0]]
    by_place = torch.autograd.grad(x * w, [x, torch.ones(1, requires_grad=True)], None, None, False, True, True)
    assert by_place[1] is None
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        torch.autograd.grad(x * w, x, only_inputs=False)
    assert w.grad is None


def test_materialize_grads_contradicts_allow_unused_false(torch):
    x, w = pair(torch)
    with pytest.raises(ValueError, match="allow_unused"):
        torch.autograd.grad((x * x).sum(), [x, w], allow_unused=False, materialize_grads=True)


def test_inputs_that_need_no_gradient(torch):
    x, _ = pair(torch)
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        torch.autograd.grad((x * x).sum(), [x, torch.ones(2)])


def test_only_what_is_needed_runs(torch):
    x, w = pair(torch)
    of_x, of_w = x * x, w * w
    seen = []
    of_x.grad_fn.register_hook(lambda *_: seen.append("x"))
    of_w.grad_fn.register_hook(lambda *_: seen.append("w"))
    torch.autograd.grad((of_x + of_w).sum(), x)
    assert seen == ["x"]


@pytest.mark.beyond
def test_batched_gradients(torch):
    x, _ = pair(torch)
    y = x * x
    (rows,) = torch.autograd.grad(y, x, grad_outputs=torch.eye(2), is_grads_batched=True, retain_graph=True)
    assert_equal(rows, [[2, 0], [0, 4]])
    assert_equal(torch.autograd.grad(y, x, torch.ones(2))[0], [2, 4])


def test_gradients_take_the_dtype_of_what_they_belong_to(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    y = x * w
    assert y.dtype == torch.float64
    y.sum().backward()
    assert (x.grad.dtype, w.grad.dtype) == (torch.float32, torch.float64)
    assert_close(x.grad, [3, 4])


def test_an_expanded_or_strided_gradient_is_fine(torch):
    x = torch.ones(2, 3, requires_grad=True)
    (x * 2).backward(torch.ones(1, 3).expand(2, 3))
    assert_equal(x.grad, [[2] * 3] * 2)
    x.grad = None
    (x * 2).backward(torch.arange(6.0).reshape(3, 2).t())
    assert_equal(x.grad, [[0, 4, 8], [2, 6, 10]])
