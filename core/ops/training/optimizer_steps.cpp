// Whole steps of optimizers over one parameter, in one pass over its memory: torch.optim's arithmetic with
// foreach=False.
#include <array>

#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/kernels/training/optim.h"
#include "core/ops/dispatch.h"
#include "core/ops/operands.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

constexpr const char* kUnsampled = "unsampled, 'tests/optim compare whole runs of optimizers'";

// Kernels want memory without gaps, in one order for the parameter and all that belongs to it; what lies otherwise goes
// through a copy and back.
class Dense {
public:
    Dense(const Tensor& tensor, const LayoutRef& order) : tensor_(tensor) {
        if (!tensor || tensor->layout == order || lie_alike(*tensor->layout, *order)) return;
        copy_ = empty(order, tensor_.dtype());
        kernels::copy(copy_.view(), tensor_.view());
    }
    // As one axis. Complex numbers are stepped as pairs of real ones, as in PyTorch.
    kernels::View view() {
        if (!tensor_) return {};
        const Tensor& dense = copy_ ? copy_ : tensor_;
        count_ = dense.numel() * (is_complex(dense.dtype()) ? 2 : 1);
        return {dense.data(), real_dtype(dense.dtype()), 1, &count_, &kOne};
    }
    void write_back() const {
        if (copy_) kernels::copy(tensor_.view(), copy_.view());
    }

private:
    static constexpr std::int64_t kOne = 1;
    const Tensor& tensor_;
    Tensor copy_;
    std::int64_t count_ = 0;
};

void need_step(const char* op, const Tensor& self, std::initializer_list<const Tensor*> others) {
    need_fit(op, is_inexact(self.dtype()));
    for (const Tensor* one : others) need_fit(op, !*one || is_like(*one, self));
}

struct SgdStep {
    struct Attrs : kernels::SgdOptions {
        bool first;
    };
    static constexpr auto fields =
        std::tuple{&Attrs::lr,       &Attrs::momentum, &Attrs::dampening, &Attrs::weight_decay,
                   &Attrs::nesterov, &Attrs::maximize, &Attrs::first};
    static constexpr OpText text{.schema =
                                     "sgd_step(Tensor self, Tensor grad, Tensor!? momentum_buffer, float lr, "
                                     "float momentum, float dampening, float weight_decay, bool nesterov, "
                                     "bool maximize, bool first)",
                                 .flags = kHidden | kWritesInput | kOptimizerStep,
                                 .domain = kUnsampled};
    static void forward(const Tensor& self, const Tensor& grad, const Tensor& momentum_buffer, const Attrs& attrs,
                        Tensor& out) {
        need_step("sgd_step", self, {&grad, &momentum_buffer});
        out = self;
        const LayoutRef order = like_layout(self);
        Dense data(self, order), slope(grad, order), buffer(momentum_buffer, order);
        kernels::sgd_step(data.view(), buffer.view(), slope.view(), &attrs, attrs.first);
        buffer.write_back();
        data.write_back();
    }
};

struct AdamStep {
    struct Attrs : kernels::AdamOptions {};
    static constexpr auto fields = std::tuple{&Attrs::lr,           &Attrs::beta1,     &Attrs::beta2,   &Attrs::eps,
                                              &Attrs::weight_decay, &Attrs::decoupled, &Attrs::maximize};
    static constexpr OpText text{.schema =
                                     "adam_step(Tensor self, Tensor grad, Tensor! exp_avg, Tensor! exp_avg_sq, "
                                     "Tensor!? max_exp_avg_sq, Tensor step, float lr, float beta1, float beta2, "
                                     "float eps, float weight_decay, bool decoupled, bool maximize)",
                                 .flags = kHidden | kWritesInput | kOptimizerStep,
                                 .domain = kUnsampled};
    static void forward(const Tensor& self, const Tensor& grad, const Tensor& exp_avg, const Tensor& exp_avg_sq,
                        const Tensor& max_exp_avg_sq, const Tensor& step, const Attrs& attrs, Tensor& out) {
        need_step("adam_step", self, {&grad, &exp_avg, &exp_avg_sq, &max_exp_avg_sq});
        need_fit("adam_step", step.numel() == 1);
        out = self;
        const LayoutRef order = like_layout(self);
        Dense data(self, order), slope(grad, order), average(exp_avg, order), square(exp_avg_sq, order),
            largest(max_exp_avg_sq, order);
        kernels::adam_step(data.view(), average.view(), square.view(), largest.view(), slope.view(), step.view(),
                           &attrs);
        for (const Dense* dense : {&average, &square, &largest, &data}) dense->write_back();
    }
};

const Register<SgdStep, AdamStep> optimizer_steps;

}  // namespace
}  // namespace clew
