"""A Trainer of the older package, with callbacks."""

import pytorch_lightning
import torch

from bench.drawn import integers, normal, perceptron


class Classifier(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network, self.losses = perceptron(), []

    def training_step(self, batch, index):
        loss = torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1])
        self.losses.append(float(loss.detach()))
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


def main():
    data = torch.utils.data.TensorDataset(normal(32, 4), integers(2, 32))
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    model = Classifier()
    pytorch_lightning.Trainer(max_epochs=2, accelerator="cpu", **quiet).fit(
        model, torch.utils.data.DataLoader(data, batch_size=8)
    )
    return model.losses, [*model.parameters()]
