"""Views: other shapes, orders and windows of the same memory."""

import numpy
import pytest
import torch as pytorch
from oracle import check, check_error, module, sample, strided

CASES = {
    "view": [((2, 6), (3, 4)), ((2, 6), (-1,)), ((), (1, 1)), ((0, 3), (3, 0)), ((2, 1, 6), (2, 6))],
    "reshape": [((2, 6), (3, 4)), ((2, 6), (2, 6)), ((), (1,)), ((0, 3), (0,))],
    "expand": [((3, 1), (3, 4)), ((3, 1), (2, -1, 4)), ((), (2, 3)), ((1, 0), (4, 0))],
    "broadcast_to": [((3, 1), (3, 4)), ((1,), (2, 0))],
    "transpose": [((2, 3), 0, 1), ((2, 3, 4), -1, 0), ((), 0, -1), ((0, 3), 0, 1)],
    "swapaxes": [((2, 3, 4), 0, 2)],
    "swapdims": [((2, 3, 4), 1, -1)],
    "permute": [((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (-1, -3, -2)), ((), ())],
    "movedim": [((2, 3, 4), 0, 2), ((2, 3, 4), (0, 1), (-1, 0)), ((), 0, 0)],
    "moveaxis": [((2, 3, 4), -1, 0)],
    "t": [((2, 3),), ((3,),), ((),)],
    "unsqueeze": [((2, 3), 0), ((2, 3), -1), ((), 0)],
    "squeeze": [((2, 1, 3, 1),), ((2, 1, 3, 1), 1), ((2, 1, 3, 1), 0), ((2, 1, 3, 1), (1, 3)), ((),), ((), 0)],
    "flatten": [((2, 3, 4),), ((2, 3, 4), 1), ((2, 3, 4), 0, 1), ((),), ((2, 0, 3), 1), ((2, 3), 1, 1)],
    "unflatten": [((2, 6), 1, (2, 3)), ((2, 6), -1, (-1, 2)), ((4,), 0, (2, 2))],
    "ravel": [((2, 3),), ((),), ((3,),)],
    "select": [((2, 3), 0, 1), ((2, 3, 4), -1, -2)],
    "narrow": [((5, 2), 0, 1, 3), ((5, 2), 1, -1, 1), ((5, 2), 0, 5, 0)],
    "diagonal": [
        ((3, 4),),
        ((3, 4), 1),
        ((3, 4), -2),
        ((2, 3, 4), 0, 0, 2),
        ((2, 3, 4), 1, -1, 0),
        ((3, 4), 9),
        ((0, 2),),
    ],
    "unfold": [((7,), 0, 3, 2), ((2, 5), 1, 2, 1), ((), 0, 1, 1), ((4, 3), 0, 4, 1), ((4,), 0, 0, 1)],
    "as_strided": [((3, 4), (2, 2), (1, 2)), ((3, 4), (3, 3), (1, 1), 2)],
}


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases])
def test_views(name, case):
    shape, *arguments = case
    check(name, sample(shape), *arguments, method=True)
    check(name, sample(shape, dtype="float32"), *arguments, method=True, second=False)
    check(name, sample(shape, dtype="int64"), *arguments, method=True)


STRIDED = [
    ("reshape", (12,)),
    ("flatten",),
    ("permute", (1, 2, 0)),
    ("unsqueeze", 1),
    ("select", 1, 0),
    ("narrow", 0, 1, 2),
    ("diagonal", 0, 0, 2),
    ("unfold", 2, 2, 1),
    ("unflatten", 2, (1, 2)),
]


@pytest.mark.parametrize("case", STRIDED, ids=lambda case: case[0])
def test_views_of_strided_memory(case):
    name, *arguments = case
    check(name, strided(sample((3, 2, 2))), *arguments, method=True)


def test_number_arguments_may_stand_alone():
    for name, *sizes in (("view", 3, 4), ("reshape", -1, 6), ("permute", 1, 0), ("expand", 2, 6)):
        check(name, sample((2, 6)), *sizes, method=True)


@pytest.mark.parametrize("name", ["T", "mT", "mH", "H"])
def test_properties(name):
    x = sample((2, 3))
    ours = module.from_numpy(x.copy()).requires_grad_()
    result = getattr(ours, name)
    assert numpy.array_equal(result.detach().numpy(), x.T)
    assert result.grad_fn.name() == ("PermuteBackward0" if name == "T" else "TransposeBackward0")
    assert result._base is ours
    (result * module.from_numpy(sample((3, 2), seed=1))).sum().backward()
    assert numpy.array_equal(ours.grad.numpy(), sample((3, 2), seed=1).T)


def test_matrix_transpose_of_a_batch():
    x = module.from_numpy(sample((2, 3, 4)))
    assert x.mT.shape == (2, 4, 3)
    with pytest.raises(RuntimeError, match=r"tensor\.mT is only supported on matrices"):
        module.from_numpy(sample((3,))).mT  # noqa: B018
    with pytest.raises(RuntimeError, match=r"tensor\.H is only supported on matrices"):
        x.H  # noqa: B018


def test_like_another():
    other = sample((3, 4), seed=1)
    check("view_as", sample((2, 6)), other, method=True)
    check("reshape_as", strided(sample((6, 2))), other, method=True)
    check("expand_as", sample((3, 1)), other, method=True)
    check_error("view_as", sample((5,)), other, method=True, match="is invalid for input of size 5")


def test_what_stays_a_view_and_what_does_not():
    x = module.from_numpy(sample((2, 6)))
    for view in (x.view(12), x.reshape(12), x.reshape(2, 6), x.T, x[0], x[:, 1:], x.flatten(), x.unfold(1, 2, 2)):
        assert view._base is x
    copy = x.T.reshape(12)
    assert copy._base is None
    assert copy.data_ptr() != x.data_ptr()
    assert x.flatten(0, 0) is x


VIEWS_THAT_CHANGE_NOTHING = {
    "expand": lambda torch, x: x.expand(2, 3),
    "expand_as": lambda torch, x: x.expand_as(x),
    "broadcast_to": lambda torch, x: torch.broadcast_to(x, (2, 3)),
    "broadcast_tensors": lambda torch, x: torch.broadcast_tensors(x, x)[0],
    "unflatten": lambda torch, x: x.unflatten(1, (3,)),
    "unflatten, a size left out": lambda torch, x: x.unflatten(0, (-1,)),
    "view": lambda torch, x: x.view(2, 3),
    "view_as": lambda torch, x: x.view_as(x),
    "reshape": lambda torch, x: x.reshape(2, 3),
    "reshape_as": lambda torch, x: x.reshape_as(x),
    "einsum": lambda torch, x: torch.einsum("ij->ij", x),
    "einsum, implied": lambda torch, x: torch.einsum("ij", x),
    "einsum, ellipsis": lambda torch, x: torch.einsum("...->...", x),
    "squeeze": lambda torch, x: x.squeeze(),
    "squeeze of an axis": lambda torch, x: x.squeeze(0),
    "squeeze of none": lambda torch, x: x.squeeze(()),
    "movedim": lambda torch, x: x.movedim(0, 0),
    "transpose": lambda torch, x: x.transpose(0, 0),
    "permute": lambda torch, x: x.permute(0, 1),
    "slice": lambda torch, x: x[:],
    "dots": lambda torch, x: x[...],
    "narrow": lambda torch, x: x.narrow(0, 0, 2),
    "chunk": lambda torch, x: x.chunk(1)[0],
    "split": lambda torch, x: x.split(2)[0],
    "tensor_split": lambda torch, x: x.tensor_split(1)[0],
    "as_strided": lambda torch, x: x.as_strided((2, 3), (3, 1)),
    "unflatten module": lambda torch, x: torch.nn.Unflatten(1, (3,))(x),
    "detach": lambda torch, x: x.detach(),
    "positive": lambda torch, x: +x,
    "flatten": lambda torch, x: x.flatten(1),
    "contiguous": lambda torch, x: x.contiguous(),
    "to": lambda torch, x: x.to(x.dtype),
    "atleast_2d": lambda torch, x: torch.atleast_2d(x),
    "dropout": lambda torch, x: torch.nn.functional.dropout(x, 0.5, training=False),
}


@pytest.mark.parametrize("how", VIEWS_THAT_CHANGE_NOTHING)
@pytest.mark.parametrize("needs_grad", [False, True])
def test_the_argument_itself_is_given_back_where_pytorch_gives_it(how, needs_grad):
    def run(library):
        x = library.ones(2, 3, requires_grad=needs_grad)
        result = VIEWS_THAT_CHANGE_NOTHING[how](library, x)
        told = (result is x, result._is_view(), result.requires_grad, result.is_leaf)
        result.requires_grad_()
        node = result.grad_fn and result.grad_fn.next_functions[0][0].variable is x
        return *told, x.requires_grad, node

    assert run(module) == run(pytorch)


BAD = [
    ("view", (2, 6), ((5,),), RuntimeError, "is invalid for input of size 12"),
    ("view", (2, 6), ((-1, -1),), RuntimeError, "only one dimension can be inferred"),
    ("view", (0,), ((-1, 0),), RuntimeError, "ambiguous"),
    ("expand", (2, 3), ((3,),), RuntimeError, "must be greater or equal to the number of dimensions"),
    ("expand", (2, 3), ((4, 3),), RuntimeError, "must match the existing size (2)"),
    ("transpose", (2, 3), (0, 2), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
    ("permute", (2, 3), ((0, 0),), RuntimeError, "duplicate dims"),
    ("permute", (2, 3), ((0,),), RuntimeError, "does not match the length"),
    ("movedim", (2, 3), ((0, 1), (1, 1)), RuntimeError, "repeated dim"),
    ("movedim", (2, 3), ((0, 1), (1,)), RuntimeError, "should contain the same number of dims"),
    ("unsqueeze", (2, 3), (4,), IndexError, "Dimension out of range"),
    ("squeeze", (2, 3), (2,), IndexError, "Dimension out of range"),
    ("t", (2, 2, 2), (), RuntimeError, "<= 2 dimensions"),
    ("select", (2, 3), (0, 2), IndexError, "select(): index 2 out of range for tensor of size [2, 3] at dimension 0"),
    ("select", (), (0, 0), IndexError, "0-dim"),
    ("narrow", (3,), (0, 1, 3), RuntimeError, "start (1) + length (3) exceeds dimension size (3)"),
    ("narrow", (3,), (0, 0, -1), RuntimeError, "length must be non-negative"),
    ("narrow", (3,), (0, 4, 0), IndexError, "start out of range"),
    ("narrow", (), (0, 0, 1), RuntimeError, "0-dim"),
    ("flatten", (2, 3), (1, 0), RuntimeError, "start_dim cannot come after end_dim"),
    ("unflatten", (2, 6), (1, (4, 2)), RuntimeError, "don't multiply up to the size of dim 1 (6)"),
    ("unflatten", (2, 6), (1, ()), RuntimeError, "sizes must be non-empty"),
    ("diagonal", (2, 3), (0, 1, 1), RuntimeError, "diagonal dimensions cannot be identical 1, 1"),
    ("diagonal", (3,), (), IndexError, "Dimension out of range"),
    ("unfold", (3,), (0, 4, 1), RuntimeError, "maximum size for tensor at dimension 0 is 3 but size is 4"),
    ("unfold", (3,), (0, 1, 0), RuntimeError, "step is 0 but must be > 0"),
]


@pytest.mark.parametrize(("name", "shape", "arguments", "error", "words"), BAD)
def test_bad_arguments(name, shape, arguments, error, words):
    check_error(name, sample(shape), *arguments, error=error, match=words, method=True)


def test_view_of_memory_with_gaps_is_refused():
    check_error("view", strided(sample((3, 4))), (12,), match="Use .reshape(...) instead", method=True)


# ---------------------------------------------------------------------------------------------------- axes, in place
IN_PLACE = [
    ((2, 3), "t_", ()),
    ((2, 3, 4), "transpose_", (0, -1)),
    ((2, 3), "swapaxes_", (0, 1)),
    ((2, 3), "unsqueeze_", (1,)),
    ((2, 1, 3), "squeeze_", ()),
    ((2, 1, 3), "squeeze_", (1,)),
    ((2, 1, 3, 1), "squeeze_", ((1, -1),)),
    ((2, 1, 3, 1), "squeeze_", ((0, 1),)),
    ((2, 1), "squeeze_", ((),)),
]


@pytest.mark.parametrize(("shape", "name", "arguments"), IN_PLACE)
def test_axes_changed_in_place(shape, name, arguments):
    check(name, sample(shape), *arguments, method=True)


def test_axes_to_squeeze_are_named_once():
    check_error("squeeze", sample((1, 2)), (0, 0), match="appears multiple times")
    check_error("squeeze_", sample((1, 2)), (0, -2), method=True, match="appears multiple times")


def test_axes_of_a_view_with_history_are_not_changed_in_place():
    base = module.from_numpy(sample((2, 3))).requires_grad_() * 1
    view = base[:1]
    with pytest.raises(NotImplementedError, match="view that has a history"):
        view.t_()
    assert view.shape == (1, 3)


@pytest.mark.beyond
def test_a_view_as_bool_is_of_zeros_and_ones():
    import clew

    x = clew.tensor([1, 0, 1], dtype=clew.uint8)
    assert x.view(clew.bool).tolist() == [True, False, True]
    assert x[::2].view(clew.bool).tolist() == [True, True]
    with pytest.raises(RuntimeError, match="view: expected bytes 0 and 1"):
        clew.tensor([1, 0, 2], dtype=clew.uint8).view(clew.bool)
    assert clew.ones(3, dtype=clew.uint8, device="meta").view(clew.bool).dtype is clew.bool
