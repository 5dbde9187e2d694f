// The same elements in other places: repeated, rolled, flipped.
#include <algorithm>

#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/views/geometry.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

struct Repeat {
    struct Attrs {
        Dims repeats;
    };
    static constexpr auto fields = std::tuple{&Attrs::repeats};
    static constexpr OpText text{.schema = "repeat(Tensor self, int[] repeats)",
                                 .node = "RepeatBackward0",
                                 .flags = kMethod | kAnyDType,
                                 .derivative = "self",
                                 .batching = BatchBy::Repeat,
                                 .domain = "real, repeats=(2, 1)",
                                 .doc =
                                     "A copy with self repeated repeats[i] times along axis i; more numbers than axes "
                                     "add axes in front. (NumPy's tile; repeat_interleave repeats elements.)",
                                 .example =
                                     ">>> torch.tensor([1, 2]).repeat(2, 2)\n"
                                     "tensor([[1, 2, 1, 2],\n"
                                     "        [1, 2, 1, 2]])"};
    // Axes of x that are repeated become two in the result: which repetition, and where in it.
    struct Plan {
        Dims sizes, strides;  // of x, seen in the shape of the result cut up like that
        Dims result;
        Dims repetitions;  // which of these axes count repetitions
    };
    static Plan plan(Sizes sizes, Sizes strides, const Dims& repeats) {
        Plan made;
        const int lead = repeats.size() - static_cast<int>(sizes.size());
        if (lead < 0)
            fail(ErrorKind::Runtime,
                 "repeat: Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor, "
                 "got %s for %s",
                 shape_text(repeats).c_str(), shape_text(sizes).c_str());
        for (int i = 0; i < repeats.size(); ++i) {
            const auto own = static_cast<std::size_t>(i - lead);
            const std::int64_t size = i < lead ? 1 : sizes[own];
            if (repeats[i] < 0)
                fail(ErrorKind::Runtime,
                     "repeat: Trying to create tensor with negative dimension %lld: repeats are 0 or more, got %s",
                     static_cast<long long>(clipped_product(size, repeats[i])), shape_text(repeats).c_str());
            made.result.push_back(count_elements(Dims{size, repeats[i]}));
            if (repeats[i] != 1 || i < lead) {
                made.repetitions.push_back(made.sizes.size());
                made.sizes.push_back(repeats[i]);
                made.strides.push_back(0);
            }
            if (i < lead) continue;
            made.sizes.push_back(size);
            made.strides.push_back(strides[own]);
        }
        return made;
    }
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const Plan how = plan(x.sizes(), x.strides(), attrs.repeats);
        out = empty(how.result, x.dtype());
        const Dims steps = contiguous_strides(how.sizes);
        kernels::copy({out.data(), out.dtype(), how.sizes.size(), how.sizes.values, steps.values},
                      {x.data(), x.dtype(), how.sizes.size(), how.sizes.values, how.strides.values});
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, const Attrs& attrs) {
        const Plan how = plan(x, x.layout.strides(), attrs.repeats);
        if (how.repetitions.empty()) return g;
        return reshape(sum(reshape(g, how.sizes), how.repetitions, false), x);
    }};
};

struct Tile {
    struct Attrs {
        Dims dims;
    };
    static constexpr auto fields = std::tuple{&Attrs::dims};
    static constexpr OpText text{.schema = "tile(Tensor self, int[] dims)",
                                 .flags = kBoth | kComposite,
                                 .domain = "real, dims=(2, 1)",
                                 .doc =
                                     "A copy with self repeated dims[i] times along axis i, as repeat; fewer numbers "
                                     "than axes leave the first axes as they are.",
                                 .example = ">>> torch.tile(torch.tensor([[1, 2]]), (2,))\ntensor([[1, 2, 1, 2]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        Dims repeats = attrs.dims;
        while (repeats.size() < x.ndim()) repeats.insert(0, 1);
        out = repeat(x, repeats);
    }
};

// out = x rolled along axes[i ...]: each axis cuts it in two pieces, which change places.
void copy_rolled(kernels::View out, kernels::View x, const Dims& shifts, const Dims& axes, int i) {
    if (i == axes.size()) {
        kernels::copy(out, x);
        return;
    }
    const int axis = static_cast<int>(axes[i]);
    const std::int64_t size = x.sizes[axis];
    const std::int64_t shift = ((shifts[i] % size) + size) % size;
    const auto bytes = static_cast<std::int64_t>(item_size(x.dtype));
    const auto piece = [&](std::int64_t to, std::int64_t from, std::int64_t length) {
        if (length == 0) return;
        Dims sizes(Sizes{x.sizes, static_cast<std::size_t>(x.ndim)});
        sizes[axis] = length;
        copy_rolled(
            {static_cast<char*>(out.data) + to * out.strides[axis] * bytes, out.dtype, out.ndim, sizes.values,
             out.strides},
            {static_cast<char*>(x.data) + from * x.strides[axis] * bytes, x.dtype, x.ndim, sizes.values, x.strides},
            shifts, axes, i + 1);
    };
    piece(shift, 0, size - shift);
    piece(0, size - shift, shift);
}

struct Roll {
    struct Attrs {
        Dims shifts;
        Axes dims;
    };
    static constexpr auto fields = std::tuple{&Attrs::shifts, &Attrs::dims};
    static constexpr OpText text{.schema = "roll(Tensor self, int[] shifts, int[] dims=[])",
                                 .node = "RollBackward0",
                                 .flags = kBoth | kAnyDType,
                                 .derivative = "self",
                                 .domain = "real, shifts=(1,), dims=(1,); real, shifts=(2,)",
                                 .doc =
                                     "A copy shifted cyclically along the axes dims: out[i] = self[(i - shift) mod n]. "
                                     "Without dims the flattened tensor is shifted.",
                                 .example = ">>> torch.roll(torch.arange(4), 1)\ntensor([3, 0, 1, 2])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const bool flat = attrs.dims.empty() && attrs.shifts.size() == 1;
        if (!flat && attrs.shifts.size() != attrs.dims.size())
            fail(ErrorKind::Runtime, "roll: shifts and dimensions must align. shifts: %d, dims:%d", attrs.shifts.size(),
                 attrs.dims.size());
        Dims shifts, axes;  // one entry for each axis: moves along one axis add up
        for (int i = 0; i < attrs.dims.size(); ++i) {
            if (x.ndim() == 0)
                fail(ErrorKind::Index, "roll: Dimension specified as %lld but tensor has no dimensions",
                     static_cast<long long>(attrs.dims[i]));
            const int axis = wrap_axis(attrs.dims[i], x.ndim(), "roll");
            const auto* seen = std::find(axes.begin(), axes.end(), axis);
            if (seen != axes.end()) {
                const int at = static_cast<int>(seen - axes.begin());
                const std::int64_t size = std::max<std::int64_t>(x.size(axis), 1);
                shifts[at] = shifts[at] % size + attrs.shifts[i] % size;
            } else {
                axes.push_back(axis);
                shifts.push_back(attrs.shifts[i]);
            }
        }
        out = empty(Layout::make(x.sizes()), x.dtype());
        if (x.numel() == 0) return;
        if (!flat) return copy_rolled(out.view(), x.view(), shifts, axes, 0);
        Tensor dense = x;
        if (!x.contiguous()) {
            dense = empty(Layout::make(x.sizes()), x.dtype());
            kernels::copy(dense.view(), x.view());
        }
        const Dims size{x.numel()}, step{1};
        copy_rolled({out.data(), out.dtype(), 1, size.values, step.values},
                    {dense.data(), x.dtype(), 1, size.values, step.values}, attrs.shifts, Dims{0}, 0);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, const Attrs& attrs) {
        Dims back = attrs.shifts;
        for (auto& shift : back) shift = -(shift % std::max<std::int64_t>(g.numel(), 1));
        return roll(g, back, attrs.dims);
    }};
};

struct Flip {
    struct Attrs {
        Axes dims;
    };
    static constexpr auto fields = std::tuple{&Attrs::dims};
    static constexpr OpText text{.schema = "flip(Tensor self, int[] dims)",
                                 .node = "FlipBackward0",
                                 .flags = kBoth | kAnyDType,
                                 .derivative = "self",
                                 .domain = "real, dims=(0, 1)",
                                 .doc = "A copy with the order of elements reversed along the axes dims.",
                                 .example =
                                     ">>> torch.flip(torch.tensor([[1, 2], [3, 4]]), (0,))\n"
                                     "tensor([[3, 4],\n"
                                     "        [1, 2]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        Dims strides(x.strides());
        std::int64_t first = 0;
        std::uint32_t seen = 0;
        for (const auto dim : attrs.dims) {
            const int axis = wrap_axis(dim, x.ndim(), "flip");
            if (seen >> axis & 1)
                fail(ErrorKind::Runtime, "flip: dim %d appears multiple times in the list of dims", axis);
            seen |= 1u << axis;
            if (x.ndim() == 0) continue;
            first += (x.size(axis) - 1) * x.stride(axis);
            strides[axis] = -x.stride(axis);
        }
        out = empty(like_layout(x), x.dtype());
        if (x.numel() == 0) return;
        kernels::copy(out.view(), {x.data() + first * static_cast<std::int64_t>(item_size(x.dtype())), x.dtype(),
                                   x.ndim(), x.sizes().data(), strides.values});
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, const Attrs& attrs) { return flip(g, attrs.dims); }};
};

struct FlipLeftRight {
    static constexpr OpText text{
        .schema = "fliplr(Tensor self)",
        .flags = kBoth | kComposite,
        .domain = "real",
        .doc = "Reverses the second axis: flip(self, (1,)). A copy; RuntimeError for fewer than two axes.",
        .example =
            ">>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))\n"
            "tensor([[2, 1],\n"
            "        [4, 3]])"};
    static void forward(const Tensor& x, Tensor& out) {
        if (x.ndim() < 2) fail(ErrorKind::Runtime, "fliplr: Input must be >= 2-d.");
        out = flip(x, Dims{1});
    }
};
struct FlipUpDown {
    static constexpr OpText text{
        .schema = "flipud(Tensor self)",
        .flags = kBoth | kComposite,
        .domain = "real",
        .doc = "Reverses the first axis: flip(self, (0,)). A copy; RuntimeError for a tensor without axes.",
        .example =
            ">>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))\n"
            "tensor([[3, 4],\n"
            "        [1, 2]])"};
    static void forward(const Tensor& x, Tensor& out) {
        if (x.ndim() < 1) fail(ErrorKind::Runtime, "flipud: Input must be >= 1-d.");
        out = flip(x, Dims{0});
    }
};

}  // namespace

Tensor repeat(const Tensor& x, const Dims& repeats) { return run<Repeat>({repeats}, x); }
Tensor roll(const Tensor& x, const Dims& shifts, const Dims& axes) { return run<Roll>({shifts, axes}, x); }
Tensor flip(const Tensor& x, const Dims& axes) { return run<Flip>({axes}, x); }

static const Register<Repeat, Tile, Roll, Flip, FlipLeftRight, FlipUpDown> rearrange_operations;

}  // namespace clew
