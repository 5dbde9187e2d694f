#include "core/kernels/memory/iterate.h"

#include <algorithm>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/capture.h"
#include "core/kernels/matrix/tiles.h"
#include "core/kernels/memory/flat_loops.h"
#include "core/kernels/memory/plan.h"
#include "core/kernels/memory/repeats.h"

namespace clew::kernels {
namespace {

std::int64_t magnitude(std::int64_t x) { return x < 0 ? -x : x; }

// Whether axis a belongs inside axis b: the output decides, then the inputs in turn; broadcast axes have no say.
bool goes_inside(const Plan& plan, int a, int b) {
    for (int k = 0; k < plan.operands; ++k) {
        const std::int64_t x = magnitude(plan.strides[a][k]), y = magnitude(plan.strides[b][k]);
        if (x == 0 || y == 0 || x == y) continue;
        return x < y;
    }
    return false;
}

void swap_axes(Plan& plan, int a, int b) {
    const std::int64_t size = plan.sizes[a];
    plan.sizes[a] = plan.sizes[b];
    plan.sizes[b] = size;
    for (int k = 0; k < plan.operands; ++k) {
        const std::int64_t stride = plan.strides[a][k];
        plan.strides[a][k] = plan.strides[b][k];
        plan.strides[b][k] = stride;
    }
}

void join_neighbours(Plan& plan) {
    if (plan.ndim < 2) return;
    int last = 0;
    for (int axis = 1; axis < plan.ndim; ++axis) {
        bool joins = true;
        for (int k = 0; k < plan.operands; ++k)
            joins &= plan.strides[axis][k] == plan.strides[last][k] * plan.sizes[last];
        if (joins) {
            plan.sizes[last] *= plan.sizes[axis];
            continue;
        }
        if (++last == axis) continue;
        plan.sizes[last] = plan.sizes[axis];
        for (int k = 0; k < plan.operands; ++k) plan.strides[last][k] = plan.strides[axis][k];
    }
    plan.ndim = last + 1;
}

// `row`: where a piece may end.
template <class Inner>
void run_in_pieces(const Plan& plan, std::int64_t count, std::int64_t row, const Inner& inner) {
    if (count <= kChunk) return run(plan, 0, count, inner);
    // Several pieces for each thread, that none waits long for the others; of whole rows if these are short. Nobody
    // asks memory for anything while a piece ends and the next one begins: hence larger pieces of larger arrays.
    constexpr std::int64_t kUncached = 32 << 20;  // bytes
    const std::int64_t most =
        count * plan.items[0] >= kUncached ? 2 * kChunk : std::clamp(count / 8, kChunk / 4, kChunk);
    const std::int64_t piece = row <= most ? most / row * row : most;
    parallel_for(count, piece, [&](std::int64_t begin, std::int64_t end) { run(plan, begin, end, inner); });
}

template <class Inner>
void walk(const Plan& plan, std::int64_t count, const Inner& inner) {
    if (plan.ndim == 1) {
        if (count <= kChunk) return inner(plan.data, plan.strides[0], count);
        return run_in_pieces(plan, count, 1, inner);
    }
    if (const int axis = tile_axis(plan); axis != 0) return run_in_tiles(plan, axis, inner);
    const RowAxes axes = row_axes(plan);
    if (const std::int64_t rows = rows_at_once(axes); rows >= kLeastAtOnce)
        return with_repeated_rows(axes, rows, inner, [&](const Plan& joined, const auto& loop) {
            run_in_pieces(joined, count, axes.width(), loop);
        });
    run_in_pieces(plan, count, plan.sizes[0], inner);
}

template <class Inner>
void iterate(const View& out, std::span<const View> inputs, const Inner& inner) {
    Plan plan;
    if (const std::int64_t count = make_plan(plan, out, inputs)) walk(plan, count, inner);
}

struct WithNumbers {
    ParamLoop loop;
    Number numbers[3];
    void operator()(char* const* data, const std::int64_t* strides, std::int64_t count) const {
        loop(data, strides, count, numbers);
    }
};

void set_inner(FlatLoop& flat, const Loop& loop) { flat.plain = loop; }
void set_inner(FlatLoop& flat, const WithNumbers& with) {
    flat.numbered = with.loop;
    std::copy_n(with.numbers, 3, flat.numbers);
}
template <class Inner>
const FlatLoop* flat_loop(const Plan& plan, std::int64_t count, const Inner& inner) {
    FlatLoop flat{};
    set_inner(flat, inner);
    flat.operands = plan.operands;
    flat.count = count;
    std::copy_n(plan.strides[0], plan.operands, flat.strides);
    std::copy_n(plan.items, plan.operands, flat.items);
    return capture_under_way->loops.keep(flat);
}

// What one call of the loop does not do.
template <class Inner>
class PlanCall final : public KernelCall {
public:
    PlanCall(const Plan& plan, std::int64_t count, const Inner& inner)
        : inner_(inner), count_(count), plan_(plan), flat_(plan.ndim > 1 ? nullptr : flat_loop(plan, count, inner)) {}
    void run() const override { walk(plan_, count_, inner_); }
    const FlatLoop* flat() const override { return flat_; }
    Operands operands() override {
        Operands list;
        for (int k = 0; k < plan_.operands; ++k) {
            Operand operand{&plan_.data[k], 0, plan_.items[k], k == 0};
            for (int axis = 0; axis < plan_.ndim; ++axis) operand.reach(plan_.sizes[axis] - 1, plan_.strides[axis][k]);
            list.push_back(operand);
        }
        return list;
    }
    std::size_t bytes() const override { return sizeof(*this); }
    std::int64_t work() const override { return count_; }

private:
    Inner inner_;
    std::int64_t count_;
    Plan plan_;
    const FlatLoop* flat_;
};

template <class Inner>
[[gnu::noinline, gnu::cold]] void capture(const View& out, std::span<const View> inputs, const Inner& inner) {
    Plan plan;
    const std::int64_t count = make_plan(plan, out, inputs);
    if (count == 0) return;
    std::unique_ptr<KernelCall> call;
    if (plan.ndim == 1 && count <= kChunk)
        call = call_of(flat_loop(plan, count, inner), plan.data);
    else
        call = std::make_unique<PlanCall<Inner>>(plan, count, inner);
    capture_under_way->calls.push_back(std::move(call));
    const RunScope runs;  // pieces for several threads, too
    walk(plan, count, inner);
}

}  // namespace

std::int64_t make_plan(Plan& plan, const View& out, std::span<const View> inputs) {
    plan.operands = 1 + static_cast<int>(inputs.size());
    for (int k = 0; k < plan.operands; ++k) {
        const View& view = k == 0 ? out : inputs[static_cast<std::size_t>(k - 1)];
        plan.data[k] = static_cast<char*>(view.data);
        plan.items[k] = static_cast<std::int64_t>(item_size(view.dtype));
    }

    plan.ndim = 0;
    std::int64_t count = 1;
    for (int axis = out.ndim - 1; axis >= 0; --axis) {
        const std::int64_t size = out.sizes[axis];
        count *= size;
        if (size == 1) continue;
        std::int64_t* strides = plan.strides[plan.ndim];
        plan.sizes[plan.ndim++] = size;
        strides[0] = out.strides[axis] * plan.items[0];
        for (int k = 1; k < plan.operands; ++k)
            strides[k] = inputs[static_cast<std::size_t>(k - 1)].strides[axis] * plan.items[k];
    }
    if (count == 0) return 0;
    if (plan.ndim > 1) {
        for (int i = 1; i < plan.ndim; ++i)
            for (int j = i; j > 0 && goes_inside(plan, j, j - 1); --j) swap_axes(plan, j, j - 1);
        join_neighbours(plan);
        // A loop over three elements spends its time in being called.
        if (plan.ndim > 1 && plan.sizes[0] < 8 && plan.sizes[1] > 8 * plan.sizes[0]) swap_axes(plan, 0, 1);
    }
    if (plan.ndim == 0) {
        plan.ndim = 1;
        plan.sizes[0] = 1;
        for (int k = 0; k < plan.operands; ++k) plan.strides[0][k] = 0;
    }
    return count;
}

void elementwise(Loop loop, const View& out, std::span<const View> inputs) {
    CLEW_ASSERT_FRAME();
    if (kernel_mode != KernelMode::Run) [[unlikely]]
        return skips_kernels() ? void() : capture(out, inputs, loop);
    iterate(out, inputs, loop);
}

void elementwise(const AnyLoop& loop, const View& out, std::span<const View> inputs) {
    CLEW_KERNEL();
    iterate(out, inputs, loop);
}

void elementwise(ParamLoop loop, const Number* params, const View& out, std::span<const View> inputs) {
    CLEW_ASSERT_FRAME();
    if (kernel_mode != KernelMode::Run) [[unlikely]]
        return skips_kernels() ? void() : capture(out, inputs, WithNumbers{loop, {params[0], params[1], params[2]}});
    iterate(out, inputs, [loop, params](char* const* data, const std::int64_t* strides, std::int64_t count) {
        loop(data, strides, count, params);
    });
}

}  // namespace clew::kernels
