// Tensors that get other memory, and values that leave for Python: calls whose operations are in no registry.
#include <cstring>

#include "core/autograd/leaf.h"
#include "core/autograd/view.h"
#include "core/ops/batching/batched.h"
#include "core/ops/dispatch.h"
#include "core/ops/interpreter.h"
#include "core/ops/meta.h"

namespace clew {
namespace {

void look_at(const Tensor& tensor, const Tensor& source) {
    tensor->storage = source->storage;
    tensor->layout = source->layout;
    tensor->offset = source->offset;
}

void set_data(OpCall& call) {
    const Tensor &tensor = call.inputs[0], &source = call.inputs[1];
    const std::uint32_t version = version_of(*tensor.get());
    if (tensor->storage->owner == tensor.get()) tensor->storage->owner = nullptr;
    look_at(tensor, source);
    tensor->dtype = source->dtype;
    own_version(tensor, version);
    // A graph that was made before still gives the gradient of the forward that ran, in its shape.
    const NodeRef& end = tensor->extras->accumulator;
    if (end && (end->references == 1 || end->output_dtypes()[0] != tensor->dtype))
        set_output_shape(*end, 0, tensor->layout, tensor->dtype);
}

void resize(OpCall& call) {
    look_at(call.inputs[0], call.inputs[1]);
    bump_version(call.inputs[0], call.name());
}

void assign_gradient(OpCall& call) { assign_grad(call.inputs[0], call.inputs[1]); }

void rebind_by(const OpDef& op, const Tensor& tensor, const Tensor& source, const char* name) {
    const Tensor inputs[] = {tensor, source};
    const CallDetails details{.name = name};
    OpCall call{op, inputs, nullptr, {}, Form::Rebind, &details};
    dispatch(call);
}

}  // namespace

const OpDef data_op = unregistered("data", set_data);
const OpDef grad_op = unregistered("grad", assign_gradient);
const OpDef read_op = unregistered("read", nullptr);

void rebind(const Tensor& tensor, const Tensor& source) {
    if (!same_device(tensor, source))
        fail(
            ErrorKind::Runtime,
            "data: Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
            "type: one is on the device 'meta', the other has memory; make a new tensor instead");
    if (tensor.dtype() != source.dtype() &&
        (tensor->grad_fn || (tensor.requires_grad() && !is_inexact(source.dtype()))))
        fail(ErrorKind::Runtime,
             "data: incompatible tensor type: expected %s, got %s; a tensor in a graph keeps its dtype",
             dtype_name(tensor.dtype()), dtype_name(source.dtype()));
    rebind_by(data_op, tensor, source, "data");
}

void rebind_resized(const Tensor& destination, const Tensor& result, const char* name) {
    static const OpDef op = unregistered("resize", resize);
    rebind_by(op, destination, result, name);
}

void rebind_grad(const Tensor& tensor, const Tensor& gradient) { rebind_by(grad_op, tensor, gradient, "grad"); }

const char* name_of(Read how) {
    constexpr const char* kNames[] = {"item", "bool", "float", "int", "index", "tolist", "numpy", "buffer", "data_ptr"};
    return how == Read::Other ? "read" : kNames[static_cast<int>(how)];
}

Read read_of_name(const char* name) {
    for (int how = 0; how < static_cast<int>(Read::Other); ++how)
        if (std::strcmp(name, name_of(static_cast<Read>(how))) == 0) return static_cast<Read>(how);
    return Read::Other;
}

Tensor escape_to_interpreters(const Tensor& tensor, Read how, const char* name) {
    if (name == nullptr) name = name_of(how);
    if (is_meta(tensor)) fail_without_values(how, name);
    if (!mode(kInterpreted)) {
        if (is_batched(tensor)) fail_outside_vmap(name);
        return tensor;
    }
    const CallDetails details{.name = name, .read = how};
    Tensor read = tensor;
    OpCall call{read_op, Tensors(&tensor, 1), nullptr, {}, Form::Read, &details};
    if (is_batched(tensor)) call.outputs = std::span<Tensor>(&read, 1);  // for a sample
    dispatch(call);
    return read;
}

}  // namespace clew
