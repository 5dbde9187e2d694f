#include "core/kernels/reduction/reduce.h"

#include <algorithm>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/capture.h"
#include "core/kernels/memory/copy_loops.h"
#include "core/kernels/memory/iterate.h"
#include "core/kernels/memory/parts.h"
#include "core/kernels/memory/scratch.h"
#include "core/kernels/reduction/flat_reduction.h"
#include "core/kernels/reduction/reduce_loops.h"
#include "core/kernels/reduction/small_reduction.h"
#include "core/kernels/reduction/task.h"

namespace clew::kernels {
namespace {

double load_center(const char* center, DType dtype) {
    if (center == nullptr) return 0.0;
    return dtype == DType::Float32 ? static_cast<double>(*reinterpret_cast<const float*>(center))
                                   : *reinterpret_cast<const double*>(center);
}

std::int64_t at_least_one(std::int64_t x) { return x < 1 ? 1 : x; }

// Elements [begin, end) of the reduced axes for the one result at `places`.
void reduce_range(const Task& task, const Places& places, std::int64_t begin, std::int64_t end, Accumulator* high,
                  double* low) {
    const double center = task.centered ? load_center(places.center, task.in_dtype) : 0.0;
    task.reducer.start(high, low, 1);
    walk(task.reduced, places, begin, end, [&](const Places& at, std::int64_t count) {
        task.reducer.row(high, low, at.in, task.reduced.in[0], count, &center);
    });
}

std::int64_t long_piece(std::int64_t count) { return std::max(kChunk / 2, (count + kMostPieces - 1) / kMostPieces); }
// So many take five microseconds; of fewer, most are summed before another thread has come.
constexpr std::int64_t kLong = 8 * kChunk;

// Few results of many elements each: the elements are cut.
void reduce_long(const Task& task) {
    const std::int64_t piece = long_piece(task.reduced.count);
    walk(task.kept, task.start, 0, task.kept.count, [&](Places at, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i, move(at, task.kept, 0, 1)) {
            Accumulator high[kMostPieces];
            double low[kMostPieces];
            parallel_for(task.reduced.count, piece, [&](std::int64_t begin, std::int64_t end) {
                reduce_range(task, at, begin, end, high + begin / piece, low + begin / piece);
            });
            for (std::int64_t k = 1; k * piece < task.reduced.count; ++k)
                task.reducer.join(high, low, high + k, low + k, 1);
            task.reducer.finish(at.out, 0, high, low, 1, task.divisor);
        }
    });
}

void reduce_rows(const Task& task) {
    if (task.reduced.count >= kLong && task.kept.count <= 64) return reduce_long(task);
    // Several pieces for each thread, if there is work for more than one.
    const bool few = task.kept.count * task.reduced.count <= kChunk;
    const std::int64_t grain = few ? task.kept.count : at_least_one(kChunk / 4 / at_least_one(task.reduced.count));
    parallel_for(task.kept.count, grain, [&](std::int64_t begin, std::int64_t end) {
        walk(task.kept, task.start, begin, end, [&](Places at, std::int64_t count) {
            if (task.reduced.ndim <= 1)
                return task.reducer.rows(at.out, task.kept.out[0], at.in, task.kept.in[0], task.reduced.in[0], count,
                                         task.reduced.count, task.centered ? at.center : nullptr, task.kept.centers[0],
                                         task.divisor);
            Accumulator high;
            double low;
            for (std::int64_t i = 0; i < count; ++i, move(at, task.kept, 0, 1)) {
                reduce_range(task, at, 0, task.reduced.count, &high, &low);
                task.reducer.finish(at.out, 0, &high, &low, 1, task.divisor);
            }
        });
    });
}

// Rows of `width` columns that do not lie side by side are first brought together, a few at a time.
constexpr std::int64_t kGatheredColumns = 128, kGatheredRows = 16;

void add_rows(const Task& task, const char* in, std::int64_t rows, std::int64_t width, const double* centers,
              Accumulator* high, double* low) {
    const std::int64_t row_stride = task.reduced.in[0];
    if (task.kept.in[0] == task.in_size) return task.reducer.columns(high, low, in, row_stride, rows, width, centers);
    alignas(64) char buffer[kGatheredColumns * kGatheredRows * 8];
    const int dtype = static_cast<int>(task.in_dtype);
    const Loop copy_row = copy_loops().cast[dtype].to[dtype];
    const std::int64_t strides[] = {task.in_size, task.kept.in[0]};
    for (std::int64_t begin = 0; begin < rows; begin += kGatheredRows) {
        const std::int64_t count = rows - begin < kGatheredRows ? rows - begin : kGatheredRows;
        for (std::int64_t i = 0; i < count; ++i) {
            char* const data[] = {buffer + i * width * task.in_size, const_cast<char*>(in) + (begin + i) * row_stride};
            copy_row(data, strides, width);
        }
        task.reducer.columns(high, low, buffer, width * task.in_size, count, width, centers);
    }
}

// Narrow rows that follow one another: several are taken as one wide row, whose parts are joined in the end. Returns
// how many rows it has dealt with.
std::int64_t add_narrow_rows(const Task& task, const char* in, std::int64_t rows, std::int64_t width, Accumulator* high,
                             double* low) {
    const std::int64_t row_stride = task.reduced.in[0], fold = kColumns / width;
    if (!fold_rows(rows, width) || task.centered || row_stride != width * task.in_size ||
        task.kept.in[0] != task.in_size)
        return 0;
    Accumulator wide_high[kColumns];
    double wide_low[kColumns];
    task.reducer.start(wide_high, wide_low, width * fold);
    task.reducer.columns(wide_high, wide_low, in, fold * row_stride, rows / fold, width * fold, nullptr);
    for (std::int64_t k = 0; k < fold; ++k)
        task.reducer.join(high, low, wide_high + k * width, wide_low + k * width, width);
    return rows / fold * fold;
}

// `width` columns; `outer` is the reduced axes but the innermost, of which rows [first, last) are taken.
void reduce_columns_range(const Task& task, const Axes& outer, const Places& places, std::int64_t width,
                          std::int64_t first, std::int64_t last, Accumulator* high, double* low) {
    double centers[kColumns];
    if (task.centered)
        for (std::int64_t j = 0; j < width; ++j)
            centers[j] = load_center(places.center + j * task.kept.centers[0], task.in_dtype);
    task.reducer.start(high, low, width);
    walk(outer, places, 0, outer.count, [&](Places at, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i, move(at, outer, 0, 1)) {
            const char* in = at.in + first * task.reduced.in[0];
            const std::int64_t done = add_narrow_rows(task, in, last - first, width, high, low);
            add_rows(task, in + done * task.reduced.in[0], last - first - done, width,
                     task.centered ? centers : nullptr, high, low);
        }
    });
}

void reduce_columns(const Task& task) {
    Axes outer;
    for (int axis = 1; axis < task.reduced.ndim; ++axis)
        add_axis(outer, task.reduced.sizes[axis], task.reduced.in[axis], 0, 0);
    join_neighbours(outer);
    const std::int64_t rows = task.reduced.sizes[0], width = task.kept.sizes[0];
    const std::int64_t widest = task.kept.in[0] == task.in_size ? kColumns : kGatheredColumns;
    const std::int64_t tiles = (width + widest - 1) / widest;
    const std::int64_t tile = (width + tiles - 1) / tiles;
    const std::int64_t tasks = task.kept.count / width * tiles;
    const auto places_of = [&](std::int64_t index, std::int64_t& tile_width) {
        Places places = task.start;
        std::int64_t rest = index / tiles;
        for (int axis = 1; axis < task.kept.ndim; ++axis) {
            move(places, task.kept, axis, rest % task.kept.sizes[axis]);
            rest /= task.kept.sizes[axis];
        }
        const std::int64_t left = index % tiles * tile;
        move(places, task.kept, 0, left);
        tile_width = width - left < tile ? width - left : tile;
        return places;
    };
    // Few columns and many rows: the rows are cut.
    constexpr std::int64_t kMostParts = 32;
    std::int64_t piece = at_least_one(2 * kChunk / at_least_one(tile * outer.count));
    if (piece * kMostParts < rows) piece = (rows + kMostParts - 1) / kMostParts;
    if (tasks <= 8 && piece < rows) {
        const Scratch memory(static_cast<std::size_t>(kMostParts * kColumns) * (sizeof(Accumulator) + sizeof(double)));
        Accumulator* high = memory.as<Accumulator>();
        double* low = reinterpret_cast<double*>(high + kMostParts * kColumns);
        for (std::int64_t index = 0; index < tasks; ++index) {
            std::int64_t tile_width;
            const Places places = places_of(index, tile_width);
            parallel_for(rows, piece, [&](std::int64_t begin, std::int64_t end) {
                const std::int64_t at = begin / piece * kColumns;
                reduce_columns_range(task, outer, places, tile_width, begin, end, high + at, low + at);
            });
            for (std::int64_t k = 1; k * piece < rows; ++k)
                task.reducer.join(high, low, high + k * kColumns, low + k * kColumns, tile_width);
            task.reducer.finish(places.out, task.kept.out[0], high, low, tile_width, task.divisor);
        }
        return;
    }
    const std::int64_t grain = at_least_one(kChunk / at_least_one(tile * task.reduced.count));
    parallel_for(tasks, grain, [&](std::int64_t begin, std::int64_t end) {
        Accumulator high[kColumns];
        double low[kColumns];
        for (std::int64_t index = begin; index < end; ++index) {
            std::int64_t tile_width;
            const Places places = places_of(index, tile_width);
            reduce_columns_range(task, outer, places, tile_width, 0, rows, high, low);
            task.reducer.finish(places.out, task.kept.out[0], high, low, tile_width, task.divisor);
        }
    });
}

void run(const Task& task) {
    if (task.kept.count == 0) return;
    task.goes_by_columns() ? reduce_columns(task) : reduce_rows(task);
}

void reduce_with(int kind, const View& out, const View& in, std::uint32_t axes_mask) {
    run(task_of(kind, out, in, axes_mask));
}

constexpr auto kReduce = [](ReduceKind kind, const View& out, const View& in, std::uint32_t axes_mask) {
    reduce(kind, out, in, axes_mask);
};

class ReduceCall final : public CallOf<1, decltype(kReduce), ReduceKind, View, View, std::uint32_t>,
                         public ReductionCall {
public:
    ReduceCall(ReduceKind kind, const View& out, const View& in, std::uint32_t axes_mask)
        : CallOf(kind, out, in, axes_mask) {
        if (!is_complex(in.dtype)) small_ = SmallReduction(task_of(static_cast<int>(kind), out, in, axes_mask));
    }
    std::size_t bytes() const override { return sizeof(*this); }
    void run() const override { small_ ? small_.run(argument<1>().data, argument<2>().data) : CallOf::run(); }
    CBlock block() const override {
        const bool sums = argument<0>() == ReduceKind::Sum || argument<0>() == ReduceKind::Mean;
        const DType dtype = argument<2>().dtype;
        const bool floats = (dtype == DType::Float32 || dtype == DType::Float64) && argument<1>().dtype == dtype;
        return small_ && sums && floats ? small_.sum_block(dtype == DType::Float64) : CBlock();
    }
    std::optional<FlatReduction> flat_reduction() const override {
        const ReduceKind kind = argument<0>();
        const View &out = argument<1>(), &in = argument<2>();
        const bool adds = kind == ReduceKind::Sum || kind == ReduceKind::Mean || kind == ReduceKind::SumSquares ||
                          kind == ReduceKind::SumAbs || kind == ReduceKind::Length;
        if (!adds || (in.dtype != DType::Float32 && in.dtype != DType::Float64) || element_count(out) != 1)
            return std::nullopt;
        std::int64_t count = 1;
        for (int axis = in.ndim - 1; axis >= 0; --axis) {
            if (in.sizes[axis] != 1 && in.strides[axis] != count) return std::nullopt;
            count *= in.sizes[axis];
        }
        return FlatReduction{&reduce_loops().reducers[static_cast<int>(kind)][static_cast<int>(in.dtype)], count,
                             count >= kLong ? long_piece(count) : count, static_cast<std::int64_t>(item_size(in.dtype)),
                             kind == ReduceKind::Mean ? static_cast<double>(count) : 1.0};
    }

private:
    SmallReduction small_;
};

}  // namespace

void reduce(ReduceKind kind, const View& out, const View& in, std::uint32_t axes_mask) {
    CLEW_ASSERT_FRAME();
    if (kernel_mode != KernelMode::Run) [[unlikely]]
        if (detour_as<ReduceCall>(kReduce, kind, out, in, axes_mask)) return;
    const bool by_parts = is_complex(in.dtype) && (kind == ReduceKind::Sum || kind == ReduceKind::Mean);
    if (!by_parts) return reduce_with(static_cast<int>(kind), out, in, axes_mask);
    for (const int part : {0, 1}) reduce_with(static_cast<int>(kind), *Part(out, part), *Part(in, part), axes_mask);
}

void moments(const View& out_mean, const View& out_spread, const View& in, std::uint32_t axes_mask, double divisor,
             Spread spread) {
    CLEW_KERNEL();
    reduce_with(static_cast<int>(ReduceKind::Mean), out_mean, in, axes_mask);
    const int kind = spread == Spread::Deviation ? kRootOfDeviations : kDeviations;
    Task task = task_of(kind, out_spread, in, axes_mask, &out_mean);
    task.divisor = divisor;
    run(task);
}

}  // namespace clew::kernels
