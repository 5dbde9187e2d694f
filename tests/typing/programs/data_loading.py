"""A data set and a loader."""

import clew as torch
from clew import Tensor
from clew.utils.data import DataLoader, Dataset, TensorDataset


class Squares(Dataset[tuple[Tensor, Tensor]]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        x = torch.tensor([float(index)])
        return x, x**2


for inputs, targets in DataLoader(Squares(), batch_size=4, shuffle=True):
    print(inputs.shape, targets.shape)
print(len(TensorDataset(torch.zeros(3, 2))))
