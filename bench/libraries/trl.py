"""The loss of direct preferences and log-probabilities of answers."""

from trl.trainer.utils import pad, selective_log_softmax

from bench.drawn import integers, normal


def main():
    scores, tokens = normal(2, 6, 16).requires_grad_(), integers(16, 2, 6)
    log_probability = selective_log_softmax(scores, tokens)
    log_probability.sum().backward()
    padded = pad([tokens[0, :3], tokens[1, :5]], padding_value=-1)
    return log_probability, scores.grad, padded
