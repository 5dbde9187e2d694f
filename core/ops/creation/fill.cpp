// One value everywhere.
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/creation/random.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"

namespace clew {
namespace {

struct ValueAttrs {
    Scalar value;
};

void fill_from(const Tensor& self, const Tensor& value) {
    if (value.ndim() != 0)
        fail(ErrorKind::Runtime, "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
             value.ndim());
    kernels::copy(self.view(), BroadcastView(value, self.sizes()));
}

struct FillInPlace : ZeroGradient {
    using Attrs = ValueAttrs;
    static constexpr auto fields = std::tuple{&Attrs::value};
    static constexpr OpText text{.schema = "fill_(Tensor self, Scalar value)",
                                 .node = "FillBackward2",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real, value=2.5",
                                 .doc = "Fills self with one number, cast to its dtype.",
                                 .example = ">>> torch.zeros(2).fill_(1.5)\ntensor([1.5000, 1.5000])"};
    static void forward(const Tensor& self, const Attrs& attrs, Tensor& out) {
        check_fits("fill_", attrs.value, self.dtype());
        out = self;
        fill_with("fill_", self, attrs.value);
    }
};
struct FillTensorInPlace {
    static constexpr OpText text{.schema = "fill_.Tensor(Tensor self, Tensor value)",
                                 .node = "FillBackward3",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "self=real(a, b), value=real()",
                                 .doc = "Fills self with the number in a 0-dim tensor, to which the gradient goes."};
    static void forward(const Tensor& self, const Tensor& value, Tensor& out) {
        out = self;
        fill_from(self, value);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g) { return zeros_like(g); }, [](const Tensor& g) { return sum(g); }};
};
struct Zero : ZeroGradient {
    static constexpr OpText text{.schema = "zero_(Tensor self)",
                                 .node = "ZeroBackward0",
                                 .flags = kMethod | kFunction | kWritesInput,
                                 .domain = "real",
                                 .doc = "Fills self with zeros.",
                                 .example = ">>> torch.ones(2).zero_()\ntensor([0., 0.])"};
    static void forward(const Tensor& self, Tensor& out) {
        out = self;
        kernels::fill(self.view(), std::int64_t{0});
    }
};

struct Fill : ZeroGradient {
    using Attrs = ValueAttrs;
    static constexpr auto fields = std::tuple{&Attrs::value};
    static constexpr OpText text{.schema = "fill(Tensor self, Scalar value)",
                                 .node = "FillBackward0",
                                 .flags = kFunction | kOutArgument,
                                 .derivative = "elementwise",
                                 .domain = "real, value=2.5",
                                 .doc = "A tensor of self's shape and dtype filled with one number.",
                                 .example = ">>> torch.fill(torch.zeros(2), 3)\ntensor([3., 3.])"};
    static void forward(const Tensor& self, const Attrs& attrs, Tensor& out) {
        out = empty_like(self, self.dtype());
        fill_with("fill", out, attrs.value);
    }
};
struct FillTensor {
    static constexpr OpText text{
        .schema = "fill.Tensor(Tensor self, Tensor value)",
        .node = "FillBackward1",
        .flags = kFunction | kOutArgument,
        .derivative = "value",
        .domain = "self=real(a, b), value=real()",
        .doc =
            "A tensor of self's shape and dtype filled with the number in a 0-dim tensor, to which the gradient goes."};
    static void forward(const Tensor& self, const Tensor& value, Tensor& out) {
        out = empty_like(self, self.dtype());
        fill_from(out, value);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g) { return zeros_like(g); }, [](const Tensor& g) { return sum(g); }};
};

}  // namespace

void fill_in_place(const Tensor& self, const Tensor& value) {
    apply_in_place(definition<FillTensorInPlace>(), std::array{self, value}, nullptr);
}

static const Register<FillTensorInPlace, FillInPlace, Zero, FillTensor, Fill> fill_operations;

}  // namespace clew
