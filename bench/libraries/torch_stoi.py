"""Intelligibility of speech as a loss."""

from torch_stoi import NegSTOILoss

from bench.drawn import normal


def main():
    clean = normal(2, 8000)
    noisy = (clean + 0.5 * normal(2, 8000)).requires_grad_()
    loss = NegSTOILoss(sample_rate=8000, use_vad=False)(noisy, clean)
    loss.mean().backward()
    return loss, noisy.grad
