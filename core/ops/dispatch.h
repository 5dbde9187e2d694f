// The one door: every operation enters here, in whatever form: by functions, in place, with out=, as a step of an
// optimizer, as an autograd.Function, out of the engine; and so do tensors that get other memory, and values that are
// read into Python.
//
// While the mode word has no bit of kDetour, a call goes straight to its kernel and is recorded. Otherwise it goes to
// the interpreters of this thread (interpreter.h).
#pragma once
#include <array>

#include "core/autograd/mode.h"
#include "core/base/frame.h"
#include "core/ops/opdef.h"
#include "core/ops/storage_types.h"

namespace clew {

void interpret(OpCall& call);       // on the detour
void run_directly(OpCall& call);    // on the hot path
void run_functional(OpCall& call);  // the same, of a Functional call

inline void dispatch(OpCall& call) { on_detour() ? interpret(call) : run_directly(call); }

inline void apply(const OpDef& op, Tensors inputs, const void* attributes, std::span<Tensor> outputs) {
    OpCall call{op, inputs, attributes, outputs};
    on_detour() ? interpret(call) : run_functional(call);
}
// Written over input 0.
inline void apply_in_place(const OpDef& op, Tensors inputs, const void* attributes) {
    OpCall call{op, inputs, attributes, {}, Form::InPlace};
    dispatch(call);
}
// Written into `destinations`; refused where gradients would be recorded.
inline void apply_out(const OpDef& op, Tensors inputs, const void* attributes, std::span<Tensor> destinations) {
    OpCall call{op, inputs, attributes, destinations, Form::Out};
    dispatch(call);
}

// x.data = source: no write, but x looks at that memory from now on. Graphs keep what they saved.
void rebind(const Tensor& tensor, const Tensor& source);
// An out= of another shape gets the result's memory; `name` is what the write log says.
void rebind_resized(const Tensor& destination, const Tensor& result, const char* name);
// x.grad = gradient; the gradient may be null.
void rebind_grad(const Tensor& tensor, const Tensor& gradient);
// A read of values into Python, or by `name` (static text) to decide something. Gives the tensor whose memory is to be
// read: another one than `tensor` where that stands for samples that are all alike.
Tensor escape_to_interpreters(const Tensor& tensor, Read how, const char* name);
[[nodiscard]] inline Tensor escape(const Tensor& tensor, Read how, const char* name = nullptr) {
    if (mode(kInterpreted) || !has_memory(tensor)) [[unlikely]]
        return escape_to_interpreters(tensor, how, name);
    return tensor;
}

// In no registry: of Form::Accumulate, of Form::Read, x.data = and x.grad =, a tensor made of what is no tensor.
extern const OpDef accumulate_op, read_op, data_op, grad_op, constant_op;

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

template <class Op, std::size_t N, class... T>
std::array<Tensor, N> run_many(const Attributes<Op>& attributes, const T&... inputs) {
    const std::array<Tensor, sizeof...(T)> list{static_cast<const Tensor&>(inputs)...};
    std::array<Tensor, N> outputs;
    apply(definition<Op>(), list, &attributes, outputs);
    return outputs;
}

// Note [Rules that run kernels]
// Most rules are made of operations. A few run a kernel of their own: their struct has
// `static void fused_backward(BackwardCall&)`, which `backward` calls by run_fused(). While interpreters look on, that
// is one call of an operation "<name>_backward", from the gradients and what is saved to the results, without the node.
void show_fused(const OpDef& op, BackwardCall& call);  // to interpreters

template <class Op>
void run_fused(BackwardCall& call) {
    if (mode(kInterpreted) || any_stored(call.incoming)) [[unlikely]]
        return show_fused(definition<Op>(), call);
    [[maybe_unused]] const DispatchFrame frame;
    Op::fused_backward(call);
}

// Note [Reusing the memory of a gradient]
// In a backward without create_graph, a gradient that nobody but the rule holds dies when the rule has read it. A rule
// that says so (`Tensor&& g`, and uses it once) gets its result in the same memory: no other block is taken, and what
// is written is in the cache already. The same goes for what a rule made itself on the way: mul(mul(g, x), 2). Only the
// last rule of a node that runs is given the gradient; hooks, captures and retain_grad hold it and keep it as it is.
// While an interpreter looks on, nothing is written over: one memory is one value to it.
bool may_write_over(Tensors inputs);  // over the first of them
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
    if (may_write_over(list)) output = list[0];
    apply(definition<Op>(), list, attributes, std::span<Tensor>(&output, 1));
    return output;
}
template <class Op, class... T>
Tensor run_over(Tensor&& donated, const T&... others) {
    static_assert(std::is_same_v<Attributes<Op>, NoAttrs>);
    return run_over<Op>(nullptr, std::move(donated), others...);
}

}  // namespace clew
