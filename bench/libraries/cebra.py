"""Embeddings of time series by contrast."""

import cebra

from bench.drawn import filled, normal, trained


def main():
    model = filled(cebra.models.init("offset1-model", num_neurons=6, num_units=8, num_output=3))
    criterion = cebra.models.criterions.LearnableCosineInfoNCE(temperature=1.0)
    batches = [normal(16, 6, 1) for _ in range(3)]
    return trained(
        lambda: criterion(*(model(batch).squeeze(-1) for batch in batches))[0],
        [*model.parameters(), *criterion.parameters()],
    )
