"""Differentiable operations: name, how to call it, the shapes of its inputs.

Two rows need such a list: the names of nodes are PyTorch's (1.1), and derivatives of every order are right (3.4).
Inputs are distinct numbers between 0.2 and 0.9, where every operation here is smooth.
"""

import numpy

ELEMENTWISE = {
    "add": (lambda torch, a, b: a + b, (2, 3), (2, 3)),
    "add broadcast": (lambda torch, a, b: a + b, (2, 3), (3,)),
    "add number": (lambda torch, a: a + 2, (2, 3)),
    "add alpha": (lambda torch, a, b: torch.add(a, b, alpha=3), (2, 3), (2, 3)),
    "sub": (lambda torch, a, b: a - b, (2, 3), (2, 3)),
    "sub from number": (lambda torch, a: 2 - a, (2, 3)),
    "mul": (lambda torch, a, b: a * b, (2, 3), (2, 3)),
    "mul broadcast": (lambda torch, a, b: a * b, (2, 1), (3,)),
    "div": (lambda torch, a, b: a / b, (2, 3), (2, 3)),
    "div of number": (lambda torch, a: 2 / a, (2, 3)),
    "neg": (lambda torch, a: -a, (2, 3)),
    "pow number": (lambda torch, a: a**3, (2, 3)),
    "pow tensor": (lambda torch, a, b: a**b, (2, 3), (2, 3)),
    "pow of number": (lambda torch, a: 2**a, (2, 3)),
    "square": (lambda torch, a: torch.square(a), (2, 3)),
    "reciprocal": (lambda torch, a: a.reciprocal(), (2, 3)),
    "exp": (lambda torch, a: a.exp(), (2, 3)),
    "expm1": (lambda torch, a: a.expm1(), (2, 3)),
    "log": (lambda torch, a: a.log(), (2, 3)),
    "log1p": (lambda torch, a: a.log1p(), (2, 3)),
    "sqrt": (lambda torch, a: a.sqrt(), (2, 3)),
    "rsqrt": (lambda torch, a: a.rsqrt(), (2, 3)),
    "abs": (lambda torch, a: a.abs(), (2, 3)),
    "sin": (lambda torch, a: a.sin(), (2, 3)),
    "cos": (lambda torch, a: a.cos(), (2, 3)),
    "tan": (lambda torch, a: a.tan(), (2, 3)),
    "tanh": (lambda torch, a: a.tanh(), (2, 3)),
    "sigmoid": (lambda torch, a: a.sigmoid(), (2, 3)),
    "erf": (lambda torch, a: a.erf(), (2, 3)),
    "relu": (lambda torch, a: a.relu(), (2, 3)),
    "gelu": (lambda torch, a: torch.nn.functional.gelu(a), (2, 3)),
    "silu": (lambda torch, a: torch.nn.functional.silu(a), (2, 3)),
    "softplus": (lambda torch, a: torch.nn.functional.softplus(a), (2, 3)),
    "leaky_relu": (lambda torch, a: torch.nn.functional.leaky_relu(a), (2, 3)),
    "elu": (lambda torch, a: torch.nn.functional.elu(a - 0.5), (2, 3)),
    "clamp": (lambda torch, a: a.clamp(0.3, 0.7), (2, 3)),
    "clamp_min": (lambda torch, a: a.clamp(min=0.3), (2, 3)),
    "where": (lambda torch, a, b: torch.where(a > 0.5, a, b), (2, 3), (2, 3)),
    "maximum": (lambda torch, a, b: torch.maximum(a, b), (2, 3), (2, 3)),
    "minimum": (lambda torch, a, b: torch.minimum(a, b), (2, 3), (2, 3)),
    "lerp": (lambda torch, a, b: torch.lerp(a, b, 0.3), (2, 3), (2, 3)),
    "addcmul": (lambda torch, a, b, c: torch.addcmul(a, b, c, value=2), (2, 3), (2, 3), (2, 3)),
    "addcdiv": (lambda torch, a, b, c: torch.addcdiv(a, b, c, value=2), (2, 3), (2, 3), (2, 3)),
    "clone": (lambda torch, a: a.clone(), (2, 3)),
}

REDUCTIONS = {
    "sum": (lambda torch, a: a.sum(), (2, 3)),
    "sum dim": (lambda torch, a: a.sum(1), (2, 3)),
    "mean": (lambda torch, a: a.mean(), (2, 3)),
    "mean dim": (lambda torch, a: a.mean(0, keepdim=True), (2, 3)),
    "prod": (lambda torch, a: a.prod(), (2, 3)),
    "prod dim": (lambda torch, a: a.prod(1), (2, 3)),
    "max": (lambda torch, a: a.max(), (2, 3)),
    "max dim": (lambda torch, a: a.max(1).values, (2, 3)),
    "min": (lambda torch, a: a.min(), (2, 3)),
    "amax": (lambda torch, a: a.amax(1), (2, 3)),
    "amin": (lambda torch, a: a.amin(0), (2, 3)),
    "var": (lambda torch, a: a.var(1), (2, 3)),
    "std": (lambda torch, a: a.std(1), (2, 3)),
    "logsumexp": (lambda torch, a: a.logsumexp(1), (2, 3)),
    "softmax": (lambda torch, a: a.softmax(1), (2, 3)),
    "log_softmax": (lambda torch, a: a.log_softmax(1), (2, 3)),
    "cumsum": (lambda torch, a: a.cumsum(1), (2, 3)),
    "norm": (lambda torch, a: a.norm(), (2, 3)),
    "trace": (lambda torch, a: a.trace(), (3, 3)),
}

PRODUCTS = {
    "mm": (lambda torch, a, b: a.mm(b), (2, 3), (3, 2)),
    "matmul": (lambda torch, a, b: a @ b, (2, 3), (3, 2)),
    "bmm": (lambda torch, a, b: a.bmm(b), (2, 2, 3), (2, 3, 2)),
    "mv": (lambda torch, a, b: a.mv(b), (2, 3), (3,)),
    "dot": (lambda torch, a, b: a.dot(b), (3,), (3,)),
    "addmm": (lambda torch, a, b, c: torch.addmm(a, b, c), (2, 2), (2, 3), (3, 2)),
    "linear": (lambda torch, a, b, c: torch.nn.functional.linear(a, b, c), (2, 3), (4, 3), (4,)),
    "outer": (lambda torch, a, b: torch.outer(a, b), (2,), (3,)),
}

SHAPES = {
    "view": (lambda torch, a: a.view(6), (2, 3)),
    "reshape": (lambda torch, a: a.reshape(3, 2), (2, 3)),
    "transpose": (lambda torch, a: a.transpose(0, 1), (2, 3)),
    "t": (lambda torch, a: a.t(), (2, 3)),
    "permute": (lambda torch, a: a.permute(2, 0, 1), (2, 3, 2)),
    "squeeze": (lambda torch, a: a.squeeze(), (2, 1, 3)),
    "squeeze dim": (lambda torch, a: a.squeeze(1), (2, 1, 3)),
    "unsqueeze": (lambda torch, a: a.unsqueeze(1), (2, 3)),
    "expand": (lambda torch, a: a.expand(4, 3), (1, 3)),
    "flatten": (lambda torch, a: a.flatten(), (2, 3)),
    "cat": (lambda torch, a, b: torch.cat([a, b]), (2, 3), (1, 3)),
    "stack": (lambda torch, a, b: torch.stack([a, b]), (2, 3), (2, 3)),
    "split": (lambda torch, a: a.split(2)[0], (3, 2)),
    "unbind": (lambda torch, a: a.unbind()[0], (2, 3)),
    "select": (lambda torch, a: a.select(1, 2), (2, 3)),
    "integer index": (lambda torch, a: a[1], (2, 3)),
    "slice": (lambda torch, a: a[:, 1:], (2, 3)),
    "narrow": (lambda torch, a: a.narrow(1, 0, 2), (2, 3)),
    "list index": (lambda torch, a: a[[0, 0, 1]], (2, 3)),
    "mask index": (lambda torch, a: a[a > 0.5], (2, 3)),
    "index_select": (lambda torch, a: a.index_select(1, torch.tensor([2, 0])), (2, 3)),
    "gather": (lambda torch, a: a.gather(1, torch.tensor([[0, 0], [2, 1]])), (2, 3)),
    "scatter": (lambda torch, a, b: a.scatter(1, torch.tensor([[0], [2]]), b), (2, 3), (2, 1)),
    "scatter_add": (lambda torch, a, b: a.scatter_add(1, torch.tensor([[0], [2]]), b), (2, 3), (2, 1)),
    "masked_fill": (lambda torch, a: a.masked_fill(a > 0.5, 1.5), (2, 3)),
    "masked_select": (lambda torch, a: a.masked_select(a > 0.5), (2, 3)),
    "tril": (lambda torch, a: a.tril(), (3, 3)),
    "triu": (lambda torch, a: a.triu(1), (3, 3)),
    "diagonal": (lambda torch, a: a.diagonal(), (3, 3)),
    "flip": (lambda torch, a: a.flip(0), (2, 3)),
    "roll": (lambda torch, a: a.roll(1, 1), (2, 3)),
    "repeat": (lambda torch, a: a.repeat(2, 1), (2, 3)),
    "sort": (lambda torch, a: a.sort(1).values, (2, 3)),
    "topk": (lambda torch, a: a.topk(2, 1).values, (2, 3)),
}

LEARNING = {
    "embedding": (lambda torch, a: torch.nn.functional.embedding(torch.tensor([0, 2, 0]), a), (3, 2)),
    "cross_entropy": (lambda torch, a: torch.nn.functional.cross_entropy(a, torch.tensor([0, 2])), (2, 3)),
    "nll_loss": (lambda torch, a: torch.nn.functional.nll_loss(a, torch.tensor([0, 2])), (2, 3)),
    "mse_loss": (lambda torch, a, b: torch.nn.functional.mse_loss(a, b), (2, 3), (2, 3)),
    "l1_loss": (lambda torch, a, b: torch.nn.functional.l1_loss(a, b), (2, 3), (2, 3)),
    "binary_cross_entropy_with_logits": (
        lambda torch, a: torch.nn.functional.binary_cross_entropy_with_logits(a, torch.ones(2, 3).to(a.dtype)),
        (2, 3),
    ),
    "layer_norm": (lambda torch, a, b, c: torch.nn.functional.layer_norm(a, (3,), b, c), (2, 3), (3,), (3,)),
}

OPERATIONS = {**ELEMENTWISE, **REDUCTIONS, **PRODUCTS, **SHAPES, **LEARNING}


def inputs_of(torch, name):
    """Float64 leaves that require a gradient, the same on every module."""
    generator = numpy.random.default_rng(7)
    made = []
    for shape in OPERATIONS[name][1:]:
        count = int(numpy.prod(shape))
        grid = numpy.linspace(0.2, 0.9, count) + 0.001 * len(made)
        made.append(torch.tensor(generator.permutation(grid).reshape(shape).tolist(), dtype=torch.float64))
    return [tensor.requires_grad_() for tensor in made]


def run(torch, name, inputs):
    return OPERATIONS[name][0](torch, *inputs)
