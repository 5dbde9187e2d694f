"""Factors by place, as programs before PyTorch 1.5 give them: ``add_(alpha, other)``."""

import warnings

import pytest

CALLS = {
    "add_": lambda m, x, y, a, b: x.add_(2, y),
    "sub_": lambda m, x, y, a, b: x.sub_(2, y),
    "addcmul_": lambda m, x, y, a, b: x.addcmul_(0.5, y, y),
    "addcdiv_": lambda m, x, y, a, b: x.addcdiv_(-0.5, y, y),
    "add": lambda m, x, y, a, b: m.add(x, 2, y),
    "addcmul": lambda m, x, y, a, b: m.addcmul(x, 0.5, x, y),
    "addcdiv": lambda m, x, y, a, b: m.addcdiv(x, 0.5, x, y),
    "addmm_, beta": lambda m, x, y, a, b: a.addmm_(0.5, b, b),
    "addmm_, both": lambda m, x, y, a, b: a.addmm_(0.5, 0.25, b, b),
    "addmm": lambda m, x, y, a, b: m.addmm(0.5, a, 0.25, b, b),
    "addmv_": lambda m, x, y, a, b: x.addmv_(0.5, a, y),
}


def result(m, call):
    x, y = m.tensor([1.0, -2.0]), m.tensor([3.0, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says that they are old
        return CALLS[call](m, x, y, m.ones(2, 2), m.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()


@pytest.mark.parametrize("call", CALLS)
def test_they_do_what_pytorchs_do(call, torch, oracle):
    assert result(torch, call) == result(oracle, call)


def test_other_numbers_are_still_refused(torch):
    x = torch.ones(2)
    for call in (lambda: torch.addcmul(x, 1, 2, x), lambda: torch.mul(x, 2, x), lambda: torch.add(2, 3, x, x)):
        with pytest.raises(TypeError):
            call()
