"""Random keys on random tensors: what PyTorch gives, or an error of the same type."""

import random
import warnings

import numpy
import pytest
from oracle import module, reference

BATCHES, KEYS_IN_A_BATCH = 20, 100


def random_slice(generator, size):
    bounds = [None, *range(-size - 1, size + 2)]
    return slice(generator.choice(bounds), generator.choice(bounds), generator.choice([None, None, 1, 2, 3]))


def random_indices(generator, size):
    """Indices into an axis, sometimes one too many; in arrays of several shapes and dtypes."""
    outside = generator.random() < 0.03
    shape = generator.choice([(), (1,), (2,), (3,), (2, 2), (1, 2), (0,)])
    low, high = (-size - 1, size + 1) if outside else (-size, size)
    count = int(numpy.prod(shape))
    values = [generator.randrange(low, high) for _ in range(count)] if high > low else [0] * count
    return numpy.array(values, dtype=generator.choice(["int64", "int64", "int32"])).reshape(shape)


def random_mask(generator, shape):
    wrong = generator.random() < 0.03
    sizes = [size + 1 for size in shape] if wrong else shape
    return numpy.array([generator.random() < 0.6 for _ in range(int(numpy.prod(sizes)))], dtype=bool).reshape(sizes)


def random_part(generator, shape, axis):
    """A part of a key, made for this axis, and how many axes it takes."""
    size = shape[axis] if axis < len(shape) else 2
    kind = generator.choice(
        ["int", "int", "slice", "slice", "slice", "none", "indices", "indices", "mask", "bool", "list"]
    )
    if kind == "int":
        return (generator.randrange(-size, size) if size and generator.random() > 0.03 else size), 1
    if kind == "slice":
        return random_slice(generator, size), 1
    if kind == "none":
        return None, 0
    if kind == "bool":
        return generator.random() < 0.7, 0
    if kind == "list":
        return [generator.randrange(-size, size) if size else 0 for _ in range(generator.randrange(3))], 1
    if kind == "mask" and axis < len(shape):
        ndim = generator.choice([1, 1, 2])
        return random_mask(generator, shape[axis : axis + ndim]), min(ndim, len(shape) - axis)
    return random_indices(generator, size), 1


def random_key(generator, shape):
    """A key for a tensor of this shape; arrays in it become tensors."""
    parts, axis = [], 0
    has_ellipsis = False
    for _ in range(generator.randrange(0, len(shape) + 2)):
        if not has_ellipsis and generator.random() < 0.1:
            parts.append(...)
            has_ellipsis = True
            axis = max(axis, len(shape) - generator.randrange(2))
            continue
        part, taken = random_part(generator, shape, axis)
        parts.append(part)
        axis += taken
    return parts[0] if len(parts) == 1 and generator.random() < 0.5 else tuple(parts)


def as_key(part, to, arrays):
    if isinstance(part, tuple):
        return tuple(as_key(item, to, arrays) for item in part)
    if isinstance(part, numpy.ndarray) and not (arrays and part.size):  # PyTorch forgets the dtype of empty arrays
        return to.from_numpy(part.copy())
    return part


def outcome(to, array, key, arrays, write):
    """The result, the gradient and (for a write) the gradient of the value; or the type of the error."""
    leaf = to.from_numpy(array.copy()).requires_grad_()
    x, value = leaf * 1, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = x[as_key(key, to, arrays)]
            if write:
                values = numpy.linspace(1, 2, result.numel()).reshape(tuple(result.shape))
                value = to.from_numpy(values).requires_grad_()
                x[as_key(key, to, arrays)] = value
                result = x
        except Exception as error:
            return type(error)
    weight = numpy.linspace(-1, 1, result.numel()).reshape(tuple(result.shape))
    if result.requires_grad:
        (result * to.from_numpy(weight)).sum().backward()
    gradients = [leaf.grad, value.grad if write else None]
    return [result.detach().numpy(), *(None if grad is None else grad.numpy() for grad in gradients)]


def names_a_place_twice(key):
    """Then PyTorch does not say which value stays."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(part, numpy.ndarray | list) and numpy.asarray(part).dtype != bool for part in parts)


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
def test_random_keys(batch, write):
    generator = random.Random(1000 * batch + write)
    for _ in range(KEYS_IN_A_BATCH):
        shape = [generator.choice([0, 1, 2, 3, 3, 4]) for _ in range(generator.randrange(5))]
        array = numpy.linspace(0.5, 9.5, int(numpy.prod(shape))).reshape(shape)
        key, arrays = random_key(generator, shape), generator.random() < 0.3
        if write and names_a_place_twice(key):
            continue
        what = f"shape {shape}, key {key}"
        ours, theirs = (outcome(to, array, key, arrays, write) for to in (module, reference))
        if isinstance(theirs, type) or isinstance(ours, type):
            assert ours == theirs, what
            continue
        for our, their in zip(ours, theirs, strict=True):
            if our is None or their is None:
                assert not any(side is not None and side.any() for side in (our, their)), what
            else:
                assert our.shape == their.shape, what
                numpy.testing.assert_allclose(our, their, err_msg=what)
