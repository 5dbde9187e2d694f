"""Greedy matching of embeddings, the heart of BERTScore."""

import torch
from bert_score.utils import greedy_cos_idf

from bench.drawn import normal, uniform


def main():
    masks = [torch.ones(2, length, dtype=torch.bool) for length in (5, 6)]
    return greedy_cos_idf(normal(2, 5, 8), masks[0], uniform(2, 5), normal(2, 6, 8), masks[1], uniform(2, 6))
