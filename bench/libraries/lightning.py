"""A Trainer fits a LightningModule for two epochs and validates it."""

import lightning
import torch

from bench.drawn import integers, normal, perceptron


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network, self.losses = perceptron(), []

    def training_step(self, batch, index):
        loss = torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1])
        self.log("train", loss)
        self.losses.append(float(loss.detach()))
        return loss

    def validation_step(self, batch, index):
        self.log("val", torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


def main():
    data = torch.utils.data.TensorDataset(normal(32, 4), integers(2, 32))
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer, model = lightning.Trainer(max_epochs=2, accelerator="cpu", **quiet), Classifier()
    trainer.fit(model, loader, loader)
    return model.losses, trainer.callback_metrics["val"]
