#include "core/program/own_operations.h"

#include <cstring>

#include "core/kernels/memory/copy.h"
#include "core/program/loops/loop.h"

namespace clew {
namespace {

OpDef program_op(const char* name, void (*forward)(OpCall&)) {
    OpDef op = unregistered(name, forward);
    op.text.flags = kAnyDType;
    return op;
}

}  // namespace

const OpDef load_op = program_op("constant", [](OpCall& call) {
    const Tensor& from = call.inputs[0];
    call.outputs[0] = empty(from.layout_ref(), from.dtype());
    kernels::copy(call.outputs[0].view(), from.view());
});
const OpDef alias_op = program_op("alias", [](OpCall& call) {
    const Tensor& from = call.inputs[0];
    AliasAttrs attributes;
    std::memcpy(&attributes, call.attributes, sizeof attributes);
    const auto of = [](DType dtype) { return static_cast<std::int64_t>(item_size(dtype)); };
    const std::int64_t at = from->offset * of(from.dtype()) + attributes.shift;
    check_inside_storage("alias", *attributes.layout, at / of(attributes.dtype), attributes.dtype, *from->storage);
    call.outputs[0] = alias(from, LayoutRef(attributes.layout), at / of(attributes.dtype));
    call.outputs[0]->dtype = attributes.dtype;
});

const OpDef loop_op = program_op("loop", [](OpCall& call) {
    LoopAttrs attributes;
    std::memcpy(&attributes, call.attributes, sizeof attributes);
    call.outputs[0] = empty({attributes.loop->bytes}, DType::UInt8);
    attributes.loop->run(call.inputs, call.outputs[0]);
});

const OpDef mark_dirty_op = unregistered("mark_dirty", nullptr);

}  // namespace clew
