"""Graphs are edited, copied, pickled and printed as PyTorch's, and refuse what those refuse."""

import copy
import io
import operator
import pickle
import sys
from typing import Any

import numpy as np
import pytest
import torch

import clew

from .both import made, neutral, rows


def agree(program: Any) -> Any:
    """What the program gives here, which is what it gives in PyTorch."""
    ours, theirs = (repr(program(module, module.fx)) for module in (clew, torch))
    assert neutral(ours) == neutral(theirs)


def failing(program: Any) -> str:
    with pytest.raises((RuntimeError, AssertionError, ValueError, TypeError, NotImplementedError, NameError)) as raised:
        program()
    return type(raised.value).__name__


def test_nodes_are_made_inserted_and_erased():
    def program(m, fx):
        graph = fx.Graph()
        x = graph.placeholder("x")
        y = graph.placeholder("y", default_value=3, type_expr=int)
        z = graph.call_function(operator.add, (x, y))
        last = graph.call_function(m.relu, (z,), name="named")
        graph.output((last, {"z": z}))
        with graph.inserting_before(z):
            new = graph.call_method("neg", (x,))
        with graph.inserting_after(last):
            more = graph.call_function(m.sum, (last,), {"dim": 0})
        with graph.inserting_before():
            graph.placeholder("first")
        with graph.inserting_after():
            graph.call_function(m.ones, ((2, 3),))
        z.replace_all_uses_with(new, delete_user_cb=lambda user: user is last)
        z.update_arg(0, new)
        more.update_kwarg("keepdim", True)
        more.insert_arg(1, 0)
        seen = [str(graph), graph.python_code("self").src, x.users, z.all_input_nodes, more.next, more.prev, x < z]
        graph.erase_node(more)
        last.replace_input_with(new, x)
        last.append(new)
        seen += [str(graph), len(graph.nodes), list(reversed(graph.nodes)), graph.find_nodes(op="placeholder")]
        seen += [sorted([last, x, z]), last.format_node(), graph.find_nodes(op="get_attr")]
        return [*seen, graph.find_nodes(op="call_function", target=m.relu), new.is_impure(), x.is_impure()]

    agree(program)


def test_names_are_as_in_pytorch():
    def program(m, fx):
        graph = fx.Graph()
        for name in ["x", "x", "x_1", "x_1", "sum", "input", "if", "camelCase", "2d", "a.b", "", "x_7", "x", "_",
                     "torch", "inf", "device", "a_b_3", "a_b", "a_b"]:  # fmt: skip
            graph.placeholder(name)
        for target in [operator.getitem, operator.and_, m.relu, m.nn.functional.relu, m.linalg.norm, len, getattr]:
            graph.call_function(target)
        graph.call_method("__getitem__")
        graph.call_module("blocks.0.Linear")
        graph.get_attr("layer.weight")
        return list(graph.nodes)

    agree(program)


def test_copies_and_pickles():
    def program(m, fx):
        def f(x, y=None, *, flag: bool = True):
            return {"sum": m.relu(x) + 1, "rest": [x[1:], m.float32, (x,)]}

        traced = fx.symbolic_trace(f)
        traced.graph.find_nodes(op="call_function", target=m.relu)[0].meta["note"] = [1]
        copied = copy.deepcopy(traced)
        shallow = copy.copy(traced)
        relu = copied.graph.find_nodes(op="call_function", target=m.relu)[0]
        other = fx.Graph()
        found = other.graph_copy(traced.graph, {})
        other.output(found)
        return [
            copied.code, relu.meta, type(copied).__name__, shallow.code, pickle.loads(pickle.dumps(traced)).code,
            copy.deepcopy(traced.graph).python_code("self").src, str(other), rows(traced.graph),
        ]  # fmt: skip

    agree(program)


@pytest.mark.parametrize("name", ["Layers", "Weights", "Nested", "Convolutions", "Recurrent", "Embeds", "wrapped"])
def test_saved_modules_are_read_here_and_results_are_the_same(name):
    ours, _ = made(name)
    traced = clew.fx.symbolic_trace(ours)
    shape = getattr(ours, "example", (4, 4))
    x = clew.arange(float(np.prod(shape))).reshape(shape).sin()
    sys.modules[f"programs_of_{clew.__name__}"] = sys.modules.get(f"programs_of_{clew.__name__}") or _programs()
    for read in (_saved, copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))):
        again = read(traced)
        assert again.code == traced.code
        assert list(again.state_dict()) == list(traced.state_dict())
        for one, other in zip(_leaves(again(x)), _leaves(traced(x)), strict=True):
            assert clew.equal(one, other)


def _programs() -> Any:
    from .both import OURS

    return OURS


def _saved(module: Any) -> Any:
    file = io.BytesIO()
    clew.save(module, file)
    return clew.load(io.BytesIO(file.getvalue()), weights_only=False)


def _leaves(value: Any) -> list[Any]:
    return clew.utils._pytree.tree_leaves(value)


def test_graphs_are_pickled_however_long_they_are():
    graph = clew.fx.Graph()
    node = graph.placeholder("x")
    for _ in range(3000):
        node = graph.call_function(operator.neg, (node,))
    graph.output([node])
    again = pickle.loads(pickle.dumps(graph))
    again.lint()
    assert str(again) == str(graph)


def test_submodules():
    def program(m, fx):
        model = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh()))
        traced = fx.symbolic_trace(model)
        seen = [traced.add_submodule("new.inner", m.nn.ReLU()), traced.add_submodule("0.weight.x", m.nn.ReLU())]
        seen += [traced.delete_submodule("new.nothing"), traced.delete_submodule("1.1"), traced.delete_submodule("q.r")]
        seen += [[name for name, _ in traced.named_modules()]]
        for node in reversed(list(traced.graph.nodes)):
            if node.target == "1.1":
                node.replace_all_uses_with(node.args[0])
                traced.graph.erase_node(node)
        traced.delete_all_unused_submodules()
        traced.recompile()
        return [*seen, [name for name, _ in traced.named_modules()], traced.code]

    agree(program)


def test_graph_modules_are_made_of_dicts():
    def program(m, fx):
        graph = fx.Graph()
        x = graph.placeholder("x")
        y = graph.call_module("a.b", (x,))
        graph.output(graph.call_function(operator.add, (y, graph.get_attr("a.w"))))
        inner = m.nn.ReLU()
        made = fx.GraphModule({"a.w": m.nn.Parameter(m.ones(2)), "a.b": inner}, graph, "Named")
        return [type(made).__name__, made.code, [name for name, _ in made.named_parameters()], made.a.b is inner]

    agree(program)


def test_what_is_refused():
    def program(m, fx):
        traced = fx.symbolic_trace(lambda x: m.relu(x + 1))
        graph = traced.graph
        x, add, relu, output = graph.nodes
        other = fx.Graph().placeholder("x")
        programs = [
            lambda: graph.erase_node(add), lambda: fx.Graph().erase_node(output), lambda: x.prepend(other),
            lambda: graph.create_node("no_op", "x"), lambda: graph.create_node("call_function", "text"),
            lambda: graph.create_node("call_module", m.relu), lambda: fx.GraphModule({}, _with_module(fx)),
            lambda: graph.call_function(m.relu, ([],)).args[0].append(1), lambda: fx.symbolic_trace(_branches),
            lambda: fx.symbolic_trace(_loops), lambda: fx.symbolic_trace(lambda x: len(x)),
            lambda: fx.wrap("len"), lambda: fx.wrap(3),
            lambda: fx.symbolic_trace(lambda x: m.nn.Linear(1, 1)(x)), lambda: fx.map_arg(1, 2),
            lambda: fx.symbolic_trace(lambda x: m.nn.Parameter(m.ones(1)) + x),
        ]  # fmt: skip
        kinds = [failing(one) for one in programs]
        relu.args = (other,)
        kinds.append(failing(graph.lint))
        relu.args = (output,)
        return [*kinds, failing(graph.lint)]

    agree(program)


def _with_module(fx: Any) -> Any:
    graph = fx.Graph()
    graph.output(graph.call_module("missing"))
    return graph


def _branches(x: Any) -> Any:
    return x if x > 0 else -x


def _loops(x: Any) -> Any:
    return [one + 1 for one in x]


def test_dead_code():
    def program(m, fx):
        def f(x):
            x.sin()
            y = x + 1
            y.cos()
            m.rand(2)
            return x.exp()

        traced = fx.symbolic_trace(f)
        changed = traced.graph.eliminate_dead_code()
        again = traced.graph.eliminate_dead_code()
        traced.recompile()
        only = fx.symbolic_trace(f)
        return [
            changed,
            again,
            traced.code,
            only.graph.eliminate_dead_code(lambda node: node.name != "cos"),
            rows(only.graph),
        ]

    agree(program)


def test_code_is_changed_and_generated_in_other_ways():
    def program(m, fx):
        class OfAList(fx.graph.CodeGen):
            def gen_fn_def(self, free_vars, maybe_return_annotation):
                return f"def forward(self, args_list: List):\n    {', '.join(free_vars)}, = args_list"

            def additional_globals(self):
                return [("List", list)]

            def process_inputs(self, *inputs):
                return inputs[0]

        traced = fx.symbolic_trace(lambda x, y: x + y)
        traced.graph.set_codegen(OfAList())
        traced.recompile()
        seen = [
            traced.code,
            traced([1, 2]),
            fx.Interpreter(traced).run([3, 4]),
            fx.Transformer(traced).transform()([1, 2]),
        ]
        plain = fx.symbolic_trace(lambda x: x + 1)
        with plain.graph.on_generate_code(lambda before: lambda body: ["x = x * 10\n", *body]):
            plain.recompile()
            seen.append(plain(1))
        plain.recompile()
        return [*seen, plain(1)]

    agree(program)


def test_tables_and_readable_code(capsys):
    traced = [module.fx.symbolic_trace(module.nn.Sequential(module.nn.ReLU())) for module in (clew, torch)]
    printed = []
    for one in traced:
        one.graph.print_tabular()
        one.print_readable()
        printed.append(capsys.readouterr().out)
    lines = [[line.rstrip() for line in text.split("\n") if line.strip() and "#" not in line] for text in printed]
    assert lines[0] == lines[1]
    assert str(traced[0]) == str(traced[1])


def test_arguments_by_their_names():
    def program(m, fx):
        class Model(m.nn.Module):
            def __init__(self):
                super().__init__()
                self.relu = m.nn.ReLU()

            def forward(self, x):
                return m.nn.functional.dropout(self.relu(x), 0.25)

        traced = fx.symbolic_trace(Model())
        nodes = list(traced.graph.nodes)
        return [
            nodes[1].normalized_arguments(traced, normalize_to_only_use_kwargs=True),
            nodes[2].normalized_arguments(traced, normalize_to_only_use_kwargs=True),
            nodes[0].normalized_arguments(traced),
        ]

    agree(program)


def test_a_folder_is_a_package(tmp_path, monkeypatch):
    ours, _ = made("Convolutions")
    traced = clew.fx.symbolic_trace(ours)
    with pytest.warns(UserWarning, match="pickled files"):
        traced.to_folder(tmp_path / "written_module", "Written")
    monkeypatch.syspath_prepend(str(tmp_path))
    import written_module

    x = clew.arange(2 * 3 * 64.0).reshape(2, 3, 8, 8).sin()
    assert clew.equal(written_module.Written().eval()(x), traced(x))


def test_proxies_add_to_a_graph():
    def program(m, fx):
        graph = fx.Graph()
        x, y = (fx.Proxy(graph.placeholder(name)) for name in "xy")
        a, b = (x @ y).split(2)
        z = m.nn.functional.relu(a.T) + b.shape[0] - (3 - x) ** 2
        z = z[1:, None] // y.sum(dim=0) % abs(x) * ~y | 4
        graph.output(z.node)
        return [graph.python_code("self").src, repr(z), repr(x.shape.node)]

    agree(program)


def test_transforms_of_arguments_and_concrete_values():
    def program(m, fx):
        def f(x, twice, data):
            return data["a"] + (x * 2 if twice else x) + data["b"][0]

        traced = fx.symbolic_trace(f, concrete_args={"data": {"a": fx.PH, "b": [fx.PH]}, "twice": True})
        plain = fx.symbolic_trace(lambda x, n: [x + n, {"k": x}], concrete_args={"n": None})
        return [neutral(traced.code), traced(1, True, {"a": 10, "b": [100]}), rows(plain.graph)]

    agree(program)
