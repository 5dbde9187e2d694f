"""Types, bits, strides, gradients and identities of tensors and other arguments."""

import math

import clew

from .harness import program
from .values import x3


@program
def numbers_by_type_and_bits(s):
    f = s.compile(lambda x, a: (x * a, a, 1 / a if a else str(a)))
    for a in (1.0, 1, True, 1.0, 0.0, -0.0, 0, False, math.nan, math.nan, -math.nan, math.inf, 2**70):
        s.call(f, x3(), a)


@program
def texts_and_none(s):
    f = s.compile(lambda x, a, b="x": (x * (1 if a is None else len(str(a))), a, b))
    for a in (None, "none", "a", b"a", 1j, ("a", None), ["a", None], {"a": None}, ..., range(3), slice(1)):
        s.calls(2, f, x3(), a)
    s.call(f, x3(), "a", b="y")
    s.call(f, x3(), "a", "y")


@program
def positional_and_named(s):
    def plain(x, y=None, *rest, z=1.0, **more):
        return x * z + (0 if y is None else y) + len(rest) + len(more)

    f = s.compile(plain)
    s.calls(2, f, x3(), x3())
    s.calls(2, f, x3(), y=x3())
    s.calls(2, f, x=x3(), y=x3())
    s.calls(2, f, y=x3() * 2, x=x3())
    s.call(f, x3(), x3(), x3())
    s.call(f, x3(), w=x3())
    s.call(f, x3(), x=x3())


@program
def other_strides_and_dtypes(s):
    f = s.compile(lambda x: (x * 2, x.stride(), x.is_contiguous(), str(x.dtype), x.reshape(-1)))
    x = clew.arange(4.0).view(2, 2)
    for one in (x, x, x.t(), x.double(), x.int(), x[:, ::2], x.expand(3, 2, 2), x.bool(), x[:0]):
        s.calls(2, f, one)


@program
def data_that_is_replaced(s):
    weight = clew.ones(3)
    f = s.compile(lambda x: (x * weight).sum() + weight.shape[0])
    s.calls(2, f, x3())
    weight.data = clew.full((3,), 4.0)
    s.call(f, x3())
    weight.data = clew.full((1,), 4.0)
    s.call(f, x3())
    weight.data = clew.full((3,), 4.0, dtype=clew.float64)
    s.call(f, x3())


@program
def requires_grad_of_a_captured_tensor(s):
    weight = clew.ones(3)
    f = s.compile(lambda x: x * weight)
    s.calls(2, f, x3())
    weight.requires_grad_()
    s.calls(2, f, x3())
    weight.requires_grad = False
    s.call(f, x3())


@program
def requires_grad_that_it_asks(s):
    weight = clew.ones(3)
    f = s.compile(lambda x: x * 2 if weight.requires_grad or x.requires_grad else x * 3)
    s.calls(2, f, x3())
    weight.requires_grad_()
    s.call(f, x3())
    weight.requires_grad_(False)
    s.call(f, x3().requires_grad_())
    s.call(f, x3().requires_grad_() * 1)


@program
def a_gradient_that_is_there_or_not(s):
    weight = s.watch(clew.ones(3, requires_grad=True))
    f = s.compile(lambda x: x * 2 if weight.grad is None else x * weight.grad)
    s.calls(2, f, x3())
    weight.grad = x3()
    s.calls(2, f, x3())
    weight.grad.mul_(2)
    s.call(f, x3())
    weight.grad = None
    s.call(f, x3())


@program
def a_subclass(s):
    class Mine(clew.Tensor):
        pass

    f = s.compile(lambda x: (x * 2, type(x).__name__, isinstance(x, Mine)))
    s.calls(2, f, x3())
    s.calls(2, f, x3().as_subclass(Mine))
    s.call(f, clew.nn.Parameter(x3()))


@program
def a_tensor_made_of_items(s):
    f = s.compile(lambda x: clew.tensor([x[0].item(), x.sum().item(), 1.0]) + clew.full((3,), x[1].item()))
    for factor in range(4):
        s.call(f, x3() * factor)


@program
def a_tensor_made_of_a_list_from_before(s):
    values = [1.0, [2.0]]
    f = s.compile(lambda x: x + clew.tensor(values[:1]) + clew.tensor(values[1]))
    s.calls(2, f, x3())
    values[0] = 10.0
    s.call(f, x3())
    values[1][0] = 20.0
    s.call(f, x3())


@program
def an_address(s):
    f = s.compile(lambda x: (x * 2, x.data_ptr()))
    found = []
    for _ in range(3):
        x = x3()
        found.append((x, f(x)[1]))
    s.note([address == x.data_ptr() for x, address in found])
    s.note()


@program
def a_hash_and_an_identity_of_a_tensor(s):
    table = {}
    f = s.compile(lambda x: x * table.get(x, 5.0))
    a, b = x3(), x3()
    table[a] = 2.0
    s.calls(2, f, a)
    s.calls(2, f, b)
    table[b] = 3.0
    s.call(f, b)


@program
def a_shape_that_it_returns(s):
    f = s.compile(lambda x: (x.shape, x.size(), x.shape[0], x.numel(), len(x), x.new_zeros(x.shape)))
    s.calls(2, f, x3())
    s.calls(2, f, clew.ones(4))
    s.call(f, clew.ones(3, 1))
