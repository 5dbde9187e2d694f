// Leaving for the device "meta": Note [Meta tensors].
#include "core/base/error.h"
#include "core/base/frame.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

struct ToMeta {
    struct Attrs {
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::dtype};
    static constexpr OpText text{.schema = "_to_meta(Tensor self, dtype dtype)",
                                 .node = "ToCopyBackward0",
                                 .flags = kHidden,
                                 .domain = "unsampled, 'its result has no values'"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const SkipKernels skip(true);
        out = empty(like_layout(x), attrs.dtype);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) -> Tensor {
        if (is_meta(g))
            fail(ErrorKind::NotImplemented,
                 "to: Cannot copy out of meta tensor; no data! The gradient of what was moved to 'meta' has no values");
        return g;
    }};
};

}  // namespace

Tensor to_meta(const Tensor& x) { return is_meta(x) ? x : run<ToMeta>({x.dtype()}, x); }

static const Register<ToMeta> to_meta_operation;

}  // namespace clew
