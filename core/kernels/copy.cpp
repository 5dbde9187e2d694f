#include "core/kernels/copy.h"

#include "core/base/threads.h"
#include "core/kernels/copy_loops.h"
#include "core/kernels/iterate.h"
#include "core/kernels/plan.h"

namespace clew::kernels {
namespace {

// The axis along which the input is contiguous, where the output runs along another one; -1 if there is none worth a
// transposition.
int transposed_axis(const Plan& plan, std::int64_t size) {
    if (plan.ndim < 2 || plan.strides[0][0] != size || plan.strides[0][1] == size || plan.sizes[0] < 4) return -1;
    for (int axis = 1; axis < plan.ndim; ++axis)
        if (plan.strides[axis][1] == size && plan.sizes[axis] >= 4) return axis;
    return -1;
}

// Every matrix of the plan, in bands of rows that are about one chunk large.
void copy_transposed(const Plan& plan, int axis, std::int64_t count, std::int64_t size) {
    const std::int64_t rows = plan.sizes[axis], columns = plan.sizes[0];
    std::int64_t band = kChunk / columns;
    if (band < 16) band = 16;
    if (band > rows) band = rows;
    const std::int64_t bands = (rows + band - 1) / band;
    Plan outer = plan;  // without the two axes of the matrix
    outer.ndim = 1;
    outer.sizes[0] = 1;
    outer.strides[0][0] = outer.strides[0][1] = 0;
    for (int other = 1; other < plan.ndim; ++other) {
        if (other == axis) continue;
        outer.sizes[outer.ndim] = plan.sizes[other];
        for (int k = 0; k < 2; ++k) outer.strides[outer.ndim][k] = plan.strides[other][k];
        ++outer.ndim;
    }
    const auto transpose = copy_loops().transpose;
    const std::int64_t matrices = count / (rows * columns);
    const std::int64_t tasks = matrices * bands;
    std::int64_t grain = kChunk / (band * columns);
    if (grain < 1) grain = 1;
    parallel_for(tasks, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t top = task % bands * band;
            const std::int64_t height = top + band < rows ? band : rows - top;
            run(outer, task / bands, task / bands + 1, [&](char* const* data, const std::int64_t*, std::int64_t) {
                transpose(data[0] + top * plan.strides[axis][0], plan.strides[axis][0], data[1] + top * size,
                          plan.strides[0][1], height, columns, size);
            });
        }
    });
}

template <class T>
void progression(const View& out, double start, double step) {
    char* data = static_cast<char*>(out.data);
    const std::int64_t stride = out.strides[0] * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t i = 0; i < out.sizes[0]; ++i)
        *reinterpret_cast<T*>(data + i * stride) = static_cast<T>(start + static_cast<double>(i) * step);
}
template <class T>
void progression(const View& out, std::int64_t start, std::int64_t step) {
    char* data = static_cast<char*>(out.data);
    const std::int64_t stride = out.strides[0] * static_cast<std::int64_t>(sizeof(T));
    std::uint64_t value = static_cast<std::uint64_t>(start);
    for (std::int64_t i = 0; i < out.sizes[0]; ++i, value += static_cast<std::uint64_t>(step))
        *reinterpret_cast<T*>(data + i * stride) = static_cast<T>(static_cast<std::int64_t>(value));
}
template <class T>
void even_spacing(const View& out, double start, double stop) {
    char* data = static_cast<char*>(out.data);
    const std::int64_t stride = out.strides[0] * static_cast<std::int64_t>(sizeof(T)), count = out.sizes[0];
    const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0.0;
    for (std::int64_t i = 0; i < count; ++i) {
        const bool near_start = i < count / 2 || count == 1;
        const double value =
            near_start ? start + static_cast<double>(i) * step : stop - static_cast<double>(count - 1 - i) * step;
        *reinterpret_cast<T*>(data + i * stride) = static_cast<T>(value);
    }
}

template <class Call>
void with_type(DType dtype, const Call& call) {
    switch (dtype) {
        case DType::Bool:
            return call.template operator()<bool>();
        case DType::UInt8:
            return call.template operator()<std::uint8_t>();
        case DType::Int32:
            return call.template operator()<std::int32_t>();
        case DType::Int64:
            return call.template operator()<std::int64_t>();
        case DType::Float32:
            return call.template operator()<float>();
        case DType::Float64:
            return call.template operator()<double>();
    }
}

void fill_from(const View& out, void* value, DType dtype) {
    constexpr std::int64_t kBroadcast[kMaxDims] = {};
    // Converted once, so that the loop only stores.
    std::int64_t converted = 0;
    char* const data[] = {reinterpret_cast<char*>(&converted), static_cast<char*>(value)};
    constexpr std::int64_t kOne[] = {0, 0};
    copy_loops().cast[static_cast<int>(dtype)][static_cast<int>(out.dtype)](data, kOne, 1);
    copy(out, View{&converted, out.dtype, out.ndim, out.sizes, kBroadcast});
}

}  // namespace

void copy(const View& out, const View& in) {
    const Loop loop = copy_loops().cast[static_cast<int>(in.dtype)][static_cast<int>(out.dtype)];
    if (in.dtype == out.dtype && out.ndim >= 2) {
        Plan plan;
        const std::int64_t size = static_cast<std::int64_t>(item_size(out.dtype));
        const std::int64_t count = make_plan(plan, out, std::span<const View>(&in, 1));
        if (count == 0) return;
        const int axis = transposed_axis(plan, size);
        if (axis >= 0) return copy_transposed(plan, axis, count, size);
    }
    elementwise(loop, out, std::span<const View>(&in, 1));
}

void fill(const View& out, double value) { fill_from(out, &value, DType::Float64); }
void fill(const View& out, std::int64_t value) { fill_from(out, &value, DType::Int64); }

void arange(const View& out, double start, double step) {
    with_type(out.dtype, [&]<class T>() { progression<T>(out, start, step); });
}
void arange(const View& out, std::int64_t start, std::int64_t step) {
    with_type(out.dtype, [&]<class T>() { progression<T>(out, start, step); });
}
void linspace(const View& out, double start, double stop) {
    with_type(out.dtype, [&]<class T>() { even_spacing<T>(out, start, stop); });
}

}  // namespace clew::kernels
