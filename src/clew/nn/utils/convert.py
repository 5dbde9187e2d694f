"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import clew
from clew import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters, in order, as one 1-D tensor.

    Example:
        >>> torch.nn.utils.parameters_to_vector(torch.nn.Linear(3, 2).parameters()).shape == (8,)
        True
    """
    vector: Tensor = clew.cat([parameter.reshape(-1) for parameter in parameters])
    return vector


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the elements of `vec`, in order, the data of the parameters; they then share its memory.

    Raises:
        TypeError: `vec` is no tensor.
        ValueError: it has not as many elements as the parameters.

    Example:
        >>> layer = torch.nn.Linear(1, 1)
        >>> torch.nn.utils.vector_to_parameters(torch.tensor([2.0, 3.0]), layer.parameters())
        >>> layer.weight.item(), layer.bias.item()
        (2.0, 3.0)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    sizes = [parameter.numel() for parameter in parameters]
    if vec.numel() != sum(sizes):
        raise ValueError(f"vector_to_parameters: expected {sum(sizes)} elements, got {vec.numel()}")
    for parameter, part in zip(parameters, vec.split(sizes), strict=True):
        parameter.data = part.view(parameter.shape).data
