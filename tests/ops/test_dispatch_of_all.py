"""Every operation, in all its forms, under an interpreter that looks at all memory."""

import contextlib
import functools

import sampling
from test_registry import SAMPLED, Prepared, every, has_too_many_results, takes_out, with_more
from watching import Witness

import clew
from clew import _core


def forms(sample):
    """A call of the operation, of its form in place and with out=."""
    overload, places = sample.overload, sample.positional()[0]
    yield Prepared(sample)

    tensor = sampling.to_module(clew, places[0]) if places else None
    if overload.has(sampling.IN_PLACE) and isinstance(tensor, clew.Tensor):
        with clew.no_grad():
            (result,) = Prepared(sample)()
        if result.shape == tensor.shape and result.dtype == tensor.dtype:
            yield Prepared(sample, operation=getattr(_core.ops, overload.operation + "_"), writes=True)
    if takes_out(overload):
        with clew.no_grad():
            plain = Prepared(sample)
            plain.by_parts = False
            results = plain()
        if has_too_many_results(overload, results):
            return
        for kind in (clew.empty_like, lambda one: one.new_empty(0)):
            out = tuple(kind(one) for one in results)
            given = with_more(sample, out=out[0] if len(out) == 1 else out)
            given.by_parts = False
            yield functools.partial(without_gradients, given)


def without_gradients(prepared):
    with clew.no_grad():
        return prepared()


@every(SAMPLED)
def test_an_operation_is_seen_in_all_forms_and_gives_the_same(overload):
    """Forward, backward and backward of that, bit by bit; a witness looks at all memory."""
    for sample in sampling.samples(overload):
        for plain, seen in zip(forms(sample), forms(sample), strict=True):
            expected = run_with_gradients(plain)
            with Witness() as log:
                results = run_with_gradients(seen)
            assert len(results) == len(expected)
            unset = any(name.startswith("_empty") for name in log.names)  # memory as it came
            for result, other in zip(results, expected, strict=True):
                if isinstance(result, clew.Tensor) and not unset:
                    assert in_bytes(result) == in_bytes(other)


def in_bytes(tensor):
    plain = tensor.detach()
    return (plain.view(clew.int16) if plain.dtype == clew.bfloat16 else plain).numpy().tobytes()


def run_with_gradients(prepared):
    """Results, and gradients of them of first and second order."""
    results = prepared()
    leaves = getattr(prepared, "leaves", [])
    for order in (1, 2):
        roots = [one for one in results if isinstance(one, clew.Tensor) and one.requires_grad]
        if not roots or not leaves:
            break
        with contextlib.suppress(RuntimeError):  # a derivative that PyTorch has not, either
            weights = [clew.ones_like(root) for root in roots]
            more = clew.autograd.grad(roots, leaves, weights, allow_unused=True, create_graph=order == 1)
            results = [*results, *more]
    return results


@every(SAMPLED)
def test_an_operation_that_is_timed_gives_the_same(overload):
    """In bfloat16, which most forwards do not take themselves."""
    for sample in sampling.samples(overload, dtype="float32"):
        found = []
        for timed in (False, True):
            clew.manual_seed(0)
            prepared = Prepared(sample, floating="bfloat16")
            _core.timing(timed)
            try:
                found.append([in_bytes(one) for one in prepared() if isinstance(one, clew.Tensor)])
            except (RuntimeError, NotImplementedError, TypeError) as error:
                found.append(str(error))
            finally:
                _core.timing(False)
        assert found[0] == found[1] or "empty" in overload.operation
