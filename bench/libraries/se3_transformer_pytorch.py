"""An equivariant transformer on points."""

from se3_transformer_pytorch import SE3Transformer

from bench.drawn import filled, normal, trained


def main():
    model = filled(SE3Transformer(dim=8, heads=2, depth=1, dim_head=4, num_degrees=2, valid_radius=10, num_neighbors=3))
    features, places = normal(1, 6, 8), normal(1, 6, 3)
    return trained(lambda: model(features, places, return_type=0).square().mean(), model, steps=2)
