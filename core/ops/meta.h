// Tensors without memory: the device "meta".
//
// Note [Meta tensors]
// A storage may be unbacked: it has bytes to count and no memory. A tensor on it has sizes, strides, a dtype, a version
// and a history, and no values. An operation on such tensors runs with kernels skipped, as for inference (Note
// [Inference]), and what it takes for its results is unbacked, too; so shapes are checked, views are views and nodes
// are recorded by the code that does so for all tensors. Rules run the same way when a gradient that comes is such a
// tensor. Whatever reads values says that there are none: escape() in dispatch.h, need_values() in core/base/frame.h.
//
// Who pays: while an unbacked storage lives, process_mode takes every call of every thread to interpret(), where the
// inputs are looked at. Otherwise nothing asks. The scope ends where Python is called, since what a hook or a Function
// computes with is told by the tensors that it uses.
#pragma once
#include <optional>

#include "core/base/frame.h"
#include "core/ops/registry.h"

namespace clew {

// How the kernel of a call runs, for a scope: on meta if its inputs are, or if it has none and such is the default.
// Fails if some inputs have memory and others don't, except numbers (tensors without axes), and indices.
class DeviceScope {
public:
    explicit DeviceScope(const OpCall& call);
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

private:
    const std::uint32_t mode_before_;
    std::optional<OnMeta> meta_;
};

// Error(NotImplemented or another kind, as PyTorch's) of a read of values, `how` being the name of the read.
[[noreturn]] void fail_without_values(Read how, const char* name);
// Both have memory, or neither has.
inline bool same_device(const Tensor& a, const Tensor& b) { return is_meta(a) == is_meta(b); }

}  // namespace clew
