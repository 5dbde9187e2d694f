"""Attention of linear cost."""

from linformer import Linformer, LinformerSelfAttention

from bench.drawn import filled, normal, trained


def main():
    x = normal(2, 16, 16)
    model = filled(Linformer(dim=16, seq_len=16, depth=2, heads=2, k=4, one_kv_head=True, share_kv=True))
    layer = filled(LinformerSelfAttention(dim=16, seq_len=16, heads=2, k=4))
    return trained(lambda: model(x).square().mean(), model), layer(x)
