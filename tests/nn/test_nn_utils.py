"""Clipping gradients; parameters as a vector."""

import pytest


def with_gradients(m):
    model = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.Linear(4, 1, bias=False))
    (model(m.ones(2, 3)) * 10).sum().backward()
    model[0].bias.grad = None
    return model


@pytest.mark.parametrize("norm_type", [1.0, 2.0, float("inf")])
@pytest.mark.parametrize("max_norm", [0.5, 1e6])
def test_norms_are_clipped(norm_type, max_norm, agree):
    def program(m):
        model = with_gradients(m)
        norm = m.nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type)
        return norm, [parameter.grad for parameter in model.parameters()]

    agree(program)


@pytest.mark.parametrize("norm_type", ["inf", "2"])
def test_the_order_of_a_norm_may_be_a_text(norm_type, agree):
    def program(m):
        model = with_gradients(m)
        total = m.nn.utils.get_total_norm([model[0].weight.grad, model[1].weight.grad], norm_type)
        return total, m.nn.utils.clip_grad_norm_(model.parameters(), 0.1, norm_type=norm_type), model[0].weight.grad

    agree(program)


def test_values_are_clipped_in_place(agree):
    def program(m):
        model = with_gradients(m)
        grad = model[0].weight.grad
        m.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        return [parameter.grad for parameter in model.parameters()], model[0].weight.grad is grad

    agree(program)


def test_no_gradients_have_norm_zero(torch):
    assert torch.nn.utils.clip_grad_norm_([torch.nn.Parameter(torch.ones(2))], 1.0).item() == 0.0


def test_a_norm_that_is_not_finite_is_refused_if_asked(torch):
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.tensor([float("inf"), 1.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        torch.nn.utils.clip_grad_norm_(parameter, 1.0, error_if_nonfinite=True)


def test_parameters_become_a_vector_and_come_back(agree):
    def program(m):
        model = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.Linear(4, 1))
        vector = m.nn.utils.parameters_to_vector(model.parameters())
        m.nn.utils.vector_to_parameters(vector.detach() * 2, model.parameters())
        return vector, list(model.parameters()), all(parameter.is_leaf for parameter in model.parameters())

    agree(program)


def test_a_vector_of_another_size_is_refused(torch):
    with pytest.raises(TypeError, match=r"expected (torch\.)?Tensor"):
        torch.nn.utils.vector_to_parameters([1.0], [])


@pytest.mark.beyond
def test_a_vector_with_elements_left_over_is_refused(torch):
    with pytest.raises(ValueError, match="expected 2 elements, got 3"):
        torch.nn.utils.vector_to_parameters(torch.ones(3), [torch.nn.Parameter(torch.ones(2))])
