"""6.5: programs in which a stale replay would be wrong. Compiled, each gives and leaves what it does eagerly."""

import pytest
from stale_programs import (
    aliases,
    arrays,
    attributes,
    backward,
    built_in_attributes,
    callers_in_c,
    classes,
    container_arguments,
    container_types,
    containers,
    control,
    effects,
    errors,
    functions,
    graph_hooks,
    graphs,
    identities,
    items,
    iterators,
    lifetimes,
    methods,
    module_hooks,
    modules,
    objects,
    optimizers,
    outside,
    protocols,
    randomness,
    states,
    tensor_aliases,
    tensor_writes,
    tensors,
    variables,
    wrappers,
)
from stale_programs.harness import PROGRAMS, outcomes

import clew

pytestmark = pytest.mark.beyond

KINDS = [
    aliases,
    arrays,
    attributes,
    backward,
    built_in_attributes,
    callers_in_c,
    classes,
    container_arguments,
    container_types,
    containers,
    control,
    effects,
    errors,
    functions,
    graph_hooks,
    graphs,
    identities,
    items,
    iterators,
    lifetimes,
    methods,
    module_hooks,
    modules,
    objects,
    optimizers,
    outside,
    protocols,
    randomness,
    states,
    tensor_aliases,
    tensor_writes,
    tensors,
    variables,
    wrappers,
]


def test_there_are_a_hundred_of_them():
    assert len(PROGRAMS) >= 100
    assert all(kind.__doc__ for kind in KINDS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_eager(name):
    eager = outcomes(name, lambda function: function)
    compiled = outcomes(name, clew.compile)
    for turn, (expected, found) in enumerate(zip(eager.outcomes, compiled.outcomes, strict=True)):
        assert found == expected, f"call {turn}"
    assert any(one != eager.outcomes[0] for one in eager.outcomes), "no replay could be stale"
