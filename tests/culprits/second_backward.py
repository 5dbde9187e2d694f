"""A backward through what an earlier backward has freed.

`made`: the line of the first node that is found freed. `freed`: the backward that freed it. `shared`, where it is
another line than `made`: the value at which the new graph enters the freed one. `used`: the line that used it.
"""

from corpus import program


@program(node="ExpBackward0", shared_name="h")
def value_made_outside_the_loop(torch):
    x = torch.ones(3, requires_grad=True)
    h = x.exp()  # made
    for _ in range(2):
        y = h.sum()  # used
        y.backward()  # freed


@program(node="TanhBackward0", shared_name="hidden")
def hidden_state_carried_over(torch):
    w = torch.ones(2, 2, requires_grad=True)
    hidden = torch.zeros(1, 2)
    for step in range(2):
        x = torch.ones(1, 2) * step
        hidden = torch.tanh(x + hidden @ w)  # made
        hidden.sum().backward()  # freed


@program(node="TanhBackward0", shared_name="model.state")
def hidden_state_kept_on_the_module(torch):
    class Memory(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(2, 2)
            self.state = torch.zeros(1, 2)

        def forward(self, x):
            self.state = torch.tanh(self.inner(x) + self.state)  # made
            return self.state

    model = Memory()
    for _ in range(2):
        model(torch.ones(1, 2)).sum().backward()  # freed


@program(node="MulBackward0", shared_name="cell")
def gated_cell_carried_over(torch):
    gate = torch.tensor([0.5], requires_grad=True)
    cell = torch.ones(1)
    for x in (1.0, 2.0):
        cell = gate * cell  # made used
        loss = (cell + x).sum()
        loss.backward()  # freed


@program(node="ReluBackward0", shared_name="features")
def two_losses_share_a_trunk(torch):
    trunk, first, second = (torch.nn.Linear(2, 2) for _ in range(3))
    features = torch.relu(trunk(torch.ones(1, 2)))  # made
    first_loss = first(features).sum()
    second_loss = second(features).sum()  # used
    first_loss.backward()  # freed
    second_loss.backward()


@program(node="SigmoidBackward0", shared_name="fake")
def gan_discriminator_step_without_detach(torch):
    generator, discriminator = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    fake = torch.sigmoid(generator(torch.ones(4, 2)))  # made
    discriminator_loss = discriminator(fake).mean()
    discriminator_loss.backward()  # freed
    generator_loss = -discriminator(fake).mean()  # used
    generator_loss.backward()


@program(node="SoftmaxBackward0", shared_name="model.mask")
def mask_cached_by_the_constructor(torch):
    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.logits = torch.nn.Parameter(torch.zeros(3))
            self.mask = torch.softmax(self.logits, dim=0)  # made

        def forward(self, x):
            return x * self.mask  # used

    model = Masked()
    for _ in range(2):
        model(torch.ones(2, 3)).sum().backward()  # freed


@program(node="MulBackward0", shared_name="penalty")
def l2_term_computed_once(torch):
    w = torch.ones(2, requires_grad=True)
    penalty = 0.1 * (w**2).sum()  # made
    for x in (1.0, 2.0):
        loss = (w * x).sum() + penalty  # used
        loss.backward()  # freed


@program(node="TanhBackward0", shared_name="features")
def closure_of_lbfgs_uses_a_value_from_outside(torch):
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.LBFGS([w], max_iter=3)
    features = torch.tanh(w)  # made

    def closure():
        optimizer.zero_grad()
        loss = (features * features).sum()  # used
        loss.backward()  # freed
        return loss

    optimizer.step(closure)


@program(node="ExpBackward0", shared_name="h")
def retain_at_the_second_backward(torch):
    h = torch.ones(2, requires_grad=True).exp()  # made
    first = h.sum()
    second = h.mean()  # used
    first.backward()  # freed
    second.backward(retain_graph=True)


@program(node="ExpBackward0", shared_name="h")
def retain_forgotten_at_the_second_of_three(torch):
    h = torch.ones(2, requires_grad=True).exp()  # made
    a, b = h.sum(), h.mean()
    c = h.max()  # used
    a.backward(retain_graph=True)
    b.backward()  # freed
    c.backward()


@program(node="PowBackward0", shared_name=None)
def the_same_loss_twice(torch):
    x = torch.ones(2, requires_grad=True)
    loss = (x**2).sum()  # made
    loss.backward()  # freed
    loss.backward()


@program(node="PowBackward0", freed_by="grad", shared_name=None)
def grad_and_then_backward(torch):
    w = torch.ones(2, requires_grad=True)
    loss = (w**3).sum()  # made
    (gradient,) = torch.autograd.grad(loss, w)  # freed
    if gradient.sum() < 10:
        loss.backward()


@program(node="DivBackward0", shared_name="direction")
def weight_normalised_before_the_loop(torch):
    w = torch.ones(3, requires_grad=True)
    direction = w / w.norm()  # made
    for scale in (1.0, 2.0):
        (direction * scale).sum().backward()  # freed


@program(node="AddmmBackward0", shared_name="data")
def input_projected_before_the_loop(torch):
    project, head = torch.nn.Linear(3, 6), torch.nn.Linear(6, 1)
    data = project(torch.ones(4, 3))  # made
    for _ in range(2):
        loss = head(data).mean()  # used
        loss.backward()  # freed


@program(node="PowBackward0", shared_name="total")
def total_of_losses_run_at_every_step(torch):
    w = torch.ones(1, requires_grad=True)
    total = torch.zeros(1)
    for x in (1.0, 2.0):
        total = total + (w * x) ** 2  # made
        total.backward()  # freed


@program(node="MulBackward0", shared_name="value")
def moving_baseline_with_history(torch):
    policy = torch.ones(1, requires_grad=True)
    baseline = torch.zeros(1)
    for reward in (1.0, 2.0):
        value = policy * reward  # made
        loss = (value - baseline).sum()
        loss.backward()  # freed
        baseline = 0.9 * baseline + 0.1 * value  # used


@program(node="LogSoftmaxBackward0", shared_name="log_probabilities[0]")
def stored_log_probabilities_used_in_two_updates(torch):
    logits = torch.zeros(3, requires_grad=True)
    log_probabilities = [torch.log_softmax(logits, dim=0)]  # made
    for advantage in (1.0, 0.5):
        loss = -(log_probabilities[0] * advantage).sum()  # used
        loss.backward()  # freed


@program(node="SinBackward0", shared_name="encoded")
def slices_of_one_encoding_as_minibatches(torch):
    scale = torch.ones(4, requires_grad=True)
    encoded = torch.sin(scale)  # made
    for start in (0, 2):
        batch = encoded[start : start + 2]  # used
        batch.sum().backward()  # freed


@program(node="AddmmBackward0", shared_name="mean")
def reconstruction_and_divergence_one_by_one(torch):
    encoder, decoder = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    x = torch.ones(1, 2)
    mean = encoder(x)  # made
    divergence = (mean * mean).sum()  # used
    reconstruction = (decoder(mean) - x).pow(2).sum()
    reconstruction.backward()  # freed
    divergence.backward()


@program(node="MulBackward0", shared_name="fast")
def adapted_weights_used_for_two_tasks(torch):
    w = torch.ones(2, requires_grad=True)
    inner = (w**3).sum()
    (step,) = torch.autograd.grad(inner, w, create_graph=True)
    fast = w - 0.1 * step  # made
    for task in (1.0, 2.0):
        (fast * task).sum().backward()  # freed


@program(node="SquareBackward", shared_name="y")
def function_of_the_users_own(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return 2 * x * gradient

    y = Square.apply(torch.ones(2, requires_grad=True))  # made
    for _ in range(2):
        y.sum().backward()  # freed


@program(node="ExpBackward0", shared_name=None)
def reading_what_a_freed_node_saved(torch):
    y = torch.ones(2, requires_grad=True).exp()  # made
    y.sum().backward()  # freed
    print(y.grad_fn._saved_result)
