"""Interpolation gives PyTorch's values and gradients, for all modes, up and down, by sizes and by factors."""

import functools

import pytest

SHAPES = {1: (2, 3, 7), 2: (2, 2, 5, 7), 3: (1, 2, 3, 4, 5)}
TARGETS = {
    1: [{"size": 4}, {"size": 16}, {"scale_factor": 2}, {"scale_factor": 1.7}, {"scale_factor": 0.6}],
    2: [{"size": (3, 11)}, {"size": 1}, {"scale_factor": (2.0, 0.5)}, {"scale_factor": 2.4}, {"size": (10, 14)}],
    3: [{"size": (2, 6, 5)}, {"scale_factor": 1.5}, {"scale_factor": 2, "recompute_scale_factor": True}],
}
MODES = {
    **{(mode, n): [{}] for mode in ("nearest", "nearest-exact", "area") for n in (1, 2, 3)},
    **{
        (mode, n): [{}, {"align_corners": True}, {"align_corners": False}]
        for mode, n in [("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3)]
    },
}
CASES = [
    (n, {"mode": mode, **target, **option})
    for (mode, n), options in MODES.items()
    for target in TARGETS[n]
    for option in options
]
CASES += [
    (2, {"mode": mode, "antialias": True, **target, **corners})
    for mode in ("bilinear", "bicubic")
    for target in TARGETS[2]
    for corners in ({}, {"align_corners": True})
]


def image(m, n):
    count = functools.reduce(lambda a, b: a * b, SHAPES[n])
    return (m.arange(count).reshape(SHAPES[n]) * 0.71).sin().requires_grad_()


@pytest.mark.parametrize(("n", "options"), CASES, ids=str)
def test_interpolate_agrees(n, options, agree):
    def program(m):
        x = image(m, n)
        y = m.nn.functional.interpolate(x, **options)
        (y * y.detach().cos()).sum().backward()
        return y, x.grad, options["mode"] == "area" or y.grad_fn.name()

    agree(program)


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (2, {"scale_factor": 2}),
        (1, {"size": 4, "mode": "linear"}),
        (2, {"size": (3, 9), "mode": "bilinear", "align_corners": True}),
        (2, {"size": 3, "mode": "bicubic"}),
        (2, {"size": 2, "mode": "bicubic", "antialias": True}),
        (3, {"size": 2, "mode": "trilinear"}),
        (1, {"size": 9, "mode": "nearest-exact"}),
    ],
    ids=str,
)
def test_interpolation_has_second_derivatives(n, options, torch):
    x = image(torch, n).detach()[:1, :1].double().requires_grad_()
    resize = functools.partial(torch.nn.functional.interpolate, **options)
    assert torch.autograd.gradcheck(resize, x)
    assert torch.autograd.gradgradcheck(lambda x: resize(x) ** 2, x)


def test_infinite_elements_stay_where_they_are(agree):
    def program(m):
        x = m.tensor([[[1.0, float("inf"), 2.0, 3.0]]])
        return [m.nn.functional.interpolate(x, scale_factor=2), m.nn.functional.interpolate(x, size=3)]

    agree(program)


LAYERS = [
    lambda m: m.nn.Upsample(scale_factor=2),
    lambda m: m.nn.Upsample((3, 4), mode="bilinear", align_corners=True),
    lambda m: m.nn.Upsample(scale_factor=(2, 1.5), mode="bicubic"),
    lambda m: m.nn.UpsamplingNearest2d(scale_factor=2),
    lambda m: m.nn.UpsamplingBilinear2d(size=(8, 9)),
]


@pytest.mark.parametrize("make", LAYERS)
def test_a_layer_agrees(make, agree):
    agree(lambda m: (make(m)(image(m, 2)), repr(make(m)), list(make(m).state_dict())))


def test_old_names_say_so(agree):
    def program(m):
        F, found = m.nn.functional, []
        for name in ("upsample", "upsample_nearest", "upsample_bilinear"):
            with pytest.warns(UserWarning, match=f"`nn.functional.{name}` is deprecated"):
                found.append(getattr(F, name)(image(m, 2), scale_factor=2))
        return found

    agree(program)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"size": 3, "scale_factor": 2},
        {"size": (3, 4, 5)},
        {"scale_factor": (1.0, 2.0, 3.0)},
        {"size": 3, "align_corners": True},
        {"size": 3, "mode": "linear"},
        {"size": 3, "mode": "cubic"},
        {"size": 0},
        {"size": 3, "recompute_scale_factor": True},
        {"size": 3, "antialias": True},
    ],
    ids=str,
)
def test_bad_arguments_are_refused_as_by_pytorch(options, torch, oracle):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        oracle.nn.functional.interpolate(image(oracle, 2), **options)
    with pytest.raises(theirs.type):
        torch.nn.functional.interpolate(image(torch, 2), **options)
