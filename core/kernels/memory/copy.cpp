#include "core/kernels/memory/copy.h"

#include <algorithm>
#include <type_traits>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/capture.h"
#include "core/kernels/elementwise/parametric.h"
#include "core/kernels/matrix/transpose.h"
#include "core/kernels/memory/copy_loops.h"
#include "core/kernels/memory/iterate.h"
#include "core/kernels/memory/plan.h"

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

// What is left of a plan when `inner` axes are taken out; axes of one step keep it a plan.
Plan without(const Plan& plan, std::uint32_t inner) {
    Plan outer = plan;
    outer.ndim = 1;
    outer.sizes[0] = 1;
    outer.strides[0][0] = outer.strides[0][1] = 0;
    for (int axis = 0; axis < plan.ndim; ++axis) {
        if ((inner >> axis & 1) != 0) continue;
        outer.sizes[outer.ndim] = plan.sizes[axis];
        for (int k = 0; k < 2; ++k) outer.strides[outer.ndim][k] = plan.strides[axis][k];
        ++outer.ndim;
    }
    return outer;
}

// Every matrix of the plan, cut into blocks of about one chunk; the higher a block, the more of each line of the input
// is taken at once.
void copy_transposed(const Plan& plan, int axis, std::int64_t count, std::int64_t size) {
    constexpr std::int64_t kLeastHeight = 64;
    const std::int64_t rows = plan.sizes[axis], columns = plan.sizes[0];
    const std::int64_t height = std::min(rows, std::max(kLeastHeight, kChunk / columns));
    const std::int64_t width = std::min(columns, std::max(kLeastHeight, kChunk / height));
    const std::int64_t down = (rows + height - 1) / height, across = (columns + width - 1) / width;
    const Plan outer = without(plan, 1u | 1u << axis);
    const auto transpose = transpose_loops().block;
    const std::int64_t blocks = count / (rows * columns) * down * across;
    parallel_for(blocks, std::max<std::int64_t>(1, kChunk / 2 / (height * width)),
                 [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t block = begin; block < end; ++block) {
                         const std::int64_t left = block % across * width, top = block / across % down * height;
                         const std::int64_t matrix = block / across / down;
                         run(outer, matrix, matrix + 1, [&](char* const* data, const std::int64_t*, std::int64_t) {
                             transpose(data[0] + top * plan.strides[axis][0] + left * size, plan.strides[axis][0],
                                       data[1] + top * size + left * plan.strides[0][1], plan.strides[0][1],
                                       std::min(height, rows - top), std::min(width, columns - left), size);
                         });
                     }
                 });
}

// Rows that are contiguous on both sides but do not follow one another: axis 0 within axis 1.
void copy_rows(const Plan& plan, std::int64_t count, std::int64_t size) {
    const std::int64_t length = plan.sizes[0], rows = plan.sizes[1];
    const std::int64_t piece = std::min(rows, std::max<std::int64_t>(1, kChunk / 2 / length));
    const std::int64_t pieces = (rows + piece - 1) / piece;
    const Plan outer = without(plan, 3u);
    const auto copy = copy_loops().rows;
    const std::int64_t grain = std::max<std::int64_t>(1, kChunk / 2 / (piece * length));
    parallel_for(count / (length * rows) * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t top = task % pieces * piece;
            run(outer, task / pieces, task / pieces + 1, [&](char* const* data, const std::int64_t*, std::int64_t) {
                copy(data[0] + top * plan.strides[1][0], plan.strides[1][0], data[1] + top * plan.strides[1][1],
                     plan.strides[1][1], std::min(piece, rows - top), length * size);
            });
        }
    });
}

template <class T>
void progression(const View& out, double start, double step) {
    T* data = static_cast<T*>(out.data);
    parallel_for(out.sizes[0], kChunk, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (std::is_floating_point_v<T>)
            if (out.strides[0] == 1)
                return copy_loops().progression[sizeof(T) == 8](data + begin, begin, end - begin, start, step);
        for (std::int64_t i = begin; i < end; ++i)
            data[i * out.strides[0]] = static_cast<T>(start + static_cast<double>(i) * step);
    });
}
template <class T>
void progression(const View& out, std::int64_t start, std::int64_t step) {
    T* data = static_cast<T*>(out.data);
    const auto by = static_cast<std::uint64_t>(step);
    parallel_for(out.sizes[0], kChunk, [&](std::int64_t begin, std::int64_t end) {
        std::uint64_t value = static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(begin) * by;
        for (std::int64_t i = begin; i < end; ++i, value += by)
            data[i * out.strides[0]] = static_cast<T>(static_cast<std::int64_t>(value));
    });
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

Loop cast(DType from, DType to) { return copy_loops().cast[static_cast<int>(from)].to[static_cast<int>(to)]; }

void convert_one(void* to, DType to_type, void* from, DType from_type) {
    constexpr std::int64_t kOne[] = {0, 0};
    char* const data[] = {static_cast<char*>(to), static_cast<char*>(from)};
    if (const Loop loop = cast(from_type, to_type)) return loop(data, kOne, 1);
    Conversion(from_type, to_type).run(data[0], 0, data[1], 0, 1);
}

void fill_from(const View& out, void* value, DType dtype) {
    if (out.ndim == 0) return convert_one(out.data, out.dtype, value, dtype);
    constexpr std::int64_t kBroadcast[kMaxDims] = {};
    // Converted once, so that the loop only stores.
    alignas(16) char converted[16] = {};
    convert_one(converted, out.dtype, value, dtype);
    copy(out, View{converted, out.dtype, out.ndim, out.sizes, kBroadcast});
}

DType next_on_the_way(DType from, DType to) {
    if (cast(from, to)) return to;
    if (is_storage_type(from)) return compute_dtype(from);
    if (is_complex(from) && !is_complex(to)) return real_dtype(from);
    return next_on_the_way(from, is_storage_type(to) ? compute_dtype(to) : real_dtype(to));
}

// One row on both sides is captured as its loop, which may then run together with others.
bool is_captured_as_loop(const View& out, const View& in) {
    Plan plan;
    return kernel_mode == KernelMode::Capture && cast(in.dtype, out.dtype) &&
           make_plan(plan, out, std::span<const View>(&in, 1)) && plan.ndim == 1;
}

}  // namespace

Conversion::Conversion(DType from, DType to) {
    do {
        const DType next = next_on_the_way(from, to);
        loops[count] = cast(from, next);
        sizes[count++] = static_cast<std::int64_t>(item_size(next));
        from = next;
    } while (from != to);
}

void Conversion::run(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                     std::int64_t length) const {
    alignas(64) char buffers[2][kConverted * 16];
    char* source = const_cast<char*>(from);
    for (int i = 0; i < count; ++i) {
        const bool last = i == count - 1;
        char* const data[] = {last ? to : buffers[i % 2], source};
        const std::int64_t strides[] = {last ? to_stride : sizes[i], i == 0 ? from_stride : sizes[i - 1]};
        loops[i](data, strides, length);
        source = data[0];
    }
}

namespace {

constexpr auto kCopy = [](const View& out, const View& in) { copy(out, in); };

class CopyCall final : public CallOf<1, decltype(kCopy), View, View> {
public:
    CopyCall(const View& out, const View& in)
        : CallOf(out, in), few_rows_(repeated_row() > 0 && element_count(out) <= kChunk / 2) {}
    // A row for each of a few others is one call of a loop, as copy() would find out each time.
    std::size_t bytes() const override { return sizeof(*this); }
    void run() const override {
        if (!few_rows_) return CallOf::run();
        CLEW_ASSERT_FRAME();
        const View &out = argument<0>(), &in = argument<1>();
        const auto bytes = out.sizes[1] * static_cast<std::int64_t>(item_size(out.dtype));
        copy_loops().rows(static_cast<char*>(out.data), bytes, static_cast<const char*>(in.data), 0, out.sizes[0],
                          bytes);
    }
    std::int64_t repeated_row() const override {
        const View &out = argument<0>(), &in = argument<1>();
        const bool is_row = out.ndim == 2 && in.dtype == out.dtype && in.strides[0] == 0 && in.strides[1] == 1 &&
                            out.strides[1] == 1 && out.strides[0] == out.sizes[1];
        return is_row ? out.sizes[1] : 0;
    }
    unsigned traits() const override { return kCopies; }
    std::optional<PlainCopy> plain_copy() const override {
        const View &out = argument<0>(), &in = argument<1>();
        return out.dtype == in.dtype ? std::optional(PlainCopy{&out, &in}) : std::nullopt;
    }

private:
    bool few_rows_;
};

}  // namespace

void copy(const View& out, const View& in) {
    const Loop loop = cast(in.dtype, out.dtype);
    if (is_captured_as_loop(out, in)) [[unlikely]]
        return elementwise(loop, out, {in});
    CLEW_ASSERT_FRAME();
    if (kernel_mode != KernelMode::Run) [[unlikely]]
        if (detour_as<CopyCall>(kCopy, out, in)) return;
    if (in.dtype == out.dtype && out.ndim >= 2) {
        Plan plan;
        const std::int64_t size = static_cast<std::int64_t>(item_size(out.dtype));
        const std::int64_t count = make_plan(plan, out, std::span<const View>(&in, 1));
        if (count == 0) return;
        const int axis = transposed_axis(plan, size);
        if (axis >= 0) return copy_transposed(plan, axis, count, size);
        const bool whole_rows = plan.strides[0][0] == size && plan.strides[0][1] == size;
        if (whole_rows && plan.ndim > 1 && plan.sizes[0] <= kChunk) return copy_rows(plan, count, size);
    }
    if (loop) return elementwise(loop, out, std::span<const View>(&in, 1));
    const Conversion conversion(in.dtype, out.dtype);
    const auto blocks = [&](char* const* data, const std::int64_t* strides, std::int64_t count) {
        for (std::int64_t begin = 0; begin < count; begin += kConverted)
            conversion.run(data[0] + begin * strides[0], strides[0], data[1] + begin * strides[1], strides[1],
                           std::min(kConverted, count - begin));
    };
    elementwise(AnyLoop(blocks), out, std::span<const View>(&in, 1));
}

void fill(const View& out, double value) {
    const ParamLoop loop = parametric().fill[static_cast<int>(out.dtype)];
    if (kernel_mode == KernelMode::Capture && loop) [[unlikely]] {
        const Number numbers[3] = {{value, 0}, {}, {}};
        return elementwise(loop, numbers, out, {});
    }
    CLEW_CAPTURED_KERNEL(fill, out, value);
    fill_from(out, &value, DType::Float64);
}
void fill(const View& out, Complex<double> value) {
    CLEW_CAPTURED_KERNEL(fill, out, value);
    fill_from(out, &value, DType::Complex128);
}
void fill(const View& out, std::int64_t value) {
    CLEW_CAPTURED_KERNEL(fill, out, value);
    fill_from(out, &value, DType::Int64);
}

void arange(const View& out, double start, double step) {
    CLEW_KERNEL();
    with_real_type(out.dtype, [&]<class T>() { progression<T>(out, start, step); });
}
void arange(const View& out, std::int64_t start, std::int64_t step) {
    CLEW_KERNEL();
    with_real_type(out.dtype, [&]<class T>() { progression<T>(out, start, step); });
}
void linspace(const View& out, double start, double stop) {
    CLEW_KERNEL();
    with_real_type(out.dtype, [&]<class T>() { even_spacing<T>(out, start, stop); });
}

}  // namespace clew::kernels
