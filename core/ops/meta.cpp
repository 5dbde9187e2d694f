#include "core/ops/meta.h"

#include <string_view>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

bool is_number(const Tensor& tensor) { return tensor.ndim() == 0 || tensor->has(TensorObject::kWrappedNumber); }

// Whether an input with memory may stand beside those without.
bool may_have_memory(const OpCall& call, std::size_t i) {
    if (call.op.is(kCopies)) return true;
    const bool place =
        !is_floating(call.inputs[i].dtype()) && i > 0 && call.op.derivative.kind != DerivativeClass::Elementwise;
    return place || (is_number(call.inputs[i]) && !(i == 0 && call.form == Form::InPlace));
}

[[noreturn]] void fail_sparse(const OpCall& call) {
    fail(ErrorKind::NotImplemented,
         "%s: expected strided tensors, got a sparse one; this operation has no sparse form here: take its to_dense()",
         call.form == Form::InPlace ? call.op.in_place_name.c_str() : call.op.name);
}

// Whether the kernel of a call has nothing to read or write.
bool is_on_meta(const OpCall& call) {
    bool any = false, only_numbers = true;
    for (const Tensor& input : call.inputs) {
        if (!input) continue;
        if (is_sparse(input)) fail_sparse(call);
        any = any || is_meta(input);
        only_numbers = only_numbers && input->has(TensorObject::kWrappedNumber);
    }
    if (!any) return only_numbers && mode(kMakeMeta);
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        if (!call.inputs[i] || is_meta(call.inputs[i])) continue;
        if (call.op.is(kCopies) && i == 0)
            fail(ErrorKind::NotImplemented, "%s: Cannot copy out of meta tensor; no data!", call.op.name);
        if (!may_have_memory(call, i))
            fail(ErrorKind::Runtime,
                 "%s: Tensor on device cpu is not on the expected device meta! All tensors must be on the same device; "
                 "move %s there with .to('meta'), or run on the CPU",
                 call.form == Form::InPlace ? call.op.in_place_name.c_str() : call.op.name,
                 call.op.input_name ? call.op.input_name(call.op, static_cast<int>(i)) : "it");
    }
    return true;
}

// These call others, which are looked at themselves, or Python.
bool has_kernel(const OpCall& call) {
    return call.form == Form::Functional || call.form == Form::InPlace || call.form == Form::Accumulate;
}

}  // namespace

DeviceScope::DeviceScope(const OpCall& call) : mode_before_(mode_word & kMakeMeta) {
    if (!has_kernel(call)) return;
    // While something is inferred, inputs have memory, and what is made on the way has none.
    if ((!skips_kernels() || meta_operation) && is_on_meta(call)) meta_.emplace(call.op.name);
    mode_word &= ~std::uint32_t{kMakeMeta};  // told by the inputs from here on
}

DeviceScope::~DeviceScope() { mode_word |= mode_before_; }

void fail_without_values(Read how, const char* name) {
    switch (how) {
        case Read::Numpy:
        case Read::Buffer:
            fail(ErrorKind::Type,
                 "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                 "first.");
        case Read::Item:
        case Read::Bool:
        case Read::Float:
        case Read::Int:
        case Read::Index:
            fail(ErrorKind::Runtime, "Tensor.item() cannot be called on meta tensors: they have no values");
        default:
            fail(ErrorKind::NotImplemented, "%s: Cannot copy out of meta tensor; no data!", name);
    }
}

}  // namespace clew
