// The parts of reduce.h that keep an order along an axis.
#include "core/base/frame.h"
#include "core/kernels/elementwise/lines.h"
#include "core/kernels/memory/parts.h"
#include "core/kernels/reduction/reduce.h"
#include "core/kernels/reduction/scan_loops.h"

namespace clew::kernels {
namespace {

// `view` with an axis of stride 0 put in.
View with_axis(const View& view, int axis, std::int64_t* strides) {
    for (int i = 0; i < axis; ++i) strides[i] = view.strides[i];
    strides[axis] = 0;
    for (int i = axis; i < view.ndim; ++i) strides[i + 1] = view.strides[i];
    return {view.data, view.dtype, view.ndim + 1, view.sizes, strides};
}

void move_element(char* out, const char* in, std::int64_t size) {
    for (std::int64_t i = 0; i < size; ++i) out[i] = in[i];
}

// Lines side by side are taken up to `kScanColumns` at a time, others one by one.
template <class Body>
void for_each_band(const Lines& lines, const Body& body) {
    for_each_line(lines, [&](char* const* data, const std::int64_t* strides, std::int64_t count) {
        const std::int64_t most = lines.side_by_side ? kScanColumns : 1;
        char* at[kMaxOperands];
        for (std::int64_t begin = 0; begin < count; begin += most) {
            for (int k = 0; k < lines.plan.operands; ++k) at[k] = data[k] + begin * strides[k];
            body(at, strides, count - begin < most ? count - begin : most);
        }
    });
}

void scan(const ScanTable::Scan* loops, const View& out, const View& in, int axis) {
    const View views[] = {out, in};
    const Lines lines = make_lines(views, axis);
    const auto loop = loops[static_cast<int>(in.dtype)];
    if (loop == nullptr) no_kernel_for(in.dtype);
    for_each_band(lines, [&](char* const* at, const std::int64_t*, std::int64_t width) {
        loop(at[0], lines.steps[0], at[1], lines.steps[1], lines.length, width);
    });
}

// All running products of each line, or the last one.
template <class T, bool running>
void complex_products(const View& out, const View& in, int axis) {
    const View views[] = {out, in};
    const Lines lines = make_lines(views, axis);
    for_each_line(lines, [&](char* const* data, const std::int64_t* strides, std::int64_t count) {
        for (std::int64_t line = 0; line < count; ++line) {
            char *to = data[0] + line * strides[0], *from = data[1] + line * strides[1];
            Complex<T> product(1);
            for (std::int64_t i = 0; i < lines.length; ++i) {
                product = product * *reinterpret_cast<const Complex<T>*>(from + i * lines.steps[1]);
                if (running) *reinterpret_cast<Complex<T>*>(to + i * lines.steps[0]) = product;
            }
            if (!running) *reinterpret_cast<Complex<T>*>(to) = product;
        }
    });
}

}  // namespace

void arg_reduce(bool largest, const View* out_values, const View& out_indices, const View& in, int axis) {
    CLEW_KERNEL();
    if (in.ndim == 0) {
        *static_cast<std::int64_t*>(out_indices.data) = 0;
        if (out_values != nullptr)
            move_element(static_cast<char*>(out_values->data), static_cast<const char*>(in.data),
                         static_cast<std::int64_t>(item_size(in.dtype)));
        return;
    }
    std::int64_t index_strides[kMaxDims], value_strides[kMaxDims];
    const View indices = with_axis(out_indices, axis, index_strides);
    const View values = with_axis(out_values != nullptr ? *out_values : out_indices, axis, value_strides);
    const View views[] = {in, indices, values};
    Lines lines = make_lines(views, axis);
    const std::int64_t size = static_cast<std::int64_t>(item_size(in.dtype));
    lines.side_by_side = lines.count > 4 && lines.plan.strides[0][0] == size && lines.steps[0] != size;
    const auto find = scan_loops().find[largest][static_cast<int>(in.dtype)];
    if (find == nullptr) no_kernel_for(in.dtype);
    const auto find_columns = scan_loops().find_columns[largest][static_cast<int>(in.dtype)];
    for_each_band(lines, [&](char* const* at, const std::int64_t* strides, std::int64_t width) {
        std::int64_t found[kScanColumns];
        if (width == 1) {
            found[0] = find(at[0], lines.steps[0], lines.length);
        } else {
            find_columns(found, at[0], lines.steps[0], lines.length, width);
        }
        for (std::int64_t j = 0; j < width; ++j) {
            *reinterpret_cast<std::int64_t*>(at[1] + j * strides[1]) = found[j];
            if (out_values != nullptr)
                move_element(at[2] + j * strides[2], at[0] + j * strides[0] + found[j] * lines.steps[0], size);
        }
    });
}

void cumsum(const View& out, const View& in, int axis) {
    CLEW_KERNEL();
    if (!is_complex(in.dtype)) return scan(scan_loops().sum, out, in, axis);
    for (const int part : {0, 1}) scan(scan_loops().sum, *Part(out, part), *Part(in, part), axis);
}
void cumprod(const View& out, const View& in, int axis) {
    CLEW_KERNEL();
    if (in.dtype == DType::Complex64) return complex_products<float, true>(out, in, axis);
    if (in.dtype == DType::Complex128) return complex_products<double, true>(out, in, axis);
    scan(scan_loops().product, out, in, axis);
}
void complex_product(const View& out, const View& in, int axis) {
    CLEW_KERNEL();
    std::int64_t strides[kMaxDims];
    const View kept = with_axis(out, axis, strides);
    const View to{kept.data, kept.dtype, in.ndim, in.sizes, kept.strides};
    in.dtype == DType::Complex64 ? complex_products<float, false>(to, in, axis)
                                 : complex_products<double, false>(to, in, axis);
}

}  // namespace clew::kernels
