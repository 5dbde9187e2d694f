"""What `clew.graph.draw` counts as floating-point operations, beside PyTorch's own counter."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import clew
from clew.graph.model.walk import walk
from clew.graph.pictures.flops import flops

CASES = {
    "mm": (lambda t, a, b: a @ b, [(3, 4), (4, 5)]),
    "bmm": (lambda t, a, b: t.bmm(a, b), [(2, 3, 4), (2, 4, 5)]),
    "addmm": (lambda t, a, b, c: t.addmm(a, b, c), [(5,), (3, 4), (4, 5)]),
    "baddbmm": (lambda t, a, b, c: t.baddbmm(a, b, c), [(2, 3, 5), (2, 3, 4), (2, 4, 5)]),
    "convolution": (lambda t, a, b: t.nn.functional.conv2d(a, b, stride=2, padding=1), [(2, 3, 9, 9), (4, 3, 3, 3)]),
    "grouped convolution": (lambda t, a, b: t.nn.functional.conv1d(a, b, groups=2), [(2, 4, 9), (6, 2, 3)]),
    "transposed": (lambda t, a, b: t.nn.functional.conv_transpose2d(a, b, stride=2), [(2, 3, 5, 5), (3, 4, 3, 3)]),
    "attention": (lambda t, a, b, c: t.nn.functional.scaled_dot_product_attention(a, b, c), [(2, 4, 8, 8)] * 3),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("which", ["all", "last"])
def test_products(case, which):
    """`last`: only the last input has a gradient, so that of the others the graph knows what was saved."""
    function, shapes = CASES[case]
    inputs = [clew.rand(*shape) for shape in shapes]
    for one in inputs if which == "all" else inputs[-1:]:
        one.requires_grad_()
    # PyTorch counts nothing in its fused attention on a CPU.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        function(torch, *(torch.rand(*shape) for shape in shapes))
    assert flops(function(clew, *inputs).grad_fn) == counter.get_total_flops()


def test_an_lstm_cell():
    cell, data = clew.nn.LSTMCell(3, 5), clew.rand(2, 3)
    with FlopCounterMode(display=False) as counter:
        torch.nn.LSTMCell(3, 5)(torch.rand(2, 3))
    assert flops(cell(data)[0].grad_fn) == counter.get_total_flops()


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers(kind):
    """Two layers in both directions: PyTorch counts their products, where its fused kernel does not hide them."""
    sizes = {"input_size": 8, "hidden_size": 16, "num_layers": 2, "bidirectional": True}
    with FlopCounterMode(display=False) as counter, torch.backends.mkldnn.flags(enabled=False, allow_tf32=None):
        getattr(torch.nn, kind)(**sizes)(torch.rand(10, 4, 8))
    output, _ = getattr(clew.nn, kind)(**sizes)(clew.rand(10, 4, 8))
    layers = [node for node in walk([output.grad_fn]) if node.op == "_recurrent_layer"]
    assert len(layers) == 4
    assert sum(map(flops, layers)) == counter.get_total_flops()


def test_one_for_each_element_and_none_for_views_and_lookups():
    x = clew.rand(3, 4, requires_grad=True)
    assert flops(x.exp().grad_fn) == 12
    assert flops(x.sum().grad_fn) == 12
    assert flops(x.t().grad_fn) == 0
    assert flops(clew.nn.Embedding(50, 16)(clew.zeros(10, 4, dtype=clew.int64)).grad_fn) == 0
    assert flops(x[clew.tensor([0, 2])].grad_fn) == 0
    assert flops(clew.cat([x, x]).grad_fn) == 0
