// Copies, casts, and leaving the graph.
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/batching/batched.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/operands.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

struct Clone {
    struct Attrs {
        std::optional<bool> contiguous;
    };
    static constexpr auto fields = std::tuple{&Attrs::contiguous};
    static constexpr OpText text{
        .schema = "clone(Tensor self, *, memory_format? memory_format=None)",
        .node = "CloneBackward0",
        .flags = kBoth | kAnyDType | kLeadingAxes,
        .derivative = "self",
        .domain = "real",
        .doc =
            "A copy with memory of its own, through which gradients flow (unlike detach). Strides are those of self "
            "where it is dense, unless memory_format says otherwise.",
        .example =
            ">>> x = torch.tensor([1.0, 2.0])\n"
            ">>> y = x.clone()\n"
            ">>> _ = y.zero_()\n"
            ">>> x\n"
            "tensor([1., 2.])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = empty(attrs.contiguous.value_or(false) ? Layout::make(x.sizes()) : like_layout(x), x.dtype());
        kernels::copy(out.view(), x.view());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return g; }};
};

struct Contiguous {
    static constexpr OpText text{.schema = "_contiguous(Tensor self)",
                                 .node = "CloneBackward0",
                                 .flags = kHidden | kAnyDType | kLeadingAxes,
                                 .derivative = "self",
                                 .domain = "real"};
    static void forward(const Tensor& x, Tensor& out) {
        out = empty(Layout::make(x.sizes()), x.dtype());
        kernels::copy(out.view(), x.view());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return g; }};
};

struct CopyLaidAs {
    static constexpr OpText text{.schema = "_copy_laid_as(Tensor self, Tensor like)",
                                 .node = "CloneBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "self",
                                 .domain = "self=real(a, b), like=constant(real(a, b))"};
    static void forward(const Tensor& x, const Tensor& like, Tensor& out) {
        need_fit("copy", same_sizes(x.sizes(), like.sizes()));
        out = is_dense(like.layout()) ? empty(like.layout_ref(), x.dtype()) : empty(like.sizes(), x.dtype());
        kernels::copy(out.view(), x.view());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return g; }};
};

struct Cast {
    struct Attrs {
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::dtype};
    static constexpr OpText text{.schema = "_cast(Tensor self, dtype dtype)",
                                 .node = "ToCopyBackward0",
                                 .flags = kHidden | kAnyDType | kLeadingAxes,
                                 .derivative = "self",
                                 .domain = "real, dtype=float64"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = empty(like_layout(x), attrs.dtype);
        kernels::copy(out.view(), x.view());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return g; }};  // the engine casts back
};

struct Copy {
    static constexpr OpText text{.schema = "copy_(Tensor self, Operand src)",
                                 .node = "torch::autograd::CopyBackwards",
                                 .flags = kMethod | kWritesInput | kCopies,
                                 .domain = "real",
                                 .doc =
                                     "Copies src into self, broadcast to its shape and cast to its dtype. The gradient "
                                     "goes to src; that of what self was is 0.",
                                 .example =
                                     ">>> torch.zeros(2, 2, dtype=torch.int64).copy_(torch.tensor([1.7, 2.0]))\n"
                                     "tensor([[1, 2],\n"
                                     "        [1, 2]])"};
    static void forward(const Tensor& self, const Tensor& source, Tensor& out) {
        out = self;
        if (!can_expand(source.sizes(), self.sizes()))
            fail(ErrorKind::Runtime, "copy_: expected a source that broadcasts to %s, got shape %s; reshape it",
                 shape_text(self.sizes()).c_str(), shape_text(source.sizes()).c_str());
        std::int64_t strides[kMaxDims];
        const int lead = self.ndim() - source.ndim();
        for (int i = 0; i < self.ndim(); ++i)
            strides[i] = i < lead || source.size(i - lead) == 1 ? 0 : source.stride(i - lead);
        kernels::copy(self.view(), {source.data(), source.dtype(), self.ndim(), self.sizes().data(), strides});
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g) { return zeros_like(g); }, [](const Tensor& g) { return g; }};
};

}  // namespace

Tensor clone(const Tensor& x) { return run<Clone>({}, x); }
Tensor copy_as(const Tensor& x, DType dtype) {
    const ModeGuard guard(kNoGrad | kInBackward, true);
    if (x.dtype() == dtype) return run<Contiguous>(x);
    return contiguous(run<Cast>({dtype}, x));
}
Tensor copy_laid_as(const Tensor& x, const Tensor& like) { return run<CopyLaidAs>(x, like); }
Tensor contiguous(const Tensor& x) { return x.contiguous() ? x : run<Contiguous>(x); }

Tensor cast(const Tensor& x, DType dtype) {
    if (x.dtype() == dtype) return x;
    Tensor result = run<Cast>({dtype}, x);
#define CLEW_CAUSE(name, type, text, ...) "cast to " text,
    if (is_integral(dtype) && x.requires_grad() && !mode(kInBackward | kNoProvenance)) {
        constexpr const char* causes[] = {CLEW_DTYPES(CLEW_CAUSE)};
        result->lost = HistoryBreak::make(causes[static_cast<int>(dtype)]);
    }
#undef CLEW_CAUSE
    return result;
}

Tensor detach(const Tensor& x) {
    if (is_batched(x)) return make_batched(detach(batched(x).value), batched(x).batch, batched(x).alike);
    Tensor result = alias(x, x->layout, x->offset);
    share_version(result, x);
    result->set(TensorObject::kInference, x->has(TensorObject::kInference));
    if (x.requires_grad())
        result->lost = HistoryBreak::make("detach");
    else
        result->lost = x->lost;
    return result;
}

void copy_in_place(const Tensor& self, const Tensor& source) {
    apply_in_place(definition<Copy>(), std::array{self, source}, nullptr);
}

void overwrite(const Tensor& self, const Tensor& source, const char* name) {
    const Tensor inputs[] = {self, source};
    const CallDetails details{.name = name};
    OpCall call{definition<Copy>(), inputs, nullptr, {}, Form::InPlace, &details};
    dispatch(call);
}

bool all_finite(const Tensor& x) {
    // x - x is 0 for finite numbers and NaN for all others.
    const ModeGuard guard(kNoGrad | kInBackward, true);
    const Tensor zero = sum(sub(x, x));
    return read_complex(zero) == Complex<double>(0);
}

static const Register<Clone, Contiguous, CopyLaidAs, Cast, Copy> convert_operations;

}  // namespace clew
