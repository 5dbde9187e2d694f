#include "bind/transforms/repeat.h"

#include <cstring>
#include <vector>

#include "bind/types/objects.h"
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/base/frame.h"
#include "core/ops/storage_types.h"
#include "core/program/files/names.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

DType widest(DType dtype) {
    return is_floating(dtype) ? DType::Float64 : is_complex(dtype) ? DType::Complex128 : dtype;
}

// The attributes of the call; those of a fused rule follow its header.
std::vector<char> widened(const OpDef& op, const void* attributes) {
    std::vector<char> copy(op.attribute_bytes);
    std::memcpy(copy.data(), attributes, copy.size());
    const OpDef* const rule = rule_of(op);
    char* const fields = copy.data() + (rule ? sizeof(FusedHeader) : 0);
    for (const clew::Field& field : (rule ? *rule : op).fields) {
        Value value;
        field.get(fields, value);
        if (value.tag != Value::DType) continue;
        value.integer = static_cast<std::int64_t>(widest(static_cast<DType>(value.integer)));
        field.set(fields, value);
    }
    return copy;
}

}  // namespace

nb::list repeat(const OpCall& call, nb::list inputs, bool wide) {
    if (nb::len(inputs) != call.inputs.size())
        fail(ErrorKind::Value, "repeat: expected %zu inputs, got %zu", call.inputs.size(), nb::len(inputs));
    std::vector<Tensor> given;
    for (const nb::handle one : inputs) {
        TensorObject* const tensor = as_tensor(one.ptr());
        if (tensor == nullptr && !one.is_none())
            fail(ErrorKind::Type, "repeat: expected tensors, got %s", Py_TYPE(one.ptr())->tp_name);
        given.emplace_back(tensor);
    }
    std::vector<char> room;
    const void* attributes = call.attributes;
    if (wide && call.op.attribute_bytes) attributes = (room = widened(call.op, attributes)).data();
    std::vector<Tensor> results(call.form == Form::InPlace ? 1 : call.outputs.size());
    if (call.form == Form::InPlace) results[0] = given[0];
    OpCall again{call.op, given, attributes, results, call.form, call.details};
    {
        const ModeGuard guard(kNoGrad, true);
        [[maybe_unused]] const DispatchFrame frame;
        call.form == Form::Accumulate ? call.op.forward(again) : run_forward(again);
    }
    nb::list made;
    if (call.form == Form::InPlace) return made;
    for (const Tensor& result : results) made.append(result ? nb::steal(wrap(result)) : nb::none());
    return made;
}

}  // namespace clew::bind
