"""A decoder with rotary positions, and generation."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

from bench.drawn import filled, integers, trained


def main():
    layers = Decoder(dim=32, depth=2, heads=2, rotary_pos_emb=True, attn_dim_head=16, ff_glu=True)
    model = filled(AutoregressiveWrapper(TransformerWrapper(num_tokens=64, max_seq_len=32, attn_layers=layers)))
    tokens = integers(64, 2, 16)
    losses = trained(lambda: model(tokens), model)
    with torch.no_grad():
        return losses, model.generate(tokens[:, :4], 6, temperature=0.0)
