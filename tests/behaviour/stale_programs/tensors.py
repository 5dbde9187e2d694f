"""Arguments, views, aliases, versions and bits of tensors."""

import math

import clew

from .harness import program


def x3():
    return clew.tensor([1.0, 2.0, 3.0])


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
def one_tensor_twice(s):
    @s.compile
    def f(x, y):
        x.mul_(2)
        return x + y, x is y

    s.calls(2, f, x3(), x3())
    x = s.watch(x3())
    s.calls(2, f, x, x)
    s.call(f, x3(), x)


@program
def overlapping_arguments(s):
    @s.compile
    def f(x, y):
        x.mul_(2)
        return x + y

    s.calls(2, f, x3(), x3())
    base = s.watch(clew.arange(4.0))
    s.calls(2, f, base[:3], base[1:])
    s.calls(2, f, base[1:], base[:3])
    s.call(f, x3(), x3())


@program
def an_alias_of_a_captured_tensor(s):
    weight = s.watch(clew.ones(3))

    @s.compile
    def f(x):
        x.add_(1)
        return weight * 2 + x

    s.calls(2, f, x3())
    s.calls(2, f, weight)
    s.calls(2, f, weight.view(3))
    s.call(f, weight.detach())
    s.call(f, x3())


@program
def a_captured_tensor_as_argument(s):
    weight = clew.ones(3, requires_grad=True)
    f = s.compile(lambda x: (x * weight).sum())
    s.calls(2, f, x3())
    s.calls(2, f, weight)
    s.call(f, weight)
    clew.autograd.backward(s.given[-1])
    s.note(weight.grad)


@program
def the_argument_itself(s):
    f = s.compile(lambda x, y: x if x.sum() > 0 else y)
    for factor in (1.0, 2.0, -1.0, -2.0):
        x, y = x3() * factor, x3()
        result = s.call(f, x, y)
        s.note(result is x, result is y)


@program
def a_captured_tensor_itself(s):
    weight = clew.ones(3)
    f = s.compile(lambda x: (weight, x, x.view(3), weight.view(3)))
    for _ in range(3):
        x = x3()
        result = s.call(f, x)
        s.note(result[0] is weight, result[1] is x)
        result[2].add_(1)
        result[3].add_(10)
        s.note(x, weight)


@program
def views_of_arguments(s):
    f = s.compile(lambda x: (x.t(), x[0], x.view(-1)[1:3]))
    for _ in range(3):
        x = clew.arange(4.0).view(2, 2)
        views = s.call(f, x)
        s.note([one._version for one in views], [one._is_view() for one in views])
        x.add_(1)
        s.note(views)
        views[1].mul_(3)
        s.note(x)


@program
def results_that_share_memory(s):
    def plain(x):
        y = x * 2
        return y, y[0], y.detach(), y.view(3)

    f = s.compile(plain)
    for _ in range(3):
        results = s.call(f, x3())
        results[0].add_(1)
        results[1].mul_(7)
        s.note([one._version for one in results])


@program
def a_result_that_is_given_twice(s):
    def plain(x):
        y = x * 2
        return [y, y, {"y": y}]

    f = s.compile(plain)
    for _ in range(3):
        a, b, c = s.call(f, x3())
        s.note(a is b, b is c["y"])


@program
def an_expanded_result(s):
    f = s.compile(lambda x: (x.sum().expand(3), x.broadcast_to(2, 3)))
    for factor in range(3):
        s.call(f, x3() * factor)


@program
def earlier_results_stay(s):
    f = s.compile(lambda x: (x * 2, (x + 1).view(3, 1), x.sum()))
    for factor in range(6):
        s.call(f, x3() * factor)


@program
def results_that_the_caller_writes(s):
    f = s.compile(lambda x: (x * 2, clew.zeros(3), clew.tensor([1.0, 2.0])))
    for factor in range(4):
        y, z, c = s.call(f, x3() * factor)
        y.fill_(-1.0)
        z.add_(5)
        c.mul_(3)
    s.note()


@program
def results_that_come_back_as_arguments(s):
    f = s.compile(lambda x, y: (x + y, y * 2))
    x, y = x3(), x3()
    for _ in range(5):
        x, y = s.call(f, x, y)


@program
def results_that_come_back_and_are_written(s):
    @s.compile
    def f(x):
        x.mul_(2)
        return x + 1

    x = x3()
    for _ in range(5):
        x = s.call(f, x)


@program
def writes_to_arguments(s):
    @s.compile
    def f(x, y):
        x.add_(y)
        x[0] = 7
        y.data.mul_(2)
        return x._version, x * y

    x, y = s.watch(x3()), s.watch(x3())
    s.calls(3, f, x, y)
    s.call(f, x3(), y)


@program
def versions_of_results(s):
    def plain(x):
        y = x * 2
        y.add_(1)
        y[0] = 3
        return y, y._version

    f = s.compile(plain)
    for _ in range(3):
        y, _ = s.call(f, x3())
        y.add_(1)
        s.note(y._version)


@program
def a_version_that_it_asks(s):
    weight = clew.ones(3)
    f = s.compile(lambda x: x * weight._version)
    s.calls(2, f, x3())
    weight.add_(1)
    s.call(f, x3())


@program
def a_write_that_a_graph_forbids(s):
    weight = clew.ones(3, requires_grad=True)
    state = clew.ones(3)

    @s.compile
    def f(x):
        state.add_(x)
        return (state * weight).sum()

    losses = [s.call(f, x3()) for _ in range(3)]
    for loss in losses:
        s.call(loss.backward)
    s.note(weight.grad)


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
def two_captured_tensors_that_become_one(s):
    a, b = s.watch(clew.ones(3), clew.zeros(3)), None
    b = clew.zeros(3)

    @s.compile
    def f(x):
        a.add_(x)
        return b * 2

    s.calls(2, f, x3())
    b.data = a.data
    s.calls(2, f, x3())
    b.data = clew.zeros(3)
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
def out_of_an_operation(s):
    out = s.watch(clew.zeros(3))

    @s.compile
    def f(x):
        return clew.mul(x, 2, out=out) is out, out + 1

    s.calls(2, f, x3())
    out.data = clew.zeros(3, dtype=clew.float64)
    s.call(f, x3())


@program
def constants_that_it_makes_and_writes(s):
    @s.compile
    def f(x):
        c = clew.tensor([1.0, 2.0, 3.0])
        c += x
        d = clew.zeros(3)
        d[1] = x.sum()
        return c, d

    for factor in range(4):
        s.call(f, x3() * factor)


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


@program
def an_index_put_into_an_older_tensor(s):
    table, at = s.watch(clew.zeros(3)), clew.tensor([0, 0])

    @s.compile
    def f(x):
        table.index_put_((at,), x[:2], accumulate=True)
        table[at] *= 2
        return table.sum()

    s.calls(2, f, x3())
    at.copy_(clew.tensor([1, 2]))
    s.call(f, x3())
    at.fill_(5)
    s.call(f, x3())


@program
def a_view_from_before_the_call(s):
    base = s.watch(clew.arange(6.0))
    view = base.view(2, 3)[1]

    @s.compile
    def f(x):
        view.add_(x)
        return base.sum() + view[0]

    s.calls(2, f, x3())
    base.mul_(2)
    s.call(f, x3())
    s.note(view)
