"""A gradient that is infinite or not a number, under `detect_anomaly`.

`made`: the line of the first node that returned one. `where`: the choice that did not choose its branch.
PyTorch looks for NaN only, so that an infinite gradient passes there.
"""

from corpus import NOT_FINITE, program


@program(in_torch=NOT_FINITE, node="SqrtBackward0", through_where=None)
def sqrt_at_zero(torch):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    x.sqrt().sum().backward()  # made
    return x.grad


@program(in_torch=NOT_FINITE, node="LogBackward0", through_where=None)
def log_of_zero(torch):
    p = torch.tensor([0.0, 0.5], requires_grad=True)
    entropy = torch.log(p)  # made
    entropy.sum().backward()
    return p.grad


@program(node="DivBackward0", incoming_was_zero=True)
def zero_by_zero_behind_where(torch):
    x = torch.tensor([0.0, 2.0], requires_grad=True)
    ratio = x / x  # made
    y = torch.where(x > 0, ratio, torch.ones(2))  # where
    y.sum().backward()


@program(node="SqrtBackward0", incoming_was_zero=True)
def sqrt_behind_where(torch):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    root = x.sqrt()  # made
    torch.where(x > 0, root, 0.0).sum().backward()  # where


@program(node="LogBackward0", incoming_was_zero=True)
def log_behind_where_and_a_product(torch):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    term = x.log() * 2  # made
    kept = torch.where(x > 0, term, x)  # where
    (kept * 3).sum().backward()


@program(node="ExpBackward0", incoming_was_zero=True)
def overflow_behind_where(torch):
    x = torch.tensor([100.0, 1.0], requires_grad=True)
    large = torch.exp(x)  # made
    torch.where(x < 10, large, x).sum().backward()  # where


@program(node="SqrtBackward0", incoming_was_zero=True)
def sqrt_behind_masked_fill(torch):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    root = torch.sqrt(x)  # made
    root.masked_fill(x == 0, 1.0).sum().backward()  # where


@program(node="SqrtBackward0", incoming_was_zero=True)
def the_second_of_two_choices(torch):
    """The first `where` does choose the square root at zero; the second turns it down."""
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    root = x.sqrt()  # made
    first = torch.where(x >= 0, root, 1.0)
    second = torch.where(x > 0, first, 1.0)  # where
    second.sum().backward()


@program(node="SqrtBackward0", through_where=None, incoming_was_zero=True)
def sqrt_multiplied_by_a_mask(torch):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    root = x.sqrt()  # made
    mask = (x > 0).float()
    (root * mask).sum().backward()


@program(node="LogBackward0", through_where=None, incoming_was_zero=True)
def cross_entropy_by_hand(torch):
    p = torch.tensor([0.0, 0.5], requires_grad=True)
    target = torch.tensor([0.0, 1.0])
    logs = torch.log(p)  # made
    loss = -(target * logs)[1:].sum() - 0 * logs[0].exp()
    loss.backward()


@program(node="SqrtBackward0", through_where=None, incoming_was_zero=False)
def norm_by_hand_at_zero(torch):
    x = torch.zeros(3, requires_grad=True)
    length = x.pow(2).sum().sqrt()  # made
    length.backward()


@program(node="SqrtBackward0", through_where=None)
def distances_with_a_zero_diagonal(torch):
    points = torch.tensor([[0.0], [1.0]], requires_grad=True)
    difference = points - points.t()
    distances = (difference * difference).sqrt()  # made
    distances.sum().backward()


@program(node="PowBackward0", through_where=None, in_torch=NOT_FINITE)
def power_one_half_at_zero(torch):
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = x**0.5  # made
    y.sum().backward()
    return x.grad


@program(node="DivBackward0", through_where=None)
def division_by_zero(torch):
    x = torch.tensor([0.0], requires_grad=True)
    total = x.sum()
    share = x / total  # made
    share.sum().backward()


@program(node="ReciprocalBackward0", through_where=None, in_torch=NOT_FINITE)
def reciprocal_of_zero(torch):
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    torch.reciprocal(x).sum().backward()  # made
    return x.grad


@program(node="StdBackward0", through_where=None)
def std_of_one_element(torch):
    x = torch.tensor([3.0], requires_grad=True)
    spread = x.std()  # made
    spread.backward()


@program(node="DivBackward0", through_where=None)
def softmax_by_hand_overflows(torch):
    logits = torch.tensor([1000.0, 1.0], requires_grad=True)
    large = logits.exp()
    probability = large / large.sum()  # made
    probability[1].backward()


@program(node="SoftmaxBackward0", through_where=None)
def row_masked_completely(torch):
    scores = torch.zeros(1, 2, requires_grad=True)
    masked = scores.masked_fill(torch.ones(1, 2).bool(), float("-inf"))
    attention = torch.softmax(masked, dim=1)  # made
    attention.sum().backward()


@program(node="AcosBackward0", through_where=None, in_torch=NOT_FINITE)
def angle_between_equal_vectors(torch):
    cosine = torch.tensor([1.0], requires_grad=True)
    angle = torch.acos(cosine)  # made
    angle.backward()
    return cosine.grad


@program(node="AtanBackward0", through_where=None)
def angle_at_the_origin(torch):
    y = torch.zeros(1, requires_grad=True)
    x = torch.zeros(1, requires_grad=True)
    angle = torch.atan(y / x)  # made
    angle.backward()


@program(node="RsqrtBackward0", through_where=None)
def normalised_without_an_epsilon(torch):
    x = torch.zeros(2, requires_grad=True)
    scale = torch.rsqrt((x * x).mean())  # made
    scale.backward()
