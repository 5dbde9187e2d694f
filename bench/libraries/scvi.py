"""Variational networks for counts of genes."""

import torch
from scvi.distributions import NegativeBinomial, ZeroInflatedNegativeBinomial
from scvi.nn import DecoderSCVI, Encoder

from bench.drawn import filled, integers, trained


def main():
    counts = integers(9, 16, 6).float()
    encoder, decoder = filled(Encoder(6, 3, n_hidden=8, dropout_rate=0.0)), filled(DecoderSCVI(3, 6, n_hidden=8))

    def loss():
        mean, _, drawn = encoder(torch.log1p(counts))
        scale, _, rate, dropout = decoder("gene", mean, counts.sum(1, keepdim=True).log())
        likelihood = ZeroInflatedNegativeBinomial(mu=rate, theta=torch.ones(6), zi_logits=dropout).log_prob(counts)
        return -likelihood.sum(1).mean()

    losses = trained(loss, [*encoder.parameters(), *decoder.parameters()])
    return losses, NegativeBinomial(mu=torch.ones(6), theta=torch.ones(6)).log_prob(counts)
