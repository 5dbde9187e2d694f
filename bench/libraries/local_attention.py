"""Attention within windows, and a transformer of it."""

from local_attention import LocalAttention, LocalTransformer

from bench.drawn import filled, integers, normal, trained


def main():
    layer = LocalAttention(dim=8, window_size=4, causal=True, look_backward=1, look_forward=0, autopad=True)
    query, key, value = (normal(2, 2, 14, 8) for _ in range(3))
    model = filled(
        LocalTransformer(
            num_tokens=32, dim=16, depth=1, max_seq_len=32, causal=True, local_attn_window_size=8, dim_head=8, heads=2
        )
    )
    tokens = integers(32, 2, 17)
    return layer(query, key, value), trained(lambda: model(tokens, return_loss=True), model)
