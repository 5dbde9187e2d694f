// Where gradients end: a leaf, its AccumulateGrad node, and the gradient itself.
//
// Note [Who owns whom]
// tensor -> node -> edge -> node, and node -> what it saved. A leaf owns its AccumulateGrad, which refers to the leaf
// weakly and owns its hooks. So `x.grad` may carry a graph that ends in x again without closing a cycle. When the leaf
// is gone, its hooks still run and nothing is accumulated.
#pragma once
#include <memory>

#include "core/autograd/node.h"
#include "core/autograd/tangent.h"

namespace clew {

// What a kept program knows of a tensor that it made, and the other way round (core/program/record/weak_bindings.h).
struct KeptTensor {
    Handle owner;  // the program, as Python sees it; or null
    virtual ~KeptTensor() = default;
};

struct Extras {
    Tensor grad;
    NodeRef accumulator;
    Ref<VersionCounter> counter;  // if kAliasCounter
    std::unique_ptr<KeptTensor> kept{};
    std::unique_ptr<Tangents> tangents{};
};

Extras& extras_of(TensorObject& tensor);
// Shows the tensor to the garbage collector: something that it owns holds Python things.
void mark_tracked(TensorObject& tensor);

Node* accumulator_of(const Tensor& leaf);
const NodeRef& grad_fn_of(const Tensor& tensor);  // null for leaves; brings a view's history up to date
// The node and index that the gradient of this tensor goes to; null if it needs none, or leads nowhere although it
// requires grad (Note [Views that lead nowhere]).
inline Edge gradient_edge(const Tensor& tensor) {
    if (tensor->base) grad_fn_of(tensor);
    if (Node* node = tensor->grad_fn.get()) return {node, tensor->output_index};
    if (!tensor->has(TensorObject::kRequiresGrad)) return {};
    const Extras* extras = tensor->extras;
    return {extras && extras->accumulator ? extras->accumulator.get() : accumulator_of(tensor), 0};
}

// The rules of what is recorded read the shapes of inputs from where the gradients go (Note [Shape of a node]).
[[gnu::cold]] void check_shape_of_history(const Edge& edge, const Tensor& tensor);
inline Edge edge_to_record(const Tensor& tensor) {
    const Edge edge = gradient_edge(tensor);
    if (edge.node && edge.node->outputs()[edge.index].layout != tensor->layout.get())
        check_shape_of_history(edge, tensor);
    return edge;
}

Tensor grad_of(const Tensor& tensor);
void set_grad(const Tensor& tensor, Tensor grad);     // through dispatch()
void assign_grad(const Tensor& tensor, Tensor grad);  // its work
void set_requires_grad(const Tensor& tensor, bool on);
void retain_grad(const Tensor& tensor);

// Makes `node` the history of `tensor` as its output i.
void set_history(const Tensor& tensor, const NodeRef& node, int output);

extern const NodeKind accumulate_kind;
void accumulate(Node& accumulator, Tensor gradient);
// Error(NotImplemented) if one of the two has memory and the other has not.
void check_device(const Tensor& gradient, const Tensor& of, const char* who);
// Nobody else sees the object or its memory, so it may be kept or written to.
bool is_unshared(const Tensor& tensor);
// into += gradient, in the buffer where nobody else can see it.
void add_gradient(Tensor& into, Tensor gradient);

// Note [Sparse tensors]
// A sparse tensor is an object of a Python class that holds indices and values. Its storage has no memory, and no
// kernel takes it: an operation that the class does not define is refused (core/ops/meta.cpp). The engine lets one pass
// as the gradient of a leaf, and asks the class for sums; what leads to other nodes is made dense. Set by bind/.
struct SparseCalls {
    // before + gradient, `before` perhaps empty; in the memory of `before` if `in_place` and it can be.
    Tensor (*sum)(const Tensor& before, const Tensor& gradient, bool in_place);
    Tensor (*to_dense)(const Tensor&);
};
extern SparseCalls sparse_calls;

// The few operations that the engine itself needs; ops/ sets them, so that autograd/ does not depend on it.
struct EngineOps {
    Tensor (*add)(const Tensor&, const Tensor&);
    Tensor (*sum_to)(const Tensor&, Sizes);
    Tensor (*cast)(const Tensor&, DType);
    Tensor (*clone)(const Tensor&);
    Tensor (*ones_like)(const Tensor&);
    void (*add_in_place)(const Tensor& into, const Tensor& value);  // no history
    void (*copy_into)(const Tensor& into, const Tensor& value);     // no history
    bool (*all_finite)(const Tensor&);
    Tensor (*as_strided)(const Tensor&, const Layout& layout, std::int64_t offset);
    Tensor (*view_as_real)(const Tensor&);
    Tensor (*view_as_complex)(const Tensor&);
    Tensor (*as_strided_scatter)(const Tensor& base, const Tensor& value, const Layout& layout, std::int64_t offset);
    Tensor (*zeros)(Sizes, DType);
    Tensor (*contiguous)(const Tensor&);
    void (*rebind_grad)(const Tensor& tensor, const Tensor& grad);
    Tensor (*copy_for_leaf)(const Tensor& gradient, const Tensor& leaf);  // a copy that lies as the leaf's .grad is to
    // What interpreters are told of.
    void (*grad_read)(const Tensor& tensor);
    // Whether an interpreter wants to see what it computes, even if it records nothing.
    bool (*backward_begins)(std::span<const Tensor> roots, std::span<const Tensor> inputs);
};
extern EngineOps engine_ops;

}  // namespace clew
