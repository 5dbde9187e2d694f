"""Samplers that model trials with Gaussian processes."""

import optuna


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=0, n_startup_trials=4))
    study.optimize(lambda trial: (trial.suggest_float("x", -2, 2) - 0.5) ** 2, n_trials=7)
    return [trial.value for trial in study.trials]
