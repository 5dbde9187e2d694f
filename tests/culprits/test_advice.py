"""5.1 The smallest repair: what the message of a second backward says is to be changed."""

import pytest
import second_backward
from corpus import marked_lines

from clew.graph.explanations.repairs import repair_of

pytestmark = pytest.mark.beyond


def advice_of(torch, program):
    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        program.run(torch)
    assert str(caught.value).endswith(f"To do: {caught.value.advice}")
    return caught.value.advice


def line(program, mark):
    return f"second_backward.py:{program.lines[mark]}"


def test_a_value_from_outside_the_loop(torch):
    program = second_backward.value_made_outside_the_loop
    assert advice_of(torch, program) == (
        f"`h` was created at {line(program, 'made')}, outside the loop at line {program.lines['made'] + 1}, and used "
        f"again at {line(program, 'used')}: compute it inside the loop, or retain the graph: retain_graph=True at "
        f"{line(program, 'freed')}"
    )


NO_HISTORY = {
    "value_made_outside_the_loop",
    "closure_of_lbfgs_uses_a_value_from_outside",
    "weight_normalised_before_the_loop",
    "slices_of_one_encoding_as_minibatches",
}  # would be left if the shared value were detached
SOME_HISTORY = {
    "hidden_state_carried_over",
    "two_losses_share_a_trunk",
    "l2_term_computed_once",
    "input_projected_before_the_loop",
    "total_of_losses_run_at_every_step",
}


@pytest.mark.parametrize("name", sorted(NO_HISTORY | SOME_HISTORY))
def test_a_detach_is_advised_only_where_history_is_left(torch, name):
    assert ("detach" in advice_of(torch, getattr(second_backward, name))) == (name in SOME_HISTORY)


def advice_after(torch, backward):
    """What is advised when a backward of `h` has freed it; `backward(w, h)` is the second."""
    w = torch.ones(2, requires_grad=True)
    h = w.exp()
    h.sum().backward()
    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        backward(w, h)
    return caught.value.advice


def test_every_root_needs_history_of_its_own(torch):
    def backward(w, h):
        torch.autograd.backward([(h * w).sum(), h.sum()])

    assert "detach" not in advice_after(torch, backward)


def test_what_is_asked_for_has_to_be_reached(torch):
    other = torch.ones(2, requires_grad=True)
    assert "detach" in advice_after(torch, lambda w, h: torch.autograd.grad((h * w).sum(), w))
    assert "detach" not in advice_after(torch, lambda w, h: torch.autograd.grad((h * other).sum(), [w, other]))
    assert "detach" not in advice_after(torch, lambda w, h: (h * other).sum().backward(inputs=[w]))


def test_another_part_that_was_freed_is_no_history(torch):
    def backward(w, h):
        other = w.sin()
        other.sum().backward()
        (h.sum() + other.sum()).backward()

    assert "detach" not in advice_after(torch, backward)


def test_carried_over_and_nothing_else(torch):
    def run():
        h = torch.ones(1, requires_grad=True)
        for _ in range(2):
            h = h.exp()
            h.sum().backward()

    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        run()
    assert "carried over" in caught.value.advice
    assert "add the losses and call backward once, after the loop, or retain" in caught.value.advice


def test_a_value_carried_from_iteration_to_iteration(torch):
    advice = advice_of(torch, second_backward.hidden_state_carried_over)
    freed = marked_lines(second_backward.hidden_state_carried_over.run)["freed"]
    assert "`hidden` was created at" in advice
    assert "in an earlier iteration of the loop at line" in advice
    assert f"detach it in between (`hidden = hidden.detach()` after second_backward.py:{freed})" in advice


def test_a_value_carried_from_call_to_call(torch):
    advice = advice_of(torch, second_backward.hidden_state_kept_on_the_module)
    freed = marked_lines(second_backward.hidden_state_kept_on_the_module.run)["freed"]
    assert f"in an earlier iteration of the loop at line {freed - 1}" in advice
    assert f"`model.state = model.state.detach()` after second_backward.py:{freed}" in advice


def test_a_trunk_that_two_losses_share(torch):
    advice = advice_of(torch, second_backward.two_losses_share_a_trunk)
    assert advice.startswith("`features` was created at")
    assert "add the losses and call backward once" in advice


def test_the_same_graph_twice(torch):
    advice = advice_of(torch, second_backward.the_same_loss_twice)
    assert advice.startswith("`loss` had a backward before: compute it again before each backward, or retain")


def test_retaining_too_late(torch):
    assert "comes too late" in advice_of(torch, second_backward.retain_at_the_second_backward)
    assert "comes too late" not in advice_of(torch, second_backward.two_losses_share_a_trunk)


@pytest.mark.parametrize("retains", [False, True])
def test_retaining_is_not_advised_where_an_optimizer_has_stepped_in_between(torch, retains):
    """What the weights were when the retained graph was made is gone: the next error would be that of a write."""

    def run():
        cell = torch.nn.GRUCell(3, 5)
        optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
        hidden = torch.zeros(2, 5)
        for _ in range(3):
            hidden = cell(torch.ones(2, 3), hidden)
            optimizer.zero_grad()
            hidden.square().mean().backward(retain_graph=retains)  # freed
            optimizer.step()  # written

    with pytest.raises(RuntimeError) as caught:
        run()
    if retains:
        assert isinstance(caught.value, torch.autograd.errors.InplaceError)
        return
    advice, lines = caught.value.advice, marked_lines(run)
    assert f"detach it in between (`hidden = hidden.detach()` after test_advice.py:{lines['freed']})" in advice
    assert "or retain" not in advice
    assert f"retain_graph=True would not help, as optimizer.step() at test_advice.py:{lines['written']}" in advice
    repair = repair_of(caught.value)
    assert repair is not None
    assert "retain_graph" not in repair.diff.replace("(retain_graph=retains)", "")


def test_the_same_loss_again_after_a_step(torch):
    def run():
        w = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        loss = (w * w).sum()
        for _ in range(2):
            loss.backward()
            optimizer.step()

    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        run()
    assert caught.value.advice.startswith("`loss` had a backward before: compute it again before each backward; ")


def test_the_closure_of_lbfgs(torch):
    advice = advice_of(torch, second_backward.closure_of_lbfgs_uses_a_value_from_outside)
    assert advice.startswith("`features` was created at")


def test_a_value_without_a_name(torch):
    """Neither a variable nor an assignment tells what it is called."""
    results = []

    def step():
        results[:] = [(results or [torch.ones(2, requires_grad=True)])[0].exp() * 1]  # made
        results[0].sum().backward()

    step()
    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        step()
    error = caught.value
    assert error.shared_name is None
    assert error.shared_at.line == marked_lines(step)["made"]
    assert "a value was created at" in error.advice


def test_source_that_cannot_be_read(torch):
    """Without source there is no loop to speak of; the lines are told all the same."""
    code = "h = torch.ones(1, requires_grad=True).exp()\nfor _ in range(2):\n    h.sum().backward()\n"
    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        exec(compile(code, "<nowhere>", "exec"), {"torch": torch})
    error = caught.value
    assert (error.shared_name, error.shared_at.line, error.freed_at.line) == ("h", 1, 3)
    assert "outside the loop" not in error.advice


def test_an_inner_backward_keeps_its_own_advice(torch):
    """The error of a backward inside a hook tells of the inner graph, not of the outer one that it passes through."""
    inner = torch.ones(1, requires_grad=True).exp().sum()
    inner.backward()
    outer = torch.ones(1, requires_grad=True) * 2
    outer.register_hook(lambda gradient: inner.backward())
    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        outer.backward()
    assert caught.value.advice.startswith("`inner` had a backward before")


def test_a_freed_node_that_is_read_outside_a_backward(torch):
    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        second_backward.reading_what_a_freed_node_saved.run(torch)
    assert "retain_graph=True" in str(caught.value)
    assert caught.value.shared_at is None


def test_other_errors_pass_through_untouched(torch):
    y = torch.ones(1, requires_grad=True).exp()

    def fail(gradient):
        raise KeyError("mine")

    y.register_hook(fail)
    with pytest.raises(KeyError, match="mine"):
        y.backward()


def test_an_input_that_is_a_view_without_history(torch):
    """It requires a gradient, as what it looks at does, and no node gives it one."""
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        view = x.view(2, 1)
    y = x.exp().sum()
    y.backward()
    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        torch.autograd.grad(y, [x, view], allow_unused=True)
    assert "retain_graph=True" in caught.value.advice


def said_in_vmap(torch, function, *batched):
    with pytest.raises(RuntimeError) as caught:
        torch.vmap(function)(*batched)
    return str(caught.value)


def test_vmap_says_what_to_do_about_running_statistics(torch):
    said = said_in_vmap(torch, torch.nn.BatchNorm1d(2), torch.randn(3, 4, 2))
    assert "To do: take eval(), track_running_stats=False, or group normalization" in said
    assert "operators instead" not in said


def test_vmap_says_which_line_writes_what_is_batched(torch):
    def filled(y):
        x = torch.zeros(4)
        x[1:3] = y
        return x

    def added(y):
        return torch.zeros(2).add_(y)

    first = filled.__code__.co_firstlineno
    said = said_in_vmap(torch, filled, torch.ones(3, 2))
    assert f"at test_advice.py:{first + 2} in filled" in said
    assert "y.new_zeros(...)" in said
    said = said_in_vmap(torch, added, torch.ones(3, 2))
    assert f"at test_advice.py:{added.__code__.co_firstlineno + 1} in added" in said
    assert "out-of-place operators instead of add_" in said
