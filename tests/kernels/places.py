"""Where arrays lie in memory."""


def placed(torch, array, offset):
    """The array as a tensor whose data begin `offset` elements after the start of their memory."""
    memory = torch.zeros(array.size + offset, dtype=torch.from_numpy(array[:0].reshape(-1)).dtype)
    place = memory[offset:].view(array.shape)
    place.copy_(torch.from_numpy(array))
    return place
