"""All operations of a forward pass, with their results."""

import torchlens

from bench.drawn import normal, perceptron


def main():
    log = torchlens.log_forward_pass(perceptron(), normal(3, 4))
    return len(log.layer_list), [layer.activation for layer in log.layer_list if layer.activation is not None]
