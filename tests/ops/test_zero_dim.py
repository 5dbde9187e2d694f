"""0-dim and empty tensors, and operands that could be read as numbers, as PyTorch treats them."""

import contextlib
import functools
import warnings

import pytest

clew = pytest.importorskip("clew")
torch = pytest.importorskip("torch")

CASES = {
    "max by a 0-dim tensor": lambda m: m.max(m.ones(2, 3), m.tensor(0)),
    "min by a 0-dim tensor": lambda m: m.min(m.ones(2, 3), m.tensor(0)),
    "the method max": lambda m: m.ones(2, 3).max(m.tensor(2)),
    "max along an axis": lambda m: m.max(m.ones(2, 3), 0).values,
    "max along a named axis": lambda m: m.max(m.ones(2, 3), dim=m.tensor(0)).values,
    "cosine_similarity of a vector": lambda m: m.nn.functional.cosine_similarity(m.ones(3, 4), m.ones(4), dim=1),
    "cosine_similarity both ways": lambda m: m.nn.functional.cosine_similarity(m.ones(1, 4), m.ones(4, 1), dim=1),
    "cosine_similarity of integers": lambda m: m.nn.functional.cosine_similarity(m.arange(3), m.ones(3), dim=0),
    "cosine_similarity of integers alone": lambda m: m.nn.functional.cosine_similarity(m.arange(3), m.arange(3), dim=0),
    "diff of order 0": lambda m: m.diff(m.arange(4), n=0, append=m.tensor([9]), prepend=m.tensor([7])),
    "unique of a 0-dim tensor": lambda m: m.unique(m.tensor(3), return_inverse=True, return_counts=True),
    "unique_consecutive": lambda m: m.unique_consecutive(m.tensor(3), return_inverse=True, return_counts=True),
    "unique along no axis": lambda m: m.unique(m.tensor(3), dim=0),
    "unique of empty slices": lambda m: m.unique(m.zeros(2, 0), dim=0),
    "prelu of a 0-dim tensor": lambda m: m.nn.functional.prelu(m.tensor(-2.0), m.tensor([0.5])),
    "prelu by a 0-dim weight": lambda m: m.nn.functional.prelu(m.tensor([-2.0, 3.0]), m.tensor(0.5)),
    "prelu of a 0-dim tensor by two": lambda m: m.nn.functional.prelu(m.tensor(-2.0), m.ones(2)),
    "prelu by another dtype": lambda m: m.nn.functional.prelu(m.ones(2), m.ones(1, dtype=m.float64)),
    "glu of a 0-dim tensor": lambda m: m.nn.functional.glu(m.tensor(1.0)),
    "glu of nothing": lambda m: m.nn.functional.glu(m.zeros(2, 0)),
    "rot90 of a 0-dim tensor": lambda m: m.rot90(m.tensor(1.0)),
    "cartesian_prod of 0-dim tensors": lambda m: m.cartesian_prod(m.tensor(1.0), m.tensor(2.0)),
}


def outcome(module, program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = program(module)
        except (RuntimeError, IndexError) as error:
            return type(error).__name__
    each = result if isinstance(result, tuple) else (result,)
    return [(tuple(x.shape), str(x.dtype).rpartition(".")[2], (x * 1e5).round().tolist()) for x in each]


@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name):
    assert outcome(clew, CASES[name]) == outcome(torch, CASES[name])


# Arguments of every public function: tensors of no axes, a number for an axis or an order, vectors beside them.
ZERO_DIM = [(0.3,), (0.3, 0.6), (0.3, 0.6, 0.7), (0.3, 0), (2,), (2, 3), (True,), (0.3, [1.5]), (0.3, [1.5, 2.0])]


def zero_dim_calls(module, place, arguments, names=None):
    """By name, the shapes of what each public function gives that takes the arguments."""
    owner = functools.reduce(getattr, filter(None, place.split(".")), module)
    found = {}
    for name in dir(owner) if names is None else names:
        call = getattr(owner, name, None)
        skipped = name.startswith(("_", "set_", "get_", "rand", "use_", "storage", "seed", "manual_seed"))
        if skipped or not callable(call) or isinstance(call, type):
            continue
        first, *rest = arguments
        given = [module.tensor(first), *(one if type(one) is int else module.tensor(one) for one in rest)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(Exception):
                found[name] = shapes(call(*given))
    return found


def shapes(result):
    if isinstance(result, tuple | list):
        return [shapes(one) for one in result]
    return tuple(result.shape) if hasattr(result, "shape") else None


@pytest.mark.parametrize("arguments", ZERO_DIM, ids=str)
@pytest.mark.parametrize("place", ["", "special", "nn.functional", "linalg", "fft", "Tensor"])
def test_shapes_of_all_functions_of_0_dim_tensors(place, arguments):
    ours = zero_dim_calls(clew, place, arguments)
    theirs = zero_dim_calls(torch, place, arguments, ours)
    assert {name: ours[name] for name in theirs} == theirs


def test_prelu_of_a_0_dim_tensor_has_gradients():
    x, weight = clew.tensor(-2.0, requires_grad=True), clew.tensor([0.5], requires_grad=True)
    clew.nn.functional.prelu(x, weight).backward()
    assert (x.grad.item(), weight.grad.tolist()) == (0.5, [-2.0])


def test_a_tensor_comes_before_a_number_among_overloads():
    """The first overload that fits is called, and a 0-dim tensor also stands for a number."""
    tensors = {"Tensor", "Operand"}
    groups = [getattr(clew._core.ops, name) for name in dir(clew._core.ops)]
    for group in (each for each in groups if hasattr(each, "overloads")):
        lists = [[argument["type"].rstrip("?") for argument in each["arguments"]] for each in group.overloads]
        for before, types in enumerate(lists):
            for later in lists[before + 1 :]:
                for mine, other in zip(types, later, strict=False):
                    if mine != other:
                        assert not (other in tensors and mine not in tensors), group.overloads[before]["schema"]
                        break


@pytest.mark.parametrize("symbol", ["+", "-", "*", "//", "%", "**", "&", "|", "^", "<<", ">>"])
def test_augmented_assignments_write_in_place(symbol):
    found = []
    for module in (clew, torch):
        x = module.tensor([5, 6, 7])
        names = {"x": x}
        exec(f"x {symbol}= 2", names)
        found.append((names["x"] is x, x.tolist(), x._version))
    assert found[0] == found[1]
    assert found[0][0]


def test_all_of_pytorchs_augmented_assignments_exist():
    kinds = "add sub mul truediv floordiv mod pow and or xor lshift rshift"
    theirs = {f"__i{kind}__" for kind in kinds.split()} & set(dir(torch.Tensor))
    assert theirs <= set(dir(clew.Tensor))
