"""Jacobians, Hessians and their products agree with PyTorch's."""

import pytest

FUNCTIONS = {
    "one to one": lambda torch, x: x.exp() * x,
    "to a scalar": lambda torch, x: (x**3).sum(),
    "to two": lambda torch, x: (x.sin(), x.sum()),
    "to a matrix": lambda torch, x: x.reshape(-1, 1) * x.reshape(1, -1),
    "linear": lambda torch, x: x * 2,
}
TWO = {
    "product": lambda torch, x, w: x * w,
    "scalar": lambda torch, x, w: (x * w.exp()).sum(),
    "of one only": lambda torch, x, w: x * x,
    "two of two": lambda torch, x, w: (x.sin() * w, w**2),
}


def point(module, values=(0.3, -0.7, 1.2)):
    return module.tensor(list(values), dtype=module.float64)


def nested(value):
    if isinstance(value, tuple):
        return tuple(nested(one) for one in value)
    return (tuple(value.shape), value.requires_grad, [round(number, 10) for number in value.reshape(-1).tolist()])


def assert_agree(torch, oracle, make):
    assert nested(make(torch)) == nested(make(oracle))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobian(torch, oracle, name):
    for create_graph in (False, True):
        assert_agree(
            torch,
            oracle,
            lambda module, graph=create_graph: module.autograd.functional.jacobian(
                lambda x: FUNCTIONS[name](module, x), point(module), create_graph=graph
            ),
        )


@pytest.mark.parametrize("name", TWO)
def test_jacobian_by_two_inputs(torch, oracle, name):
    assert_agree(
        torch,
        oracle,
        lambda module: module.autograd.functional.jacobian(
            lambda x, w: TWO[name](module, x, w), (point(module), point(module, (2.0, 0.5, -1.0)))
        ),
    )


def test_hessian(torch, oracle):
    assert_agree(
        torch,
        oracle,
        lambda module: module.autograd.functional.hessian(lambda x: (x**3).sum() * x.exp().sum(), point(module)),
    )
    assert_agree(
        torch,
        oracle,
        lambda module: module.autograd.functional.hessian(
            lambda x, w: (x * x * w).sum(), (point(module), point(module, (2.0, 0.5, -1.0)))
        ),
    )


@pytest.mark.parametrize("product", ["vjp", "jvp"])
@pytest.mark.parametrize("name", ["one to one", "to a scalar", "to two", "linear"])
def test_products_with_the_jacobian(torch, oracle, product, name):
    def make(module):
        x = point(module)
        shaped = FUNCTIONS[name](module, x) if product == "vjp" else x
        v = (
            tuple(module.ones_like(one) * 3 for one in shaped)
            if isinstance(shaped, tuple)
            else module.ones_like(shaped) * 3
        )
        return getattr(module.autograd.functional, product)(lambda x: FUNCTIONS[name](module, x), x, v)

    assert_agree(torch, oracle, make)


@pytest.mark.parametrize("product", ["vhp", "hvp"])
def test_products_with_the_hessian(torch, oracle, product):
    for create_graph in (False, True):
        assert_agree(
            torch,
            oracle,
            lambda module, graph=create_graph: getattr(module.autograd.functional, product)(
                lambda x, w: (x**3 * w.exp()).sum(),
                (point(module), point(module)),
                (point(module, (1.0, 2.0, 3.0)), point(module, (0.5, 0.5, 0.0))),
                create_graph=graph,
            ),
        )


def test_v_may_be_left_out_for_one_element(torch):
    x = torch.tensor([2.0], requires_grad=True)
    for product in ("vjp", "jvp", "vhp", "hvp"):
        output, result = getattr(torch.autograd.functional, product)(lambda x: (x**2).sum(), x)
        assert (output.item(), result.item()) == (4.0, 4.0 if product in ("vjp", "jvp") else 2.0)
    with pytest.raises(RuntimeError, match="The vector v can only be None if"):
        torch.autograd.functional.vjp(lambda x: x * 2, torch.ones(2))


def test_results_can_be_differentiated(torch):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    matrix = torch.autograd.functional.jacobian(lambda x: x**3, x, create_graph=True)
    matrix.sum().backward()
    assert x.grad.tolist() == [12.0, 18.0]


def test_strict_refuses_what_does_not_depend(torch):
    functional = torch.autograd.functional
    x, w = torch.ones(2), torch.ones(2)
    with pytest.raises(RuntimeError, match="independent of input 1"):
        functional.jacobian(lambda x, w: x * 2, (x, w), strict=True)
    with pytest.raises(RuntimeError, match=r"[Oo]utput 0 of the user-provided function does not require grad"):
        functional.vjp(lambda x: torch.ones(2), x, torch.ones(2), strict=True)
    assert functional.jacobian(lambda x: torch.ones(2), x).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_strict_refuses_the_hessian_of_a_linear_function(torch):
    functional = torch.autograd.functional
    x, w = torch.ones(2), torch.ones(2)
    said = "jacobian of the user-provided function with respect to input 1 is independent of the input"
    for call in (functional.hessian, functional.vhp, functional.hvp):
        given = () if call is functional.hessian else ((x, w),)
        with pytest.raises(RuntimeError, match=said):
            call(lambda x, w: (x**2 + 3 * w).sum(), (x, w), *given, strict=True)
    assert functional.hessian(lambda x: (2 * x).sum(), x).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_what_is_no_tensor_is_refused(torch):
    functional = torch.autograd.functional
    with pytest.raises(TypeError, match="Tensor"):
        functional.jacobian(lambda x: 5, torch.ones(2))
    with pytest.raises(TypeError, match="Tensor"):
        functional.jacobian(lambda x: x, 5)
    with pytest.raises(RuntimeError):
        functional.hessian(lambda x: x * 2, torch.ones(2))
    with pytest.raises(RuntimeError, match="size"):
        functional.vjp(lambda x: x * 2, torch.ones(2), torch.ones(3))


def test_the_callers_mode_and_gradients_are_left_alone(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        matrix = torch.autograd.functional.jacobian(lambda x: x * 2, x)
        assert not torch.is_grad_enabled()
    assert matrix.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert x.grad is None


def test_forward_mode_is_vectorized(torch):
    for options, error, said in (
        ({}, NotImplementedError, "vectorize=True"),
        ({"strict": True}, RuntimeError, "strict"),
    ):
        with pytest.raises(error, match=said):
            torch.autograd.functional.jacobian(lambda x: x, torch.ones(2), strategy="forward-mode", **options)


@pytest.mark.parametrize("product", ["hvp", "vhp"])
def test_products_where_weights_cancel(torch, product):
    """The gradient is differentiated by weights, and equal ones of x and y cancel: norms are linear there, too."""

    def distance(x, y):
        return torch.dist(x, y) ** 3

    x, y, v = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.5]), torch.tensor([0.3, -0.2])
    difference = x - y
    size = difference.norm()
    bend = 3 * (size * v + difference * (difference @ v) / size)  # of |d|³ along v
    _, found = getattr(torch.autograd.functional, product)(distance, (x, y), (v, torch.zeros(2)))
    torch.testing.assert_close(found[0], bend)
    torch.testing.assert_close(found[1], -bend)
