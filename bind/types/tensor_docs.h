// What `help` says of the methods in tensor_methods.cpp. The examples run under PyTorch, too.
#pragma once

namespace clew::bind::docs {

inline constexpr char backward[] =
    R"(backward($self, /, gradient=None, retain_graph=None, create_graph=False, inputs=None, *, keep=None)
--

Add the derivatives of this tensor to the .grad of the leaves of its graph.

Args:
    gradient: a tensor of this one's shape by which the derivatives are multiplied (the vector of a vector-Jacobian
        product); may be left out for one element, where it is 1.
    retain_graph: leave what the graph saved, for another backward pass; by default as create_graph.
    create_graph: record the backward pass, so that gradients have gradients.
    inputs: the tensors whose .grad is added to; by default all leaves that require a gradient.
    keep: tensors below which what the graph saved is left, for another loss that shares it (PyTorch has no such option).

Raises:
    RuntimeError: the tensor has no graph; it has several elements and no gradient was given, or one of another shape;
        the graph was freed by an earlier backward pass; a saved tensor was modified in place since.

Example:
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.]))";

inline constexpr char detach[] = R"(detach($self, /)
--

A tensor on the same memory without history: no gradient flows through it. A write to one is seen in the other, and by
graphs that saved either.

Example:
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> x.detach().requires_grad
    False)";

inline constexpr char detach_in_place[] = R"(detach_($self, /)
--

Leave the graph: the tensor itself becomes a leaf that requires no gradient, and is returned.

Raises:
    RuntimeError: the tensor is a view, whose history is that of its base; use detach().

Example:
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> (x * 2).detach_().grad_fn is None
    True)";

inline constexpr char requires_grad_in_place[] = R"(requires_grad_($self, /, requires_grad=True)
--

Say whether operations on this leaf are recorded; returns the tensor.

Raises:
    RuntimeError: it is switched on for integers or booleans, or off for what is no leaf (use detach()).

Example:
    >>> torch.ones(2).requires_grad_()
    tensor([1., 1.], requires_grad=True))";

inline constexpr char retain_grad[] = R"(retain_grad($self, /)
--

Let backward passes set the .grad of this tensor although it is no leaf. For a leaf nothing changes.

Raises:
    RuntimeError: the tensor requires no gradient.

Example:
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> y = x * 2
    >>> y.retain_grad()
    >>> (y * y).backward()
    >>> y.grad
    tensor([12.]))";

inline constexpr char item[] = R"(item($self, /)
--

The value of a tensor with one element as a Python number: float, int, bool or complex. It has no history.

Raises:
    RuntimeError: the tensor has no or several elements; tolist() reads them.

Example:
    >>> torch.tensor([2.5]).item()
    2.5)";

inline constexpr char tolist[] = R"(tolist($self, /)
--

Nested lists of Python numbers, one level for each axis; a number where there are no axes. They have no history.

Example:
    >>> torch.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]])";

inline constexpr char numpy[] = R"(numpy($self, /, *, force=False)
--

A NumPy array on the same memory, with the same shape and strides: a write to one is seen in the other.

Args:
    force: detach a tensor that requires a gradient first.

Raises:
    RuntimeError: the tensor requires a gradient, and force is not given.
    TypeError: NumPy has no such dtype (bfloat16).

Example:
    >>> x = torch.zeros(2)
    >>> x.numpy()[0] = 1.0
    >>> x
    tensor([1., 0.]))";

inline constexpr char size[] = R"(size($self, dim=None, /)
--

The sizes of all axes as a torch.Size, or that of one; negative ones count from the end.

Raises:
    IndexError: there is no such axis.

Example:
    >>> torch.zeros(2, 3).size(), torch.zeros(2, 3).size(-1)
    (torch.Size([2, 3]), 3))";

inline constexpr char stride[] = R"(stride($self, dim=None, /)
--

How far apart in memory neighbours along each axis lie, in elements; or along one.

Raises:
    IndexError: there is no such axis.

Example:
    >>> torch.zeros(2, 3).stride(), torch.zeros(2, 3).t().stride(0)
    ((3, 1), 1))";

inline constexpr char dim[] = R"(dim($self, /)
--

The number of axes.

Example:
    >>> torch.zeros(2, 3).dim()
    2)";

inline constexpr char ndimension[] = R"(ndimension($self, /)
--

The number of axes: dim().

Example:
    >>> torch.zeros(2, 3).ndimension()
    2)";

inline constexpr char numel[] = R"(numel($self, /)
--

The number of elements, the product of the sizes.

Example:
    >>> torch.zeros(2, 3).numel()
    6)";

inline constexpr char nelement[] = R"(nelement($self, /)
--

The number of elements: numel().

Example:
    >>> torch.zeros(2, 3).nelement()
    6)";

inline constexpr char storage_offset[] = R"(storage_offset($self, /)
--

Where the first element lies in the memory that the tensor looks at, in elements.

Example:
    >>> torch.zeros(4)[1:].storage_offset()
    1)";

inline constexpr char data_ptr[] = R"(data_ptr($self, /)
--

The address of the first element; 0 on "meta". What is written there is seen by no version counter.

Example:
    >>> x = torch.zeros(2, dtype=torch.float64)
    >>> x[1:].data_ptr() - x.data_ptr()
    8)";

inline constexpr char element_size[] = R"(element_size($self, /)
--

Bytes of one element.

Example:
    >>> torch.zeros(2, dtype=torch.float64).element_size()
    8)";

inline constexpr char is_contiguous[] = R"(is_contiguous($self, /)
--

Whether the elements lie in row-major order without gaps.

Example:
    >>> torch.zeros(2, 3).is_contiguous(), torch.zeros(2, 3).t().is_contiguous()
    (True, False))";

inline constexpr char is_inference[] = R"(is_inference($self, /)
--

Whether the tensor was made under inference_mode, so that no graph may save it.

Example:
    >>> with torch.inference_mode():
    ...     x = torch.zeros(2)
    >>> x.is_inference()
    True)";

inline constexpr char contiguous[] = R"(contiguous($self, /)
--

The tensor itself if its elements lie in row-major order without gaps, else a copy of which that is so.

Example:
    >>> torch.tensor([[1, 2], [3, 4]]).t().contiguous().stride()
    (2, 1))";

inline constexpr char as_subclass[] = R"(as_subclass($self, cls, /)
--

The same values, memory and history as an object of a subclass of Tensor.

Raises:
    TypeError: cls is no subclass of Tensor.

Example:
    >>> class Metres(torch.Tensor):
    ...     pass
    >>> type(torch.ones(1).as_subclass(Metres)) is Metres
    True)";

}  // namespace clew::bind::docs
