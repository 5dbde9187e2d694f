"""Padding, dropout of channels, shuffles, distances, norms and losses: as PyTorch's, forward, backward, text."""

import functools

import pytest
from agreement import plain


def ramp(m, *sizes):
    """Fixed numbers in [-2, 2], the same on both modules."""
    count = 1
    for size in sizes:
        count *= size
    return m.linspace(-2.0, 2.0, count).reshape(sizes)


def signs(m, *sizes):
    return (ramp(m, *sizes) * 5).cos().sign()


IMAGE = lambda m: [ramp(m, 2, 4, 4, 6)]  # noqa: E731
SEQUENCE = lambda m: [ramp(m, 2, 4, 6)]  # noqa: E731
VOLUME = lambda m: [ramp(m, 1, 2, 4, 4, 6)]  # noqa: E731
PAIR = lambda m: [ramp(m, 4, 3), ramp(m, 3, 4).t().cos()]  # noqa: E731
SIGNED = lambda m: [ramp(m, 4, 3).cos(), signs(m, 4, 3)]  # noqa: E731

# (class, arguments): its inputs. Those that take no gradient are integers or come after the first ones.
LAYERS = {
    **{
        (f"{kind}Pad{n}d", (size, *more)): inputs
        for kind, more in [
            ("Reflection", ()),
            ("Replication", ()),
            ("Circular", ()),
            ("Zero", ()),
            ("Constant", (1.5,)),
        ]
        for n, inputs in [(1, SEQUENCE), (2, IMAGE), (3, VOLUME)]
        for size in [2, tuple(range(2 * n))[::-1] if n == 1 else (1, 2) * n, (2, -1) * n]
    },
    ("ReflectionPad2d", (1,)): lambda m: [ramp(m, 3, 4, 6)],
    ("Dropout1d", (0.4,)): SEQUENCE,
    ("Dropout1d", (0.3,)): lambda m: [ramp(m, 40, 3)],
    ("Dropout2d", (0.4,)): IMAGE,
    ("Dropout2d", (1.0,)): IMAGE,
    ("Dropout2d", (0.0,)): IMAGE,
    ("Dropout3d", (0.4,)): lambda m: [ramp(m, 5, 20, 1, 2, 1)],
    ("Dropout3d", (0.6,)): lambda m: [ramp(m, 20, 1, 2, 1)],
    ("AlphaDropout", (0.4,)): SEQUENCE,
    ("AlphaDropout", (1.0,)): SEQUENCE,
    ("FeatureAlphaDropout", (0.4,)): IMAGE,
    ("PixelShuffle", (2,)): IMAGE,
    ("PixelUnshuffle", (2,)): IMAGE,
    ("ChannelShuffle", (2,)): IMAGE,
    ("PairwiseDistance", ()): PAIR,
    ("PairwiseDistance", (1.0, 1e-3, True)): PAIR,
    ("CosineSimilarity", ()): PAIR,
    ("CosineSimilarity", (0, 1e-3)): PAIR,
    ("Softmax2d", ()): IMAGE,
    ("Hardshrink", ()): SEQUENCE,
    ("Hardshrink", (0.3,)): SEQUENCE,
    ("Softshrink", (0.3,)): SEQUENCE,
    ("RReLU", (0.1, 0.4)): IMAGE,
    ("RReLU", (0.1, 0.3, True)): lambda m: [ramp(m, 5)],
    ("SyncBatchNorm", (4,)): SEQUENCE,  # without a process group: over the process's own batch
    ("SyncBatchNorm", (3, 0.1, None, False, False)): lambda m: [ramp(m, 4, 3)],
    ("RMSNorm", (6,)): SEQUENCE,
    ("RMSNorm", ((4, 6), 0.1, False)): SEQUENCE,
    ("LocalResponseNorm", (2,)): SEQUENCE,
    ("LocalResponseNorm", (3, 0.5, 0.6, 2.0)): IMAGE,
    ("LPPool1d", (2, 3)): lambda m: [ramp(m, 2, 4, 6).abs() + 0.1],
    ("LPPool1d", (float("inf"), 3, 2, True)): SEQUENCE,
    ("LPPool2d", (3, 2)): lambda m: [ramp(m, 2, 4, 4, 6).abs() + 0.1],
    ("LPPool2d", (2.0, (2, 3), 1)): lambda m: [ramp(m, 2, 4, 4, 6).abs() + 0.1],
    ("LPPool3d", (2, 2)): lambda m: [ramp(m, 1, 2, 4, 4, 6).abs() + 0.1],
    ("MarginRankingLoss", (0.2,)): lambda m: [*PAIR(m), signs(m, 4, 3)],
    ("HingeEmbeddingLoss", ()): SIGNED,
    ("HingeEmbeddingLoss", (0.3,)): SIGNED,
    ("CosineEmbeddingLoss", (0.1,)): lambda m: [*PAIR(m), signs(m, 4)],
    ("CosineEmbeddingLoss", ()): lambda m: [ramp(m, 3), ramp(m, 3).cos(), m.tensor(-1.0)],
    ("SoftMarginLoss", ()): SIGNED,
    ("MultiLabelMarginLoss", ()): lambda m: [ramp(m, 2, 4).cos(), m.tensor([[3, 0, -1, 1], [1, -1, 2, 0]])],
    ("MultiMarginLoss", ()): lambda m: [ramp(m, 2, 4).cos(), m.tensor([3, 1])],
    ("MultiMarginLoss", (2, 0.7)): lambda m: [ramp(m, 4).cos(), m.tensor(3)],
    ("MultiLabelSoftMarginLoss", ()): lambda m: [ramp(m, 4, 3), (signs(m, 4, 3) + 1) / 2],
    ("TripletMarginLoss", ()): lambda m: [*PAIR(m), ramp(m, 4, 3) + 0.3],
    ("TripletMarginLoss", (2.0, 1.0, 1e-3, True)): lambda m: [*PAIR(m), ramp(m, 4, 3) + 0.3],
    ("TripletMarginWithDistanceLoss", ()): lambda m: [*PAIR(m), ramp(m, 4, 3) + 0.3],
    ("PoissonNLLLoss", ()): lambda m: [ramp(m, 4, 3), ramp(m, 4, 3).abs() * 4],
    ("PoissonNLLLoss", (False, True)): lambda m: [ramp(m, 4, 3).exp(), ramp(m, 4, 3).abs() * 4],
    ("GaussianNLLLoss", ()): lambda m: [*PAIR(m), ramp(m, 4, 3).exp()],
}


def name_of(case):
    return f"{case[0]}{case[1]}"


@pytest.mark.unsanitized("of paddings the plane has the space's code", cases=r"pad3d")
@pytest.mark.filterwarnings("ignore:dropout2d")
@pytest.mark.parametrize("case", LAYERS, ids=name_of)
def test_a_layer_agrees(case, agree):
    name, arguments = case

    def program(m):
        layer = getattr(m.nn, name)(*arguments)
        inputs = LAYERS[case](m)
        leaves = [one.clone().requires_grad_() if one.is_floating_point() else one for one in inputs]
        frozen = 2 if name in ("MarginRankingLoss", "CosineEmbeddingLoss") else 1 if name.endswith("Loss") else 9
        kept = len(leaves) if "Triplet" in name or "Gaussian" in name else frozen
        leaves[kept:] = [one.detach() for one in leaves[kept:]]
        used = [one * 1 if one.requires_grad else one for one in leaves]
        output = layer(*used)
        (output * output.detach().cos()).sum().backward()
        grads = [leaf.grad for leaf in leaves if leaf.requires_grad]
        parameters = {name: (one, one.grad) for name, one in layer.named_parameters()}
        return output, grads, parameters, repr(layer), repr(layer.eval()), layer(*LAYERS[case](m))

    agree(program)


def test_batch_norms_of_a_module_are_converted(agree):
    def program(m):
        model = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.ModuleDict({"norm": m.nn.BatchNorm1d(4, momentum=0.3).eval()}))
        weight = model[1]["norm"].weight
        made = m.nn.SyncBatchNorm.convert_sync_batchnorm(model)
        alone = m.nn.SyncBatchNorm.convert_sync_batchnorm(m.nn.BatchNorm2d(2, affine=False), "group")
        same = made is model, made[1]["norm"].weight is weight, made[1]["norm"].training
        return repr(made), same, type(alone).__name__, alone.weight, alone.process_group, alone.state_dict()

    agree(program)


@pytest.mark.parametrize("reduction", ["none", "sum"])
@pytest.mark.parametrize("case", [case for case in LAYERS if case[0].endswith("Loss")], ids=name_of)
def test_a_loss_reduces_as_pytorchs(case, reduction, agree):
    name, arguments = case
    agree(lambda m: getattr(m.nn, name)(*arguments, reduction=reduction)(*LAYERS[case](m)))


@pytest.mark.parametrize(
    "options", [{"size_average": False}, {"reduce": False}, {"size_average": True, "reduce": True}]
)
@pytest.mark.parametrize("name", ["MSELoss", "L1Loss", "CrossEntropyLoss", "KLDivLoss", "MarginRankingLoss", "NLLLoss"])
@pytest.mark.filterwarnings("ignore:reduction")
def test_old_arguments_say_the_reduction(name, options, agree):
    def program(m):
        with pytest.warns(UserWarning, match="size_average and reduce args will be deprecated, please use reduction="):
            loss = getattr(m.nn, name)(**options)
        x, y = PAIR(m)
        inputs = [x, y, signs(m, 4, 3)] if name == "MarginRankingLoss" else [x, y]
        return loss.reduction, loss(
            *(inputs if name not in ("NLLLoss", "CrossEntropyLoss") else [x, m.tensor([0] * 4)])
        )

    agree(program)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize(("n", "padding"), [(1, 2), (2, (1, 2)), (2, "same"), (3, 1)])
def test_convolutions_pad_by_other_modes(mode, n, padding, agree):
    def program(m):
        layer = getattr(m.nn, f"Conv{n}d")(2, 3, 3, padding=padding, padding_mode=mode, bias=False)
        x = ramp(m, 2, 2, *[5] * n).requires_grad_()
        y = layer(x)
        (y * y).sum().backward()
        return y, x.grad, layer.weight.grad, repr(layer)

    agree(program, absolute=1e-4)


def test_pads_have_second_derivatives(torch):
    for mode in ("reflect", "replicate", "circular"):
        x = torch.rand(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
        pad = functools.partial(torch.nn.functional.pad, pad=(1, 2, 2, 1), mode=mode)
        assert torch.autograd.gradcheck(pad, x)
        assert torch.autograd.gradgradcheck(lambda x, pad=pad: pad(x) ** 2, x)


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax_agrees(hard, agree):
    def program(m):
        x = ramp(m, 6, 5).requires_grad_()
        y = m.nn.functional.gumbel_softmax(x, tau=0.7, hard=hard)
        (y * ramp(m, 6, 5)).sum().backward()
        return y, x.grad

    agree(program)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.5, float("inf")])
def test_pdist_agrees(p, agree):
    agree(lambda m: m.nn.functional.pdist(ramp(m, 5, 3).cos(), p))


@pytest.mark.parametrize("name", ["relu_", "elu_", "celu_", "selu_", "leaky_relu_", "hardtanh_", "rrelu_"])
def test_functions_in_place(name, agree):
    def program(m):
        x = ramp(m, 3, 4)
        return getattr(m.nn.functional, name)(x) is x, x

    agree(program)


@pytest.mark.parametrize(
    "act",
    [
        lambda m: m.nn.functional.pad(m.zeros(1, 3), (3, 0), mode="reflect"),
        lambda m: m.nn.functional.pad(m.zeros(1, 3), (4, 0), mode="circular"),
        lambda m: m.nn.functional.pad(m.zeros(3), (1, 1), mode="reflect"),
        lambda m: m.nn.functional.pad(m.zeros(1, 3), (1, 1), mode="mirror"),
        lambda m: m.nn.functional.pad(m.zeros(1, 3), (1, 1), mode="reflect", value=1.0),
        lambda m: m.nn.functional.pixel_shuffle(m.zeros(3, 2, 2), 2),
        lambda m: m.nn.functional.pixel_shuffle(m.zeros(2, 2), 2),
        lambda m: m.nn.functional.pixel_unshuffle(m.zeros(1, 3, 2), 2),
        lambda m: m.nn.functional.channel_shuffle(m.zeros(1, 3, 2), 2),
        lambda m: m.nn.functional.dropout1d(m.zeros(3)),
        lambda m: m.nn.functional.softshrink(m.zeros(3), -1.0),
        lambda m: m.nn.functional.rrelu(m.zeros(3), 0.5, 0.2),
        lambda m: m.nn.functional.rms_norm(m.zeros(3), (4,)),
        lambda m: m.nn.functional.local_response_norm(m.zeros(3, 3), 2),
        lambda m: m.nn.functional.margin_ranking_loss(m.zeros(3), m.zeros(3), m.zeros(1, 3)),
        lambda m: m.nn.functional.multi_margin_loss(m.zeros(2, 3), m.tensor([0, 1]), p=3),
        lambda m: m.nn.functional.triplet_margin_with_distance_loss(m.zeros(2), m.zeros(2), m.zeros(2), margin=0.0),
        lambda m: m.nn.functional.gaussian_nll_loss(m.zeros(2, 3), m.zeros(2, 3), -m.ones(2, 3)),
        lambda m: m.nn.functional.gaussian_nll_loss(m.zeros(2, 3), m.zeros(2, 3), m.ones(3)),
        lambda m: m.nn.functional.pdist(m.zeros(2)),
        lambda m: m.nn.ConvTranspose1d(2, 2, 2, padding_mode="reflect"),
        lambda m: m.nn.Softmax2d()(m.zeros(2)),
        lambda m: m.nn.TripletMarginLoss(margin=0.0),
    ],
)
def test_bad_arguments_are_refused_as_by_pytorch(act, torch, oracle):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        act(oracle)
    with pytest.raises(theirs.type):
        act(torch)


INITS = {
    "dirac_": [((5, 3, 3), ()), ((4, 2, 3, 2), (2,)), ((2, 4, 1, 2, 3), ())],
    "sparse_": [((6, 4), (0.4,))],
}


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
@pytest.mark.parametrize(("name", "shape", "arguments"), [(n, *case) for n, cases in INITS.items() for case in cases])
def test_initial_values_are_pytorchs(name, shape, arguments, agree):
    agree(lambda m: (getattr(m.nn.init, name)(m.zeros(shape), *arguments), m.rand(2)))


@pytest.mark.parametrize("name", ["uniform", "normal", "xavier_uniform", "kaiming_normal", "orthogonal", "eye"])
def test_old_names_of_initializers_say_so(name, agree):
    def program(m):
        with pytest.warns(FutureWarning, match=f"nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`"):
            return plain(getattr(m.nn.init, name)(m.zeros(4, 3)))

    agree(program)


def test_the_adaptive_softmax_draws_each_weight_once(torch, oracle):
    def found(m):
        layer = m.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10, 15], div_value=2.0)
        m.manual_seed(0)
        layer.reset_parameters()
        return [plain(parameter) for parameter in (*layer.parameters(), m.rand(1))]

    for ours, theirs in zip(found(torch), found(oracle), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("targets", [[0, 2, 4, 8, 9, 4], [0, 1, 2, 2, 1, 0], [9, 8, 9, 7, 6, 8]])
def test_the_adaptive_softmax(targets, torch, oracle):
    def found(m):
        layer = m.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0, head_bias=True)
        with m.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(ramp(m, *parameter.shape).cos() * 3)
        x = ramp(m, 6, 8).sin().requires_grad_()
        output, loss = layer(x, m.tensor(targets))
        (loss + output[0]).backward()
        one = layer(x[1], m.tensor(targets[1]))
        shown = [output, loss, x.grad, one.output, one.loss, layer.log_prob(x)]
        names = [name for name, _ in layer.named_parameters()]
        return [plain(value) for value in shown], layer.predict(x).tolist(), names, repr(layer)

    (values, *rest), (wanted, *rest_wanted) = found(torch), found(oracle)
    assert rest == rest_wanted
    for ours, theirs in zip(values, wanted, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


def test_the_adaptive_softmax_refuses_what_pytorchs_does(torch, oracle):
    for m in (torch, oracle):
        for cutoffs in ([], [3, 2], [2, 2], [0, 3], [3, 10], [2.5]):
            with pytest.raises(ValueError, match=r"cutoffs should be a sequence"):
                m.nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs)
        layer = m.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3])
        for x, target, said in [
            (m.ones(2, 8), m.tensor([0, 10]), "Target values should be in"),
            (m.ones(2, 8), m.tensor([0]), "same size in the batch"),
            (m.ones(1), m.tensor([0]), "1D target tensor expects 2D input"),
            (m.ones(2, 8), m.tensor([[0]]), "0D or 1D target"),
        ]:
            with pytest.raises(RuntimeError, match=said):
                layer(x, target)
