#include "core/kernels/memory/converted.h"

namespace clew::kernels {

Conversions::Conversions(DType in, DType result, const View& out, std::span<const View> inputs, std::size_t first)
    : operands_(1 + static_cast<int>(inputs.size())) {
    sizes_[0] = static_cast<std::int64_t>(item_size(result));
    if (result != out.dtype) paths_[0] = Conversion(result, out.dtype);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        sizes_[i + 1] = static_cast<std::int64_t>(item_size(in));
        if (i >= first && inputs[i].dtype != in) paths_[i + 1] = Conversion(inputs[i].dtype, in);
    }
}

}  // namespace clew::kernels
