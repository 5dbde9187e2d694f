"""An engine with events, metrics and a schedule of rates."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import LinearCyclicalScheduler
from ignite.metrics import Accuracy, Loss

from bench.drawn import batches, perceptron


def main():
    model, data, losses = perceptron(), batches(), []
    optimizer, loss = torch.optim.SGD(model.parameters(), lr=0.1), torch.nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(model, optimizer, loss)
    evaluator = create_supervised_evaluator(model, {"accuracy": Accuracy(), "loss": Loss(loss)})
    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output))
    trainer.add_event_handler(Events.ITERATION_STARTED, LinearCyclicalScheduler(optimizer, "lr", 0.1, 0.01, 8))
    trainer.run(data, max_epochs=2)
    evaluator.run(data)
    return losses, evaluator.state.metrics
