"""Transforms, constraints and their registries."""

import copy
import itertools

import numpy
import pytest
import torch as oracle
from table import FACTOR, numbers

import clew
import clew.distributions as D
from clew.distributions import constraints

BOTH = (clew, oracle)
REALS = [-1.3, 0.2, 2.5]
POSITIVES = [0.3, 1.0, 2.5]


def t(module, value):
    return module.tensor(value, dtype=module.float64)


def transform(source):
    """A function of a module, from its text; T is the module's transforms."""
    scope = {"t": t}
    return lambda module: eval(
        source, {**scope, "module": module, "T": module.distributions.transforms, "D": module.distributions}
    )


CASES = {
    "T.AbsTransform()": REALS,
    "T.AffineTransform(1.0, -2.0)": REALS,
    "T.AffineTransform(t(module, [1.0, 2.0, 3.0]), t(module, [0.5, -1.0, 2.0]), event_dim=1)": REALS,
    "T.ExpTransform()": REALS,
    "T.PowerTransform(t(module, 2.0))": POSITIVES,
    "T.PowerTransform(t(module, [0.5, -1.0, 2.0]))": POSITIVES,
    "T.SigmoidTransform()": REALS,
    "T.SoftplusTransform()": REALS,
    "T.TanhTransform()": REALS,
    "T.SoftmaxTransform()": REALS,
    "T.StickBreakingTransform()": REALS,
    "T.CorrCholeskyTransform()": REALS,
    "T.LowerCholeskyTransform()": FACTOR,
    "T.PositiveDefiniteTransform()": FACTOR,
    "T.ReshapeTransform((4,), (2, 2))": [[1.0, 2.0, 3.0, 4.0]],
    "T.IndependentTransform(T.ExpTransform(), 1)": REALS,
    "T.CumulativeDistributionTransform(D.Normal(0.0, 1.0))": REALS,
    "T.ComposeTransform([T.AffineTransform(1.0, 2.0), T.SigmoidTransform()])": REALS,
    "T.ComposeTransform([T.ExpTransform(), T.StickBreakingTransform()])": REALS,
    "T.ComposeTransform([])": REALS,
    "T.CatTransform([T.ExpTransform(), T.AffineTransform(1.0, 3.0)], dim=0, lengths=[1, 2])": REALS,
    "T.CatTransform([T.ExpTransform(), T.StickBreakingTransform()], dim=1, lengths=[1, 1])": [[0.1, 0.2], [0.3, 0.4]],
    "T.StackTransform([T.ExpTransform(), T.SigmoidTransform()], dim=1)": [[0.1, 0.2], [0.3, 0.4]],
    "T.ExpTransform().inv": POSITIVES,
    "T.ComposeTransform([T.AffineTransform(1.0, 2.0), T.ExpTransform()]).inv": POSITIVES,
    "T.identity_transform": REALS,
}
every = pytest.mark.parametrize("source", CASES)


def outcome(function):
    try:
        return function()
    except (NotImplementedError, ValueError, AssertionError, IndexError, RuntimeError) as error:
        return type(error).__name__


def agree(ours, theirs):
    if isinstance(theirs, oracle.Tensor):
        assert tuple(ours.shape) == tuple(theirs.shape)
        numpy.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=1e-9, atol=1e-12)
    else:
        assert str(ours) == str(theirs)


def in_both(source, function):
    agree(*(outcome(lambda module=module: function(transform(source)(module), module)) for module in BOTH))


@every
def test_against_pytorchs(source):
    x = CASES[source]
    in_both(source, lambda f, module: f(t(module, x)))
    in_both(source, lambda f, module: f.inv(f(t(module, x))))
    in_both(source, lambda f, module: f.log_abs_det_jacobian(t(module, x), f(t(module, x))))
    in_both(source, lambda f, module: f.inv.log_abs_det_jacobian(f(t(module, x)), t(module, x)))
    for name in ("bijective", "domain", "codomain", "sign", "event_dim", "__class__.__name__"):
        in_both(source, lambda f, module, name=name: f.__class__.__name__ if "name" in name else getattr(f, name))
    for shape in ((), (3,), (6,), (2, 3), (2, 3, 3), (2, 2, 2)):
        in_both(source, lambda f, module, shape=shape: tuple(f.forward_shape(shape)))
        in_both(source, lambda f, module, shape=shape: tuple(f.inverse_shape(shape)))
    in_both(source, lambda f, module: repr(f))


@every
def test_gradients_are_pytorchs(source):
    found = []
    for module in BOTH:
        x = t(module, CASES[source]).requires_grad_()
        y = transform(source)(module)(x)
        weights = module.arange(1, y.numel() + 1, dtype=y.dtype).reshape(y.shape)
        found.append(module.autograd.grad((y * weights).sum(), x)[0])
    agree(*found)


@every
def test_jacobian_is_the_derivative(source):
    """log |det| of the matrix of derivatives, where it is square and the transform is bijective."""
    f, x = transform(source)(clew), t(clew, CASES[source])
    if not f.bijective or isinstance(outcome(lambda: f.log_abs_det_jacobian(x, f(x))), str):
        return
    jacobian = clew.autograd.functional.jacobian(lambda flat: f(flat.reshape(x.shape)).reshape(-1), x.reshape(-1))
    rows = numbers(jacobian)
    if rows.shape[0] != rows.shape[1]:  # a simplex or a factor: coordinates that are independent of each other
        return
    _, expected = numpy.linalg.slogdet(rows)
    numpy.testing.assert_allclose(numbers(f.log_abs_det_jacobian(x, f(x))).sum(), expected, rtol=1e-8)


@every
def test_inverse_inverts(source):
    f, x = transform(source)(clew), t(clew, CASES[source])
    assert f.inv.inv is f
    if f.bijective and not isinstance(outcome(lambda: f.inv(f(x))), str):
        numpy.testing.assert_allclose(numbers(f.inv(f(x))), numbers(x), rtol=1e-7)
    if "Cat" not in source:  # parts whose checks have different shapes cannot be joined
        assert bool(f.codomain.check(f(x)).all())


@every
def test_equality_and_copies(source):
    one, other = transform(source), transform(source)
    if one(oracle) == other(oracle):
        assert one(clew) == other(clew)
    assert one(clew) != D.AffineTransform(7.0, 7.0)
    x = t(clew, CASES[source])
    assert copy.deepcopy(one(clew))(x).tolist() == one(clew)(x).tolist()


@every
def test_a_cache_gives_back_the_same_object(source):
    if source in ("T.ComposeTransform([])", "T.identity_transform"):
        return
    f, x = transform(source)(clew).with_cache(), t(clew, CASES[source])
    y = f(x)
    assert f(x) is y
    assert f.inv(y) is x or "Compose" in source
    assert f.with_cache() is f
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        D.ExpTransform(cache_size=2)


def test_transformed_distributions_know_shapes_and_caches():
    for module in BOTH:
        N, T = module.distributions.Normal, module.distributions
        made = T.TransformedDistribution(N(module.zeros(4, 3), 1.0), [T.StickBreakingTransform()])
        assert (tuple(made.batch_shape), tuple(made.event_shape)) == ((4,), (4,))
        wide = T.TransformedDistribution(N(0.0, 1.0), T.AffineTransform(module.zeros(5), 1.0))
        assert tuple(wide.batch_shape) == (5,)
        with pytest.raises(ValueError, match="needs to have shape with size at least 1"):
            T.TransformedDistribution(N(0.0, 1.0), T.StickBreakingTransform())
        with pytest.raises(ValueError, match="transforms must be a Transform or"):
            T.TransformedDistribution(N(0.0, 1.0), [1])


# ------------------------------------------------------------------------------------------------------- constraints
CONSTRAINTS = [
    "boolean", "one_hot", "nonnegative_integer", "positive_integer", "integer_interval(-1, 2)", "real", "real_vector",
    "positive", "nonnegative", "greater_than(0.5)", "greater_than_eq(1.0)", "less_than(1.0)", "multinomial(2)",
    "unit_interval", "interval(-1.0, 1.0)", "half_open_interval(0.0, 1.0)", "simplex", "lower_triangular",
    "lower_cholesky", "corr_cholesky", "square", "symmetric", "positive_semidefinite", "positive_definite",
    "independent(constraints.positive, 1)", "MixtureSameFamilyConstraint(constraints.positive)",
    "cat([constraints.positive, constraints.unit_interval], dim=-1, lengths=[1, 2])",
    "stack([constraints.positive, constraints.real, constraints.unit_interval], dim=-1)",
    "dependent", "dependent(is_discrete=True, event_dim=1)",
]  # fmt: skip
VALUES = [
    [0.0, 1.0, 0.0],
    [0.2, 0.3, 0.5],
    [-1.0, 0.5, float("nan")],
    [2.0, 1.0, 1.5],
    [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]],
    [[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]],
    [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[1.0, 0.0], [0.5, -1.0]],
]


@pytest.mark.parametrize("source", CONSTRAINTS)
@pytest.mark.filterwarnings("ignore")
def test_constraints_are_pytorchs(source):
    for value in [*VALUES, None]:
        found = []
        for module in BOTH:
            scope = vars(module.distributions.constraints)
            one = eval(source, {**scope, "constraints": module.distributions.constraints})
            if value is None:
                found.append([outcome(lambda one=one: (one.is_discrete, one.event_dim)), repr(one)])
                continue
            try:
                found.append(one.check(t(module, value)).tolist())
            except (ValueError, RuntimeError, AssertionError, IndexError):  # sizes that do not fit
                found.append("refused")
        assert found[0] == found[1], value


@pytest.mark.parametrize("source", CONSTRAINTS)
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registries_are_pytorchs(source, registry):
    found = []
    for module in BOTH:
        scope = vars(module.distributions.constraints)
        constraint = eval(source, {**scope, "constraints": module.distributions.constraints})
        try:
            f = getattr(module.distributions, registry)(constraint)
        except NotImplementedError as error:
            found.append(str(error).replace("_IndependentConstraint", "_Independent"))
            continue
        x = t(module, [0.3, -0.7, 1.1] if f.domain.event_dim < 2 else [[0.3, 0.1], [-0.5, 0.2]])
        found.append([repr(f), f(x).tolist()])
        assert bool(constraint.check(f(x)).all())
    assert str(found[0])[:40] == str(found[1])[:40]
    if isinstance(found[0], list):
        numpy.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12)


def test_own_constraints_can_be_registered():
    class Even(constraints.Constraint):
        def check(self, value):
            return value % 2 == 0

    with pytest.raises(NotImplementedError, match="Cannot transform Even constraints"):
        D.transform_to(Even())

    @D.transform_to.register(Even)
    def _even(constraint):
        return D.AffineTransform(0.0, 2.0)

    assert D.transform_to(Even())(clew.tensor(3.0)).item() == 6.0
    with pytest.raises(TypeError, match="Expected constraint to be either a Constraint subclass or instance"):
        D.transform_to.register(int, _even)


def test_triangles_as_vectors():
    for diag, size in itertools.product((-2, -1, 0, 1), (3, 4)):
        matrix = numpy.arange(1.0, size * size + 1).reshape(size, size)
        found = []
        for module in BOTH:
            utils = module.distributions.utils
            vector = utils.tril_matrix_to_vec(t(module, matrix.tolist()), diag)
            found.append((vector.tolist(), utils.vec_to_tril_matrix(vector, diag).tolist()))
        assert found[0] == found[1]
        assert found[0][1] == numpy.tril(matrix, diag).tolist()
    with pytest.raises(ValueError, match="cannot be expressed as the lower triangular part"):
        D.utils.vec_to_tril_matrix(clew.zeros(5))
    with pytest.raises(ValueError, match="is outside"):
        D.utils.tril_matrix_to_vec(clew.zeros(2, 2), 5)
