"""A backward of something whose history was lost on the way to it.

`lost`: the first line where it was lost. `read`, where no cause is certain: the line that read a number.
"""

import numpy
from corpus import program


@program(cause="detach")
def detached_on_the_way(torch):
    w = torch.ones(2, requires_grad=True)
    h = (w * 2).detach()  # lost
    loss = (h * h).sum()
    loss.backward()


@program(cause="no_grad")
def computed_under_no_grad(torch):
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = w * 2  # lost
    y.sum().backward()


@program(cause="no_grad")
def forward_decorated_with_no_grad(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        @torch.no_grad()
        def forward(self, x):
            return self.layer(x)  # lost

    Net()(torch.ones(1, 2)).sum().backward()


@program(cause="no_grad")
def gradients_left_switched_off(torch):
    w = torch.ones(2, requires_grad=True)
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        score = (w * 3).sum()  # lost
    finally:
        torch.set_grad_enabled(before)
    score.backward()


@program(cause="inference_mode")
def computed_under_inference_mode(torch):
    w = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = (w * 2).sum()  # lost
    y.backward()


@program(cause="item")
def loss_made_again_from_item(torch):
    w = torch.ones(2, requires_grad=True)
    value = (w * w).sum().item()  # lost
    loss = torch.tensor(value)
    loss.backward()


@program(cause="item")
def losses_collected_as_numbers(torch):
    w = torch.ones(1, requires_grad=True)
    losses = []
    for x in (1.0, 2.0):
        losses.append((w * x).item())  # lost
    torch.tensor(losses).mean().backward()


@program(cause="item")
def numbers_added_up_in_a_tensor(torch):
    w = torch.ones(1, requires_grad=True)
    total = torch.zeros(1)
    for x in (1.0, 2.0):
        total += (w * x).item()  # lost
    total.backward()


@program(cause="tolist")
def through_a_list(torch):
    w = torch.ones(3, requires_grad=True)
    values = (w * 2).tolist()  # lost
    torch.tensor(values).sum().backward()


@program(cause="float")
def float_of_a_loss(torch):
    w = torch.ones(1, requires_grad=True)
    loss = float(w * 3)  # lost
    torch.tensor(loss).backward()


@program(cause=None, number_read_by="item", lost_at=None)
def computed_with_numbers(torch):
    """The number is another one by the time it is a tensor again: what is known is who read one last."""
    w = torch.ones(1, requires_grad=True)
    value = (w * 3).item()  # read
    loss = torch.tensor(value * 0.5 + 1)
    loss.backward()


@program(cause=None, lost_at=None)
def nothing_required_grad(torch):
    w = torch.ones(2)
    (w * 2).sum().backward()


@program(cause="tensor")
def copied_by_tensor(torch):
    w = torch.ones(2, requires_grad=True)
    copy = torch.tensor(w * 2)  # lost
    copy.sum().backward()


@program(cause="tensor")
def losses_put_together_by_tensor(torch):
    w = torch.tensor(1.0, requires_grad=True)
    first, second = w * 2, w * 3
    losses = torch.tensor([first, second])  # lost
    losses.sum().backward()


@program(cause="cast to int64")
def cast_to_integers(torch):
    pixels = torch.tensor([0.2, 0.9], requires_grad=True)
    labels = (pixels * 255).long()  # lost
    (labels.float() / 255).sum().backward()


@program(cause="cast to bool")
def cast_to_bool(torch):
    gate = torch.tensor([0.0, 0.7], requires_grad=True)
    chosen = gate.bool()  # lost
    (chosen.float() * 2).sum().backward()


@program(cause="argmax")
def prediction_by_argmax(torch):
    logits = torch.zeros(2, 3, requires_grad=True)
    prediction = logits.argmax(dim=1)  # lost
    loss = (prediction.float() - torch.ones(2)).pow(2).mean()
    loss.backward()


@program(cause="max")
def indices_of_max(torch):
    logits = torch.zeros(2, 3, requires_grad=True)
    _, prediction = logits.max(dim=1)  # lost
    (prediction.float() - 1).abs().sum().backward()


@program(cause="sort")
def ranks_by_sort(torch):
    scores = torch.tensor([3.0, 1.0], requires_grad=True)
    ranks = torch.sort(scores)[1]  # lost
    (ranks.float() * 2).sum().backward()


@program(cause="gt")
def threshold_by_comparison(torch):
    probability = torch.tensor([0.2, 0.9], requires_grad=True)
    positive = (probability > 0.5).float()  # lost
    (1 - positive.mean()).backward()


@program(cause="eq")
def accuracy_as_loss(torch):
    score = torch.tensor([1.0, 2.0], requires_grad=True)
    right = score == torch.tensor([1.0, 3.0])  # lost
    loss = 1 - right.float().mean()
    loss.backward()


@program(cause="from_numpy")
def computed_in_numpy(torch):
    w = torch.ones(2, requires_grad=True)
    squared = numpy.square(w.detach().numpy())
    y = torch.from_numpy(squared)  # lost
    y.sum().backward()


@program(cause="detach")
def lent_to_numpy_and_back(torch):
    w = torch.ones(2, requires_grad=True)
    array = (w * 2).detach().numpy()  # lost
    torch.from_numpy(array).sum().backward()


@program(cause="tensor")
def array_copied_by_tensor(torch):
    w = torch.ones(2, requires_grad=True)
    values = numpy.exp(w.detach().numpy())
    y = torch.tensor(values)  # lost
    y.mean().backward()


@program(cause="data")
def taken_by_data(torch):
    w = torch.ones(2, requires_grad=True)
    h = (w * 2).data  # lost
    (h + 1).sum().backward()


@program(cause="detach")
def detached_in_place(torch):
    w = torch.ones(2, requires_grad=True)
    h = w * 2
    h.detach_()  # lost
    h.sum().backward()


@program(cause="requires_grad=False")
def all_parameters_frozen(torch):
    model = torch.nn.Linear(2, 1)
    for parameter in model.parameters():
        parameter.requires_grad = False  # lost
    model(torch.ones(1, 2)).sum().backward()


@program(cause="detach")
def buffer_filled_with_detached_results(torch):
    w = torch.ones(2, requires_grad=True)
    history = torch.zeros(2, 2)
    for step in range(2):
        if step == 0:
            history[step] = (w * step).detach()  # lost
        else:
            history[step] = 1.0
    history.sum().backward()


@program(cause="no_grad")
def buffer_filled_under_no_grad(torch):
    w = torch.ones(2, requires_grad=True)
    outputs = torch.zeros(2)
    with torch.no_grad():
        outputs.add_(w)  # lost
    outputs.sum().backward()


@program(cause="grad without create_graph")
def gradient_penalty_without_create_graph(torch):
    x = torch.ones(2, requires_grad=True)
    (gradient,) = torch.autograd.grad((x**3).sum(), x)  # lost
    penalty = (gradient.norm() - 1) ** 2
    penalty.backward()


@program(cause="backward without create_graph", lost_at=None)
def norm_of_the_gradients_as_a_loss(torch):
    """Many backward passes may have added to `.grad`: which one is not kept."""
    w = torch.ones(2, requires_grad=True)
    (w**3).sum().backward()
    w.grad.norm().backward()


@program(cause="requires_grad=False")
def frozen_model_on_data_from_an_array(torch):
    """An array that is data has lost nothing: the frozen weights are the culprit."""
    data = torch.from_numpy(numpy.ones((2, 2), dtype=numpy.float32))
    w = torch.ones(2, 1, requires_grad=True)
    w.requires_grad_(False)  # lost
    (data @ w).sum().backward()


@program(cause="constant gradient")
def gradient_of_a_linear_function(torch):
    x = torch.ones(2, requires_grad=True)
    (gradient,) = torch.autograd.grad((2 * x).sum(), x, create_graph=True)  # lost
    gradient.sum().backward()


@program(cause="constant gradient")
def grad_of_a_linear_function(torch):
    x = torch.ones(2, requires_grad=True)
    (2 * x).sum().backward(create_graph=True)  # lost
    (x.grad.norm() - 1).square().backward()
