"""Conservative Q-learning from a set of episodes."""

import d3rlpy
import numpy as np

from bench.drawn import array, filled


def main():
    d3rlpy.seed(0)
    ends = np.zeros(60)
    ends[19::20] = 1
    data = d3rlpy.dataset.MDPDataset(array(60, 4), (array(60) > 0).astype(int)[:, None], array(60)[:, None], ends)
    agent = d3rlpy.algos.DiscreteCQLConfig(batch_size=8).create(device="cpu:0")
    agent.build_with_dataset(data)
    filled(agent.impl.modules.q_funcs)
    history = agent.fit(
        data, n_steps=4, n_steps_per_epoch=2, show_progress=False, logger_adapter=d3rlpy.logging.NoopAdapterFactory()
    )
    return [
        value for _, metrics in history for name, value in metrics.items() if "time" not in name
    ], agent.predict_value(array(3, 4), np.zeros(3, int))
