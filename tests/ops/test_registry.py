"""Every operation, of the registry or written in Python, at the arguments that its domain describes.

An operation is in these tests the day it is defined: nothing here names one. One that has no domain, and no reason why
it has none, fails.
"""

import contextlib
import dataclasses
import functools
import inspect
import tomllib
import types
from pathlib import Path

import numpy
import pytest
import sampling
import stored_values

import clew

pytestmark = pytest.mark.beyond

DEVIATIONS = Path(__file__).resolve().parents[2] / "docs" / "deviations.toml"

OVERLOADS = (*sampling.overloads(), *sampling.compositions())
SAMPLED = [overload for overload in OVERLOADS if overload.domain and not overload.unsampled]


def every(overloads):
    return pytest.mark.parametrize("overload", overloads, ids=lambda overload: overload.schema.replace("Tensor ", ""))


class Prepared:
    """A sample as a function of the tensors in it that require a gradient."""

    def __init__(self, sample, module=clew, operation=None, writes=False, call=None, floating=None):
        self.sample, self.module = sample, module
        self.leaves = []
        places, named = call or sample.positional()
        self.places = sampling.to_module(module, places, leaves=self.leaves, floating=floating)
        self.named = sampling.to_module(module, named, leaves=self.leaves, floating=floating)
        self.operation = operation or sampling.call_of(sample.overload, module)
        self.writes = sample.overload.operation.endswith("_") or writes
        self.by_parts = True  # complex results as pairs of real ones

    def __call__(self, *leaves):
        """All results. Random operations draw the same numbers each time."""
        given = iter(leaves or self.leaves)
        places, named = self._filled(self.places, given), self._filled(self.named, given)
        if self.writes:
            places[0] = places[0].clone()[...] if self.writes == "view" else places[0].clone()
        self.module.default_generator.manual_seed(0)
        result = self.operation(*places, **named)
        if self.writes:
            assert result is places[0], f"{self.sample.overload} did not return its tensor"
        results = list(result) if isinstance(result, list | tuple) else [result]
        return list(map(self._parts, results)) if self.by_parts else results

    def _parts(self, result):
        is_complex = isinstance(result, self.module.Tensor) and result.is_complex()
        return self.module.view_as_real(result.resolve_conj()) if is_complex else result

    def differentiable(self, *leaves):
        return [result for result in self(*leaves) if getattr(result, "requires_grad", False)]

    def _filled(self, value, given):
        if isinstance(value, self.module.Tensor):
            if not value.requires_grad:
                return value
            leaf = next(given)
            return leaf if value.is_leaf else (leaf + leaf.mT) / 2  # sampling.Symmetric
        if isinstance(value, list | tuple):
            return type(value)(self._filled(one, given) for one in value)
        if isinstance(value, dict):
            return {name: self._filled(one, given) for name, one in value.items()}
        return value


@contextlib.contextmanager
def missing_derivatives_say_so():
    try:
        yield
    except RuntimeError as error:
        if "not implemented" not in str(error):
            raise


@pytest.mark.unsanitized("of paddings the plane has the space's code", cases=r"pad3d")
@every(OVERLOADS)
def test_it_has_a_domain(overload):
    assert overload.domain, (
        "say what arguments tests may call it with: in its struct (Note [Domains] in opdef.h), or by @domain"
    )
    assert overload.unsampled or sampling.samples(overload)
    if overload.unsampled and not isinstance(overload, sampling.Composition):
        assert not overload.is_public, "what programs can call can be called here"


@pytest.mark.unsanitized("of paddings the plane has the space's code", cases=r"pad3d")
@every(SAMPLED)
def test_it_runs(overload):
    """Its results are tensors as many as the registry says, with history just if it can give them one."""
    for sample in sampling.samples(overload):
        results = Prepared(sample)()
        assert all(isinstance(result, clew.Tensor | bool | int | str | clew.dtype) for result in results)
        assert overload.outputs in (0, len(results))
        if overload.has(sampling.NON_DIFFERENTIABLE):
            assert not any(result.requires_grad for result in results)


@pytest.mark.unsanitized("of paddings the plane has the space's code", cases=r"pad3d")
@every(SAMPLED)
def test_derivatives_of_first_and_second_order(overload):
    """Against differences of values. A derivative that is not there must say so."""
    for sample in sampling.samples(overload):
        prepared = Prepared(sample)
        if not prepared.leaves or not prepared.differentiable():
            continue
        with missing_derivatives_say_so():
            assert clew.autograd.gradcheck(prepared.differentiable, prepared.leaves)
            assert clew.autograd.gradgradcheck(prepared.differentiable, prepared.leaves)


@every([overload for overload in SAMPLED if overload.has(sampling.IN_PLACE)])
def test_the_derived_form_writes_what_the_plain_one_gives(overload):
    operation = getattr(clew._core.ops, overload.operation + "_")
    written = 0
    for sample in sampling.samples(overload):
        plain = Prepared(sample)
        if not plain.places or not isinstance(plain.places[0], clew.Tensor):
            continue
        (expected,) = plain()
        tensor = plain.places[0]
        if expected.shape != tensor.shape or expected.dtype != tensor.dtype:
            continue
        prepared = Prepared(sample, operation=operation, writes=True)
        (result,) = prepared()
        written += 1
        assert result.tolist() == expected.tolist()
        assert result._version == 1
        if overload.differentiable and expected.requires_grad:
            with missing_derivatives_say_so():
                ours = clew.autograd.grad(result.sum(), prepared.leaves, allow_unused=True)
                plains = clew.autograd.grad(expected.sum(), plain.leaves, allow_unused=True)
                for our, other in zip(ours, plains, strict=True):
                    assert (our is None) == (other is None)
                    assert our is None or our.tolist() == other.tolist()
    assert written or overload.has(sampling.NON_DIFFERENTIABLE), "no sample has a result that fits into the first input"


def gradients(prepared, weights, create_graph=False):
    """For each leaf, with these gradients of the results; None if a derivative is not implemented."""
    results = prepared.differentiable()
    with missing_derivatives_say_so():
        return clew.autograd.grad(results, prepared.leaves, weights, allow_unused=True, create_graph=create_graph)


@pytest.mark.unsanitized("rules run in the tests that are left")
@every([overload for overload in SAMPLED if overload.differentiable])
def test_rules_are_linear_in_the_gradient(overload):
    """At g, 2 g, h and g + h: what forward mode and batching will be derived from."""
    rng = numpy.random.default_rng(0)
    for sample in sampling.samples(overload):
        prepared = Prepared(sample)
        shapes = [result.shape for result in prepared.differentiable()]
        g, h = ([clew.from_numpy(rng.standard_normal(shape)) for shape in shapes] for _ in range(2))
        if not shapes or gradients(prepared, g) is None:
            continue
        of_g, of_h = gradients(prepared, g), gradients(prepared, h)
        of_twice = gradients(prepared, [2 * one for one in g])
        of_sum = gradients(prepared, [one + other for one, other in zip(g, h, strict=True)])
        for one, other, twice, total in zip(of_g, of_h, of_twice, of_sum, strict=True):
            assert (one is None) == (other is None) == (twice is None) == (total is None)
            if one is not None:
                numpy.testing.assert_allclose(twice.numpy(), 2 * one.numpy(), rtol=1e-12, atol=1e-14)
                numpy.testing.assert_allclose(total.numpy(), one.numpy() + other.numpy(), rtol=1e-9, atol=1e-12)


def derivatives_by_the_gradient(prepared, of):
    """Of the rules, and of their derivatives by the inputs, along fixed directions: at gradients that `of` makes."""
    rng = numpy.random.default_rng(0)
    along = [clew.from_numpy(rng.standard_normal(leaf.shape)) for leaf in prepared.leaves]
    results = prepared.differentiable()
    weights = [clew.from_numpy(numpy.array(of(result.shape))).requires_grad_() for result in results]
    found, values = [], results
    for _ in range(2):
        if not values:
            break
        given = weights if values is results else None
        first = clew.autograd.grad(values, prepared.leaves, given, create_graph=True, allow_unused=True)
        pairs = [(one, v) for one, v in zip(first, along, strict=True) if one is not None and one.requires_grad]
        if not pairs:
            break
        total = sum((one * v).sum() for one, v in pairs)
        found += clew.autograd.grad(total, weights, allow_unused=True, retain_graph=True, materialize_grads=True)
        values = [total]
    return found


@pytest.mark.unsanitized("rules run in the tests that are left")
@every([overload for overload in SAMPLED if overload.differentiable])
def test_rules_have_one_derivative_by_the_gradient(overload):
    """What is linear has the same at 0, where a mask or a logarithm has none, as elsewhere."""
    for sample in sampling.samples(overload):
        prepared = Prepared(sample)
        with missing_derivatives_say_so():
            at_zero, elsewhere = (
                derivatives_by_the_gradient(prepared, of) for of in (numpy.zeros, numpy.random.default_rng(1).random)
            )
            for one, other in zip(at_zero, elsewhere, strict=True):
                numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.unsanitized("rules run in the tests that are left")
@every([overload for overload in SAMPLED if overload.differentiable])
def test_a_rule_gives_the_same_with_a_graph(overload):
    """Rules that run a kernel of their own are made of operations under create_graph."""
    rng = numpy.random.default_rng(0)
    for sample in sampling.samples(overload):
        prepared = Prepared(sample)
        weights = [clew.from_numpy(rng.standard_normal(result.shape)) for result in prepared.differentiable()]
        plain = gradients(prepared, weights) if weights else None
        with_graph = gradients(prepared, weights, create_graph=True) if plain else ()
        for one, other in zip(plain or (), with_graph, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                numpy.testing.assert_allclose(other.detach().numpy(), one.numpy(), rtol=1e-9, atol=1e-12)


def with_more(sample, **more):
    prepared = Prepared(sample)
    prepared.named.update(more)
    return prepared


def takes_out(overload):
    return overload.has(sampling.OUT) or any(one["name"] == "out" for one in overload.arguments)


def has_too_many_results(overload, results):
    """For out=, as nonzero(as_tuple=True) has."""
    return len(results) > 1 and any(one["name"] == "out" and one["type"] == "Tensor" for one in overload.arguments)


@every(list(filter(takes_out, SAMPLED)))
def test_out_holds_what_the_plain_form_gives(overload):
    """In memory of the right shape, of another geometry, and in an empty tensor, which grows."""
    for sample in sampling.samples(overload):
        with clew.no_grad():
            plain = Prepared(sample)
            plain.by_parts = False
            expected = plain()
            if has_too_many_results(overload, expected):
                with pytest.raises(RuntimeError, match="does not support the out kwarg"):
                    with_more(sample, out=clew.empty(0))()
                continue
            strided = [clew.empty((*one.shape, 2), dtype=one.dtype)[..., 0] for one in expected]
            for out in ([clew.empty_like(one) for one in expected], strided, [one.new_empty(0) for one in expected]):
                prepared = with_more(sample, out=out[0] if len(out) == 1 else tuple(out))
                prepared.by_parts = False
                results = prepared()
                for result, given, plain in zip(results, out, expected, strict=True):
                    assert result is given
                    assert result.dtype == plain.dtype
                    assert numpy.array_equal(result.numpy(), plain.detach().numpy(), equal_nan=True)


def twice(prepared):
    """First and second derivatives of a result; None if one is not implemented."""
    (result,) = prepared()
    weights = clew.linspace(0.5, 1.5, result.numel(), dtype=result.dtype).reshape(result.shape)
    with missing_derivatives_say_so():
        total = (result * result * weights).sum()
        first = clew.autograd.grad(total, prepared.leaves, allow_unused=True, create_graph=True)
        total = sum((one * one).sum() for one in first if one is not None)
        if not getattr(total, "requires_grad", False):
            return [*first, *(None for _ in first)]
        return [*first, *clew.autograd.grad(total, prepared.leaves, allow_unused=True)]


@every([overload for overload in SAMPLED if overload.has(sampling.IN_PLACE) and overload.differentiable])
def test_a_view_that_is_written_has_the_derivatives_of_the_plain_form(overload):
    """Of both orders, and nothing that the first needs is freed before the second."""
    operation = getattr(clew._core.ops, overload.operation + "_")
    for sample in sampling.samples(overload):
        plain = Prepared(sample)
        if not plain.places or not isinstance(plain.places[0], clew.Tensor):
            continue
        (expected,) = plain()
        if expected.shape != plain.places[0].shape or expected.dtype != plain.places[0].dtype:
            continue
        if not expected.requires_grad or (expected_derivatives := twice(plain)) is None:
            continue
        derivatives = twice(Prepared(sample, operation=operation, writes="view"))
        for ours, others in zip(derivatives, expected_derivatives, strict=True):
            numpy.testing.assert_allclose(
                0 if ours is None else ours.tolist(), 0 if others is None else others.tolist(), rtol=1e-9, atol=1e-12
            )


def outcome(prepared):
    """Results, and the gradients of a weighted sum of them; None instead if a derivative is not implemented, or another
    than PyTorch's on purpose."""
    results = prepared()
    module = prepared.module
    if prepared.sample.overload.operation in different_on_purpose("gradient"):
        return results, None
    with_history = [result for result in results if getattr(result, "requires_grad", False)]
    if not with_history:
        return results, [None] * len(prepared.leaves)
    weights = [module.linspace(0.5, 1.5, x.numel(), dtype=x.dtype).reshape(x.shape) for x in with_history]
    total = sum((result * weight).sum() for result, weight in zip(with_history, weights, strict=True))
    with missing_derivatives_say_so():
        return results, module.autograd.grad(total, prepared.leaves, allow_unused=True, retain_graph=True)
    return results, None


def calls_to(function, sample):
    """How to hand the sample to a function of PyTorch's, whose other arguments may be of other names or between."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        yield sample.positional()
    else:
        if any(one.kind in (one.VAR_POSITIONAL, one.POSITIONAL_ONLY) for one in parameters.values()):
            yield sample.positional()
            return
        if parameters.keys() >= sample.arguments.keys():
            yield [], sample.arguments
    kinds = {argument["name"]: argument["type"] for argument in sample.overload.arguments}
    tensors = [name for name in sample.arguments if kinds[name] in sampling.TENSORS]
    rest = {name: value for name, value in sample.arguments.items() if name not in tensors}
    yield [sample.arguments[name] for name in tensors], rest


def pytorchs(sample, oracle, floating=None):
    """What PyTorch's operation of the same name gives; None if no such one takes these arguments."""
    for function in sampling.calls_of(sample.overload, oracle):
        for call in calls_to(function, sample):
            with contextlib.suppress(TypeError, ValueError):
                return outcome(Prepared(sample, oracle, function, call=call, floating=floating))
    return None


def assert_same(ours, theirs, tolerance):
    """Numbers, shapes, dtypes. No gradient is one of zeros."""
    if ours is None or theirs is None:
        assert not any(x.any() for x in (ours, theirs) if x is not None)
        return
    if not isinstance(ours, clew.Tensor):
        assert repr(ours) == repr(theirs)
        return
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    if ours.dtype == clew.float32:
        tolerance = 1e-6
    theirs = theirs.clone()  # zeros that PyTorch keeps without memory
    numpy.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=tolerance, atol=tolerance / 10)


@pytest.fixture
def expected_of(request):
    """What PyTorch gives for a sample, computed or stored; None if it has no such operation."""
    if stored_values.PATH:
        return lambda number, sample: stored_values.of(sample.overload, number, clew)
    oracle = request.getfixturevalue("oracle")

    def computed(number, sample):
        expected = pytorchs(sample, oracle)
        assert expected or not sampling.calls_of(sample.overload, oracle), "PyTorch has it with other arguments"
        return expected

    return computed


# PyTorch keeps constants of the first in float32, and has eight digits of trigamma.
ROUNDED = {"hardsigmoid", "digamma", "polygamma"}


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, of what is deprecated
@every([overload for overload in SAMPLED if overload.is_public])
def test_values_and_gradients_are_pytorchs(overload, expected_of):
    for number, sample in enumerate(sampling.samples(overload)):
        expected = expected_of(number, sample)
        if expected is None:
            continue
        results, gradients = outcome(Prepared(sample))
        pairs = list(zip(results, expected[0], strict=True))
        if gradients is not None and expected[1] is not None:
            pairs += zip(gradients, expected[1], strict=True)
        for ours, theirs in pairs:
            assert_same(ours, theirs, 1e-7 if overload.operation in ROUNDED else 1e-10)


def graph_of(node):
    """Names and edges below a node."""
    if node is None:
        return None
    name = type(node).__name__
    edges = [(graph_of(below), index) for below, index in node.next_functions]
    return name if name == "AccumulateGrad" else (name, edges)


@functools.cache
def different_on_purpose(aspect):
    """Operations that are not PyTorch's in this respect: "node", "gradient"."""
    entries = tomllib.loads(DEVIATIONS.read_text())["deviation"]
    rules = [rule for entry in entries for rule in entry.get("differs", []) if aspect in rule["aspects"]]
    return {operation for rule in rules for operation in rule["operations"]}


# Functions in Python are made of other operations than PyTorch's.
NAMED = [one for one in SAMPLED if one.is_public and not isinstance(one, sampling.Composition)]


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
@pytest.mark.filterwarnings("ignore::UserWarning")
@every(NAMED)
def test_nodes_and_edges_are_pytorchs(overload, oracle):
    differ = []
    for sample in sampling.samples(overload):
        expected = pytorchs(sample, oracle)
        if expected is None:
            continue
        theirs = expected[0]
        ours = Prepared(sample)()
        for our, their in zip(ours, theirs, strict=True):
            if our.grad_fn is not None and their.grad_fn is not None:
                one, other = graph_of(our.grad_fn), graph_of(their.grad_fn)
                differ += [] if one == other else [f"{one}, in PyTorch {other}"]
    if overload.operation in different_on_purpose("node"):
        return
    assert not differ, "\n".join(differ)


def test_all_that_the_core_gives_to_programs_is_here():
    """Functions and methods of the core are operations of the registry."""
    sampled = {overload.operation for overload in SAMPLED}
    for name, function in clew._core.functions.items():
        assert name.removesuffix("_") in sampled or name in sampled, name
        assert isinstance(function, clew._core.Operation)


def test_all_functions_that_are_written_in_python_are_here():
    paths = {one.path for one in sampling.compositions()}
    assert {"einsum", "nn.functional.glu", "Tensor.new_zeros", "Tensor.to", "Tensor.type", "can_cast"} <= paths
    for module in (clew.ops, clew.nn.functional):
        for name in module.__all__:
            function = getattr(module, name)
            if isinstance(function, types.FunctionType) and function.__module__.startswith(module.__name__):
                assert getattr(function, "domain", ""), name


def test_what_a_domain_leaves_out_is_told():
    overload = next(one for one in OVERLOADS if one.operation == "cumsum")
    for domain, message in (
        ("real", "does not say what dim is"),
        ("real, dims=1", "names \\['dims'\\]"),
        ("", "no domain"),
    ):
        with pytest.raises(ValueError, match=message):
            sampling.samples(dataclasses.replace(overload, domain=domain))


def test_a_wrong_derivative_would_be_found():
    class Wrong(clew.autograd.Function):
        @staticmethod
        def forward(ctx, x, dim):
            return x.cumsum(dim)

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    overload = next(one for one in OVERLOADS if one.operation == "cumsum")
    prepared = Prepared(sampling.samples(overload)[0])
    prepared.operation = Wrong.apply
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        clew.autograd.gradcheck(prepared.differentiable, prepared.leaves)
