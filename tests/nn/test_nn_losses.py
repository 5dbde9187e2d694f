"""Losses agree with PyTorch's, forward and backward, with all their options."""

import pytest

REDUCTIONS = ["none", "mean", "sum"]


def check(agree, make_loss, make_input, make_target, target_has_gradient=False):
    def program(m):
        x = make_input(m).requires_grad_()
        target = make_target(m)
        if target_has_gradient:
            target = target.requires_grad_()
        criterion = make_loss(m)
        loss = criterion(x, target)
        (loss * m.linspace(0.5, 1.5, loss.numel()).reshape(loss.shape).to(loss.dtype)).sum().backward()
        return loss, x.grad, target.grad, repr(criterion), criterion.state_dict()

    agree(program)


def logits(m, *sizes):
    return m.randn(sizes)


def labels(m, high, *sizes):
    return m.randint(0, high, sizes)


REGRESSION = {
    "MSELoss": [{}],
    "L1Loss": [{}],
    "SmoothL1Loss": [{}, {"beta": 0.3}, {"beta": 0.0}],
    "HuberLoss": [{}, {"delta": 0.3}],
}


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    ("name", "options"), [(name, o) for name, all_options in REGRESSION.items() for o in all_options]
)
def test_a_regression_loss_agrees(name, options, reduction, agree):
    check(
        agree,
        lambda m: getattr(m.nn, name)(reduction=reduction, **options),
        lambda m: m.randn(4, 3) * 2,
        lambda m: m.randn(4, 3),
        target_has_gradient=True,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(5,), (4, 5), (3, 5, 2), (2, 5, 3, 2)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_of_class_indices_agrees(reduction, shape, weighted, smoothing, agree):
    check(
        agree,
        lambda m: m.nn.CrossEntropyLoss(
            m.linspace(0.5, 2.0, 5) if weighted else None, reduction=reduction, label_smoothing=smoothing
        ),
        lambda m: logits(m, *shape),
        lambda m: labels(m, 5, *(shape[:1] + shape[2:] if len(shape) > 1 else ())),
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_ignores_an_index(reduction, weighted, smoothing, agree):
    check(
        agree,
        lambda m: m.nn.CrossEntropyLoss(
            m.linspace(0.5, 2.0, 5) if weighted else None,
            reduction=reduction,
            label_smoothing=smoothing,
            ignore_index=-1,
        ),
        lambda m: logits(m, 6, 5),
        lambda m: m.tensor([0, -1, 4, 2, -1, 3]),
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(5,), (4, 5), (3, 5, 2)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_of_probabilities_agrees(reduction, shape, weighted, smoothing, agree):
    check(
        agree,
        lambda m: m.nn.CrossEntropyLoss(
            m.linspace(0.5, 2.0, 5) if weighted else None, reduction=reduction, label_smoothing=smoothing
        ),
        lambda m: logits(m, *shape),
        lambda m: m.softmax(logits(m, *shape), 0 if len(shape) == 1 else 1).detach(),
        target_has_gradient=True,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(4, 5), (3, 5, 2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_nll_loss_agrees(reduction, shape, weighted, agree):
    check(
        agree,
        lambda m: m.nn.NLLLoss(m.linspace(0.5, 2.0, 5) if weighted else None, reduction=reduction, ignore_index=2),
        lambda m: m.log_softmax(logits(m, *shape), 1).detach(),
        lambda m: labels(m, 5, *shape[:1], *shape[2:]),
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_bce_loss_agrees(reduction, weighted, agree):
    check(
        agree,
        lambda m: m.nn.BCELoss(m.linspace(0.5, 2.0, 3) if weighted else None, reduction=reduction),
        lambda m: m.rand(4, 3),
        lambda m: m.rand(4, 3),
        target_has_gradient=True,
    )


def test_bce_loss_is_cut_off_where_a_probability_is_0_or_1(agree):
    check(
        agree,
        lambda m: m.nn.BCELoss(reduction="none"),
        lambda m: m.tensor([0.0, 1.0, 1e-30, 0.0, 1.0]),
        lambda m: m.tensor([0.0, 1.0, 0.0, 1.0, 0.5]),
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_bce_with_logits_agrees(reduction, weighted, positive, agree):
    check(
        agree,
        lambda m: m.nn.BCEWithLogitsLoss(
            m.linspace(0.5, 2.0, 3) if weighted else None,
            reduction=reduction,
            pos_weight=m.tensor([1.0, 2.0, 3.0]) if positive else None,
        ),
        lambda m: m.randn(4, 3) * 5,
        lambda m: m.rand(4, 3),
        target_has_gradient=True,
    )


@pytest.mark.parametrize("reduction", ["none", "sum", "batchmean"])
@pytest.mark.parametrize("log_target", [False, True])
def test_kl_divergence_agrees(reduction, log_target, agree):
    def target(m):
        probabilities = m.softmax(m.randn(4, 5), 1).detach()
        if log_target:
            return probabilities.log()
        probabilities[0, 0] = 0.0  # 0 * log(0) counts as 0
        return probabilities

    check(
        agree,
        lambda m: m.nn.KLDivLoss(reduction=reduction, log_target=log_target),
        lambda m: m.log_softmax(m.randn(4, 5), 1).detach(),
        target,
        target_has_gradient=log_target,
    )


def test_the_mean_kl_divergence_warns(torch):
    with pytest.warns(UserWarning, match="batchmean"):
        torch.nn.KLDivLoss()(torch.zeros(2, 2), torch.ones(2, 2))


def test_shapes_that_differ_are_broadcast_with_a_warning(agree):
    def program(m):
        with pytest.warns(UserWarning, match="Using a target size"):
            return m.nn.functional.mse_loss(m.ones(3, 2), m.zeros(2)), m.nn.functional.l1_loss(m.ones(3, 1), m.zeros(2))

    agree(program)


@pytest.mark.parametrize(
    ("compute", "error", "text"),
    [
        (
            lambda F, m: F.mse_loss(m.ones(2), m.ones(2), reduction="average"),
            ValueError,
            "average is not a valid value",
        ),
        (lambda F, m: F.cross_entropy(m.ones(2, 3), m.ones(3, dtype=m.int64)), (ValueError, RuntimeError), None),
        (lambda F, m: F.cross_entropy(m.ones(2, 3), m.tensor([0, 3])), IndexError, None),
        (lambda F, m: F.cross_entropy(m.ones(2, 3), m.ones(2)), RuntimeError, None),
        (
            lambda F, m: F.cross_entropy(m.ones(2, 3), m.tensor([0, 1]), label_smoothing=2.0),
            RuntimeError,
            "between 0.0",
        ),
        (lambda F, m: F.nll_loss(m.ones(2, 3, 4), m.tensor([0, 1])), (RuntimeError, ValueError), None),
        (lambda F, m: F.binary_cross_entropy(m.ones(2), m.ones(3)), ValueError, "Using a target size"),
        (lambda F, m: F.binary_cross_entropy(m.ones(2) * 2, m.ones(2)), RuntimeError, "between 0 and 1"),
        (
            lambda F, m: F.binary_cross_entropy_with_logits(m.ones(2), m.ones(3)),
            ValueError,
            "must be the same as input",
        ),
        (lambda F, m: F.smooth_l1_loss(m.ones(2), m.ones(2), beta=-1.0), RuntimeError, "negative values for beta"),
        (lambda F, m: F.huber_loss(m.ones(2), m.ones(2), delta=0.0), RuntimeError, "non-positive values for delta"),
    ],
)
def test_bad_arguments_are_refused(compute, error, text, torch):
    with pytest.raises(error, match=text):
        compute(torch.nn.functional, torch)


@pytest.mark.beyond
def test_a_wrong_reduction_is_refused_when_the_module_is_made(torch):
    with pytest.raises(ValueError, match="average is not a valid value for reduction"):
        torch.nn.MSELoss(reduction="average")


HINGES = {
    "hinge_embedding": lambda m, x: m.nn.functional.hinge_embedding_loss(x, m.tensor([1, -1, -1])),
    "margin_ranking": lambda m, x: m.nn.functional.margin_ranking_loss(x, x.detach(), m.ones(3)),
    "multi_margin": lambda m, x: m.nn.functional.multi_margin_loss(x, m.tensor(1)),
    "multi_margin of squares": lambda m, x: m.nn.functional.multi_margin_loss(x, m.tensor(1), p=2),
    "multilabel_margin": lambda m, x: m.nn.functional.multilabel_margin_loss(x, m.tensor([1, -1, -1])),
}


@pytest.mark.parametrize("name", HINGES)
def test_hinges_agree_at_their_corners(name, agree):
    def program(m):
        x = m.tensor([1.0, 2.0, 1.0], requires_grad=True)
        HINGES[name](m, x).backward()
        return x.grad

    agree(program)


def test_losses_have_second_derivatives(torch):
    F = torch.nn.functional
    x = torch.rand(3, 2, dtype=torch.float64).clamp(0.1, 0.9).requires_grad_()
    y = torch.rand(3, 2, dtype=torch.float64)
    for loss in (F.mse_loss, F.smooth_l1_loss, F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
        assert torch.autograd.gradgradcheck(lambda t, loss=loss: loss(t, y), [x])
    assert torch.autograd.gradgradcheck(lambda t: F.cross_entropy(t, torch.tensor([0, 1, 1])), [x])
