"""The tutorial "Computational Graphs", block by block, with the output that it prints."""

import math

import pytest


def test_define_by_run(torch):
    # Step 1: Create leaf tensor
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert f"{x.grad_fn}" == "None"

    # Step 2: First operation - graph expands
    y = x**2
    assert "PowBackward0" in f"{y.grad_fn}"

    # Step 3: Second operation - graph expands further
    z = y.sum()
    assert "SumBackward0" in f"{z.grad_fn}"


def test_tracing_the_graph(torch):
    x = torch.randn(3, requires_grad=True)
    y = x * 2
    z = y.sum()
    # Shows: ((MulBackward0, 0),)
    assert "MulBackward0" in f"{z.grad_fn.next_functions}"
    assert [(node.name(), index) for node, index in z.grad_fn.next_functions] == [("MulBackward0", 0)]
    # Shows: ((AccumulateGrad, 0),) - AccumulateGrad is for leaf tensors
    assert "AccumulateGrad" in f"{y.grad_fn.next_functions}"
    assert y.grad_fn.next_functions[0][0].variable is x


def test_graph_consumption(torch, capsys):
    x = torch.randn(3, requires_grad=True)
    loss = (x**2).sum()

    # First backward - graph is consumed
    loss.backward()
    print(f"x.grad after 1st backward: {x.grad}")
    assert torch.allclose(x.grad, 2 * x.detach())

    # Second backward fails - graph is gone!
    try:
        loss.backward()
    except RuntimeError as e:
        print(f"Error: {e}")

    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first.startswith("x.grad after 1st backward: tensor([")
    assert second.startswith("Error: Trying to backward through the graph a second time")


def test_retain_graph(torch):
    x = torch.randn(3, requires_grad=True)
    loss = (x**2).sum()

    # First backward - retain the graph
    loss.backward(retain_graph=True)
    grad_after_first = x.grad.clone()

    # Second backward - graph still exists
    # Gradients ACCUMULATE
    loss.backward()
    grad_after_second = x.grad.clone()
    assert torch.allclose(grad_after_second, 2 * grad_after_first)

    # Zero gradients before new computation
    x.grad.zero_()

    # Build fresh graph
    loss = (x**2).sum()
    loss.backward()

    # Gradients now reflect only this forward pass
    assert torch.allclose(x.grad, grad_after_first)


def test_use_cases_of_retain_graph(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x**2
    # 1. gradients with respect to different upstream gradients
    y.backward(torch.tensor([1.0, 0.0]), retain_graph=True)
    assert x.grad.tolist() == [2.0, 0.0]
    y.backward(torch.tensor([0.0, 1.0]), retain_graph=True)
    assert x.grad.tolist() == [2.0, 4.0]
    # 2. higher-order derivatives
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [2.0, 2.0]
    # 3. several losses that share intermediate computations
    x.grad = None
    y.sum().backward(retain_graph=True)
    (y * 3).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0]


def test_understanding_grad_fn(torch):
    x = torch.randn(2, 3, requires_grad=True)
    y = x @ x.T  # Matrix multiplication
    z = y.trace()  # Trace (sum of diagonal)
    assert "TraceBackward0" in f"{z.grad_fn}"
    assert "Backward" in f"{type(z.grad_fn)}" or "Node" in f"{type(z.grad_fn)}"
    z.backward()
    assert torch.allclose(x.grad, 2 * x.detach())  # trace(x x') is the sum of squares


def test_chain_rule(torch, capsys):
    x = torch.tensor([2.0], requires_grad=True)

    # Forward: y = sin(x), z = y^2
    y = torch.sin(x)
    z = y**2

    # dz/dx = 2 sin(x) cos(x) = sin(2x)
    z.backward()
    print(f"x.grad (autograd): {x.grad.item():.6f}")
    print(f"sin(2x) (manual): {torch.sin(2 * x.detach()).item():.6f}")
    # The tutorial prints 0.756802 without its sign: sin(4) is negative.
    number = f"{math.sin(4):.6f}"
    assert number == "-0.756802"
    ours, manual = capsys.readouterr().out.splitlines()
    assert ours.startswith("x.grad (autograd): -0.7568")
    assert manual.startswith("sin(2x) (manual): -0.7568")
    assert x.grad.item() == pytest.approx(math.sin(4), rel=1e-5)


@pytest.mark.beyond
def test_the_version_counter(torch, capsys):
    """The tutorial promises an error that PyTorch does not raise: it returns 4, 6, 8 in silence. We raise."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    assert x._version == 0

    # In-place modification
    x.data += 1  # Modifies x without going through autograd

    # This can cause issues!
    try:
        y.sum().backward()
    except RuntimeError as e:
        print(f"Error: {e}")
    assert "one of the variables needed for gradient computation has been modified" in capsys.readouterr().out
    assert x.grad is None


def test_unsafe_in_place(torch):
    # UNSAFE: Modifying tensor used in computation
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x += 1
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_safe_in_place(torch):
    # SAFE: Modify after backward or detached copy
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 2
    y.sum().backward()
    with torch.no_grad():
        x += 1  # Safe - backward already completed
    assert x.tolist() == [2.0]
    assert x.is_leaf


def test_manual_tracing(torch, capsys):
    def print_graph(tensor, indent=0):
        """Recursively print computational graph structure."""
        prefix = "  " * indent
        print(f"{prefix}Tensor shape: {tensor.shape}")

        if tensor.grad_fn is not None:
            print(f"{prefix}grad_fn: {tensor.grad_fn}")
            for func, _ in tensor.grad_fn.next_functions:
                if func is not None:
                    print(f"{prefix}  ↑ {func}")

    x = torch.randn(2, 3, requires_grad=True)
    y = x.sum(dim=1)
    z = y.mean()

    print_graph(z)
    shape, node, below = capsys.readouterr().out.splitlines()
    assert shape.replace("clew.", "torch.") == "Tensor shape: torch.Size([])"
    assert "MeanBackward0" in node
    assert "SumBackward1" in below


def test_a_variable_that_appears_twice(torch, capsys):
    x = torch.tensor([3.0], requires_grad=True)

    # x appears twice in the computation
    y = x**2 + x**3  # y = x^2 + x^3

    y.backward()

    # dy/dx = 2x + 3x^2 = 2(3) + 3(9) = 6 + 27 = 33
    print(f"x.grad: {x.grad}")
    assert capsys.readouterr().out == "x.grad: tensor([33.])\n"


def test_branching_and_merging(torch, capsys):
    x = torch.tensor([2.0], requires_grad=True)

    # Branch
    y1 = x * 2  # y1 = 2x
    y2 = x * 3  # y2 = 3x

    # Merge
    z = y1 + y2  # z = 2x + 3x = 5x

    z.backward()
    print(f"x.grad: {x.grad}")
    assert capsys.readouterr().out == "x.grad: tensor([5.])\n"


def test_training_loop(torch, oracle):
    def train(module):
        module.manual_seed(0)
        model = module.nn.Linear(10, 1)
        optimizer = module.optim.SGD(model.parameters(), lr=0.01)
        x = module.randn(32, 10)
        y = module.randn(32, 1)
        losses = []
        for _ in range(100):
            # FORWARD PASS: Build computational graph
            pred = model(x)
            loss = ((pred - y) ** 2).mean()

            # BACKWARD PASS: Traverse graph, compute gradients
            optimizer.zero_grad()  # Clear previous gradients
            loss.backward()  # Graph is consumed here

            # UPDATE: Modify parameters (outside graph)
            optimizer.step()  # Uses no_grad internally
            losses.append(loss.item())
        return losses

    ours, theirs = train(torch), train(oracle)
    assert ours[-1] < ours[0]
    assert ours == pytest.approx(theirs, rel=1e-4)


def test_the_picture_of_the_overview(torch):
    """x (leaf), [**2], y (PowBackward), [sum], loss (SumBackward, scalar)."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x**2
    loss = y.sum()
    assert x.is_leaf
    assert loss.grad_fn.next_functions == ((y.grad_fn, 0),)
    assert y.grad_fn.next_functions[0][0].variable is x
    assert loss.shape == ()
