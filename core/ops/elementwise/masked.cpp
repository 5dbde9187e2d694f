// Reading and writing where a mask holds.
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

// The destination, in the shape of self and mask broadcast together; out of place it starts as a copy of self.
Dims start_broadcast(const Tensor& self, const Tensor& mask, Tensor& out, const char* op) {
    check_mask(mask, op);
    const Dims sizes = broadcast_sizes(self.sizes(), mask.sizes(), op);
    if (!out) {
        out = empty(sizes, self.dtype());
        const BroadcastView from(self, sizes);
        kernels::copy(out.view(), from);
    } else if (!same_sizes(out.sizes(), sizes)) {
        fail(ErrorKind::Runtime,
             "%s: output with shape %s doesn't match the broadcast shape %s; an in-place operation can't grow its "
             "tensor",
             op, shape_text(out.sizes()).c_str(), shape_text(sizes).c_str());
    }
    return sizes;
}

void fill_where(const Tensor& self, const Tensor& mask, const Tensor& value, Tensor& out) {
    const Dims sizes = start_broadcast(self, mask, out, out ? "masked_fill_" : "masked_fill");
    const BroadcastView chosen(apart_from(out, mask), sizes);
    kernels::masked_fill(out.view(), chosen, value.data());
}

struct MaskedFill {
    struct Attrs {
        Scalar value;
    };
    static constexpr auto fields = std::tuple{&Attrs::value};
    static constexpr OpText text{
        .schema = "masked_fill(Tensor self, Tensor mask, Scalar value)",
        .node = "MaskedFillBackward0",
        .flags = kBoth | kInPlace | kChooses | kAnyDType,
        .derivative = "self; value",
        .domain = "self=real(a, b), mask=mask(a, b), value=2.5",
        .doc = "A copy of self with one number where mask (bool) is True; mask and self are broadcast.",
        .example =
            ">>> torch.masked_fill(torch.zeros(2), torch.tensor([True, False]), 5)\n"
            "tensor([5., 0.])"};
    static void forward(const Tensor& self, const Tensor& mask, const Attrs& attrs, Tensor& out) {
        fill_where(self, mask, element("masked_fill", attrs.value, self.dtype()), out);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<1> mask) { return masked_fill(g, mask, 0.0); }};
};

struct MaskedFillTensor {
    static constexpr OpText text{
        .schema = "masked_fill.tensor(Tensor self, Tensor mask, Tensor value)",
        .node = "MaskedFillBackward1",
        .flags = kBoth | kInPlace | kChooses | kAnyDType,
        .derivative = "self + value",
        .domain = "self=real(a, b), mask=mask(a, b), value=real()",
        .doc = "A copy of self with the number in a 0-dim tensor where mask is True; its gradient is the sum there.",
        .example =
            ">>> torch.masked_fill(torch.zeros(2), torch.tensor([True, False]), torch.tensor(5.0))\n"
            "tensor([5., 0.])"};
    static void forward(const Tensor& self, const Tensor& mask, const Tensor& value, Tensor& out) {
        if (value.ndim() != 0)
            fail(ErrorKind::Runtime,
                 "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
                 value.ndim());
        if (!kernels_skipped()) check_fits("masked_fill", number_in(value), self.dtype());
        fill_where(self, mask, converted(value, self.dtype()), out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> mask) { return masked_fill(g, mask, 0.0); },
        nullptr,
        [](const Tensor& g, In<1> mask) { return sum(is_meta(g) ? g : masked_select(g, mask)); },
    };
};

struct MaskedSelect {
    static constexpr OpText text{
        .schema = "masked_select(Tensor self, Tensor mask)",
        .node = "MaskedSelectBackward0",
        .flags = kBoth | kOutArgument | kOutAlike | kSizedByValues | kAnyDType,
        .derivative = "self",
        .domain = "self=real(a, b), mask=mask(a, b)",
        .doc = "The elements of self where mask (bool) is True, row by row, as a vector; mask and self are broadcast.",
        .example =
            ">>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))\n"
            "tensor([1, 3])"};
    static void forward(const Tensor& self, const Tensor& mask, Tensor& out) {
        check_mask(mask, "masked_select");
        const Dims sizes = broadcast_sizes(self.sizes(), mask.sizes(), "masked_select");
        const BroadcastView from(self, sizes), chosen(mask, sizes);
        out = empty({kernels::count_nonzero(chosen)}, self.dtype());
        if (out.numel()) kernels::masked_select(out.view(), from, chosen);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, In<1> mask) {
        return masked_scatter(zeros(broadcast_sizes(x, mask->sizes(), "masked_select"), g.dtype()), mask, g);
    }};
};

struct MaskedScatter {
    static constexpr OpText text{
        .schema = "masked_scatter(Tensor self, Tensor mask, Tensor source)",
        .node = "MaskedScatterBackward0",
        .flags = kBoth | kInPlace | kAnyDType,
        .derivative = "self + source",
        .domain = "self=real(a, b), mask=mask(a, b), source=real(a, b)",
        .doc = "A copy of self whose elements where mask (bool) is True are those of source, one after another.",
        .example =
            ">>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([1.0, 2.0]))\n"
            "tensor([1., 0., 2.])"};
    static void forward(const Tensor& self, const Tensor& mask, const Tensor& source, Tensor& out) {
        const char* name = out ? "masked_scatter_" : "masked_scatter";
        check_mask(mask, name);
        if (self.dtype() != source.dtype())
            fail(ErrorKind::Runtime, "masked_scatter: expected self and source to have same dtypes but got %s and %s",
                 dtype_name(self.dtype()), dtype_name(source.dtype()));
        const Dims sizes = broadcast_sizes(self.sizes(), mask.sizes(), name);
        const Tensor chosen_by = out ? apart_from(out, mask) : mask;
        const BroadcastView chosen(chosen_by, sizes);
        const std::int64_t count = kernels_skipped() ? 0 : kernels::count_nonzero(chosen);
        if (count > source.numel())
            fail(ErrorKind::Runtime,
                 "masked_scatter: Number of elements of source < number of ones in mask: %lld < %lld",
                 static_cast<long long>(source.numel()), static_cast<long long>(count));
        start_broadcast(self, mask, out, name);
        if (count == 0) return;
        Tensor values = apart_from(out, source);
        if (!values.contiguous()) {
            values = empty(Layout::make(source.sizes()), source.dtype());
            kernels::copy(values.view(), source.view());
        }
        const std::int64_t size = values.numel(), step = 1;
        kernels::masked_scatter(out.view(), chosen, {values.data(), values.dtype(), 1, &size, &step});
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> mask) { return masked_fill(g, mask, 0.0); },
        nullptr,
        [](const Tensor& g, In<1> mask, Shape<2> source) {
            if (is_meta(g)) return zeros(source, g.dtype());
            const Tensor read = masked_select(g, mask);
            if (read.numel() == source.numel()) return reshape(read, source);
            return reshape(embed(read, Dims{source.numel()}, {Dims{read.numel()}, Dims{1}, 0}), source);
        },
    };
};

struct Nonzero {
    static constexpr OpText text{
        .schema = "nonzero(Tensor self)",
        .flags = kBoth | kNonDifferentiable | kOutArgument | kOutAlike | kSizedByValues,
        .domain = "real",
        .doc = "The indices of the nonzero elements, a row for each: (count, axes), int64, in row-major order.",
        .example =
            ">>> torch.nonzero(torch.tensor([[0, 5], [6, 0]]))\n"
            "tensor([[0, 1],\n"
            "        [1, 0]])"};
    static void forward(const Tensor& x, Tensor& out) {
        // Written axis by axis, as PyTorch's lie.
        const std::int64_t count = kernels::count_nonzero(x.view());
        out = empty(Layout::make(Dims{count, x.ndim()}, Dims{1, count}), DType::Int64);
        if (out.numel()) kernels::nonzero(out.view(), x.view());
    }
};

struct Argwhere : Nonzero {
    static constexpr OpText text{
        .schema = "argwhere(Tensor self)",
        .flags = kBoth | kNonDifferentiable | kSizedByValues,
        .domain = "real",
        .doc = "The indices of the nonzero elements, a row for each: (count, axes), int64. As nonzero, NumPy's name.",
        .example =
            ">>> torch.argwhere(torch.tensor([[0, 5], [6, 0]]))\n"
            "tensor([[0, 1],\n"
            "        [1, 0]])"};
};

}  // namespace

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
    return run<MaskedFill>({Scalar::of(value)}, x, mask);
}
Tensor masked_select(const Tensor& x, const Tensor& mask) { return run<MaskedSelect>(x, mask); }
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
    return run<MaskedScatter>(x, mask, source);
}
Tensor nonzero(const Tensor& x) { return run<Nonzero>(x); }

static const Register<MaskedFillTensor, MaskedFill, MaskedSelect, MaskedScatter, Nonzero, Argwhere> masked_operations;

}  // namespace clew
