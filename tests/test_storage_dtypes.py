"""float16, bfloat16, int8, int16 and complex numbers in Python: names, files, other libraries, text."""

import copy
import io
import math
import pickle
import random

import numpy
import pytest

import clew

NAMES = ("float16", "bfloat16", "int8", "int16", "complex64", "complex128")


def pair(name, oracle, shape=(3, 4)):
    """The same numbers here and there."""
    generator = oracle.Generator().manual_seed(0)
    real, imag = oracle.randn(2, *shape, generator=generator, dtype=oracle.float64) * 5
    dtype = getattr(oracle, name)
    theirs = oracle.complex(real, imag).to(dtype) if dtype.is_complex else real.to(dtype)
    return clew.tensor(theirs.tolist(), dtype=getattr(clew, name)), theirs


def assert_same(ours, theirs):
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_dlpack_both_ways_shares_memory(name, oracle):
    ours, theirs = pair(name, oracle)
    assert_same(clew.from_dlpack(theirs), theirs)
    assert_same(oracle.from_dlpack(ours), theirs)
    assert_same(clew.from_dlpack(theirs.t()), theirs.t())
    view = clew.from_dlpack(theirs)
    view[0, 0] = 1
    assert_same(view, theirs)
    back = oracle.from_dlpack(ours)
    back[1] = 2
    assert_same(ours, back)


@pytest.mark.parametrize("name", NAMES)
def test_files_both_ways(name, oracle):
    ours, theirs = pair(name, oracle)
    for writer, reader, first, other in ((clew, oracle, ours, theirs), (oracle, clew, theirs, ours)):
        file = io.BytesIO()
        writer.save({"whole": first, "part": first[1:, ::2], "dtype": first.dtype}, file)
        for only in (True, False):
            file.seek(0)
            found = reader.load(file, weights_only=only)
            assert_same(found["whole"], other)
            assert_same(found["part"], other[1:, ::2])
            assert found["dtype"] is other.dtype


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("name", NAMES)
def test_copies_pickles_and_storages(name, oracle):
    ours, theirs = pair(name, oracle)
    for protocol in (2, 5):
        assert_same(pickle.loads(pickle.dumps(ours, protocol=protocol)), theirs)
    assert_same(copy.deepcopy(ours), theirs)
    assert pickle.loads(pickle.dumps(ours.dtype)) is ours.dtype
    assert ours.storage().tolist() == theirs.storage().tolist()
    assert ours.untyped_storage().tolist() == theirs.untyped_storage().tolist()
    assert isinstance(hash(ours), int)


@pytest.mark.parametrize("name", NAMES)
def test_numpy_both_ways(name, oracle):
    ours, theirs = pair(name, oracle)
    if name == "bfloat16":
        for function in (ours.numpy, ours.__array__, theirs.numpy):
            with pytest.raises(TypeError, match=r"^Got unsupported ScalarType BFloat16"):
                function()
        return
    array = ours.numpy()
    assert str(array.dtype) == name
    for function in (clew.from_numpy, clew.tensor, clew.as_tensor):
        assert_same(function(array), theirs)
    array[0, 0] = 1
    assert ours[0, 0] == 1


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("name", NAMES)
def test_type_names_and_conversions(name, oracle):
    ours, theirs = pair(name, oracle)
    assert ours.type() == theirs.type()
    assert_same(ours.type(ours.type()), theirs)
    for other in (*NAMES, "bool", "uint8", "int32", "int64", "float32", "float64"):
        assert_same(ours.to(getattr(clew, other)), theirs.to(getattr(oracle, other)))
    for method in ("half", "bfloat16", "char", "short", "cfloat", "cdouble"):
        assert_same(getattr(ours, method)(), getattr(theirs, method)())


@pytest.mark.parametrize("name", [*NAMES, "float32", "bool"])
def test_views_of_the_bytes_as_another_dtype(name, oracle):
    ours, theirs = pair(name, oracle)
    for other in ("int8", "int16", "int32", "float16", "bfloat16", "complex64", "complex128"):
        for change in (lambda x: x, lambda x: x.t(), lambda x: x[:, ::2], lambda x: x[1:], lambda x: x[0, 0]):
            try:
                expected = change(theirs).view(getattr(oracle, other))
            except RuntimeError:
                with pytest.raises(RuntimeError, match=r"^view: expected"):
                    change(ours).view(getattr(clew, other))
                continue
            view = change(ours).view(getattr(clew, other))
            assert view.stride() == expected.stride()
            numpy.testing.assert_array_equal(view.tolist(), expected.tolist())
            version = ours._version
            view.zero_()
            assert ours._version == version + 1
            ours, theirs = pair(name, oracle)


def test_limits(oracle):
    for name in ("float16", "bfloat16", "complex64", "complex128", "float32"):
        assert repr(clew.finfo(getattr(clew, name))) == repr(oracle.finfo(getattr(oracle, name)))
    for name in ("int8", "int16"):
        assert repr(clew.iinfo(getattr(clew, name))) == repr(oracle.iinfo(getattr(oracle, name)))


def drawn(generator, name, mixed):
    if name.startswith("int"):
        return generator.randint(-100, 100)
    kind = generator.random()
    if kind < 0.1:
        return generator.choice([0.0, -0.0, math.inf, -math.inf, math.nan])
    if kind < 0.4:
        return float(generator.randint(-9, 9))
    return generator.gauss(0, 1) * 10 ** generator.choice([0, 1, 2, -3, 4, -6] if mixed else [0])


@pytest.mark.parametrize("name", NAMES)
def test_they_print_as_in_pytorch(name, oracle):
    generator = random.Random(0)
    shapes = [(), (1,), (0,), (2, 0), (7,), (2, 3), (3, 4, 5), (50,), (40, 30)]
    settings = [{}, {}, {"precision": 2}, {"linewidth": 40}, {"sci_mode": True}, {"sci_mode": False}]
    for _ in range(150):
        shape, mixed, setting = generator.choice(shapes), generator.random() < 0.4, generator.choice(settings)
        count = math.prod(shape)
        values = [drawn(generator, name, mixed) for _ in range(count)]
        if name.startswith("complex"):
            values = [complex(value, drawn(generator, name, mixed)) for value in values]
        texts = []
        for module in (clew, oracle):
            module.set_printoptions(**setting)
            texts.append(repr(module.tensor(values, dtype=getattr(module, name)).reshape(shape)))
            module.set_printoptions(profile="default")
        assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "complex64", "int8"])
def test_assert_close_has_pytorchs_tolerances(name, oracle):
    for apart in (1e-7, 1e-5, 1e-3, 5e-3, 0.02, 1):
        for module in (clew, oracle):
            one = module.tensor([1.0, 100.0]).to(getattr(module, name))
            other = module.tensor([1.0 + apart, 100 * (1 + apart)]).to(getattr(module, name))
            if module is clew:
                try:
                    clew.testing.assert_close(one, other)
                    failed = False
                except AssertionError:
                    failed = True
            elif failed:
                with pytest.raises(AssertionError):
                    oracle.testing.assert_close(one, other)
            else:
                oracle.testing.assert_close(one, other)
