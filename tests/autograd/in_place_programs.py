"""Programs that write in place; each takes leaves x (3, 4) and v (4,) of float64 and returns a result."""

PROGRAMS = {}


def program(name):
    """Register a program."""

    def keep(function):
        PROGRAMS[name] = function
        return function

    return keep


@program("x[i] = v")
def _(torch, x, v):
    y = x * 2
    y[1] = v * 3
    return y


@program("x[i, j] = number")
def _(torch, x, v):
    y = x * v
    y[1, 2] = 5.0
    return y


@program("x[:, a:b] = broadcast")
def _(torch, x, v):
    y = x.sin()
    y[:, 1:3] = v[:2]
    return y


@program("x[mask] = v")
def _(torch, x, v):
    y = x * 2
    y[x > 0.5] = v.sum()
    return y


@program("x[mask] = as many values")
def _(torch, x, v):
    y = x * 2
    mask = torch.zeros(3, 4) > 1
    mask[0, 1] = True
    mask[2, 3] = True
    y[mask] = v[:2]
    return y


@program("x[list] = v")
def _(torch, x, v):
    y = x * 2
    y[[0, 2]] = v
    return y


@program("x[list, list] = v")
def _(torch, x, v):
    y = x * 2
    y[[0, 2], [1, 3]] = v[1:3]
    return y


@program("x += number")
def _(torch, x, v):
    y = x * 2
    y += 1
    y *= 3
    return y * v


@program("x += tensor")
def _(torch, x, v):
    y = x * 2
    y += v
    y -= x
    y /= 2
    return y * y


@program("x[i] += v")
def _(torch, x, v):
    y = x * 2
    y[1] += v
    y[:, 0] *= 3
    return y


@program("x[...] = v")
def _(torch, x, v):
    y = x * 2
    y[...] = v
    return y + x


@program("chained views")
def _(torch, x, v):
    y = x * 2
    y.t()[1:].view(3, 3)[0].mul_(5)
    return y


@program("view of a view, both written")
def _(torch, x, v):
    y = x * 2
    rows = y[1:]
    rows[:, :2].mul_(v[:2])
    rows[1].exp_()
    return y


@program("base written after the view was taken")
def _(torch, x, v):
    y = x * 2
    view = y[0]
    y.mul_(v)
    return view * view


@program("written twice through two views")
def _(torch, x, v):
    y = x * 2
    first, second = y[:2], y[1:]
    first.mul_(3)
    second.add_(v)
    return first.sum() * second.sum()


@program("constant base that is filled")
def _(torch, x, v):
    y = torch.zeros(3, 4, dtype=torch.float64)
    for row in range(3):
        y[row] = x[row] * v
    return y


@program("copy_ into a view")
def _(torch, x, v):
    y = x * 2
    y[2].copy_(v)
    return y


@program("fill_ and zero_ of a view")
def _(torch, x, v):
    y = x * 2
    y[0].fill_(7.0)
    y[1, :2].zero_()
    return y * v


@program("masked_fill_ of a view")
def _(torch, x, v):
    y = x * 2
    y[0].masked_fill_(v > 0.5, 1.0)
    return y


@program("transposed and written")
def _(torch, x, v):
    y = x * 2
    t = y.t()
    t[0] = v[:3]
    return t * 1


@program("diagonal written")
def _(torch, x, v):
    y = x * 2
    y.diagonal().mul_(v[:3])
    return y


@program("in-place on the whole, with saved results")
def _(torch, x, v):
    y = x * 2
    y.exp_()
    z = y.clone()
    z.mul_(v)
    return z.tanh_()
