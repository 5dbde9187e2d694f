"""A bottleneck adapter in a small BERT."""

import adapters
from adapters import AdapterConfig, BertAdapterModel
from transformers import BertConfig

from bench.drawn import filled, integers, trained


def main():
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 50}
    model = BertAdapterModel(BertConfig(**sizes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    model.add_adapter("small", config="seq_bn")
    model.add_classification_head("small", num_labels=2)
    model.train_adapter("small")
    filled(model)
    tokens, classes = integers(50, 4, 6), integers(2, 4)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return trained(lambda: model(tokens, labels=classes).loss, trainable), len(trainable)
