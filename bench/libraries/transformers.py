"""GPT-2, Llama and BERT of two layers: losses of some steps, and greedy generation."""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

from bench.drawn import filled, integers, trained

SIZES = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


def main():
    tokens, classes = integers(64, 2, 12), integers(2, 2)
    none = {"resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0, "pad_token_id": 0}
    gpt = filled(GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4, **none)))
    llama = filled(LlamaForCausalLM(LlamaConfig(**SIZES, max_position_embeddings=32, pad_token_id=0)))
    plain = {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
    bert = filled(BertForSequenceClassification(BertConfig(**SIZES, **plain)))
    losses = [trained(lambda: model(tokens, labels=tokens).loss, model) for model in (gpt, llama)]
    losses.append(trained(lambda: bert(tokens, labels=classes).loss, bert))
    with torch.no_grad():
        written = llama.generate(tokens[:1], max_new_tokens=6, do_sample=False)
    return losses, written
