// Several tensors made one. Any number of them: thousands are fine.
#include <algorithm>
#include <vector>

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/operands.h"

namespace clew {
namespace {

// The memory of out that holds `like`, from position `start` of an axis on.
kernels::View window(const Tensor& out, int axis, std::int64_t start, const Tensor& like) {
    const auto bytes = static_cast<std::int64_t>(item_size(out.dtype()));
    return {out.data() + start * out.stride(axis) * bytes, out.dtype(), out.ndim(), like.sizes().data(),
            out.strides().data()};
}

// Of shape [0]: an old way to say "nothing yet", which joins with any shape.
bool is_nothing(const Layout& layout) { return layout.ndim == 1 && layout.numel == 0; }

int constant_runs(Tensors parts, int axis, Dims& sizes);

struct Cat {
    // Note [Where the parts of cat lie]
    // cat saves nothing, so that its backward can be run again. The gradient of a part needs to know where it lies, and
    // so the sizes of those before it: the ones that need a gradient tell by their edges, and for each run of others
    // between them `constant` has the size of the whole run. Where there are more runs than it can hold, parts are
    // joined in groups first. Forward mode and vmap call the operation again with these attributes on other tensors, of
    // which others need a gradient, so they are counted anew for each node.
    struct Attrs {
        std::int64_t dim;
        mutable Dims constant;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::constant};
    static constexpr OpText text{.schema = "_cat(Tensor[] tensors, int dim, int[] constant)",
                                 .node = "CatBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "tensors",
                                 .domain = "tensors=[real(a, b), real(a, c)], dim=1, constant=()"};

    static const Tensor& model(Tensors parts) {
        for (const Tensor& part : parts)
            if (!is_nothing(part.layout())) return part;
        return parts[0];
    }
    static bool fit(Tensors parts, std::int64_t axis) {
        if (parts.empty() || axis < 0 || axis >= model(parts).ndim()) return false;
        const Sizes sizes = model(parts).sizes();
        return std::ranges::all_of(parts, [&](const Tensor& part) {
            if (is_nothing(part.layout())) return true;
            if (part.sizes().size() != sizes.size()) return false;
            for (std::size_t i = 0; i < sizes.size(); ++i)
                if (part.sizes()[i] != sizes[i] && i != static_cast<std::size_t>(axis)) return false;
            return true;
        });
    }
    static void forward(Tensors parts, const Attrs& attrs, Tensor& out) {
        need_fit("cat", fit(parts, attrs.dim));
        const int axis = static_cast<int>(attrs.dim);
        Dims sizes(model(parts).sizes());
        if (axis < sizes.size()) sizes[axis] = 0;
        for (const Tensor& part : parts)
            if (!is_nothing(part.layout())) sizes[axis] = clipped_sum(sizes[axis], part.size(axis));
        out = empty(sizes, result_dtype(parts));
        std::int64_t start = 0;
        for (const Tensor& part : parts) {
            if (is_nothing(part.layout())) continue;
            if (part.numel()) kernels::copy(window(out, axis, start, part), part.view());
            start += part.size(axis);
        }
    }
    static void backward(BackwardCall& call) {
        const auto& attrs = attributes_of<Attrs>(call);
        const int axis = static_cast<int>(attrs.dim);
        const Tensor& g = call.incoming[0];
        std::int64_t start = 0;
        int runs = 0;
        bool in_run = false;
        for (int i = 0; i < static_cast<int>(call.results.size()); ++i) {
            if (!knows_input(call, i)) {
                need_fit("cat", in_run || runs < attrs.constant.size());
                if (!in_run) start += attrs.constant[runs++];
                in_run = true;
                continue;
            }
            in_run = false;
            const Layout& part = input_layout(call, i);
            if (is_nothing(part)) {
                if (call.needs(i)) call.results[static_cast<std::size_t>(i)] = zeros(part.shape(), g.dtype());
                continue;
            }
            const std::int64_t length = part.sizes()[axis];
            if (call.needs(i)) call.results[static_cast<std::size_t>(i)] = narrow(g, axis, start, length);
            start += length;
        }
    }
    // Nothing; but a node that is about to be made gets the sizes for its own parts.
    static Saves saves(Tensors parts, std::uint64_t, const Attrs& attrs) {
        attrs.constant = {};
        need_few_runs("cat", constant_runs(parts, static_cast<int>(attrs.dim), attrs.constant));
        return {};
    }
};

// The axis along which the parts, which are checked, are joined. Those of size (0,) fit everywhere, so that of these
// alone any axis will do.
int checked_axis(Tensors parts, std::int64_t dim) {
    const Tensor& model = Cat::model(parts);
    const int axis = is_nothing(model.layout()) ? 0 : wrap_axis(dim, model.ndim(), "cat");
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Tensor& part = parts[i];
        if (part.ndim() == 0)
            fail(ErrorKind::Runtime, "cat: zero-dimensional tensor (at position %zu) cannot be concatenated; use stack",
                 i);
        if (is_nothing(part.layout())) continue;
        if (part.ndim() != model.ndim())
            fail(ErrorKind::Runtime, "cat: Tensors must have same number of dimensions: got %d and %d", model.ndim(),
                 part.ndim());
        for (int a = 0; a < part.ndim(); ++a)
            if (a != axis && part.size(a) != model.size(a))
                fail(ErrorKind::Runtime,
                     "cat: Sizes of tensors must match except in dimension %d. Expected size %lld but got size %lld "
                     "for tensor number %zu in "
                     "the list.",
                     axis, static_cast<long long>(model.size(a)), static_cast<long long>(part.size(a)), i);
    }
    return axis;
}

// The sizes of the runs of parts that need no gradient, or whose gradient has nowhere to go; at most kMaxDims of them
// are given, but all are counted.
int constant_runs(Tensors parts, int axis, Dims& sizes) {
    int runs = 0;
    bool in_run = false;
    const bool records = grad_enabled();
    for (const Tensor& part : parts) {
        // A tensor that stands for a batch has no edge of its own to ask for.
        const bool leads_on = records && part.requires_grad() && (is_batched(part) || gradient_edge(part));
        const bool constant = !leads_on;
        if (constant && !in_run && ++runs <= kMaxDims) sizes.push_back(0);
        if (constant && runs <= kMaxDims && !is_nothing(part.layout()))
            sizes[runs - 1] = clipped_sum(sizes[runs - 1], part.size(axis));
        in_run = constant;
    }
    return runs;
}

Tensor cat_checked(Tensors parts, int axis) {
    Cat::Attrs attrs{axis, {}};
    Tensor out;
    if (constant_runs(parts, axis, attrs.constant) <= kMaxDims) {
        apply(definition<Cat>(), parts, &attrs, std::span<Tensor>(&out, 1));
        return out;
    }
    std::vector<Tensor> groups;
    for (std::size_t i = 0; i < parts.size(); i += kMaxDims)
        groups.push_back(cat_checked(parts.subspan(i, std::min<std::size_t>(kMaxDims, parts.size() - i)), axis));
    return cat_checked(groups, axis);
}

struct PublicCat {
    struct Attrs {
        std::int64_t dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "cat(Tensor[] tensors, int dim=0)",
                                 .flags = kFunction | kComposite | kOutArgument,
                                 .batching = BatchBy::Whole,
                                 .domain = "real",
                                 .doc =
                                     "Concatenates tensors along an axis that they have; their other sizes must agree "
                                     "(RuntimeError), dtypes are promoted.",
                                 .example =
                                     ">>> torch.cat((torch.tensor([1, 2]), torch.tensor([3])))\n"
                                     "tensor([1, 2, 3])"};
    static void forward(Tensors parts, const Attrs& attrs, Tensor& out) {
        if (parts.empty()) fail(ErrorKind::Value, "cat(): expected a non-empty list of Tensors");
        out = cat_checked(parts, checked_axis(parts, attrs.dim));
    }
};

struct Concat : PublicCat {
    static constexpr OpText text{.schema = "concat(Tensor[] tensors, int dim=0)",
                                 .flags = kFunction | kComposite | kOutArgument,
                                 .domain = "real",
                                 .doc = "Alias of cat.",
                                 .example =
                                     ">>> torch.concat((torch.tensor([1, 2]), torch.tensor([3])))\n"
                                     "tensor([1, 2, 3])"};
};
struct Concatenate : PublicCat {
    static constexpr OpText text{.schema = "concatenate(Tensor[] tensors, int dim=0)",
                                 .flags = kFunction | kComposite | kOutArgument,
                                 .domain = "real",
                                 .doc = "Alias of cat, NumPy's name.",
                                 .example =
                                     ">>> torch.concatenate((torch.tensor([[1, 2]]), torch.tensor([[3, 4]])), dim=1)\n"
                                     "tensor([[1, 2, 3, 4]])"};
};

struct Stack {
    struct Attrs {
        std::int64_t dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "stack(Tensor[] tensors, int dim=0)",
        .node = "StackBackward0",
        .flags = kFunction | kOutArgument | kAnyDType,
        .derivative = "tensors",
        .batching = BatchBy::NewAxis,
        .domain = "real",
        .doc = "Joins tensors of one shape along a new axis; dtypes are promoted. RuntimeError where shapes differ.",
        .example =
            ">>> torch.stack((torch.tensor([1, 2]), torch.tensor([3, 4])))\n"
            "tensor([[1, 2],\n"
            "        [3, 4]])"};
    static void forward(Tensors parts, const Attrs& attrs, Tensor& out) {
        if (parts.empty()) fail(ErrorKind::Runtime, "stack expects a non-empty TensorList");
        const Tensor& model = parts[0];
        const int axis = wrap_axis(attrs.dim, model.ndim() + 1, "stack");
        for (std::size_t i = 1; i < parts.size(); ++i)
            if (!same_sizes(parts[i].sizes(), model.sizes()))
                fail(ErrorKind::Runtime,
                     "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %zu",
                     shape_text(model.sizes()).c_str(), shape_text(parts[i].sizes()).c_str(), i);
        Dims sizes(model.sizes());
        sizes.insert(axis, static_cast<std::int64_t>(parts.size()));
        out = empty(sizes, result_dtype(parts));
        Dims rest(out.strides());
        rest.erase(axis);
        const std::int64_t bytes = out.stride(axis) * static_cast<std::int64_t>(item_size(out.dtype()));
        if (out.numel() == 0) return;
        for (std::size_t i = 0; i < parts.size(); ++i)
            kernels::copy({out.data() + static_cast<std::int64_t>(i) * bytes, out.dtype(), model.ndim(),
                           model.sizes().data(), rest.values},
                          parts[i].view());
    }
    static void backward(BackwardCall& call) {
        const Tensor& g = call.incoming[0];
        const int axis = wrap_axis(attributes_of<Attrs>(call).dim, g.ndim(), "stack");
        for (int i = 0; i < static_cast<int>(call.results.size()); ++i)
            if (call.needs(i) && knows_input(call, i)) call.results[static_cast<std::size_t>(i)] = select(g, axis, i);
    }
};

}  // namespace

Tensor cat(Tensors parts, int axis) { return cat_checked(parts, axis); }
Tensor stack(Tensors parts, int axis) {
    const Stack::Attrs attrs{axis};
    Tensor out;
    apply(definition<Stack>(), parts, &attrs, std::span<Tensor>(&out, 1));
    return out;
}

static const Register<Cat, PublicCat, Concat, Concatenate, Stack> join_operations;

}  // namespace clew
