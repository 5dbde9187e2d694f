#include "core/kernels/elementwise/derivative_call.h"

#include <span>

#include "core/kernels/elementwise/elementwise.h"
#include "core/kernels/memory/flat_loops.h"

namespace clew::kernels {
namespace {

struct Known {
    const Loop *forward, *backward, *both;  // for each dtype
};
std::span<const Known> known() {
    static const ActivationTable& table = activation();
    static const Known all[] = {
        {table.gelu, table.gelu_backward, table.gelu_and_derivative},
        {table.gelu_tanh, table.gelu_tanh_backward, table.gelu_tanh_and_derivative},
        {table.mish, table.mish_backward, table.mish_and_derivative},
    };
    return all;
}

class DerivativeCall final : public KernelCall {
public:
    DerivativeCall(const FlatLoop& loop, char* const* data) : loop_(loop), data_{data[0], data[1]} {}

    void run() const override { run_in_parts(loop_, data_); }
    Operands operands() override {
        Operands list;
        for (int k = 0; k < 2; ++k) {
            Operand operand = loop_.operand(k, &data_[k]);
            operand.written = true;
            list.push_back(operand);
        }
        return list;
    }
    std::size_t bytes() const override { return sizeof(*this); }
    std::int64_t work() const override { return loop_.count; }

private:
    FlatLoop loop_;
    char* data_[2];
};

}  // namespace

bool has_derivative(const FlatLoop& forward) {
    for (const Known& one : known())
        for (const DType dtype : {DType::Float32, DType::Float64})
            if (forward.plain == one.forward[static_cast<int>(dtype)]) return true;
    return false;
}

WithDerivative with_derivative(const FlatLoop& forward, const FlatLoop& backward, char* const* operands,
                               char* const* of_backward) {
    const auto is_dense = [](const FlatLoop& loop, int k) { return loop.strides[k] == loop.items[k]; };
    if (forward.operands != 2 || backward.operands != 3 || forward.count != backward.count) return {};
    if (!is_dense(forward, 0) || !is_dense(forward, 1) || !is_dense(backward, 2)) return {};
    for (const DType dtype : {DType::Float32, DType::Float64})
        for (const Known& one : known()) {
            const auto index = static_cast<int>(dtype);
            if (forward.plain != one.forward[index] || backward.plain != one.backward[index]) continue;
            FlatLoop both = forward, product = backward;
            both.plain = one.both[index];
            product.plain = arithmetic().mul[index];
            return {std::make_unique<DerivativeCall>(both, operands), call_of(product, of_backward)};
        }
    return {};
}

}  // namespace clew::kernels
