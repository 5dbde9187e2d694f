"""A value that was saved for the backward and then modified in place.

`saved`: the line of the node that saved it. `written`: the last write to it.
"""

import numpy
from corpus import WRONG, program


@program(node="SigmoidBackward0", written_by="relu_", saved_name="result")
def relu_on_a_saved_output(torch):
    x = torch.ones(3, requires_grad=True)
    y = torch.sigmoid(x)  # saved
    y.relu_()  # written
    y.sum().backward()


@program(node="TanhBackward0", written_by="add_", saved_name="result")
def added_to_an_activation(torch):
    x = torch.ones(3, requires_grad=True)
    h = torch.tanh(x)  # saved
    h += 1  # written
    h.sum().backward()


@program(node="ReluBackward0", written_by="add_", saved_name="result")
def residual_added_after_relu(torch):
    layer = torch.nn.Linear(2, 2)
    identity = torch.ones(1, 2)
    out = torch.relu(layer(identity))  # saved
    out += identity  # written
    out.sum().backward()


@program(node="SigmoidBackward0", written_by="relu_", saved_name="result")
def relu_layer_in_place_after_sigmoid(torch):
    net = torch.nn.Sequential(torch.nn.Sigmoid(), torch.nn.ReLU(inplace=True))
    x = torch.ones(2, requires_grad=True)
    y = net(x)  # saved written
    y.sum().backward()


@program(node="MulBackward0", written_by="sgd_step", saved_name="other")
def optimizer_step_between_two_backward_passes(torch):
    w = torch.ones(1, requires_grad=True)
    v = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w, v], lr=0.1)
    first = v * w  # saved
    second = first + 1
    first.sum().backward(retain_graph=True)
    optimizer.step()  # written
    second.sum().backward()


@program(node="AddmmBackward0", written_by="adam_step", saved_name="mat2")
def discriminator_step_before_the_generators_backward(torch):
    generator, discriminator = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(discriminator.parameters())
    fake = generator(torch.ones(1, 2))
    generator_loss = discriminator(fake).mean()  # saved
    discriminator(fake.detach()).mean().backward()
    optimizer.step()  # written
    generator_loss.backward()


@program(node="ExpBackward0", written_by="copy_", saved_name="result")
def element_set_after_exp(torch):
    y = torch.ones(3, requires_grad=True).exp()  # saved
    y[0] = 0.0  # written
    y.sum().backward()


@program(node="ExpBackward0", written_by="mul_", saved_name="result")
def view_written_through(torch):
    y = torch.ones(2, 3, requires_grad=True).exp()  # saved
    row = y.view(-1)[:3]
    row.mul_(2)  # written
    y.sum().backward()


@program(node="TanhBackward0", written_by="zero_", saved_name="result")
def transposed_view_written_through(torch):
    y = torch.tanh(torch.ones(2, 3, requires_grad=True))  # saved
    y.t()[0].zero_()  # written
    y.sum().backward()


@program(in_torch=WRONG, node="PowBackward0", written_by="add_", saved_name="self")
def written_through_data(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x**2  # saved
    x.data += 1  # written
    y.sum().backward()
    return x.grad, torch.tensor([2.0, 4.0])


@program(in_torch=WRONG, node="MulBackward0", written_by="mul_", saved_name="other")
def array_that_shares_memory_written(torch):
    w = torch.tensor([3.0], requires_grad=True)
    x = torch.tensor([2.0])
    y = w * x  # saved
    torch.from_numpy(x.numpy()).mul_(10)  # written
    y.backward()
    return w.grad, torch.tensor([2.0])


@program(in_torch=WRONG, node="MulBackward0", written_by="copy_", saved_name="other")
def two_tensors_over_one_array(torch):
    array = numpy.ones(2, dtype=numpy.float32)
    x, alias = torch.from_numpy(array), torch.from_numpy(array)
    w = torch.ones(2, requires_grad=True)
    y = w * x  # saved
    alias[1] = 5.0  # written
    y.sum().backward()
    return w.grad, torch.ones(2)


@program(in_torch=WRONG, node="MulBackward0", written_by="clamp_", saved_name="other")
def weights_clipped_through_data_before_backward(torch):
    x = torch.ones(1, requires_grad=True)
    critic = torch.tensor([3.0], requires_grad=True)
    score = x * critic  # saved
    critic.data.clamp_(-0.01, 0.01)  # written
    score.backward()
    return x.grad, torch.tensor([3.0])


@program(node="MulBackward0", written_by="clamp_", saved_name="other")
def weights_clipped_without_grad_before_backward(torch):
    x = torch.ones(1, requires_grad=True)
    critic = torch.tensor([3.0], requires_grad=True)
    score = x * critic  # saved
    with torch.no_grad():
        critic.clamp_(-0.01, 0.01)  # written
    score.backward()


@program(node="MulBackward0", written_by="copy_", saved_name="other")
def mask_changed_after_use(torch):
    x = torch.ones(3, requires_grad=True)
    mask = torch.ones(3)
    y = x * mask  # saved
    mask[1] = 0  # written
    y.sum().backward()


@program(node="SoftmaxBackward0", written_by="masked_fill_", saved_name="result")
def attention_masked_in_place_after_softmax(torch):
    scores = torch.zeros(2, 2, requires_grad=True)
    attention = torch.softmax(scores, dim=-1)  # saved
    attention.masked_fill_(torch.tensor([[False, True], [False, False]]), 0.0)  # written
    attention.sum().backward()


@program(node="TanhBackward0", written_by="zero_", saved_name="result")
def state_reset_at_the_end_of_an_episode(torch):
    w = torch.ones(2, requires_grad=True)
    state = torch.tanh(w)  # saved
    loss = (state * 2).sum()
    with torch.no_grad():
        state.zero_()  # written
    loss.backward()


@program(node="MulBackward0", written_by="add_", saved_name="other")
def running_statistic_updated_after_use(torch):
    x = torch.ones(2, requires_grad=True)
    running = torch.ones(2)
    y = x * running  # saved
    running.mul_(0.9)
    running.add_(x.detach(), alpha=0.1)  # written
    y.sum().backward()


@program(node="PowBackward0", written_by="add_", saved_name="self")
def detached_alias_written(torch):
    h = torch.ones(2, requires_grad=True) * 1
    y = h**2  # saved
    h.detach().add_(1)  # written
    y.sum().backward()


@program(node="MulBackward0", written_by="copy_", saved_name="other")
def target_network_synchronised_before_backward(torch):
    x = torch.ones(2, requires_grad=True)
    online, target = torch.zeros(2), torch.ones(2)
    loss = (x * target).sum()  # saved
    target.copy_(online)  # written
    loss.backward()


@program(node="MulBackward0", written_by="mul_", saved_name="other")
def loop_over_one_buffer(torch):
    w = torch.ones(2, requires_grad=True)
    buffer = torch.ones(2)
    total = 0
    for _ in range(2):
        total = total + (w * buffer).sum()  # saved
        buffer *= 0.5  # written
    total.backward()


@program(node="MulBackward0", written_by="fill_", saved_name="self")
def weights_initialised_again_before_backward(torch):
    w = torch.ones(2, requires_grad=True)
    x = torch.ones(2, requires_grad=True)
    y = w * x  # saved
    torch.nn.init.zeros_(w)  # written
    y.sum().backward()


@program(node="MulBackward0", written_by="mul", saved_name="other")
def result_written_into_a_saved_buffer(torch):
    w = torch.ones(2, requires_grad=True)
    buffer = torch.ones(2)
    y = w * buffer  # saved
    torch.mul(torch.ones(2), 3.0, out=buffer)  # written
    y.sum().backward()


@program(node="ExpBackward0", written_by="mul_", saved_name="result")
def a_later_write_beside_it(torch):
    """The last write that touched what was saved is named, not the one after it that wrote elsewhere."""
    base = torch.zeros(4)
    y = base[:2]
    y.copy_(torch.ones(2, requires_grad=True).exp())
    first = base[:2].exp()  # saved
    first.mul_(2)  # written
    base[2:].add_(1)
    first.sum().backward()
