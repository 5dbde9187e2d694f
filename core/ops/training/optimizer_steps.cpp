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
    Dense(const Tensor& tensor, const LayoutRef& order) : tensor_(tensor), dense_(tensor) {
        if (!tensor || tensor->layout == order || lie_alike(*tensor->layout, *order)) return;
        dense_ = empty(order, tensor_.dtype());
        kernels::copy(dense_.view(), tensor_.view());
    }
    void* data() const { return dense_ ? dense_.data() : nullptr; }
    void write_back() const {
        if (dense_ && !dense_.same(tensor_)) kernels::copy(tensor_.view(), dense_.view());
    }

private:
    Tensor tensor_, dense_;
};

// Complex numbers are stepped as pairs of real ones, as in PyTorch.
std::int64_t real_numbers(const Tensor& x) { return x.numel() * (is_complex(x.dtype()) ? 2 : 1); }

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
        const Dense data(self, order), slope(grad, order), buffer(momentum_buffer, order);
        kernels::sgd_step(real_dtype(self.dtype()), data.data(), slope.data(), buffer.data(), real_numbers(self), attrs,
                          attrs.first);
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
        CLEW_KERNEL();
        const LayoutRef order = like_layout(self);
        const Dense data(self, order), slope(grad, order), average(exp_avg, order), square(exp_avg_sq, order),
            largest(max_exp_avg_sq, order);
        kernels::adam_step(real_dtype(self.dtype()), data.data(), slope.data(), average.data(), square.data(),
                           largest.data(), real_numbers(self), attrs, whole(read_number(step) + 0.5));
        for (const Dense* dense : {&average, &square, &largest, &data}) dense->write_back();
    }
};

const Register<SgdStep, AdamStep> optimizer_steps;

}  // namespace
}  // namespace clew
