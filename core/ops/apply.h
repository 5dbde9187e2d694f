// The one choke point: every operation, native or not, in place or not, goes through here.
#pragma once
#include <array>

#include "core/ops/opdef.h"

namespace clew {

// Runs the kernel and, if a gradient is needed, records a node.
void apply(const OpDef& op, Tensors inputs, const void* attributes, std::span<Tensor> outputs);
// The same, written over input 0.
void apply_in_place(const OpDef& op, Tensors inputs, const void* attributes);
// The same, written into `destinations`; refused where gradients would be recorded.
void apply_out(const OpDef& op, Tensors inputs, const void* attributes, std::span<Tensor> destinations);

// A read of a value into Python (item, bool, tolist, numpy, shapes that depend on data). Kept graphs will stand on it.
void escape(const Tensor& tensor, const char* how);

// Why the results of `inputs` have no history, for tensors that are made outside apply().
void pass_on_lost(const Tensor& result, Tensors inputs);

template <class Op, class... T>
Tensor run(const Attributes<Op>& attributes, const T&... inputs) {
    const std::array<Tensor, sizeof...(T)> list{static_cast<const Tensor&>(inputs)...};
    Tensor output;
    apply(definition<Op>(), list, &attributes, std::span<Tensor>(&output, 1));
    return output;
}
template <class Op, class... T>
Tensor run(const T&... inputs) {
    static_assert(std::is_same_v<Attributes<Op>, NoAttrs>);
    const std::array<Tensor, sizeof...(T)> list{static_cast<const Tensor&>(inputs)...};
    Tensor output;
    apply(definition<Op>(), list, nullptr, std::span<Tensor>(&output, 1));
    return output;
}
// Note [Writing over a dying gradient]
// In a backward without create_graph, a gradient that nobody but the rule holds dies when the rule has read it. A rule
// that says so (`Tensor&& g`, and uses it once) gets its result in the same memory: no other block is taken, and what
// is written is in the cache already. The same goes for what a rule made itself on the way: mul(mul(g, x), 2). Only the
// last rule of a node that runs is given the gradient; hooks, captures and retain_grad hold it and keep it as it is.
bool may_write_over(const Tensor& donated, Tensors others);
// In a forward, too: an output for apply() in the memory of `donated`, which is one of the inputs, if nobody holds that
// but `inputs` and a caller who drops it afterwards; else an empty one.
Tensor output_over(const OpDef& op, Tensors inputs, const void* attributes, const TensorObject* donated);
// Where the result of an elementwise operation lies: result_layout of the inputs that there are.
LayoutRef layout_among(Sizes sizes, Tensors inputs);
inline constexpr std::int64_t kWorthWritingOver = 65536;  // elements

template <class Op, class... T>
Tensor run_over(const Attributes<Op>* attributes, Tensor&& donated, const T&... others) {
    std::array<Tensor, 1 + sizeof...(T)> list{std::move(donated), static_cast<const Tensor&>(others)...};
    Tensor output;
    if (may_write_over(list[0], Tensors(list).subspan(1))) output = list[0];
    apply(definition<Op>(), list, attributes, std::span<Tensor>(&output, 1));
    return output;
}
template <class Op, class... T>
Tensor run_over(Tensor&& donated, const T&... others) {
    static_assert(std::is_same_v<Attributes<Op>, NoAttrs>);
    return run_over<Op>(nullptr, std::move(donated), others...);
}

template <class Op, std::size_t N, class... T>
std::array<Tensor, N> run_many(const Attributes<Op>& attributes, const T&... inputs) {
    const std::array<Tensor, sizeof...(T)> list{static_cast<const Tensor&>(inputs)...};
    std::array<Tensor, N> outputs;
    apply(definition<Op>(), list, &attributes, outputs);
    return outputs;
}

}  // namespace clew
