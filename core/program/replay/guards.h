// What has to be as it was in the recorded run.
#pragma once
#include <string>

#include "core/program/program.h"
#include "core/program/replay/slice.h"

namespace clew {

inline bool same_geometry(const Layout& layout, DType dtype, const KeptRegister& reg) {
    return dtype == reg.dtype && (&layout == reg.layout.get() || (same_sizes(layout.shape(), reg.layout->shape()) &&
                                                                  same_sizes(layout.strides(), reg.layout->strides())));
}
inline bool same_geometry(const Tensor& tensor, const KeptRegister& reg) {
    return same_geometry(tensor.layout(), tensor.dtype(), reg);
}
// Where that fails, why: "its shape is [3] and was [2]".
std::string difference(const Tensor& now, const KeptRegister& then);
// Bytes of both, whatever the numbers are: a NaN equals the same NaN.
bool same_bits(const Tensor& now, const Tensor& then);

void check_inputs(const Program& program, Slice& slice);
// Fails unless the tensor is as the program left it.
void check_unchanged(const Program& program, int tracked, bool its_value_too);

}  // namespace clew
