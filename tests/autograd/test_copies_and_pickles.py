"""deepcopy and pickle of leaves: values, geometry, what is shared, attributes; not history."""

import copy
import gc
import pickle
import sys
import weakref

import pytest


def both_ways(value):
    yield copy.deepcopy(value)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(value, protocol))


def test_values_dtype_and_requires_grad(torch):
    for dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool):
        x = torch.tensor([[1, 0], [2, 3]]).to(dtype)
        if x.is_floating_point():
            x.requires_grad_()
        for made in both_ways(x):
            assert made.dtype == dtype
            assert made.tolist() == x.tolist()
            assert made.requires_grad == x.requires_grad
            assert made.data_ptr() != x.data_ptr()
            assert made.is_leaf
            assert not made._is_view()


def test_shapes_without_elements_and_without_axes(torch):
    for x in (torch.tensor(3.5), torch.zeros(0), torch.zeros(2, 0, 3)):
        for made in both_ways(x):
            assert made.shape == x.shape
            assert made.tolist() == x.tolist()


def test_strides_and_offset_are_kept(torch):
    base = torch.arange(12.0).reshape(3, 4)
    for x in (base.t(), base[:, 1::2], base[1], base[1:, 1:].t(), base[:1].expand(5, 4)):
        x = x.detach()
        for made in both_ways(x):
            assert (made.stride(), made.storage_offset()) == (x.stride(), x.storage_offset())
            assert made.tolist() == x.tolist()


def test_shared_memory_stays_shared(torch):
    base = torch.zeros(4)
    pair = {"whole": base, "part": base[1:3], "again": base}
    ways = both_ways(pair) if torch.__name__ == "clew" else [copy.deepcopy(pair)]  # PyTorch's pickles take it apart
    for made in ways:
        made["part"][0] = 7.0
        assert made["whole"].tolist() == [0.0, 7.0, 0.0, 0.0]
        assert made["again"] is made["whole"]
    assert base.tolist() == [0.0] * 4


def test_attributes_are_kept(torch):
    x = torch.ones(2)
    x.note = {"made": [1, 2]}
    for made in both_ways(x):
        assert made.note == {"made": [1, 2]}
        assert made.note is not x.note


def test_deepcopy_keeps_the_gradient_and_pickle_does_not(torch):
    x = torch.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    made = copy.deepcopy(x)
    assert made.grad.tolist() == [3.0, 3.0]
    assert made.grad is not x.grad
    assert pickle.loads(pickle.dumps(x)).grad is None


def test_a_copy_is_trained_apart(torch):
    x = torch.ones(2, requires_grad=True)
    made = copy.deepcopy(x)
    (made * 2).sum().backward()
    assert x.grad is None
    assert made.grad.tolist() == [2.0, 2.0]


def test_hooks_stay_behind(torch):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * 100)
    made = copy.deepcopy(x)
    (made * 2).sum().backward()
    assert made.grad.tolist() == [2.0, 2.0]


def test_results_are_refused(torch):
    y = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(y)
    assert copy.deepcopy(y.detach()).tolist() == [2.0, 2.0]


def test_parameters_and_modules(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    model.tied = model[0].weight
    for made in both_ways(model):
        assert type(made[0].weight) is torch.nn.Parameter
        assert made.tied is made[0].weight
        assert made[0].weight.tolist() == model[0].weight.tolist()
        assert made[0].weight.requires_grad
        assert made[0].weight.data_ptr() != model[0].weight.data_ptr()


def test_dtypes_sizes_and_devices(torch):
    for value in (torch.float32, torch.Size([2, 3]), torch.device("cpu"), torch.device("cuda:1"), torch.strided):
        for made in both_ways(value):
            assert made == value
            assert type(made) is type(value)


def test_shallow_copies_share_memory(torch):
    x = torch.ones(2)
    made = copy.copy(x)
    assert made is not x
    made[0] = 5.0
    assert x.tolist() == [5.0, 1.0]


@pytest.mark.beyond
def test_the_memory_of_a_copy_is_counted(torch):
    before = torch.memory.stats().live
    x = torch.ones(1000)
    made = pickle.loads(pickle.dumps(x))
    assert torch.memory.stats().live - before == 8000
    del x, made
    assert torch.memory.stats().live == before


def test_a_storage_knows_its_size(torch):
    x = torch.zeros(4, dtype=torch.float64)
    storage = x[1:].untyped_storage()
    assert storage.nbytes() == 32
    assert storage.data_ptr() == x.data_ptr()
    assert len(storage) == 32


def test_operations_can_be_pickled(torch):
    if torch.__name__ != "clew":
        pytest.skip("PyTorch's functions pickle by name")
    assert pickle.loads(pickle.dumps(torch.exp))(torch.zeros(1)).tolist() == [1.0]


def test_weak_references(torch):
    x = torch.ones(2)
    ended = weakref.ref(x)
    assert ended() is x
    del x
    gc.collect()
    assert ended() is None


def test_an_operation_is_pickled_by_name(torch):
    """What comes back is the operation itself."""
    for operation in (torch.add, torch.relu_, torch.Tensor.add_, torch.zeros_like):
        for made in (copy.copy(operation), *both_ways(operation)):
            assert made is operation


@pytest.mark.beyond
def test_pickles_of_an_operation_leave_nothing_behind(torch):
    finder = torch._core._find_operation
    before = sys.getrefcount(finder), sys.getrefcount(torch.add)
    for _ in range(100):
        pickle.loads(pickle.dumps(torch.add))
        copy.deepcopy(torch.add)
    after = sys.getrefcount(finder), sys.getrefcount(torch.add)
    assert after == before


@pytest.mark.beyond
def test_an_operation_that_a_subclass_takes_over_is_the_one_that_programs_know(torch):
    taken = []

    class Taking(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            taken.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Taking)
    torch.add(x, x)
    x.mul_(2)
    assert taken[0] is torch.add
    assert taken[1] is torch.Tensor.mul_


def test_what_has_a_history_comes_back_as_a_leaf(torch):
    x = torch.ones(3, requires_grad=True)
    for value in (x * 2, (x * 2)[1:]):
        made = pickle.loads(pickle.dumps(value))
        assert (made.requires_grad, made.is_leaf, made.tolist()) == (True, True, value.tolist())
        shared = copy.copy(value)
        assert (shared.requires_grad, shared.is_leaf, shared.data_ptr()) == (True, True, value.data_ptr())


def test_a_shallow_copy_of_a_part_looks_at_the_same_part(torch):
    part = torch.arange(5.0)[2:]
    shared = copy.copy(part)
    shared[0] = 9.0
    assert part.tolist() == [9.0, 3.0, 4.0]
