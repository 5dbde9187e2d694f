"""The graph of a loss as dot."""

from torchviz import make_dot

from bench.drawn import normal, perceptron


def main():
    model = perceptron()
    loss = model(normal(3, 4)).square().mean()
    source = make_dot(loss, params=dict(model.named_parameters())).source
    return (
        source.count("->"),
        source.count("AccumulateGrad"),
        source.count("AddmmBackward0"),
        source.count("fillcolor=lightblue"),
    )
