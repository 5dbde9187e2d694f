"""Embeddings of tokens, a recurrent network and a conditional random field."""

import torch
from flair.data import Dictionary
from flair.models.sequence_tagger_utils.crf import CRF
from flair.models.sequence_tagger_utils.viterbi import ViterbiLoss

from bench.drawn import filled, integers, normal, trained


def main():
    tags = Dictionary(add_unk=False)
    for tag in ("A", "B", "<START>", "<STOP>"):
        tags.add_item(tag)
    layer = filled(CRF(tags, len(tags), True))
    loss, lengths, features, targets = ViterbiLoss(tags), torch.tensor([4, 3]), normal(2, 4, len(tags)), integers(2, 7)
    return trained(lambda: loss((layer(features), lengths, layer.transitions), targets), layer)
