"""Random compositions of transforms: some by the commit, and in `.ci/full` more of a new seed."""

import secrets

import pytest
import transforms

import clew

pytestmark = [
    pytest.mark.beyond,
    pytest.mark.filterwarnings("ignore::UserWarning"),  # PyTorch's, of layers and of what is deprecated
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def finds(seed, count):
    shown = []
    transforms.run(seed, count, None, shown.append)
    return shown


def test_compositions_by_the_commit(oracle):
    assert not finds(transforms.derivatives.seed(), 40)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_compositions_of_a_new_seed(oracle):
    seed = secrets.token_hex(4)
    assert not finds(seed, 2000), f"seed {seed}"


# Each was found once; mended since.
LINES = [
    "grad:square jvp vmap:last | torch.min(x) | x=distinct(2, 3) | plain",
    "grad:nonlinear forward_ad | nn.GroupNorm(2, 4) | x=real(2, 4, 2) | plain",
    "jacfwd vjp jvp:self | torch.special.log_ndtr(x) | x=real(2, 3) | plain",
    "vmap(jvp) jacfwd | torch.dot(x, y) | x=real(3), y=real(3) | plain",
    "hessian:nonlinear linearize jvp | nn.Linear(3, 2) | x=real(2, 3) | plain",
    "hessian:square grad:square | torch.split(x, 2, 1) | x=real(2, 3) | plain",
    "jvp:transposed | torch.cartesian_prod(x, y) | x=real(2), y=real(3) | input expanded",
    "jacfwd vmap(jvp) | F.embedding(i, w) | i=index(3, 2, 2), w=real(3, 2) | input expanded",
]


@pytest.mark.parametrize("line", LINES)
def test_a_composition_that_was_wrong(oracle, line):
    assert not transforms.difference(transforms.Composition.parsed(line))


def test_a_wrong_transform_would_be_found(oracle, monkeypatch):
    """PyTorch and differences say otherwise."""
    right = clew.func.jvp
    wrong = lambda f, x, v: tuple(2 * one for one in right(f, x, v))  # noqa: E731
    monkeypatch.setattr(clew.func, "jvp", wrong)
    found = transforms.difference(transforms.Composition.parsed("jvp | torch.sin(x) | x=real(2, 3) | plain"))
    assert found.startswith("jvp: ")
    assert "instead of" in found
