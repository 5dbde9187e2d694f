// Tensors set into larger ones: padded with a constant, blocks along a diagonal.
#include <algorithm>
#include <vector>

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/ops/operands.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

// The memory that starts `offset` elements after that of x.
kernels::View window(const Tensor& x, std::int64_t offset, Sizes sizes, Sizes strides) {
    return {x.data() + offset * static_cast<std::int64_t>(item_size(x.dtype())), x.dtype(),
            static_cast<int>(sizes.size()), sizes.data(), strides.data()};
}

// before[0] and after[0] are of the last axis, the next ones of that before it. Negative numbers take elements away.
struct ConstantPad {
    struct Attrs {
        Dims before, after;
        Scalar value;
    };
    static constexpr auto fields = std::tuple{&Attrs::before, &Attrs::after, &Attrs::value};
    static constexpr OpText text{.schema = "_constant_pad_nd(Tensor self, int[] before, int[] after, Scalar value)",
                                 .node = "ConstantPadNdBackward0",
                                 .flags = kHidden | kAnyDType | kLeadingAxes,
                                 .derivative = "self; value",
                                 .domain =
                                     "real, before=(1,), after=(2,), value=0.5; real, before=(-1, 2), after=(2, -1), "
                                     "value=0"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (attrs.before.size() != attrs.after.size() || attrs.before.size() > x.ndim())
            fail(ErrorKind::Runtime, "pad: expected a pair for each of at most %d dimensions, got %s before, %s after",
                 x.ndim(), shape_text(attrs.before).c_str(), shape_text(attrs.after).c_str());
        check_fits("pad", attrs.value, x.dtype());
        Dims sizes(x.sizes()), kept(x.sizes()), from(x.sizes()), to(x.sizes());
        std::fill(from.begin(), from.end(), 0);
        std::fill(to.begin(), to.end(), 0);
        bool fills = false;
        for (int i = 0; i < attrs.before.size(); ++i) {
            const int axis = x.ndim() - 1 - i;
            const std::int64_t before = attrs.before[i], after = attrs.after[i], size = x.size(axis);
            const auto cut = [&](std::int64_t by) { return by >= 0 ? 0 : by < -size ? size + 1 : -by; };
            kept[axis] = size - cut(before) - cut(after);
            if (kept[axis] < 0)
                fail(ErrorKind::Runtime, "pad: (%lld, %lld) takes more than dimension %d has (%lld)",
                     static_cast<long long>(before), static_cast<long long>(after), axis, static_cast<long long>(size));
            from[axis] = cut(before);
            to[axis] = std::max<std::int64_t>(before, 0);
            sizes[axis] = clipped_sum(clipped_sum(kept[axis], to[axis]), std::max<std::int64_t>(after, 0));
            fills = fills || sizes[axis] != kept[axis];
        }
        std::int64_t first_from = 0, first_to = 0;
        for (int axis = 0; axis < x.ndim(); ++axis) first_from += from[axis] * x.stride(axis);
        const Tensor part = alias(x, Layout::make(kept, x.strides()), x->offset + first_from);
        out = empty(fills ? Layout::make(sizes) : like_layout(part), x.dtype());  // without padding a copy
        if (out.numel() == 0) return;
        if (fills) fill_with("pad", out, attrs.value);
        if (part.numel() == 0) return;
        for (int axis = 0; axis < x.ndim(); ++axis) first_to += to[axis] * out.stride(axis);
        kernels::copy(window(out, first_to, kept, out.strides()), part.view());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, const Attrs& attrs) {
        Attrs back{attrs.before, attrs.after, Scalar::of(0.0)};
        for (auto& count : back.before) count = -count;
        for (auto& count : back.after) count = -count;
        return run<ConstantPad>(back, g);
    }};
};

struct Block {
    std::int64_t rows = 1, columns = 1;
    explicit Block(Sizes sizes) {
        if (!sizes.empty()) columns = sizes.back();
        if (sizes.size() == 2) rows = sizes[0];
    }
};

struct BlockDiag {
    // The sizes of runs of blocks that need no gradient: Note [Where the parts of cat lie].
    struct Attrs {
        mutable Dims rows, columns;
    };
    static constexpr auto fields = std::tuple{&Attrs::rows, &Attrs::columns};
    static constexpr OpText text{.schema = "_block_diag_parts(Tensor[] tensors, int[] rows, int[] columns)",
                                 .node = "BlockDiagBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "tensors",
                                 .domain = "tensors=[real(a, b), real(c), real()], rows=(), columns=()"};
    static void forward(Tensors parts, const Attrs&, Tensor& out) {
        need_fit("block_diag",
                 !parts.empty() && std::ranges::all_of(parts, [](const Tensor& part) { return part.ndim() <= 2; }));
        std::int64_t row = 0, column = 0;
        for (const Tensor& part : parts) {
            const Block block(part.sizes());
            row = clipped_sum(row, block.rows);
            column = clipped_sum(column, block.columns);
        }
        out = empty({row, column}, result_dtype(parts));
        kernels::fill(out.view(), std::int64_t{0});
        row = column = 0;
        for (const Tensor& part : parts) {
            const Block block(part.sizes());
            const Dims sizes{block.rows, block.columns};
            Dims steps(part.strides());
            while (steps.size() < 2) steps.insert(0, 0);
            if (part.numel())
                kernels::copy(window(out, row * out.stride(0) + column, sizes, out.strides()),
                              window(part, 0, sizes, steps));
            row += block.rows;
            column += block.columns;
        }
    }
    static void backward(BackwardCall& call) {
        const auto& attrs = attributes_of<Attrs>(call);
        const Tensor& g = call.incoming[0];
        std::int64_t row = 0, column = 0;
        int runs = 0;
        bool in_run = false;
        for (int i = 0; i < static_cast<int>(call.results.size()); ++i) {
            if (!knows_input(call, i)) {
                need_fit("block_diag", in_run || runs < std::min(attrs.rows.size(), attrs.columns.size()));
                if (!in_run) row += attrs.rows[runs], column += attrs.columns[runs++];
                in_run = true;
                continue;
            }
            in_run = false;
            const Sizes sizes = input_layout(call, i).shape();
            const Block block(sizes);
            if (call.needs(i))
                call.results[static_cast<std::size_t>(i)] =
                    reshape(narrow(narrow(g, 0, row, block.rows), 1, column, block.columns), sizes);
            row += block.rows;
            column += block.columns;
        }
    }
    // Fills in the sizes of at most kMaxDims runs of constant parts, and counts all.
    static int constant_runs(Tensors parts, const Attrs& attrs) {
        int runs = 0;
        bool in_run = false;
        for (const Tensor& part : parts) {
            // A tensor that stands for a batch has no edge of its own to ask for.
            const bool constant = !part.requires_grad() || (!is_batched(part) && !gradient_edge(part));
            if (constant && !in_run && ++runs <= kMaxDims) attrs.rows.push_back(0), attrs.columns.push_back(0);
            if (constant && runs <= kMaxDims) {
                const Block block(part.sizes());
                attrs.rows[runs - 1] = clipped_sum(attrs.rows[runs - 1], block.rows);
                attrs.columns[runs - 1] = clipped_sum(attrs.columns[runs - 1], block.columns);
            }
            in_run = constant;
        }
        return runs;
    }
    static Saves saves(Tensors parts, std::uint64_t, const Attrs& attrs) {
        attrs.rows = attrs.columns = {};
        need_few_runs("block_diag", constant_runs(parts, attrs));
        return {};
    }
};

Tensor block_diag(Tensors parts) {
    BlockDiag::Attrs attrs;
    if (BlockDiag::constant_runs(parts, attrs) <= kMaxDims) {
        Tensor out;
        apply(definition<BlockDiag>(), parts, &attrs, std::span<Tensor>(&out, 1));
        return out;
    }
    std::vector<Tensor> groups;
    for (std::size_t i = 0; i < parts.size(); i += kMaxDims)
        groups.push_back(block_diag(parts.subspan(i, std::min<std::size_t>(kMaxDims, parts.size() - i))));
    return block_diag(groups);
}

struct AnyBlockDiag {
    static constexpr OpText text{.schema = "_block_diag(Tensor[] tensors)",
                                 .flags = kHidden | kComposite,
                                 .domain = "tensors=[real(a, b), real(c), real()]"};
    static void forward(Tensors parts, Tensor& out) {
        if (parts.empty()) fail(ErrorKind::Runtime, "block_diag: expected at least one tensor");
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (parts[i].ndim() > 2)
                fail(ErrorKind::Runtime,
                     "block_diag: Input tensors must have 2 or fewer dimensions. Input %zu has %d dimensions", i,
                     parts[i].ndim());
        out = block_diag(parts);
    }
};

}  // namespace

Tensor constant_pad(const Tensor& x, const Dims& before, const Dims& after, double value) {
    return run<ConstantPad>({before, after, Scalar::of(value)}, x);
}

static const Register<ConstantPad, BlockDiag, AnyBlockDiag> pad_operations;

}  // namespace clew
