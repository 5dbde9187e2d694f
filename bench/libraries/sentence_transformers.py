"""Sentence embeddings of a small BERT, trained by a contrastive loss."""

from sentence_transformers import util
from sentence_transformers.models import Pooling
from transformers import BertConfig, BertModel

from bench.drawn import filled, integers, normal


def main():
    pooling = Pooling(8, pooling_mode="mean")
    features = {"token_embeddings": normal(3, 5, 8), "attention_mask": integers(2, 3, 5)}
    features["attention_mask"][:, 0] = 1
    embeddings = pooling(features)["sentence_embedding"].requires_grad_()
    scores = util.cos_sim(embeddings, normal(4, 8))
    scores.square().sum().backward()
    hits = util.semantic_search(embeddings.detach(), normal(6, 8), top_k=2)
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "vocab_size": 50,
    }
    bert = filled(BertModel(BertConfig(**sizes))).eval()
    return (
        scores,
        embeddings.grad,
        [hit["score"] for row in hits for hit in row],
        bert(integers(50, 2, 6)).pooler_output,
    )
