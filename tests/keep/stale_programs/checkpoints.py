"""Checkpoints inside a call: what runs twice, from where random numbers go on, and namespaces that it gives."""

import types

import clew as torch
from clew.utils.checkpoint import checkpoint

from .harness import program


@program
def reentrant_checkpoint_reads_a_factor(session):
    w, state = torch.ones(2, requires_grad=True), types.SimpleNamespace(factor=2.0)

    def call(x):
        y = checkpoint(lambda y: (y * state.factor).tanh(), x * w, use_reentrant=True)
        return torch.autograd.backward(y.sum()), y.detach()

    function = session.compile(call)
    session.watch(w)
    for state.factor in (2.0, 2.0, 2.0, 3.0, 3.0, 2.0):
        session.call(function, torch.full((2,), state.factor))


@program
def reentrant_checkpoint_counts_its_runs(session):
    w, runs = torch.ones(2, requires_grad=True), torch.zeros(())

    def body(y):
        with torch.no_grad():
            runs.add_(1)
        return y.exp()

    def call(x):
        checkpoint(body, x * w, use_reentrant=True).sum().backward()

    function = session.compile(call)
    session.watch(w, runs)
    for i in range(5):
        session.call(function, torch.full((2,), 0.1 * i))


@program
def checkpoint_draws_again(session):
    w = torch.ones(4, requires_grad=True)
    session.watch(w)
    for reentrant in (True, False):

        def call(x, reentrant=reentrant):
            y = checkpoint(lambda y: torch.nn.functional.dropout(y.tanh()), x * w, use_reentrant=reentrant)
            y.sum().backward()
            return torch.rand(2)

        session.calls(5, session.compile(call), torch.ones(4))


@program
def checkpoint_between_draws(session):
    w = torch.ones(4, requires_grad=True)

    def call(x):
        y = checkpoint(lambda y: y.exp(), torch.nn.functional.dropout(x) * w, use_reentrant=True)
        torch.nn.functional.dropout(y).sum().backward()
        return torch.rand(2)

    session.watch(w)
    session.calls(5, session.compile(call), torch.ones(4))


@program
def checkpoint_by_hooks_ends_in_what_it_saves(session):
    w = torch.ones(2, requires_grad=True)

    def call(x):
        checkpoint(lambda y: (y * w).tanh(), x, use_reentrant=False).sum().backward()

    function = session.compile(call)
    session.watch(w)
    for i in range(5):
        session.call(function, torch.full((2,), 0.1 * i))


@program
def a_namespace_for_each_call(session):
    def call(x):
        out = types.SimpleNamespace(value=x.sum().item(), y=x * 2)
        out.again = out.y
        return out, out.value > 2

    function = session.compile(call)
    for i in range(6):
        given = session.call(function, torch.full((2,), 0.5 * i))
        given[0].value = None  # is the caller's


@program
def checkpoint_draws_for_some_values_only(session):
    """The recorded call draws no number, since no value asks for one; later ones do."""

    def slopes(y):
        return torch.nn.functional.rrelu(y, training=True)

    def counts(y):
        return y * torch.poisson(y.detach().abs())

    for body, values in ((slopes, (1.0, 1.0, -1.0, -1.0)), (counts, (0.0, 0.0, 3.0, 3.0))):
        w = torch.ones(3, requires_grad=True)
        session.watch(w)

        def call(x, body=body, w=w):
            y = checkpoint(body, x * w, use_reentrant=True)
            y.sum().backward()
            return y.detach()

        function = session.compile(call)
        for value in values:
            session.call(function, torch.full((3,), value))
