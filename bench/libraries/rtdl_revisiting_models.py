"""FT-Transformer and ResNet for tables."""

from rtdl_revisiting_models import MLP, FTTransformer, ResNet

from bench.drawn import filled, integers, normal, trained


def main():
    x, categories, found = normal(16, 3), integers(4, 16, 2), []
    settings = {**FTTransformer.get_default_kwargs(n_blocks=1), "d_block": 16, "attention_n_heads": 2}
    transformer = filled(FTTransformer(n_cont_features=3, cat_cardinalities=[4, 4], d_out=1, **settings)).eval()
    found.append(trained(lambda: transformer(x, categories).square().mean(), transformer))
    sizes = {"d_in": 3, "d_out": 1, "n_blocks": 2, "d_block": 8}
    for model in (
        MLP(**sizes, dropout=0.1),
        ResNet(**sizes, d_hidden=None, d_hidden_multiplier=2.0, dropout1=0.1, dropout2=0.0),
    ):
        filled(model)
        found.append(trained(lambda: model(x).square().mean(), model))
    return found
