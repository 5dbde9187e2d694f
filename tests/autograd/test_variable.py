"""`Variable`, by which programs before 2018 made what they differentiate."""

import warnings

import pytest


def test_the_spelling_of_old_programs(torch):
    from_torch = torch.autograd.Variable
    x = from_torch(torch.ones(2, 2), requires_grad=True)
    y = x + 2
    z = y * y * 3
    z.mean().backward()
    assert type(x) is torch.Tensor
    assert x.grad.tolist() == [[4.5, 4.5], [4.5, 4.5]]
    assert x.is_leaf
    assert x.grad_fn is None


@pytest.mark.parametrize(
    ("arguments", "keywords", "requires_grad"),
    [
        ((), {}, False),
        ((True,), {}, True),
        ((), {"requires_grad": True}, True),
        ((False,), {}, False),
        ((1, False), {}, True),
        ((), {"name": "x"}, False),
        ((), {"_grad_fn": None}, False),
    ],
)
def test_requires_grad_by_place_and_by_name(torch, arguments, keywords, requires_grad):
    data = torch.ones(2)
    variable = torch.autograd.Variable(data, *arguments, **keywords)
    assert variable.requires_grad is requires_grad
    assert not data.requires_grad, "the tensor itself stays as it is"
    assert variable is not data


def test_it_shares_memory_and_versions(torch):
    data = torch.ones(2)
    variable = torch.autograd.Variable(data=data, requires_grad=True)
    assert variable.data_ptr() == data.data_ptr()
    data.add_(1)
    assert variable.tolist() == [2, 2]
    assert variable._version == 1


def test_of_a_result_and_of_nothing(torch):
    x = torch.ones(2, requires_grad=True)
    for made in (torch.autograd.Variable(x * 2), torch.autograd.Variable(torch.nn.Parameter(x.detach()))):
        assert type(made) is torch.Tensor
        assert made.grad_fn is None
        assert not made.requires_grad
    assert torch.autograd.Variable().shape == torch.autograd.Variable(None).shape == (0,)


def test_all_tensors_are_instances(torch):
    variable = torch.autograd.Variable
    for value in (torch.ones(1), torch.nn.Parameter(torch.ones(1)), variable(torch.ones(1)), torch.ones(1).data):
        assert isinstance(value, variable)
    for value in (1.0, [1.0], None, torch.nn.Linear(1, 1), variable):
        assert not isinstance(value, variable)
    assert torch.autograd.variable.Variable is variable


def test_volatile_warns_and_has_no_effect(torch):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = [torch.autograd.Variable(torch.ones(1), volatile=True), torch.autograd.Variable(torch.ones(1), 0, True)]
        with pytest.raises(ValueError, match="volatile and require_grad at the same time"):
            torch.autograd.Variable(torch.ones(1), requires_grad=True, volatile=True)
    assert "volatile was removed and now has no effect" in str(told[0].message)
    assert not any(one.requires_grad for one in made)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (lambda torch: (3.0,), TypeError, "Variable data has to be a tensor, but got float"),
        (lambda torch: ([1, 2],), TypeError, "Variable data has to be a tensor, but got list"),
        (lambda torch: (torch.ones(1), None), TypeError, "NoneType"),
        (lambda torch: (torch.ones(1), "yes"), TypeError, "str"),
        (lambda torch: (torch.ones(1, dtype=torch.int64), True), RuntimeError, "floating point"),
    ],
)
def test_what_is_refused(torch, arguments, error, match):
    with pytest.raises(error, match=match):
        torch.autograd.Variable(*arguments(torch))
