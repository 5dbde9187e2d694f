"""clew.linalg against PyTorch: shapes, batches, dtypes, memory layouts, empty and singular matrices, errors."""

import itertools

import numpy
import pytest

import clew

SQUARE = [(3, 3), (2, 3, 3), (2, 1, 40, 40), (0, 0), (0, 3, 3), (2, 0, 0), (1, 1)]
RECTANGULAR = [*SQUARE, (5, 3), (3, 5), (2, 4, 2), (2, 2, 4), (0, 3), (3, 0), (70, 40)]


def general(shape, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape)


def definite(shape):
    values = general(shape)
    return values @ values.swapaxes(-1, -2) + numpy.eye(shape[-1])


def conditioned(shape):
    return general(shape) / max(shape[-1], 1) + 2 * numpy.eye(*shape[-2:])


def results_of(value):
    return list(value) if isinstance(value, tuple | list) else [value]


def unsigned(results):
    """Vectors without their signs."""
    return [x.abs() for x in results]


def compare(oracle, function, *arrays, dtype="float64", gauge=lambda results: results, gradients=True):
    """Results of `function(module, *tensors)`, and gradients of a weighted sum of them, in both libraries."""
    outcomes = []
    for module in (clew, oracle):
        tensors = [module.tensor(array.tolist(), dtype=getattr(module, dtype)).reshape(array.shape) for array in arrays]
        # Not contiguous: each matrix lies column by column.
        tensors = [x.mT.contiguous().mT if x.dim() > 1 else x for x in tensors]
        leaves = [x.detach().requires_grad_(gradients) for x in tensors]
        results = gauge(results_of(function(module, *leaves)))
        total = sum((x * module.linspace(0.5, 1.5, x.numel(), dtype=x.dtype).reshape(x.shape)).sum()
                    for x in results if x.requires_grad)  # fmt: skip
        found = module.autograd.grad(total, leaves, allow_unused=True) if isinstance(total, module.Tensor) else []
        outcomes.append((results, found))
    (ours, our_gradients), (theirs, their_gradients) = outcomes
    tolerance = 1e-9 if dtype == "float64" else 2e-4
    for mine, other in zip([*ours, *our_gradients], [*theirs, *their_gradients], strict=True):
        assert (mine is None) == (other is None)
        if mine is not None:
            assert tuple(mine.shape) == tuple(other.shape)
            assert str(mine.dtype) == str(other.dtype)
            numpy.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=tolerance, atol=tolerance)


SQUARE_FUNCTIONS = {
    "inv": (lambda m, A: m.linalg.inv(A), conditioned),
    "inv_ex": (lambda m, A: m.linalg.inv_ex(A), conditioned),
    "det": (lambda m, A: m.linalg.det(A), conditioned),
    "slogdet": (lambda m, A: m.linalg.slogdet(A), conditioned),
    "cholesky": (lambda m, A: m.linalg.cholesky((A + A.mT) / 2), definite),
    "cholesky upper": (lambda m, A: m.linalg.cholesky((A + A.mT) / 2, upper=True), definite),
    "cholesky_ex": (lambda m, A: m.linalg.cholesky_ex((A + A.mT) / 2), definite),
    "eigvalsh": (lambda m, A: m.linalg.eigvalsh(A + A.mT), general),
    "eigvalsh of the upper triangle": (lambda m, A: m.linalg.eigvalsh(A.detach(), UPLO="U"), general),
    "matrix_exp": (lambda m, A: m.linalg.matrix_exp(A), general),
    "matrix_power 5": (lambda m, A: m.linalg.matrix_power(A, 5), conditioned),
    "matrix_power -3": (lambda m, A: m.linalg.matrix_power(A, -3), conditioned),
    "matrix_power 0": (lambda m, A: m.linalg.matrix_power(A.detach(), 0), conditioned),
    "lu": (lambda m, A: m.linalg.lu(A), general),
    "solve of vectors": (lambda m, A: m.linalg.solve(A, A.sum(-1)), conditioned),
    "solve from the right": (lambda m, A: m.linalg.solve(A, A.mT, left=False), conditioned),
    "cholesky_inverse": (lambda m, A: m.cholesky_inverse(A.tril()), conditioned),
    "logdet": (lambda m, A: m.logdet(A @ A.mT), conditioned),
}  # fmt: skip


@pytest.mark.parametrize("shape", SQUARE, ids=str)
@pytest.mark.parametrize("name", SQUARE_FUNCTIONS)
def test_functions_of_square_matrices(oracle, name, shape):
    function, made = SQUARE_FUNCTIONS[name]
    compare(oracle, function, made(shape))


@pytest.mark.parametrize("name", [one for one in SQUARE_FUNCTIONS if one != "matrix_exp"])
def test_functions_of_square_matrices_in_float32(oracle, name):
    function, made = SQUARE_FUNCTIONS[name]
    compare(oracle, function, made((2, 4, 4)), dtype="float32")


RECTANGULAR_FUNCTIONS = {
    "qr": lambda m, A: m.linalg.qr(A),
    "qr complete": lambda m, A: m.linalg.qr(A.detach(), mode="complete"),
    "qr r": lambda m, A: m.linalg.qr(A.detach(), mode="r"),
    "svdvals": lambda m, A: m.linalg.svdvals(A),
    "pinv": lambda m, A: m.linalg.pinv(A),
    "matrix_rank": lambda m, A: m.linalg.matrix_rank(A.detach()),
    "lu": lambda m, A: m.linalg.lu(A),
    "lu_factor": lambda m, A: m.linalg.lu_factor(A),
    "matrix_norm": lambda m, A: m.linalg.matrix_norm(A),
    "norm": lambda m, A: m.linalg.norm(A),
}


@pytest.mark.parametrize("shape", RECTANGULAR, ids=str)
@pytest.mark.parametrize("name", RECTANGULAR_FUNCTIONS)
def test_functions_of_rectangular_matrices(oracle, name, shape):
    compare(oracle, RECTANGULAR_FUNCTIONS[name], general(shape))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 3), (3, 5), (0, 2, 2), (0, 3), (3, 0)], ids=str)
def test_svd(oracle, shape, full):
    k = min(shape[-2:])
    compare(
        oracle,
        lambda m, A: m.linalg.svd(A, full),
        general(shape),
        gauge=lambda found: unsigned([found[0][..., :k], found[1], found[2][..., :k, :]]),  # the others are any basis
    )
    A = clew.tensor(general(shape))
    U, S, Vh = clew.linalg.svd(A, full)
    assert U.shape[-1] == (shape[-2] if full else k)
    assert Vh.shape[-2] == (shape[-1] if full else k)
    clew.testing.assert_close((U[..., :k] * S.unsqueeze(-2)) @ Vh[..., :k, :], A)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 0), (0, 2, 2)], ids=str)
def test_eigh(oracle, shape):
    compare(oracle, lambda m, A: m.linalg.eigh(A + A.mT), general(shape), gauge=unsigned)
    compare(oracle, lambda m, A: m.linalg.eigh(A, "U"), general(shape), gauge=unsigned, gradients=False)
    A = clew.tensor(general(shape))
    values, vectors = clew.linalg.eigh(A + A.mT)
    clew.testing.assert_close((vectors * values.unsqueeze(-2)) @ vectors.mT, A + A.mT)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("shapes", [((3, 3), (3, 3)), ((2, 1, 3, 3), (4, 3, 3)), ((3, 3), (2, 3, 3)), ((0, 0), (0, 0)),
                                    ((50, 50), (50, 50))], ids=str)  # fmt: skip
def test_systems(oracle, shapes, left):
    A, B = conditioned(shapes[0]), general(shapes[1], 1)
    compare(oracle, lambda m, A, B: m.linalg.solve(A, B, left=left), A, B)
    for upper in (False, True):
        for unit in (False, True):
            compare(
                oracle,
                lambda m, A, B, upper=upper, unit=unit: m.linalg.solve_triangular(
                    A, B, upper=upper, left=left, unitriangular=unit
                ),
                A,
                B,
            )
    if len(shapes[0]) == len(shapes[1]):
        for adjoint in (False, True):
            compare(
                oracle,
                lambda m, A, B, adjoint=adjoint: m.linalg.lu_solve(
                    *m.linalg.lu_factor(A), B, left=left, adjoint=adjoint
                ),
                A,
                B,
            )


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize(
    "shapes", [((4, 3), (4, 2)), ((2, 4, 3), (2, 4, 1)), ((2, 4, 3), (2, 4)), ((3, 5), (3, 2))], ids=str
)
def test_least_squares(oracle, shapes, driver):
    compare(oracle, lambda m, A, B: m.linalg.lstsq(A, B, driver=driver), general(shapes[0]), general(shapes[1], 1))


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")], ids=str)
@pytest.mark.parametrize("keepdim", [False, True])
def test_norms(oracle, ord, keepdim):
    A = general((2, 3, 4))
    compare(oracle, lambda m, A: m.linalg.matrix_norm(A, ord, keepdim=keepdim), A)
    compare(oracle, lambda m, A: m.linalg.matrix_norm(A, ord, (2, 0), keepdim), A)
    compare(oracle, lambda m, A: m.linalg.norm(A, ord, (0, 1), keepdim), A)
    compare(oracle, lambda m, A: m.linalg.norm(A[0], ord, keepdim=keepdim), A)
    compare(oracle, lambda m, A: m.linalg.cond(A, ord), conditioned((2, 3, 3)), gradients=False)
    if isinstance(ord, int | float):
        compare(oracle, lambda m, A: m.linalg.norm(A, ord, 1, keepdim), A)
        compare(oracle, lambda m, A: m.linalg.vector_norm(A, ord, (0, 2), keepdim), A)


def test_cond_has_derivatives():
    A = clew.tensor(conditioned((2, 3, 3)), requires_grad=True)
    for ord in ("fro", "nuc", 1, -1, 2, -2, clew.inf, -clew.inf):
        assert clew.autograd.gradcheck(lambda A, ord=ord: clew.linalg.cond(A, ord), A)
    assert clew.linalg.cond(clew.zeros(2, 2), 1).item() == clew.inf


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_tolerances(oracle):
    A = numpy.diag([3.0, 2.0, 1e-3, 0.0])
    for options in ({}, {"atol": 0.1}, {"rtol": 0.5}, {"atol": 0.1, "rtol": 0.7}, {"hermitian": True}):
        compare(oracle, lambda m, A, o=options: m.linalg.pinv(A, **o), A, gradients=False)
        compare(oracle, lambda m, A, o=options: m.linalg.matrix_rank(A, **o), A, gradients=False)
    compare(oracle, lambda m, A: m.linalg.matrix_rank(A, atol=m.tensor([0.1, 2.5])), A, gradients=False)
    compare(oracle, lambda m, A: m.linalg.pinv(A, 0.5), A, gradients=False)
    compare(oracle, lambda m, A: m.linalg.matrix_rank(A, 2.5), A, gradients=False)


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
def test_products(oracle):
    sizes = [(2, 30), (30, 4), (4, 20), (20, 3)]
    chain = [general(size, i) for i, size in enumerate(sizes)]
    compare(oracle, lambda m, *t: m.linalg.multi_dot(t), *chain)
    compare(oracle, lambda m, *t: m.chain_matmul(*t), *chain)
    compare(oracle, lambda m, a, b: m.linalg.cross(a, b), general((2, 3)), general((1, 3), 1))
    compare(oracle, lambda m, a, b: m.linalg.vecdot(a, b, dim=0), general((2, 3)), general((2, 3), 1))
    compare(oracle, lambda m, x: m.linalg.vander(x, N=4), general((2, 3)))
    compare(oracle, lambda m, A: m.linalg.tensorinv(A, 2), general((2, 3, 6)))
    compare(oracle, lambda m, A, B: m.linalg.tensorsolve(A, B, (0,)), general((6, 2, 3)), general((2, 3), 1))
    compare(oracle, lambda m, A, t: m.linalg.householder_product(A, t), general((2, 4, 3)), general((2, 3), 1))


def test_a_large_exponential_is_scaled(oracle):
    A = numpy.stack([general((4, 4)) * scale for scale in (0.0, 1e-8, 1.0, 30.0)])
    compare(oracle, lambda m, A: m.linalg.matrix_exp(A), A)


OLD_NAMES = {
    "inverse": lambda m, A: m.inverse(A),
    "x.inverse": lambda m, A: A.inverse(),
    "det": lambda m, A: m.det(A),
    "slogdet": lambda m, A: A.slogdet(),
    "cholesky": lambda m, A: m.cholesky(A @ A.mT),
    "cholesky upper": lambda m, A: (A @ A.mT).cholesky(upper=True),
    "cholesky_solve": lambda m, A: m.cholesky_solve(A, A.tril()),
    "cholesky_solve upper": lambda m, A: m.cholesky_solve(A, A.triu(), upper=True),
    "cholesky_inverse upper": lambda m, A: m.cholesky_inverse(A.triu(), upper=True),
    "triangular_solve": lambda m, A: m.triangular_solve(A, A),
    "triangular_solve transposed": lambda m, A: m.triangular_solve(A, A, upper=False, transpose=True),
    "qr": lambda m, A: m.qr(A),
    "svd": lambda m, A: m.svd(A)[1],
    "pinverse": lambda m, A: m.pinverse(A),
    "matrix_power": lambda m, A: m.matrix_power(A, 2),
    "matrix_exp": lambda m, A: A.matrix_exp(),
    "lu": lambda m, A: m.lu_unpack(*m.linalg.lu_factor(A)),
    "lu_solve": lambda m, A: m.lu_solve(A, *m.linalg.lu_factor(A)),
    "vdot": lambda m, A: m.vdot(A[0, 0], A[0, 1]),
    "inner": lambda m, A: m.inner(A[0], A[1]),
    "cross": lambda m, A: m.cross(A[0], A[1], dim=1),
    "vander": lambda m, A: m.vander(A[0, 0]),
    "vander increasing": lambda m, A: m.vander(A[0, 0], 4, increasing=True),
    "nuclear_norm": lambda m, A: m.nuclear_norm(A[0]),
    "frobenius_norm": lambda m, A: m.frobenius_norm(A, (1, 2)),
    "dist": lambda m, A: m.dist(A[0], A[1], 3),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", OLD_NAMES)
def test_old_names(oracle, name):
    # PyTorch's vander writes over what its backward needs.
    compare(oracle, OLD_NAMES[name], conditioned((2, 3, 3)), gradients="vander" not in name)


def test_results_have_names():
    A = clew.eye(2)
    assert clew.linalg.eigh(A).eigenvalues.tolist() == [1, 1]
    assert clew.linalg.svd(A).S.tolist() == [1, 1]
    assert clew.svd(A).V.shape == (2, 2)
    assert clew.linalg.qr(A).R.shape == (2, 2)
    assert clew.linalg.slogdet(A).sign.item() == 1
    assert clew.linalg.lstsq(A, A).rank.item() == 2


def test_out():
    A = clew.tensor(definite((3, 3)))
    out = clew.empty(3, 3, dtype=clew.float64)
    assert clew.linalg.cholesky(A, out=out) is out
    assert (out @ out.T - A).abs().max() < 1e-12
    values, vectors = clew.empty(0, dtype=clew.float64), clew.empty(0, dtype=clew.float64)
    assert clew.linalg.eigh(A, out=(values, vectors)).eigenvalues is values
    assert values.shape == (3,)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        clew.linalg.inv(A.requires_grad_(), out=out)
    with pytest.raises(RuntimeError, match="expected out of shape"):
        clew.linalg.inv(A.detach(), out=clew.ones(2, dtype=clew.float64))
    with pytest.raises(TypeError, match="2 tensor"):
        clew.linalg.eigh(A.detach(), out=values)


def singular(module, batch=()):
    A = module.eye(2).expand(*batch, 2, 2).clone()
    A[..., 1, 1] = 0
    return A


REFUSED = {
    "cholesky of vectors": lambda m: m.linalg.cholesky(m.ones(2)),
    "cholesky of rectangles": lambda m: m.linalg.cholesky(m.ones(2, 3)),
    "cholesky of integers": lambda m: m.linalg.cholesky(m.ones(2, 2, dtype=m.int64)),
    "cholesky of an indefinite one": lambda m: m.linalg.cholesky(-m.eye(2)),
    "cholesky of a singular one": lambda m: m.linalg.cholesky(singular(m)),
    "cholesky_ex that checks": lambda m: m.linalg.cholesky_ex(singular(m, (2,)), check_errors=True),
    "inv of a singular one": lambda m: m.linalg.inv(singular(m)),
    "inv of a batch with singular ones": lambda m: m.linalg.inv(m.stack([m.eye(2), singular(m)])),
    "inv_ex that checks": lambda m: m.linalg.inv_ex(singular(m), check_errors=True),
    "solve with a singular one": lambda m: m.linalg.solve(singular(m), m.ones(2)),
    "solve with two dtypes": lambda m: m.linalg.solve(m.eye(2), m.ones(2, 1, dtype=m.float64)),
    "solve with other sizes": lambda m: m.linalg.solve(m.eye(2), m.ones(3, 1)),
    "solve_triangular of a vector": lambda m: m.linalg.solve_triangular(m.eye(2), m.ones(2), upper=True),
    "det of rectangles": lambda m: m.linalg.det(m.ones(2, 3)),
    "slogdet of a vector": lambda m: m.linalg.slogdet(m.ones(3)),
    "qr in another mode": lambda m: m.linalg.qr(m.ones(2, 2), "some"),
    "gradient of qr r": lambda m: m.linalg.qr(m.ones(2, 2, requires_grad=True), "r")[1].sum().backward(),
    "gradient of qr complete": lambda m: m.linalg.qr(m.rand(3, 2, requires_grad=True), "complete")[1].sum().backward(),
    "eigh of another triangle": lambda m: m.linalg.eigh(m.eye(2), "X"),
    "svd of NaN": lambda m: m.linalg.svd(m.full((2, 2), float("nan"))),
    "svd of integers": lambda m: m.linalg.svd(m.ones(2, 2, dtype=m.int64)),
    "svd by a driver": lambda m: m.linalg.svd(m.ones(2, 2), driver="gesvd"),
    "lstsq by another driver": lambda m: m.linalg.lstsq(m.ones(2, 2), m.ones(2, 2), driver="x"),
    "lstsq of other sizes": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(2, 2)),
    "norm of no order": lambda m: m.linalg.matrix_norm(m.ones(2, 2), 3),
    "norm of three axes": lambda m: m.linalg.norm(m.ones(2, 2, 2), 2),
    "norm along one axis twice": lambda m: m.linalg.matrix_norm(m.ones(2, 2), dim=(0, 0)),
    "norm out of range": lambda m: m.linalg.matrix_norm(m.ones(2, 2), dim=(0, 3)),
    "cond of rectangles": lambda m: m.linalg.cond(m.ones(2, 3), 1),
    "multi_dot of one": lambda m: m.linalg.multi_dot([m.ones(2, 2)]),
    "multi_dot of other sizes": lambda m: m.linalg.multi_dot([m.ones(2, 3), m.ones(2, 3)]),
    "matrix_power of rectangles": lambda m: m.linalg.matrix_power(m.ones(2, 3), 2),
    "matrix_power of a singular one": lambda m: m.linalg.matrix_power(m.zeros(2, 2), -1),
    "lu_factor of a singular one": lambda m: m.linalg.lu_factor(m.zeros(2, 2)),
    "tensorinv of other sizes": lambda m: m.linalg.tensorinv(m.ones(2, 3), 1),
    "cross of two": lambda m: m.linalg.cross(m.ones(2), m.ones(2)),
    "a number": lambda m: m.linalg.inv(3.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(oracle, name):
    """By an exception of the same type: a LinAlgError is a RuntimeError in both."""
    with pytest.raises((RuntimeError, IndexError, TypeError)) as theirs:
        REFUSED[name](oracle)
    with pytest.raises((RuntimeError, IndexError, TypeError)) as ours:
        REFUSED[name](clew)
    expected = clew.linalg.LinAlgError if theirs.type is oracle.linalg.LinAlgError else theirs.type
    assert issubclass(ours.type, expected)
    if expected is clew.linalg.LinAlgError and "svd" not in name:
        said = str(theirs.value).removeprefix("torch.").split(": ", 1)[1]
        assert said in str(ours.value)


def test_what_is_singular_is_told_by_info(oracle):
    for module in (clew, oracle):
        batch = module.stack([module.eye(2), singular(module), module.zeros(2, 2)])
        assert module.linalg.inv_ex(batch).info.tolist() == [0, 2, 1]
        assert module.linalg.lu_factor_ex(batch).info.tolist() == [0, 2, 1]
        assert module.linalg.cholesky_ex(batch).info.tolist() == [0, 2, 1]
        assert module.linalg.solve_ex(batch, batch).info.tolist() == [0, 2, 1]
        sign, logarithm = module.linalg.slogdet(batch)
        assert sign.tolist() == [1, 0, 0]
        assert logarithm.tolist() == [0, -module.inf, -module.inf]
        inverse = module.linalg.inv_ex(batch).inverse
        assert inverse[0].tolist() == [[1, 0], [0, 1]]
        solution = module.linalg.solve_triangular(batch, module.ones(2, 1), upper=True)
        assert solution[0].tolist() == [[1], [1]]
        assert not solution[1:, 1].isfinite().any()


def test_the_derivative_of_a_singular_determinant_is_exact():
    """The matrix of cofactors, whatever the rank."""
    for rank, expected in ((2, 1.0), (1, 0.0)):
        A = clew.diag(clew.tensor([1.0] * rank + [0.0] * (3 - rank), dtype=clew.float64)).requires_grad_()
        (gradient,) = clew.autograd.grad(clew.linalg.det(A), A)
        cofactors = numpy.zeros((3, 3))
        cofactors[2, 2] = expected
        numpy.testing.assert_allclose(gradient.numpy(), cofactors, atol=1e-12)


def by_permutations(A):
    """The determinant as a polynomial of the entries, which is differentiated as one."""
    size = A.shape[-1]
    total = 0
    for order in itertools.permutations(range(size)):
        term = round(numpy.linalg.det(numpy.eye(size)[list(order)]))
        for row, column in enumerate(order):
            term = term * A[row, column]
        total = total + term
    return total


@pytest.mark.parametrize(("size", "rank"), [(size, rank) for size in (1, 2, 3, 4) for rank in range(size + 1)])
def test_every_derivative_of_a_determinant_at_every_rank(size, rank):
    generator = numpy.random.default_rng(0)
    draw = generator.standard_normal
    A = clew.tensor(draw((size, rank)) @ draw((rank, size)))
    directions = [clew.tensor(draw((size, size))) for _ in range(5)]

    def derivative(function, ways):
        for way, direction in zip(ways, directions, strict=False):
            if way == "j":
                function = lambda A, f=function, v=direction: clew.func.jvp(f, (A,), (v,))[1]  # noqa: E731
            else:
                function = lambda A, f=function, v=direction: (clew.func.grad(f)(A) * v).sum()  # noqa: E731
        return function(A).item()

    for ways in ("g", "j", "gg", "jj", "gj", "jg", "ggg", "jjj", "gjg", "gggg", "jgjg", "ggggg"):
        expected = derivative(by_permutations, ways)
        assert derivative(clew.linalg.det, ways) == pytest.approx(expected, rel=1e-9, abs=1e-9), ways


@pytest.mark.parametrize("rank", [18, 19, 20])
@pytest.mark.parametrize("smallest", [1.0, 1e-6])
def test_second_derivatives_of_a_larger_determinant(rank, smallest):
    """At L diag(s) R along X and Y: det([[Xii, Xij], [Yji, Yjj]]) times the product of the other s, for all i != j."""
    size = 20
    draw = numpy.random.default_rng(0).standard_normal
    left, right = (numpy.linalg.qr(draw((size, size)))[0] for _ in range(2))
    s = numpy.concatenate([numpy.geomspace(2, smallest, rank), numpy.zeros(size - rank)])
    X, Y = draw((size, size)), draw((size, size))
    A = clew.tensor((left * s) @ right).requires_grad_()
    (g,) = clew.autograd.grad(clew.linalg.det(A), A, create_graph=True)
    (found,) = clew.autograd.grad((g * clew.tensor(X)).sum(), A)
    x, y = left.T @ X @ right.T, left.T @ Y @ right.T
    expected = 0
    for i, j in itertools.permutations(range(size), 2):
        expected += (x[i, i] * y[j, j] - x[i, j] * y[j, i]) * numpy.delete(s, [i, j]).prod()
    expected *= numpy.linalg.det(left) * numpy.linalg.det(right)
    assert (found.numpy() * Y).sum() == pytest.approx(expected, rel=1e-8)


def test_a_wide_or_half_empty_system_of_a_thousand():
    A = clew.tensor(conditioned((1000, 1000)))
    x = clew.linalg.solve_triangular(A, A[:, :3], upper=False)
    assert (A.tril() @ x - A[:, :3]).abs().max() < 1e-10
    LU, pivots = clew.linalg.lu_factor(A)
    assert (A @ clew.linalg.lu_solve(LU, pivots, A[:, :3]) - A[:, :3]).abs().max() < 1e-10


def test_complex_results_say_what_is_missing():
    for function in (clew.linalg.eig, clew.linalg.eigvals):
        with pytest.raises(NotImplementedError, match="eigenvalues of a general matrix are complex"):
            function(clew.eye(2))
    with pytest.raises(NotImplementedError, match="ldl_factor"):
        clew.linalg.ldl_factor  # noqa: B018


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape", [(5, 5), (2, 3, 7, 7), (3, 9, 4), (2, 4, 9), (70, 70), (130, 130), (100, 150), (0, 0)]
)
def test_lu_of_all_sizes(shape, dtype, oracle):
    """Row by row, and by panels; solutions with few and with many right sides, of a matrix and of its transpose."""
    tolerance = {"rtol": 1e-3, "atol": 1e-3} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-9}
    generator = numpy.random.default_rng(len(shape) + shape[-1])
    array = generator.standard_normal(shape).astype(dtype)
    LU, pivots = clew.linalg.lu_factor(clew.from_numpy(array))
    expected, order = oracle.linalg.lu_factor(oracle.from_numpy(array))
    assert pivots.tolist() == order.tolist()
    numpy.testing.assert_allclose(LU.numpy(), expected.numpy(), **tolerance)
    P, L, U = clew.linalg.lu(clew.from_numpy(array))
    numpy.testing.assert_allclose((P @ L @ U).numpy(), array, **tolerance)
    if shape[-2] != shape[-1]:
        return
    array += 3 * numpy.sqrt(shape[-1]) * numpy.eye(shape[-1], dtype=dtype)
    LU, pivots = clew.linalg.lu_factor(clew.from_numpy(array))
    for columns in (1, 3, 40):
        b = generator.standard_normal((*shape[:-1], columns)).astype(dtype)
        for adjoint in (False, True):
            a = array.swapaxes(-1, -2) if adjoint else array
            for left in (True, False):
                right = b if left else numpy.ascontiguousarray(b.swapaxes(-1, -2))
                x = clew.linalg.lu_solve(LU, pivots, clew.from_numpy(right), adjoint=adjoint, left=left).numpy()
                numpy.testing.assert_allclose(a @ x if left else x @ a, right, **tolerance)
        for upper, unit in itertools.product((False, True), repeat=2):
            scale = max(1, shape[-1]) if unit else 1
            whole = (array / scale).astype(dtype)
            triangle = numpy.triu(whole) if upper else numpy.tril(whole)
            if unit:
                numpy.einsum("...ii->...i", triangle)[...] = 1
            for given in (clew.from_numpy(whole), clew.from_numpy(numpy.array(whole.swapaxes(-1, -2))).mT):
                x = clew.linalg.solve_triangular(given, clew.from_numpy(b), upper=upper, unitriangular=unit).numpy()
                numpy.testing.assert_allclose(triangle @ x, b, **tolerance)


def test_lu_where_a_pivot_is_zero_or_not_a_number():
    for rows in (3, 100):
        singular = clew.eye(rows)
        singular[rows // 2, rows // 2] = 0
        LU, _, info = clew.linalg.lu_factor_ex(clew.stack([singular, clew.eye(rows)]))
        assert info.tolist() == [rows // 2 + 1, 0]
        assert LU[1].equal(clew.eye(rows))
        solution, info = clew.linalg.solve_ex(clew.stack([singular, clew.eye(rows)]), clew.ones(rows, 1))
        assert (info[0].item() > 0, solution[0].isnan().all().item(), solution[1].sum().item()) == (True, True, rows)
    broken = clew.eye(4)
    broken[1, 1] = float("nan")
    assert clew.linalg.lu_factor_ex(broken).LU.isnan().any()
    with pytest.raises(RuntimeError, match="pivots must be between 1 and 3"):
        clew.linalg.lu_solve(clew.eye(3), clew.tensor([1, 2, 9], dtype=clew.int32), clew.ones(3, 1))
