"""`stft`, `istft`, `svd_lowrank`, `pca_lowrank` and `frombuffer` against PyTorch."""

import warnings

import numpy
import pytest
import torch

import clew

pytestmark = pytest.mark.filterwarnings("ignore:A window was not provided")

SIGNALS = [((17,), "float64"), ((2, 24), "float32"), ((3, 16), "complex128")]
OPTIONS = [
    {"n_fft": 8},
    {"n_fft": 7, "hop_length": 2},
    {"n_fft": 8, "hop_length": 3, "win_length": 5, "window": "hann"},
    {"n_fft": 8, "center": False, "normalized": True},
    {"n_fft": 8, "center": False, "win_length": 4, "window": "hann", "align_to_window": True},
    {"n_fft": 8, "center": False, "win_length": 4, "align_to_window": False},
    {"n_fft": 6, "pad_mode": "constant", "onesided": False, "window": "hann"},
]


def signal(library, shape, dtype):
    draw = numpy.random.default_rng(0)
    values = draw.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * draw.standard_normal(shape)
    return library.tensor(values, dtype=getattr(library, dtype))


def given(library, options, dtype):
    options = dict(options)
    if "window" in options:
        options["window"] = library.hann_window(options.get("win_length", options["n_fft"]), dtype=library.float64)
        if dtype == "float32":
            options["window"] = options["window"].float()
    return options


def forward(library, shape, dtype, options):
    x = signal(library, shape, dtype).requires_grad_()
    result = library.stft(x, return_complex=True, **given(library, options, dtype))
    (result.abs() ** 2).sum().backward()
    return result.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize(("shape", "dtype"), SIGNALS)
@pytest.mark.parametrize("options", OPTIONS)
def test_transforms_are_pytorchs(shape, dtype, options):
    tolerance = 2e-5 if dtype == "float32" else 1e-10
    for ours, theirs in zip(*(forward(one, shape, dtype, options) for one in (clew, torch)), strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        numpy.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [
            one.stft(signal(one, shape, dtype), return_complex=False, **given(one, options, dtype)).numpy()
            for one in (clew, torch)
        ]
    numpy.testing.assert_allclose(*parts, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("shape", "dtype"), SIGNALS)
@pytest.mark.parametrize("options", [one for one in OPTIONS if not {"pad_mode", "align_to_window"} & set(one)])
@pytest.mark.parametrize("length", [None, 12, 40])
@pytest.mark.filterwarnings("ignore:The length of signal is shorter")
def test_inverses_are_pytorchs(shape, dtype, options, length):
    options = {**options, "hop_length": options.get("hop_length", 2)}
    found = []
    for library in (clew, torch):
        chosen = given(library, options, dtype)
        spectrum = signal(library, shape, dtype).stft(return_complex=True, **chosen).detach().requires_grad_()
        if dtype.startswith("complex"):
            chosen |= {"return_complex": True, "onesided": False}
        try:
            result = library.istft(spectrum, length=length, **chosen)
        except RuntimeError:
            found.append(None)
            continue
        (result.abs() ** 2).sum().backward()
        found.append((result.detach().numpy(), spectrum.grad.numpy()))
    assert (found[0] is None) == (found[1] is None)
    tolerance = 2e-5 if dtype == "float32" else 1e-10
    for ours, theirs in zip(*(one or () for one in found), strict=True):
        assert ours.shape == theirs.shape
        numpy.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_there_and_back_with_gradients():
    x = signal(clew, (2, 12), "float64").requires_grad_()
    window = clew.hann_window(6, dtype=clew.float64, requires_grad=True)

    def there(x, window):
        return clew.stft(x, 6, 2, window=window, return_complex=True)

    def back(x, window):
        return clew.istft(there(x, window), 6, 2, window=window)

    assert clew.autograd.gradcheck(there, (x, window))
    assert clew.autograd.gradgradcheck(there, (x, window))
    assert clew.autograd.gradcheck(back, (x, window))
    numpy.testing.assert_allclose(back(x, window).detach().numpy(), x.detach().numpy(), atol=1e-12)


def test_errors_of_transforms():
    x = clew.ones(10)
    for wrong in (
        lambda: clew.stft(x, 4),
        lambda: clew.stft(x, 0, return_complex=True),
        lambda: clew.stft(x, 20, center=False, return_complex=True),
        lambda: clew.stft(x, 4, window=clew.ones(3), return_complex=True),
        lambda: clew.stft(x.view(1, 2, 5), 4, return_complex=True),
        lambda: clew.stft(x + 0j, 4, onesided=True),
        lambda: clew.stft(x, 4, return_complex=True, align_to_window=False),
        lambda: clew.istft(x, 4),
        lambda: clew.istft(clew.ones(4, 2) + 0j, 9),
        lambda: clew.istft(clew.ones(3, 4) + 0j, 4, hop_length=4, win_length=2, window=clew.zeros(2)),
    ):
        with pytest.raises(RuntimeError):
            wrong()


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (2, 6, 5), (5, 5)])
@pytest.mark.parametrize("q", [2, 4])
def test_low_rank_is_pytorchs(shape, q):
    values = numpy.random.default_rng(0).standard_normal(shape)
    found = []
    for library in (clew, torch):
        A = library.tensor(values)
        library.manual_seed(0)
        U, S, V = library.svd_lowrank(A, q=q)
        _, centered, W = library.pca_lowrank(A, q=q)
        _, less, _ = library.svd_lowrank(A, q=q, M=A * 0.5)
        _, plain, _ = library.pca_lowrank(A, center=False)
        results = (U * S.unsqueeze(-2)) @ V.mT, S, centered, W[..., :1].abs(), less, plain
        found.append([one.numpy() for one in results])
    for ours, theirs in zip(*found, strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_low_rank_matrices_are_found_with_gradients():
    draw = numpy.random.default_rng(1)
    A = clew.tensor(draw.standard_normal((6, 2)) @ draw.standard_normal((2, 5)), requires_grad=True)
    _, S, _ = clew.svd_lowrank(A, q=2)
    numpy.testing.assert_allclose(S.detach().numpy(), numpy.linalg.svd(A.detach().numpy())[1][:2], rtol=1e-9)
    S.sum().backward()  # the sum of the singular values has the gradient U V^T
    U, _, Vh = numpy.linalg.svd(A.detach().numpy())
    numpy.testing.assert_allclose(A.grad.numpy(), U[:, :2] @ Vh[:2], atol=1e-8)
    for wrong in (
        lambda: clew.svd_lowrank(A, q=6),
        lambda: clew.pca_lowrank(A, q=-1),
        lambda: clew.svd_lowrank(A, 1, -1),
    ):
        with pytest.raises(ValueError, match="expected q"):
            wrong()


@pytest.mark.parametrize("name", ["uint8", "int16", "int64", "float16", "bfloat16", "float32", "complex64", "bool"])
@pytest.mark.parametrize("place", [(-1, 0), (2, 0), (1, 16), (-1, 16)])
def test_buffers_are_shared(name, place):
    found = []
    for library in (clew, torch):
        memory = bytearray(bytes([0, 1] * 24))
        tensor = library.frombuffer(memory, dtype=getattr(library, name), count=place[0], offset=place[1])
        values = tensor.float().tolist() if name == "bfloat16" else tensor.tolist()
        tensor.zero_()
        found.append((values, bytes(memory)))
    assert found[0] == found[1]


def test_buffers_that_do_not_fit():
    for options in ({"count": 9}, {"offset": 8}, {"offset": -1}, {"count": 0}, {"offset": 1}):
        for library in (clew, torch):
            with pytest.raises(ValueError, match=r"buffer|bytes"):
                library.frombuffer(bytearray(8), dtype=library.int16, **options)
    for buffer in (
        3,
        numpy.array([1, "a", None], dtype=object),
        numpy.array([(1, None)], dtype=[("a", int), ("b", object)]),
    ):
        with pytest.raises(ValueError, match="buffer"):
            clew.frombuffer(buffer, dtype=clew.int16)
    assert clew.frombuffer(bytearray(8), dtype=clew.float32, requires_grad=True).requires_grad
