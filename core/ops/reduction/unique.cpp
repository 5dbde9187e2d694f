// What is distinct in a tensor is found in Python (src/clew/ops/finding.py). These give it a node, whose backward
// raises: a gradient that is asked for is not lost without a word.
#include "core/base/error.h"
#include "core/ops/dispatch.h"

namespace clew {
namespace {

#define CLEW_UNIQUE(Name, name, theirs)                                                                         \
    struct Name {                                                                                               \
        static constexpr OpText text{.schema = #name "(Tensor self, Tensor values)",                            \
                                     .node = #Name "Backward0",                                                 \
                                     .flags = kHidden,                                                          \
                                     .domain = "unsampled, 'its derivative raises'"};                           \
        static void forward(const Tensor&, const Tensor& values, Tensor& out) {                                 \
            out = alias(values, values.layout_ref(), values->offset);                                           \
        }                                                                                                       \
        static Tensor refuse(const Tensor&) {                                                                   \
            fail(ErrorKind::NotImplemented, "the derivative for '" theirs                                       \
                                            "' is not implemented; detach() the input, or gather its elements " \
                                            "at indices");                                                      \
        }                                                                                                       \
        static constexpr auto rules = std::tuple{&refuse};                                                      \
    }
CLEW_UNIQUE(Unique2, _unique2, "_unique2");
CLEW_UNIQUE(UniqueDim, _unique_dim, "unique_dim");
CLEW_UNIQUE(UniqueConsecutive, _unique_consecutive, "unique_consecutive");
#undef CLEW_UNIQUE

}  // namespace

static const Register<Unique2, UniqueDim, UniqueConsecutive> unique_operations;

}  // namespace clew
