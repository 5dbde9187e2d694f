"""N-BEATS is trained on generated series and predicts."""

import numpy as np
import pandas as pd
from neuralforecast import NeuralForecast
from neuralforecast.models import MLP, NBEATS

from bench.drawn import array


def main():
    dates = pd.date_range("2020-01-01", periods=40, freq="D")
    frame = pd.DataFrame(
        {"unique_id": np.repeat(["a", "b"], 40), "ds": np.tile(dates, 2), "y": array(80).astype(float)}
    )
    quiet = {
        "max_steps": 3,
        "enable_progress_bar": False,
        "logger": False,
        "enable_model_summary": False,
        "accelerator": "cpu",
    }
    small = {"h": 4, "input_size": 8, "random_seed": 1, "enable_checkpointing": False}
    models = [NBEATS(mlp_units=[[8, 8]] * 3, **small, **quiet), MLP(hidden_size=8, num_layers=2, **small, **quiet)]
    forecast = NeuralForecast(models=models, freq="D")
    forecast.fit(frame)
    found = forecast.predict()
    return found["NBEATS"].to_numpy(), found["MLP"].to_numpy()
