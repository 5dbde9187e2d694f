"""1.5 Modes: whether a graph is created at all."""

import threading

import pytest
from graph_support import assert_equal


def test_no_grad_records_nothing(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        y = x * 2
    assert torch.is_grad_enabled()
    assert (y.requires_grad, y.grad_fn, y.is_leaf) == (False, None, True)
    assert (x * 2).requires_grad


def test_a_leaf_made_under_no_grad_may_require_a_gradient(torch):
    with torch.no_grad():
        x = torch.ones(3, requires_grad=True)
        assert x.requires_grad
        assert not (x * 1).requires_grad
    assert (x * 1).requires_grad


def test_modes_nest_and_restore(torch):
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        with torch.enable_grad():
            assert (x * 1).requires_grad
            with torch.set_grad_enabled(False):
                assert not (x * 1).requires_grad
            assert (x * 1).requires_grad
        assert not (x * 1).requires_grad
    assert torch.is_grad_enabled()


def test_an_exception_restores_the_mode(torch):
    for mode in (torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False)):
        with pytest.raises(KeyError), mode():
            raise KeyError
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()


def test_set_grad_enabled_acts_when_called(torch):
    x = torch.ones(1, requires_grad=True)
    try:
        torch.set_grad_enabled(False)
        assert not torch.is_grad_enabled()
        assert not (x * 1).requires_grad
    finally:
        torch.set_grad_enabled(True)
    assert (x * 1).requires_grad


def test_the_same_context_object_can_be_entered_again(torch):
    quiet = torch.no_grad()
    for _ in range(2):
        with quiet:
            assert not torch.is_grad_enabled()
        assert torch.is_grad_enabled()


def test_modes_as_decorators(torch):
    x = torch.ones(3, requires_grad=True)

    @torch.no_grad()
    def quiet(factor, *, plus=0):
        """Document."""
        return x * factor + plus

    @torch.no_grad
    def quiet_too():
        return x * 2

    @torch.set_grad_enabled(False)
    def also_quiet():
        return x * 2

    @torch.inference_mode()
    def inferring():
        return x * 2

    @torch.enable_grad()
    def loud():
        return x * 2

    assert_equal(quiet(3, plus=1), [4, 4, 4])
    assert (quiet.__name__, quiet.__doc__) == ("quiet", "Document.")
    for result in (quiet(2), quiet_too(), also_quiet(), inferring()):
        assert not result.requires_grad
    with torch.no_grad():
        assert loud().requires_grad
    assert torch.is_grad_enabled()


def test_a_decorated_generator_runs_in_the_mode_and_its_caller_does_not(torch):
    x = torch.ones(1, requires_grad=True)

    @torch.no_grad()
    def quiet():
        yield (x * 1).requires_grad
        yield (x * 2).requires_grad

    for inside in quiet():
        assert inside is False
        assert torch.is_grad_enabled()


def test_modes_belong_to_their_thread(torch):
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_inference_mode(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled()
        assert not torch.is_grad_enabled()
        y = x * 2
        with torch.inference_mode(False):
            assert (x * 2).requires_grad
    assert not torch.is_inference_mode_enabled()
    assert y.is_inference()
    assert not x.is_inference()
    assert not (x * 2).is_inference()
    assert (y.requires_grad, y.grad_fn) == (False, None)


def test_inference_tensors_cannot_enter_a_graph_or_be_written_outside(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        y = torch.ones(3) * 2
        y.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * y
    with pytest.raises(RuntimeError, match=r"[Ii]nplace update to inference tensor outside InferenceMode"):
        y.add_(1)
    assert_equal(x * y.clone(), y.tolist())
    assert_equal(x + y, (y + 1).tolist())


@pytest.mark.beyond
def test_a_refused_write_to_an_inference_tensor_writes_nothing(torch):
    with torch.inference_mode():
        y = torch.ones(3)
    with pytest.raises(RuntimeError, match=r"[Ii]nference"):
        y.add_(1)
    assert_equal(y, [1, 1, 1])


def test_inference_tensors_have_no_version(torch):
    with torch.inference_mode():
        y = torch.ones(3)
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        y._version  # noqa: B018


def test_requires_grad_of_leaves_can_be_changed(torch):
    x = torch.ones(3)
    assert x.requires_grad_() is x
    assert x.requires_grad
    assert not x.requires_grad_(False).requires_grad
    x.requires_grad = True
    assert (x * 1).requires_grad


def test_requires_grad_of_results_cannot_be_switched_off(torch):
    y = torch.ones(3, requires_grad=True) * 2
    for attempt in (lambda: y.requires_grad_(False), lambda: setattr(y, "requires_grad", False)):
        with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
            attempt()
    assert y.requires_grad
    assert y.requires_grad_() is y


def test_detach_shares_memory_and_has_no_history(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    d = y.detach()
    assert (d.requires_grad, d.grad_fn, d.is_leaf) == (False, None, True)
    assert d.data_ptr() == y.data_ptr()
    d[0] = 7.0
    assert y.tolist() == [7.0, 2.0, 2.0]
    assert y.requires_grad


def test_no_gradient_flows_through_detach(torch):
    x = torch.tensor([3.0], requires_grad=True)
    (x * x.detach()).backward()
    assert x.grad.tolist() == [3.0]


def test_detach_in_place_makes_a_leaf(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    assert y.detach_() is y
    assert (y.requires_grad, y.grad_fn, y.is_leaf) == (False, None, True)


def test_detach_in_place_of_a_view_is_refused(torch):
    base = torch.ones(3, requires_grad=True) * 2
    view = base[:2]
    with pytest.raises(RuntimeError, match=r"[Cc]an't detach views in-place"):
        view.detach_()
    assert view.requires_grad


def test_data_shares_memory_and_not_the_version(torch):
    x = torch.ones(3, requires_grad=True)
    assert not x.data.requires_grad
    assert x.data.data_ptr() == x.data_ptr()
    version = x._version
    x.data.add_(1)
    assert x.tolist() == [2.0, 2.0, 2.0]
    assert x._version == version
    assert x.data is not x


def test_assigning_data_swaps_the_memory(torch):
    x = torch.ones(3, requires_grad=True)
    fresh = torch.full((3,), 5.0)
    x.data = fresh
    assert x.tolist() == [5.0, 5.0, 5.0]
    assert x.data_ptr() == fresh.data_ptr()
    assert x.requires_grad
    x.data = torch.zeros(2, 2)
    assert tuple(x.shape) == (2, 2)


def test_clone_is_new_memory_with_history(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.clone()
    assert y.grad_fn.name() == "CloneBackward0"
    assert y.data_ptr() != x.data_ptr()
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]
    assert not x.detach().clone().requires_grad
