"""5 An error about a leaf says what the program calls it: by its module's path, where it is a parameter."""

import pytest


@pytest.fixture
def model(torch):
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))


@pytest.mark.beyond
def test_5_a_weight_that_was_modified_before_backward(torch, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.ones(1, 2)).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    with pytest.raises(torch.autograd.errors.InplaceError) as caught:
        loss.backward()
    assert caught.value.tensor_name == "model.2.weight"
    assert "`model.2.weight` has this memory.\nThe last write" in str(caught.value)


@pytest.mark.beyond
def test_5_an_activation_that_was_modified(torch):
    x = torch.ones(2, requires_grad=True)
    hidden = x.exp()
    hidden += 1
    with pytest.raises(torch.autograd.errors.InplaceError) as caught:
        hidden.sum().backward()
    assert caught.value.tensor_name == "hidden"


@pytest.mark.beyond
def test_5_what_has_no_name_is_given_none(torch):
    def made():
        hidden = torch.ones(2, requires_grad=True).exp()
        hidden += 1
        return hidden.sum()

    with pytest.raises(torch.autograd.errors.InplaceError) as caught:
        made().backward()
    assert caught.value.tensor_name is None
    assert "has this memory" not in str(caught.value)


@pytest.mark.beyond
def test_5_a_leaf_that_is_written(torch, model):
    with pytest.raises(RuntimeError, match=r"in-place operation\. The leaf is `model\.2\.bias`\. To do: "):
        model[2].bias.add_(1)
    with pytest.raises(RuntimeError, match=r"a view of a leaf .*\. The leaf is `model\.0\.weight`\. To do: "):
        model[0].weight[0].zero_()
    with pytest.raises(RuntimeError, match=r"in-place operation\. To do: "):
        torch.ones(2, requires_grad=True).add_(1)


@pytest.mark.beyond
def test_5_an_input_that_was_not_used(torch, model):
    loss = model[0](torch.ones(1, 2)).sum()
    with pytest.raises(RuntimeError, match=r"at index 2 \(`model\.2\.weight`\) appears to not have been used"):
        torch.autograd.grad(loss, list(model.parameters()))
