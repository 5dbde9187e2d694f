// Advanced indexing: reading and writing at the places that index tensors name together. See Note [Advanced indexing].
#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_plan.h"

namespace clew {
namespace {

std::uint32_t bits_of_present(Tensors inputs, std::size_t first, std::size_t last) {
    std::uint32_t bits = 0;
    for (std::size_t i = first; i < last; ++i)
        if (inputs[i]) bits |= 1u << i;
    return bits;
}

// The indices that a node saved: inputs 1 ... last - 1.
std::vector<Tensor> saved_indices(BackwardCall& call, int last) {
    std::vector<Tensor> indices;
    for (int i = 1; i < last; ++i) indices.push_back(saved_input(call, i));
    return indices;
}

// Is it elements of a vector, at places that need no arranging?
bool takes_elements(const Tensor& x, Tensors given) {
    return x.ndim() == 1 && x.numel() != 0 && given.size() == 1 && given[0] && given[0].dtype() == DType::Int64 &&
           given[0].contiguous();
}

struct Index {
    static constexpr OpText text{
        .schema = "_index(Tensor self, Tensor[]? indices)",
        .node = "IndexBackward0",
        .flags = kHidden | kSizedByValues | kAnyDType,
        .derivative = "self",
        .batching = BatchBy::Index,
        .domain = "self=real(b, c), indices=[index(b, 4)]; self=real(b, c), indices=[index(b, 4), index(c, 4)]"};
    static void forward(const Tensor& x, Tensors indices, Tensor& out) {
        if (is_whole_mask(x, indices)) {
            out = empty({kernels::count_nonzero(indices[0].view())}, x.dtype());
            if (out.numel()) kernels::masked_select(out.view(), x.view(), indices[0].view());
            return;
        }
        if (takes_elements(x, indices)) {
            out = empty(indices[0].layout_ref(), x.dtype());
            const std::int64_t bad = kernels::take(out.view(), x.view(), indices[0].view());
            return fail_out_of_bounds(indices[0].view(), bad, x.numel(), 0, "", ErrorKind::Index);
        }
        const IndexPlan plan(x, indices);
        out = empty(plan.result_layout(), x.dtype());
        if (out.numel()) kernels::index_get(out.view(), plan.moved(), plan.indices(), plan.count());
    }
    static constexpr std::uint64_t constants = 0b10;
    static Saves saves(Tensors inputs, std::uint64_t, const NoAttrs&) {
        return {.inputs = bits_of_present(inputs, 1, inputs.size())};
    }
    static void backward(BackwardCall& call) {
        const Tensor& g = call.incoming[0];
        const std::vector<Tensor> indices = saved_indices(call, static_cast<int>(call.results.size()));
        bool repeats = false;  // masks name each place once
        for (const Tensor& index : indices) repeats = repeats || (index && index.dtype() != DType::Bool);
        call.results[0] = index_put(zeros(input_layout(call, 0).shape(), g.dtype()), indices, g, repeats);
    }
};

// One number where a mask is true: masked_fill, which casts it.
bool is_one_mask(Tensors indices) {
    const auto given = std::ranges::count_if(indices, [](const Tensor& index) { return bool(index); });
    return given == 1 &&
           std::ranges::any_of(indices, [](const Tensor& index) { return index && index.dtype() == DType::Bool; });
}

struct IndexPut {
    struct Attrs {
        bool accumulate;
    };
    static constexpr auto fields = std::tuple{&Attrs::accumulate};
    static constexpr OpText text{
        .schema = "index_put(Tensor self, Tensor[]? indices, Tensor values, bool accumulate=False)",
        .node = "IndexPutBackward0",
        .flags = kBoth | kInPlace | kAnyDType,
        .derivative = "self + values",
        .domain =
            "self=real(b, c), indices=[order(b, a)], values=real(a, c); self=real(b, c), indices=[index(b, 4), "
            "index(c, 4)], values=real(4), accumulate=True",
        .doc =
            "A copy of self with values written to self[indices], or added there with accumulate=True: indices has a "
            "tensor of integers or bools (or None, the whole axis) for each of the first axes; they and values are "
            "broadcast.",
        .example =
            ">>> torch.index_put(torch.zeros(2, 2), (torch.tensor([0, 1]), torch.tensor([1, 0])), torch.tensor(5.0))\n"
            "tensor([[0., 5.],\n"
            "        [5., 0.]])"};
    static void forward(const Tensor& self, Tensors indices, const Tensor& given_values, const Attrs& attrs,
                        Tensor& out) {
        const bool fills = !attrs.accumulate && given_values.numel() == 1 && is_one_mask(indices);
        if (given_values.dtype() != self.dtype() && !fills) {
            const IndexPlan checks(self, indices);  // says what is wrong with the indices first
            fail(ErrorKind::Runtime,
                 "index_put: Index put requires the source and destination dtypes match, got %s for the destination "
                 "and %s for the source.",
                 dtype_name(self.dtype()), dtype_name(given_values.dtype()));
        }
        if (attrs.accumulate && is_storage_type(self.dtype()))
            return add_in_compute_dtype(self, indices, given_values, out);
        start_from(self, out, Lies::AsSelf);
        const Tensor values = converted(apart_from(out, given_values), self.dtype());
        if (is_whole_mask(out, indices) && !attrs.accumulate && values.numel() == 1 && values.ndim() <= 1) {
            kernels::masked_fill(out.view(), indices[0].view(), values.data());
            return;
        }
        const IndexPlan plan(out, indices);
        if (!can_expand(values.sizes(), plan.sizes()))
            fail(ErrorKind::Runtime,
                 "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                 shape_text(values.sizes()).c_str(), shape_text(plan.sizes()).c_str());
        const BroadcastView from(values, plan.sizes());
        if (count_elements(plan.sizes()))
            kernels::index_put(plan.moved(), plan.indices(), plan.count(), from, attrs.accumulate);
    }
    // Values are moved as they are, but added in the compute dtype, and rounded once.
    static void add_in_compute_dtype(const Tensor& self, Tensors indices, const Tensor& values, Tensor& out) {
        const DType wide = compute_dtype(self.dtype());
        Tensor sum;
        forward(converted(self, wide), indices, converted(values, wide), {true}, sum);
        if (out)
            kernels::copy(out.view(), sum.view());
        else
            out = converted(sum, self.dtype());
    }
    static constexpr std::uint64_t constants = 0b010;
    static Saves saves(Tensors inputs, std::uint64_t needs, const Attrs& attrs) {
        const std::size_t last = inputs.size() - 1;
        const bool unused = attrs.accumulate && !(needs >> last & 1);  // then the gradient of self is all, as it comes
        return {.inputs = unused ? 0 : bits_of_present(inputs, 1, last)};
    }
    // Of several values that were written to one place, the last has its gradient. Masks name each place once.
    static Tensor values_gradient(BackwardCall& call, const Tensor& g, Tensors indices) {
        const Tensor read = index(g, indices);
        const bool may_repeat =
            std::ranges::any_of(indices, [](const Tensor& one) { return one && one.dtype() != DType::Bool; });
        if (attributes_of<Attrs>(call).accumulate || !may_repeat || read.numel() < 2) return read;
        const Tensor order = numbered(read.sizes());
        const Tensor written = index_put(zeros(g.sizes(), DType::Int64), indices, order, false);
        return where(compare(kEq, index(written, indices), order), read, zero());
    }
    static void backward(BackwardCall& call) {
        const Tensor& g = call.incoming[0];
        const int last = static_cast<int>(call.results.size()) - 1;
        const std::vector<Tensor> indices = saved_indices(call, last);
        if (call.needs(0)) {
            const bool accumulate = attributes_of<Attrs>(call).accumulate;
            call.results[0] = accumulate ? g : index_put(g, indices, zeros(Dims{}, g.dtype()), false);
        }
        if (call.needs(last)) call.results[static_cast<std::size_t>(last)] = values_gradient(call, g, indices);
    }
};

struct Take {
    static constexpr OpText text{.schema = "take(Tensor self, Tensor index)",
                                 .node = "TakeBackward0",
                                 .flags = kBoth | kOutArgument | kOutAlike | kAnyDType,
                                 .derivative = "self",
                                 .domain = "self=real(a, b), index=index(a * b, c)",
                                 .doc =
                                     "The elements at the indices (int32 or int64) into the flattened tensor, in the "
                                     "shape of index. IndexError out of range.",
                                 .example =
                                     ">>> torch.take(torch.tensor([[4, 5], [6, 7]]), torch.tensor([0, 3]))\n"
                                     "tensor([4, 7])"};
    static void forward(const Tensor& x, const Tensor& given, Tensor& out) {
        const Tensor index = as_contiguous(checked_index(given, "take")), dense = as_contiguous(x);
        const std::int64_t count = x.numel(), step = 1;
        out = empty(index.layout_ref(), x.dtype());
        const std::int64_t bad = kernels::take(out.view(), {dense.data(), x.dtype(), 1, &count, &step}, index.view());
        fail_out_of_bounds(index.view(), bad, x.numel(), 0, "take: out of range", ErrorKind::Index);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, In<1> index) {
        const Tensor at = index;
        return reshape(index_put(zeros(Dims{x.numel()}, g.dtype()), Tensors(&at, 1), g, true), x);
    }};
};

std::vector<Tensor> inputs_of(const Tensor& x, Tensors indices, const Tensor* values) {
    std::vector<Tensor> inputs{x};
    inputs.insert(inputs.end(), indices.begin(), indices.end());
    if (values) inputs.push_back(*values);
    return inputs;
}

}  // namespace

Tensor index(const Tensor& x, Tensors indices) {
    if (indices.size() == 1) return run<Index>(x, indices[0]);
    Tensor out;
    apply(definition<Index>(), inputs_of(x, indices, nullptr), nullptr, std::span<Tensor>(&out, 1));
    return out;
}
Tensor index_put(const Tensor& x, Tensors indices, const Tensor& values, bool accumulate) {
    const IndexPut::Attrs attrs{accumulate};
    Tensor out;
    apply(definition<IndexPut>(), inputs_of(x, indices, &values), &attrs, std::span<Tensor>(&out, 1));
    return out;
}
void index_put_in_place(const Tensor& x, Tensors indices, const Tensor& values) {
    const IndexPut::Attrs attrs{false};
    apply_in_place(definition<IndexPut>(), inputs_of(x, indices, &values), &attrs);
}

static const Register<Index, IndexPut, Take> index_put_operations;

}  // namespace clew
