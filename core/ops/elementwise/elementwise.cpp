#include "core/ops/elementwise/elementwise.h"

#include <cstring>

#include "core/base/error.h"
#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/memory/converted.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/tensor/packing.h"

namespace clew {

Tensor converted(const Tensor& x, DType dtype) {
    if (x.dtype() == dtype) return x;
    Tensor copy = empty(like_layout(x), dtype);
    kernels::copy(copy.view(), x.view());
    return copy;
}

Tensor as_contiguous(const Tensor& x) {
    if (x.contiguous()) return x;
    Tensor copy = empty(Layout::make(x.sizes()), x.dtype());
    kernels::copy(copy.view(), x.view());
    return copy;
}

[[gnu::hot]] DType result_dtype(Tensors inputs) {
    // The category decides first; within a category only the operands of the highest rank count.
    DType by_rank[3] = {DType::Bool, DType::Bool, DType::Bool};  // dimensioned, 0-dim, number
    bool present[3] = {};
    for (const Tensor& input : inputs) {
        if (!input) continue;
        const int rank = input->has(TensorObject::kWrappedNumber) ? 2 : input.ndim() == 0 ? 1 : 0;
        DType dtype = input.dtype();
        // A Python number has the default dtype of its category.
        if (rank == 2 && dtype == DType::Float64) dtype = default_dtype();
        if (rank == 2 && dtype == DType::Complex128) dtype = complex_dtype(default_dtype());
        by_rank[rank] = present[rank] ? promote(by_rank[rank], dtype) : dtype;
        present[rank] = true;
    }
    DType result = DType::Bool;
    bool any = false;
    for (int rank = 0; rank < 3; ++rank) {
        if (!present[rank]) continue;
        if (!any || category(by_rank[rank]) > category(result)) {
            // Beside floating operands a complex one changes the category, not the precision.
            result = any && is_floating(result) ? complex_dtype(result) : by_rank[rank];
        }
        any = true;
    }
    return result;
}

namespace {

constexpr int kMaxInputs = 4;

[[noreturn]] void no_kernel(const char* op, DType dtype) {
    fail(ErrorKind::NotImplemented, "%s: not implemented for dtype %s; cast the input first", op, dtype_name(dtype));
}

DType out_dtype(DType compute, Result result) {
    return result == Result::Bool ? DType::Bool : result == Result::Real ? real_dtype(compute) : compute;
}

struct Broadcast {
    std::int64_t strides[kMaxInputs][kMaxDims];
    kernels::View views[kMaxInputs];
};

void broadcast_view(Broadcast& b, int i, const Tensor& x, Sizes sizes) {
    const int lead = static_cast<int>(sizes.size()) - x.ndim();
    for (int axis = 0; axis < static_cast<int>(sizes.size()); ++axis)
        b.strides[i][axis] = axis < lead || x.size(axis - lead) == 1 ? 0 : x.stride(axis - lead);
    b.views[i] = {x.data(), x.dtype(), static_cast<int>(sizes.size()), sizes.data(), b.strides[i]};
}

// The general case. `first` inputs before this index keep their own dtype (the condition of where).
template <class Call>
void run_general(const char* op, Tensors inputs, std::size_t first, DType compute, DType result, Tensor& out,
                 const Call& call) {
    Dims sizes(inputs[0].sizes());
    for (std::size_t i = 1; i < inputs.size(); ++i) sizes = broadcast_sizes(sizes, inputs[i].sizes(), op);
    if (out) check_destination(op, out, sizes, result);
    Tensor held[kMaxInputs];
    Broadcast views;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const bool convert = i >= first && inputs[i].dtype() != compute;
        held[i] = convert ? converted(inputs[i], compute) : inputs[i];
        broadcast_view(views, static_cast<int>(i), held[i], sizes);
    }
    const bool direct = !out || out.dtype() == result;
    Tensor target = out && direct ? out : empty(result_layout(sizes, {held, inputs.size()}), result);
    {
        const WithoutGil released(target.numel());
        call(target.view(), std::span<const kernels::View>(views.views, inputs.size()));
    }
    if (!out)
        out = std::move(target);
    else if (!direct)
        kernels::copy(out.view(), target.view());
}

DType operating_dtype(Tensors inputs, Result result) {
    const DType dtype = result_dtype(inputs);
    return result == Result::Float && is_integral(dtype) ? default_dtype() : dtype;
}

// Computed in a storage type (Note [Storage types]): the loop is that of its compute dtype, and reads elements through
// conversions. As in PyTorch one number beside others is rounded to the storage type first, unless it is `exact`.
template <class Body>
void run_stored(const char* op, Tensors inputs, std::size_t first, DType stored, Result kind, Tensor& out,
                const Body& loop, std::size_t exact = kMaxInputs) {
    Tensor held[kMaxInputs];
    for (std::size_t i = 0; i < inputs.size(); ++i)
        held[i] = i < first || (i == exact && inputs[i].ndim() == 0) ? inputs[i] : converted(inputs[i], stored);
    const DType native = compute_dtype(stored);
    run_general(op, {held, inputs.size()}, inputs.size(), native, out_dtype(stored, kind), out,
                [&](const kernels::View& to, std::span<const kernels::View> from) {
                    const kernels::Conversions conversions(native, out_dtype(native, kind), to, from, first);
                    const auto blocks = [&](char* const* data, const std::int64_t* strides, std::int64_t count) {
                        conversions.run(loop, data, strides, count);
                    };
                    kernels::elementwise(kernels::AnyLoop(blocks), to, from);
                });
}

// Without gaps, one piece: no iterator needed.
static_assert(kFlatElements == kernels::kChunk);
inline bool is_small(std::int64_t count) { return count <= flat_elements; }

// One element in another dtype; mostly a Python float beside float32.
inline void put_single(char* place, DType dtype, const Tensor& single) {
    if (dtype == DType::Float32 && single.dtype() == DType::Float64) {
        const auto number = static_cast<float>(*reinterpret_cast<const double*>(single.data()));
        std::memcpy(place, &number, sizeof number);
    } else {
        kernels::copy({place, dtype, 0, nullptr, nullptr}, single.view());
    }
}

// Small arrays that lie alike in memory, and single elements beside them: one call of the loop. False if this is not
// that case.
template <class Call>
[[gnu::hot]] bool run_flat(Tensors inputs, std::size_t first, DType compute, DType result, Tensor& out,
                           const Call& call) {
    const Tensor* whole = &inputs[0];
    for (std::size_t i = 1; i < inputs.size() && whole->ndim() == 0; ++i) whole = &inputs[i];
    if (!is_packed(whole->layout()) || !is_small(whole->numel())) return false;
    if (out && !(out.dtype() == result && lie_alike(out, *whole))) return false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].ndim() == 0) continue;
        if (!lie_alike(inputs[i], *whole) || (i >= first && inputs[i].dtype() != compute)) return false;
    }
    alignas(16) char numbers[kMaxInputs][16];
    char* data[kMaxInputs + 1];
    std::int64_t strides[kMaxInputs + 1];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor& input = inputs[i];
        data[i + 1] = input.data();
        strides[i + 1] = input.ndim() == 0 ? 0 : static_cast<std::int64_t>(item_size(input.dtype()));
        if (i < first || input.dtype() == compute) continue;
        put_single(numbers[i], compute, input);
        data[i + 1] = numbers[i];
    }
    if (!out) out = empty(whole->layout_ref(), result);
    data[0] = out.data();
    strides[0] = static_cast<std::int64_t>(item_size(result));
    call(data, strides, whole->numel());
    return true;
}

// Apart from the common case, which needs no room for all that this may need.
[[gnu::hot]] [[gnu::noinline]] void any_dtypes(const char* op, Table loops, Tensors inputs, Tensor& out,
                                               Result result) {
    const DType compute = operating_dtype(inputs, result);
    const kernels::Loop loop = loops[static_cast<int>(compute_dtype(compute))];
    if (loop == nullptr) no_kernel(op, compute);
    if (is_storage_type(compute)) {
        const auto& tables = kernels::arithmetic();
        const auto& division = kernels::division();
        const kernels::Loop* const table = loops;
        const bool scales = table == tables.mul || table == tables.div || table == division.floor_divide ||
                            table == division.trunc_divide;
        return run_stored(op, inputs, 0, compute, result, out, loop, scales ? 1 : kMaxInputs);
    }
    const DType result_type = out_dtype(compute, result);
    if (run_flat(inputs, 0, compute, result_type, out, loop)) return;
    run_general(
        op, inputs, 0, compute, result_type, out,
        [&](const kernels::View& to, std::span<const kernels::View> from) { kernels::elementwise(loop, to, from); });
}

}  // namespace

void check_destination(const char* op, const Tensor& out, Sizes sizes, DType dtype) {
    if (!same_sizes(out.sizes(), sizes))
        fail(ErrorKind::Runtime,
             "%s_: output with shape %s doesn't match the broadcast shape %s; an in-place operation can't grow its "
             "tensor",
             op, shape_text(out.sizes()).c_str(), shape_text(sizes).c_str());
    if (!can_cast(dtype, out.dtype()))
        fail(ErrorKind::Runtime,
             "%s_: result type %s can't be cast to the desired output type %s; use the out-of-place operation", op,
             dtype_name(dtype), dtype_name(out.dtype()));
}

[[gnu::hot]] void unary(const char* op, Table loops, const Tensor& x, Tensor& out, Result result) {
    const DType dtype = x.dtype();
    if (!out && is_packed(x.layout()) && is_small(x.numel()) && !(result == Result::Float && is_integral(dtype))) {
        const kernels::Loop loop = loops[static_cast<int>(dtype)];
        if (loop == nullptr) return any_dtypes(op, loops, Tensors(&x, 1), out, result);
        out = empty(x.layout_ref(), out_dtype(dtype, result));
        char* const data[] = {out.data(), x.data()};
        const std::int64_t strides[] = {static_cast<std::int64_t>(item_size(out.dtype())),
                                        static_cast<std::int64_t>(item_size(dtype))};
        loop(data, strides, x.numel());
        return;
    }
    any_dtypes(op, loops, Tensors(&x, 1), out, result);
}

[[gnu::hot]] void binary(const char* op, Table loops, const Tensor& a, const Tensor& b, Tensor& out, Result result) {
    const DType dtype = a.dtype();
    if (dtype == b.dtype() && is_packed(a.layout()) && lie_alike(b, a) && is_small(a.numel()) &&
        !(result == Result::Float && is_integral(dtype))) {
        const kernels::Loop loop = loops[static_cast<int>(dtype)];
        const DType result_type = out_dtype(dtype, result);
        if (loop != nullptr && (!out || (out->layout == a->layout && out.dtype() == result_type))) {
            if (!out) out = empty(a.layout_ref(), result_type);
            char* const data[] = {out.data(), a.data(), b.data()};
            const auto size = static_cast<std::int64_t>(item_size(dtype));
            const std::int64_t strides[] = {static_cast<std::int64_t>(item_size(result_type)), size, size};
            loop(data, strides, a.numel());
            return;
        }
    }
    const Tensor inputs[] = {a, b};
    any_dtypes(op, loops, inputs, out, result);
}

void parametric(const char* op, ParamTable loops, std::initializer_list<Parameter> params, Tensors inputs, Tensor& out,
                Result result) {
    const DType compute = operating_dtype(inputs, result);
    const kernels::ParamLoop loop = loops[static_cast<int>(compute_dtype(compute))];
    if (loop == nullptr) no_kernel(op, compute);
    const DType result_type = out_dtype(compute, result);
    kernels::Number numbers[3];
    std::size_t count_of_numbers = 0;
    for (const Parameter& param : params) {
        check_fits(op, param.value, compute);
        kernels::Number& number = numbers[count_of_numbers++];
        const bool complex = param.value.kind == Scalar::Complex;
        number = {param.value.real, complex ? 0 : param.value.integer, complex ? param.value.imag : 0};
    }
    const auto with_params = [&](char* const* data, const std::int64_t* strides, std::int64_t count) {
        loop(data, strides, count, numbers);
    };
    if (is_storage_type(compute)) return run_stored(op, inputs, 0, compute, result, out, with_params);
    if (run_flat(inputs, 0, compute, result_type, out, with_params)) return;
    run_general(op, inputs, 0, compute, result_type, out,
                [&](const kernels::View& to, std::span<const kernels::View> from) {
                    kernels::elementwise(loop, numbers, to, from);
                });
}

void ternary(const char* op, Table loops, Tensors inputs, Tensor& out) {
    const bool condition_first = inputs[0].dtype() == DType::Bool;
    const DType compute = result_dtype(condition_first ? inputs.subspan(1) : inputs);
    const kernels::Loop loop = loops[static_cast<int>(compute_dtype(compute))];
    if (loop == nullptr) no_kernel(op, compute);
    const std::size_t first = condition_first ? 1 : 0;
    if (is_storage_type(compute)) return run_stored(op, inputs, first, compute, Result::Same, out, loop);
    if (run_flat(inputs, first, compute, compute, out, loop)) return;
    run_general(
        op, inputs, first, compute, compute, out,
        [&](const kernels::View& to, std::span<const kernels::View> from) { kernels::elementwise(loop, to, from); });
}

}  // namespace clew
