"""Cycles that users make: each takes a token that lives as long as the cycle does."""

import gc


def remember(*things):
    """A hook that keeps things alive and changes nothing."""

    def hook(*arguments):
        assert things

    return hook


def tensor_hook_on_a_leaf(torch, token):
    x = torch.ones(3, requires_grad=True)
    x.register_hook(remember(x, token))


def tensor_hook_on_a_result(torch, token):
    y = torch.ones(3, requires_grad=True) * 2
    y.register_hook(remember(y, token))


def tensor_hook_below_that_holds_a_result_above(torch, token):
    h = torch.ones(3, requires_grad=True) * 2
    y = h.exp().tanh().sum()
    h.register_hook(remember(y, token))


def leaf_hook_that_holds_a_result(torch, token):
    x = torch.ones(3, requires_grad=True)
    y = (x * 2).exp()
    x.register_hook(remember(y, token))


def post_accumulate_hook(torch, token):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    x.register_post_accumulate_grad_hook(remember(x, y, token))


def node_hook(torch, token):
    y = torch.ones(3, requires_grad=True) * 2
    y.grad_fn.register_hook(remember(y, token))


def node_prehook_below_that_holds_a_result_above(torch, token):
    h = torch.ones(3, requires_grad=True) * 2
    y = h.exp().sum()
    h.grad_fn.register_prehook(remember(y, token))


def node_hook_added_late(torch, token):
    """The nodes above were there, and had been seen by the collector, before the hook came."""
    h = torch.ones(3, requires_grad=True) * 2
    y = h
    for _ in range(10):
        y = y.exp().tanh()
    gc.collect()
    h.grad_fn.register_hook(remember(y, token))


def node_hook_that_holds_its_own_node(torch, token):
    y = torch.ones(3, requires_grad=True) * 2
    y.grad_fn.register_hook(remember(y.grad_fn, token))


def metadata_that_holds_the_result(torch, token):
    y = torch.ones(3, requires_grad=True) * 2
    y.grad_fn.metadata["y"] = (y, token)


def attribute_of_a_leaf(torch, token):
    x = torch.ones(3, requires_grad=True)
    x.itself = (x, token)


def attribute_of_a_result(torch, token):
    y = torch.ones(3, requires_grad=True) * 2
    y.itself = (y, token)


def attribute_of_a_gradient(torch, token):
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.ones(3)
    x.grad.owner = (x, token)


def saved_input_with_an_attribute(torch, token):
    h = torch.ones(3, requires_grad=True) * 2
    h.square = h * h
    h.token = token


def function_class(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, token):
            ctx.token = token
            ctx.y = x * 2
            return ctx.y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    return Double


def output_kept_on_ctx_in_forward(torch, token):
    function_class(torch).apply(torch.ones(3, requires_grad=True), token)


def result_above_kept_on_ctx(torch, token):
    y = function_class(torch).apply(torch.ones(3, requires_grad=True), token)
    y.grad_fn.above = y.exp().tanh()


def ctx_that_keeps_itself(torch, token):
    y = function_class(torch).apply(torch.ones(3, requires_grad=True), token)
    y.grad_fn.itself = y.grad_fn


def packed_object_that_holds_the_result(torch, token):
    x = torch.ones(3, requires_grad=True)
    box = [token]
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: box, lambda packed: x):
        y = x * x
    box.append(y)


def retained_gradient_hook(torch, token):
    y = torch.ones(3, requires_grad=True) * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    y.grad.owner = (y, token)


def module_that_keeps_its_output(torch, token):
    layer = torch.nn.Linear(3, 3)
    layer.output = layer(torch.ones(2, 3))
    layer.register_forward_hook(remember(layer, token))


CYCLES = [
    tensor_hook_on_a_leaf,
    tensor_hook_on_a_result,
    tensor_hook_below_that_holds_a_result_above,
    leaf_hook_that_holds_a_result,
    post_accumulate_hook,
    node_hook,
    node_prehook_below_that_holds_a_result_above,
    node_hook_added_late,
    node_hook_that_holds_its_own_node,
    metadata_that_holds_the_result,
    attribute_of_a_leaf,
    attribute_of_a_result,
    attribute_of_a_gradient,
    saved_input_with_an_attribute,
    output_kept_on_ctx_in_forward,
    result_above_kept_on_ctx,
    ctx_that_keeps_itself,
    packed_object_that_holds_the_result,
    retained_gradient_hook,
    module_that_keeps_its_output,
]
