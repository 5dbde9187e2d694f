"""Memory is shared with NumPy and other libraries, both ways, without a copy."""

import gc
import operator
import pickle
import weakref

import numpy
import pytest

DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool"]


def arrays(dtype):
    values = numpy.arange(12).reshape(3, 4) % 5
    whole = (values % 2).astype(dtype) if dtype == "bool" else values.astype(dtype)
    return [whole, whole.T, whole[:, ::2], whole[1], whole[1:1], numpy.asarray(whole[2, 1]), whole[1:, 1:]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back_is_the_same_memory(torch, dtype):
    for array in arrays(dtype):
        x = torch.from_numpy(array)
        assert tuple(x.shape) == array.shape
        assert x.dtype == getattr(torch, dtype)
        back = x.numpy()
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        numpy.testing.assert_array_equal(back, array)
        if array.size:
            assert back.__array_interface__["data"][0] == array.__array_interface__["data"][0]
            assert x.data_ptr() == array.__array_interface__["data"][0]


def test_writes_are_seen_on_the_other_side(torch):
    array = numpy.zeros(3)
    x = torch.from_numpy(array)
    array[0] = 5
    x[1] = 7
    assert x.tolist() == array.tolist() == [5.0, 7.0, 0.0]
    y = torch.zeros(3)
    y.numpy()[2] = 9
    assert y.tolist() == [0.0, 0.0, 9.0]


def test_each_keeps_the_memory_alive(torch):
    array = numpy.ones(1000)
    x = torch.from_numpy(array)
    del array
    gc.collect()
    assert x.sum().item() == 1000
    back = torch.ones(1000).numpy()
    gc.collect()
    assert back.sum() == 1000


def test_memory_is_let_go(torch):
    class Array(numpy.ndarray):
        pass

    array = numpy.ones(10).view(Array)
    ended = weakref.ref(array)
    x = torch.from_numpy(array)
    del array
    assert x.sum().item() == 10
    del x
    assert ended() is None


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")
def test_asarray_and_functions_of_numpy(torch):
    x = torch.tensor([1.0, 4.0])
    assert numpy.asarray(x).__array_interface__["data"][0] == x.data_ptr()
    assert numpy.asarray(x, dtype="float64").dtype == numpy.float64
    assert isinstance(numpy.sqrt(x), torch.Tensor)
    assert numpy.sqrt(x).tolist() == [1.0, 2.0]
    assert numpy.stack([x, x]).shape == (2, 2)


@pytest.mark.beyond
def test_numpy_may_ask_for_a_copy(torch):
    x = torch.tensor([1.0, 4.0])
    copied = numpy.array(x)
    copied[0] = 100
    assert x.tolist() == [1.0, 4.0]
    assert numpy.asarray(x, copy=False).__array_interface__["data"][0] == x.data_ptr()
    with pytest.raises(ValueError, match="copy"):
        numpy.asarray(x, dtype="int64", copy=False)


def test_the_tensors_operator_is_used(torch):
    x = torch.ones(2, requires_grad=True)
    result = numpy.float64(3.0) * x.detach()
    assert isinstance(result, torch.Tensor)
    assert result.tolist() == [3.0, 3.0]


@pytest.mark.beyond
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_array_on_the_left_names_the_remedy(torch, name, requires_grad):
    X, beta = numpy.ones((2, 3)), torch.ones(3, dtype=torch.float64, requires_grad=requires_grad)
    apply = getattr(operator, name)
    with pytest.raises(TypeError, match=r"expected two tensors, got a NumPy array .* To do: torch.from_numpy\(X\)$"):
        apply(X, beta)
    assert apply(torch.from_numpy(X), beta).requires_grad == requires_grad


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")
def test_an_array_on_the_right(torch):
    beta = torch.arange(3.0, dtype=torch.float64)
    assert (beta @ numpy.ones((3, 2))).tolist() == [3.0, 3.0]
    assert (beta + numpy.ones(3)).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")
@pytest.mark.parametrize("requires_grad", [False, True])
def test_arrays_are_compared_element_by_element(torch, requires_grad):
    array = numpy.array([[1.0, 5.0, 3.0], [1.0, 2.0, 0.0]])
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)
    expected = [[True, False, True], [True, True, False]]
    assert (x == array).tolist() == (array == x).tolist() == expected
    assert (x != array).tolist() == (array != x).tolist() == [[not one for one in row] for row in expected]


def test_a_tensor_with_history_is_refused(torch):
    x = torch.ones(2, requires_grad=True)
    for attempt in (x.numpy, lambda: numpy.asarray(x), (x * 2).numpy):
        with pytest.raises(RuntimeError, match="requires grad"):
            attempt()
    assert x.numpy(force=True).tolist() == [1.0, 1.0]


def test_without_grad_mode_a_tensor_that_requires_grad_is_shared(torch):
    x = torch.ones(2, requires_grad=True)
    for mode in (torch.no_grad(), torch.inference_mode(), torch.set_grad_enabled(False)):
        with mode:
            assert numpy.asarray(x).tolist() == x.numpy().tolist() == x.tolist()
    with torch.no_grad():
        x.numpy()[0] = 5.0
    assert x.requires_grad
    assert x.tolist() == [5.0, 1.0]


def test_a_function_may_compute_with_numpy(torch):
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.from_numpy(numpy.sin(x.numpy()))

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * torch.from_numpy(numpy.cos(x.detach().numpy()))

    x = torch.tensor([0.5, 2.0], requires_grad=True)
    Sine.apply(x).sum().backward()
    numpy.testing.assert_allclose(x.grad.numpy(), numpy.cos([0.5, 2.0]), rtol=1e-6)


def test_what_from_numpy_takes(torch):
    with pytest.raises(TypeError, match=r"expected np\.ndarray"):
        torch.from_numpy([1.0])
    with pytest.raises(TypeError):
        torch.from_numpy(numpy.array(["a"]))
    with pytest.raises(ValueError, match="negative"):
        torch.from_numpy(numpy.arange(3.0)[::-1])
    array = numpy.ones(2)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        torch.from_numpy(array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_with_numpy(torch, dtype):
    for array in arrays(dtype):
        if array.size == 0:
            continue
        x = torch.from_dlpack(array)
        assert x.numpy().__array_interface__["data"][0] == array.__array_interface__["data"][0]
        numpy.testing.assert_array_equal(x.numpy(), array)
        back = numpy.from_dlpack(x)
        assert back.__array_interface__["data"][0] == array.__array_interface__["data"][0]
        numpy.testing.assert_array_equal(back, array)


@pytest.mark.beyond
@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_with_pytorch(torch, oracle, dtype):
    for array in arrays(dtype):
        if array.size == 0:
            continue
        x = torch.from_numpy(array.copy(order="K"))
        theirs = oracle.from_dlpack(x)
        assert theirs.data_ptr() == x.data_ptr()
        assert theirs.tolist() == x.tolist()
        if dtype != "bool" and array.ndim:
            theirs[0] = 3
            assert x.tolist() == theirs.tolist()
        again = torch.from_dlpack(theirs)
        assert again.data_ptr() == x.data_ptr()
        assert again.stride() == theirs.stride()


@pytest.mark.beyond
def test_dlpack_keeps_the_memory_alive(torch, oracle):
    theirs = oracle.from_dlpack(torch.ones(1000))
    gc.collect()
    assert theirs.sum().item() == 1000
    ours = torch.from_dlpack(oracle.ones(1000))
    gc.collect()
    assert ours.sum().item() == 1000


def test_dlpack_refuses_gradients(torch):
    with pytest.raises(BufferError, match="require gradient"):
        numpy.from_dlpack(torch.ones(2, requires_grad=True))
    assert torch.ones(2).__dlpack_device__() == (1, 0)
    with pytest.raises((TypeError, RuntimeError)):
        torch.from_dlpack(5)


def test_the_buffer_protocol(torch):
    if torch.__name__ != "clew":
        pytest.skip("beyond PyTorch")
    view = memoryview(torch.tensor([[1, 2], [3, 4]]))
    assert (view.shape, view.tolist()) == ((2, 2), [[1, 2], [3, 4]])


EXPORTS = {
    "numpy": lambda torch, x: x.numpy(),
    "numpy of a detached tensor": lambda torch, x: x.detach().numpy(),
    "asarray": lambda torch, x: numpy.asarray(x),
    "memoryview": lambda torch, x: numpy.asarray(memoryview(x)),
    "a slice of a memoryview": lambda torch, x: numpy.asarray(memoryview(x)[:]),
    "dlpack": lambda torch, x: numpy.from_dlpack(x),
    "a view": lambda torch, x: x[:].numpy(),
    "pickled out of band": lambda torch, x: out_of_band(x),
}


def out_of_band(x):
    buffers = []
    pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    return numpy.frombuffer(buffers[0], dtype=numpy.float32).reshape(tuple(x.shape))


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("how", EXPORTS)
def test_an_export_keeps_the_memory_when_the_tensor_gets_other(torch, on_oracle, how, size):
    if on_oracle and ("memoryview" in how or "band" in how):
        pytest.skip("PyTorch has no buffers, and copies into pickles")
    if on_oracle and how == "dlpack":
        pytest.skip("PyTorch's capsule looks at the memory that is given back")
    values = numpy.arange(size, dtype=numpy.float32)
    x = torch.tensor(values)
    array = EXPORTS[how](torch, x)
    x.data = torch.zeros(size)
    others = [torch.full((size,), 9.0) for _ in range(20)]  # would be given the memory, were it free
    numpy.testing.assert_array_equal(array, values)
    del x, others
    gc.collect()
    numpy.testing.assert_array_equal(array, values)


def test_an_array_leads_back_to_the_memory_that_it_looks_at(torch):
    x = torch.arange(3.0)
    array = x.numpy()
    old = x.detach()
    x.data = torch.zeros(3)
    back = torch.from_numpy(array)
    back[0] = 5
    assert old.tolist() == array.tolist() == [5.0, 1.0, 2.0]
    assert x.tolist() == [0.0, 0.0, 0.0]
    assert back.untyped_storage().data_ptr() == old.untyped_storage().data_ptr()


def test_a_write_through_such_an_array_is_seen_by_the_graph(torch, on_oracle):
    if on_oracle:
        pytest.skip("PyTorch does not see writes through arrays")
    x = torch.arange(3.0)
    array = x.numpy()
    w = torch.ones(3, requires_grad=True)
    y = w * x.detach()
    x.data = torch.zeros(3)
    torch.from_numpy(array).add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_base_that_lies_is_not_believed(torch):
    class Lying(numpy.ndarray):
        @property
        def base(self):
            return elsewhere

    elsewhere = numpy.zeros(2)
    array = numpy.arange(1000.0).view(Lying)
    x = torch.from_numpy(array)
    assert x.tolist() == list(range(1000))


# NumPy takes every byte but 0 for true; kernels that count or select know 0 and 1 only.
@pytest.mark.parametrize("how", ["from_numpy", "tensor", "as_tensor", "from_dlpack"])
def test_bools_of_other_bytes_than_0_and_1(torch, on_oracle, how):
    if on_oracle and how in ("from_numpy", "as_tensor", "from_dlpack"):
        pytest.skip("PyTorch takes the bytes as they are")
    array = numpy.array([0, 1, 2, 255, 128, 0], numpy.uint8).view(bool)
    x = getattr(torch, how)(array)
    assert x.tolist() == [False, True, True, True, True, False]
    assert int(x.sum()) == 4
    assert x.eq(True).tolist() == x.tolist()
    assert (~x).tolist() == [True, False, False, False, False, True]
    assert x.float().tolist() == [0.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    assert torch.arange(6)[x].tolist() == [1, 2, 3, 4]
    assert array.tolist() == x.tolist()


def test_bools_of_other_bytes_in_another_dtype(torch):
    array = numpy.array([[0, 1, 2], [255, 128, 0]], numpy.uint8).view(bool).T
    assert torch.tensor(array, dtype=torch.float64).tolist() == [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]


def test_bools_of_other_bytes_that_cannot_be_written(torch, on_oracle):
    if on_oracle:
        pytest.skip("PyTorch takes the bytes as they are")
    array = numpy.array([0, 2], numpy.uint8).view(bool)
    array.flags.writeable = False
    with (
        pytest.warns(UserWarning, match="not writable"),
        pytest.raises(ValueError, match="expected a bool array of bytes 0 and 1"),
    ):
        torch.from_numpy(array)
    assert torch.tensor(array).tolist() == [False, True]
