"""What tensors can do beside operations, as in PyTorch."""

import pytest


def test_to_reads_its_arguments_like_pytorch(torch, oracle):
    calls = {
        "dtype": lambda m, x: x.to(m.float64),
        "dtype by name": lambda m, x: x.to(dtype=m.int64),
        "device": lambda m, x: x.to("cpu"),
        "device object": lambda m, x: x.to(m.device("cpu")),
        "device and dtype": lambda m, x: x.to("cpu", m.int32),
        "by names": lambda m, x: x.to(device="cpu", dtype=m.bool),
        "other": lambda m, x: x.to(m.ones(1, dtype=m.uint8)),
        "copy": lambda m, x: x.to(m.float32, copy=True),
        "not blocking": lambda m, x: x.to(m.float64, non_blocking=True),
        "positional flags": lambda m, x: x.to(m.float64, False, True),
        "nothing": lambda m, x: x.to(None, m.float64),
    }
    for name, call in calls.items():
        x, y = torch.tensor([1.5, 0.0]), oracle.tensor([1.5, 0.0])
        ours, theirs = call(torch, x), call(oracle, y)
        assert str(ours.dtype) == str(theirs.dtype), name
        assert ours.tolist() == theirs.tolist(), name
        assert (ours is x) == (theirs is y), name


@pytest.mark.parametrize("bad", [[1], object])
def test_to_refuses_what_it_does_not_know(torch, bad):
    with pytest.raises((TypeError, RuntimeError)):
        torch.ones(1).to(bad)
    with pytest.raises(TypeError):
        torch.ones(1).to(bananas=1)


def test_conversions(torch, oracle):
    for name in ("float", "double", "long", "int", "bool", "byte"):
        for values in ([1.7, 0.0, 3.2], [1, 0, 3], [True, False]):
            ours, theirs = getattr(torch.tensor(values), name)(), getattr(oracle.tensor(values), name)()
            assert (ours.tolist(), str(ours.dtype)) == (theirs.tolist(), str(theirs.dtype))
    x = torch.ones(2)
    assert x.float() is x
    assert x.type() == "torch.FloatTensor"
    assert x.type(torch.float64).dtype == torch.float64
    assert x.type("torch.LongTensor").dtype == torch.int64
    assert x.type_as(torch.ones(1, dtype=torch.int32)).dtype == torch.int32


def test_conversions_are_differentiable(torch):
    x = torch.ones(2, requires_grad=True)
    y = x.double()
    assert y.grad_fn.name() == "ToCopyBackward0"
    (y * 3).sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (torch.float32, [3.0, 3.0])


@pytest.mark.beyond
def test_where_and_how_it_lies(torch):
    x = torch.ones(2, 3)
    assert x.device == torch.device("cpu")
    assert (x.layout, x.is_cpu, x.is_cuda, x.is_meta, x.get_device()) == (torch.strided, True, False, False, -1)
    assert x.cpu() is x
    assert (x.is_floating_point(), x.is_complex(), x.is_signed()) == (True, False, True)
    assert not torch.ones(1, dtype=torch.uint8).is_signed()
    assert x.is_same_size(torch.zeros(2, 3))
    assert not x.is_same_size(torch.zeros(3, 2))
    assert (x.is_pinned(), x.is_shared(), x.is_conj(), x.is_neg()) == (False, False, False, False)
    assert x.is_set_to(x.view(2, 3))
    assert not x.is_set_to(x.clone())
    assert not x.is_set_to(x[:1])
    assert x.resolve_conj() is x
    assert x.resolve_neg() is x


def test_in(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert 3 in x
    assert 3.5 not in x
    assert torch.tensor(4.0) in x
    assert torch.tensor([1.0, 2.0]) in x
    with pytest.raises(RuntimeError, match=r"only supports Tensor or scalar"):
        "a" in x  # noqa: B015


def test_iteration(torch):
    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    rows = list(x)
    assert [row.tolist() for row in rows] == [[0, 1], [2, 3], [4, 5]]
    assert rows[0].grad_fn.name() == "UnbindBackward0"
    (a, b), *_ = x
    assert (a.item(), b.item()) == (0.0, 1.0)
    assert [value.item() for value in reversed(torch.arange(3))] == [2, 1, 0]
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(torch.tensor(1.0))
    assert list(torch.zeros(0, 3)) == []
    assert len(x) == 3
    with pytest.raises(TypeError, match="0-d"):
        len(torch.tensor(1.0))


def test_functions_of_elements(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.apply_(lambda value: value * 10) is x
    assert x.tolist() == [[10, 20], [30, 40]]
    assert x.map_(torch.tensor([1.0, 2.0]), lambda a, b: a + b).tolist() == [[11, 22], [31, 42]]
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(1, requires_grad=True).apply_(lambda value: value)


def test_dir(torch):
    x = torch.ones(1)
    x.mine = 1
    names = dir(x)
    for name in ("mine", "exp", "backward", "register_hook", "grad_fn", "__add__"):
        assert name in names


def test_attributes(torch):
    x = torch.ones(1)
    x.note = "mine"
    assert x.__dict__ == {"note": "mine"}
    del x.note
    with pytest.raises(AttributeError, match="note"):
        x.note  # noqa: B018


def test_pythons_numbers(torch):
    assert float(torch.tensor([2.5])) == 2.5
    assert int(torch.tensor(2.9)) == 2
    assert [10, 20, 30][torch.tensor(1)] == 20
    assert bool(torch.tensor([True]))
    assert not torch.tensor(0.0)
    assert torch.tensor(3.0).is_nonzero()
    with pytest.raises(TypeError):
        [1, 2][torch.tensor(1.0)]
    assert hash(torch.ones(1)) != hash(torch.ones(1))


@pytest.mark.beyond
def test_what_is_not_there_yet_says_so(torch):
    for name in ("share_memory_", "pin_memory", "rename"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(torch.ones(1), name)()


def test_resize_in_place(torch):
    x = torch.arange(6.0).reshape(2, 3)
    version = x._version
    assert x.resize_(3, 2) is x
    assert (x.tolist(), x.stride()) == ([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], (2, 1))
    assert x.resize_((4,)).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert x.resize_(8)[:6].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert x.resize_as_(torch.zeros(2, 1)).tolist() == [[0.0], [1.0]]
    assert x._version == version + 4
    assert torch.empty(0).resize_(torch.Size([2, 2])).shape == (2, 2)
    with pytest.raises(RuntimeError, match=r"requires? grad"):
        torch.ones(2, requires_grad=True).resize_(1)


def test_sizes_are_integers(torch):
    size = torch.Size([torch.tensor(3), 2, True])
    assert tuple(size) == (3, 2, 1)
    assert {type(one) for one in size} == {int}
    for other in (1.5, "a", torch.tensor(1.5)):
        with pytest.raises(TypeError, match="iterable of 'int'"):
            torch.Size([other])
