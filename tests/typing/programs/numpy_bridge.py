"""To NumPy and back."""

import numpy as np

import clew as torch

array = np.arange(6.0, dtype=np.float32).reshape(2, 3)
tensor = torch.from_numpy(array)
back = tensor.mul(2).numpy()
print(back.sum(), torch.as_tensor([1, 2, 3]).dtype, tensor.dtype == torch.float32)
