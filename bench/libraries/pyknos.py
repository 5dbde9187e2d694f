"""A mixture of Gaussians given a context."""

from pyknos.mdn.mdn import MultivariateGaussianMDN

from bench.drawn import filled, normal, perceptron, trained


def main():
    model = filled(
        MultivariateGaussianMDN(
            features=2, context_features=4, hidden_features=16, hidden_net=perceptron(4, 16), num_components=3
        )
    )
    points, context = normal(16, 2), normal(16, 4)
    return trained(lambda: -model.log_prob(points, context).mean(), model)
