// Registers the operations that the engine needs (see autograd/leaf.h).
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/base/frame.h"
#include "core/kernels/elementwise/arithmetic.h"
#include "core/kernels/elementwise/elementwise.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/interpreter.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

// Both lie alike without gaps: one call of the loop.
bool add_flat(kernels::Loop loop, const Tensor& into, const Tensor& value) {
    if (!is_dense(into.layout()) || !lie_alike(into, value) || into.numel() > flat_elements) return false;
    const auto size = static_cast<std::int64_t>(item_size(into.dtype()));
    char* const data[] = {into.data(), into.data(), value.data()};
    const std::int64_t strides[] = {size, size, size};
    loop(data, strides, into.numel());
    return true;
}

void add_now(const Tensor& into, const Tensor& value) {
    if (is_storage_type(into.dtype())) {
        Tensor sum = into;
        return binary("add", kernels::arithmetic().add, into, value, sum);
    }
    const kernels::Loop loop = kernels::arithmetic().add[static_cast<int>(into.dtype())];
    if (into.dtype() == value.dtype() && add_flat(loop, into, value)) return;
    const Tensor fitted = expand(cast(value, into.dtype()), into.sizes());
    kernels::elementwise(loop, into.view(), {into.view(), fitted.view()});
}

void add_in_place(const Tensor& into, const Tensor& value) {
    if (!mode(kInterpreted) && process_mode == 0) {
        [[maybe_unused]] const DispatchFrame frame;
        return add_now(into, value);
    }
    const Tensor inputs[] = {into, value};
    OpCall call{accumulate_op, inputs, nullptr, {}, Form::Accumulate};
    dispatch(call);
}

Tensor copy_for_leaf(const Tensor& gradient, const Tensor& leaf) {
    const SkipKernels skip(skips_kernels() || is_meta(gradient));
    if (!is_dense(leaf.layout())) return gradient.contiguous() ? clone(gradient) : contiguous(gradient);
    if (!grad_enabled()) return copy_laid_as(gradient, leaf);
    const Tensor copy = uninitialized_like(leaf, gradient.dtype());
    copy_in_place(copy, gradient);
    return copy;
}

// Of strips, which no interpreter sees: Note [Strips].
void copy_into(const Tensor& into, const Tensor& value) {
    [[maybe_unused]] const DispatchFrame frame;
    kernels::copy(into.view(), value.view());
}

struct RegisterEngineOps {
    RegisterEngineOps() {
        engine_ops = EngineOps{
            .add = [](const Tensor& a, const Tensor& b) { return add(a, b); },
            .sum_to = sum_to,
            .cast = cast,
            .clone = clone,
            .ones_like = ones_like,
            .add_in_place = add_in_place,
            .copy_into = copy_into,
            .all_finite = all_finite,
            .as_strided = [](const Tensor& x, const Layout& layout,
                             std::int64_t offset) { return as_strided(x, layout.shape(), layout.strides(), offset); },
            .view_as_real = view_as_real,
            .view_as_complex = view_as_complex,
            .as_strided_scatter =
                [](const Tensor& base, const Tensor& value, const Layout& layout, std::int64_t offset) {
                    return as_strided_scatter(base, value, layout.shape(), layout.strides(), offset);
                },
            .zeros = zeros,
            .contiguous = contiguous,
            .rebind_grad = rebind_grad,
            .copy_for_leaf = copy_for_leaf,
            .grad_read =
                [](const Tensor& tensor) {
                    Interpreter::tell({.event = Event::GradRead, .tensors = Tensors(&tensor, 1)});
                },
            .backward_begins =
                [](std::span<const Tensor> roots, std::span<const Tensor> inputs) {
                    Interpreter::tell({.event = Event::Backward, .tensors = roots, .inputs = inputs});
                    return Interpreter::any_sees_backward();
                },
        };
    }
};
const RegisterEngineOps registered;

}  // namespace

const OpDef accumulate_op = unregistered("accumulate", [](OpCall& call) { add_now(call.inputs[0], call.inputs[1]); });

}  // namespace clew
