"""A temporal fusion transformer on generated series."""

import numpy as np
import pandas as pd
from pytorch_forecasting import TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.metrics import MAE, QuantileLoss

from bench.drawn import array, filled, normal, trained, uniform


def main():
    frame = pd.DataFrame(
        {"time": np.tile(np.arange(30), 4), "series": np.repeat(list("abcd"), 30), "value": array(120)}
    )
    lengths = {"max_encoder_length": 8, "max_prediction_length": 3}
    data = TimeSeriesDataSet(
        frame, time_idx="time", target="value", group_ids=["series"], time_varying_unknown_reals=["value"], **lengths
    )
    inputs, (target, _) = next(iter(data.to_dataloader(train=False, batch_size=16, num_workers=0)))
    model = filled(
        TemporalFusionTransformer.from_dataset(
            data, hidden_size=8, attention_head_size=2, loss=QuantileLoss(), dropout=0.0
        )
    )
    losses = trained(lambda: model.loss(model(inputs)["prediction"], target), model, steps=3)
    return losses, MAE()(uniform(4, 3), normal(4, 3))
