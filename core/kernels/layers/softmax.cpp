#include "core/kernels/layers/softmax.h"

#include <algorithm>
#include <array>

#include "core/base/frame.h"
#include "core/kernels/capture.h"
#include "core/kernels/elementwise/lines.h"
#include "core/kernels/layers/softmax_loops.h"
#include "core/kernels/training/loss.h"

namespace clew::kernels {
namespace {

constexpr std::int64_t kSoftmaxChunk = kChunk / 8;  // an exponential takes as long as ten additions

// One softmax, or the backward of one, of all lines.
struct LineWork {
    Lines lines;
    SoftmaxTable::Line line;
    SoftmaxTable::Columns columns;           // where lines lie side by side
    SoftmaxTable::Lines together = nullptr;  // where they are short and contiguous

    void run() const {
        CLEW_ASSERT_FRAME();
        char* const* const data = lines.plan.data;
        if (lines.count > 1)
            together && !lines.side_by_side ? run_together() : run_each();
        else if (together)
            together(data, lines.steps, 1, lines.length, 1);
        else
            line(data, lines.steps, lines.length);
    }

private:
    void run_each() const {
        const auto piece = [&](char* const* data, const std::int64_t* strides, std::int64_t count) {
            const std::int64_t most = lines.side_by_side ? kSoftmaxColumns : 1;
            char* at[kMaxOperands];
            for (std::int64_t begin = 0; begin < count; begin += most) {
                for (int k = 0; k < lines.plan.operands; ++k) at[k] = data[k] + begin * strides[k];
                const std::int64_t width = count - begin < most ? count - begin : most;
                if (width == 1) {
                    line(at, lines.steps, lines.length);
                } else {
                    columns(at, lines.steps, lines.length, width);
                }
            }
        };
        for_each_line(lines, piece, kSoftmaxChunk);
    }

    void run_together() const {
        constexpr std::int64_t kTogether = 16 << 10;  // bytes, so that all stay in the first-level cache
        const std::int64_t group =
            std::clamp<std::int64_t>(kTogether / (lines.length * lines.plan.items[0]), 1, kMostLines);
        const auto piece = [&](char* const* data, const std::int64_t* strides, std::int64_t count) {
            together(data, strides, count, lines.length, group);
        };
        for_each_line(lines, piece, kSoftmaxChunk, group);
    }
};

bool are_short_and_contiguous(const Lines& lines) {
    for (int k = 0; k < lines.plan.operands; ++k)
        if (lines.steps[k] != lines.plan.items[k]) return false;
    return lines.length <= kShortLine;
}

LineWork forward_work(bool log, const View& out, const View& in, int axis) {
    const int dtype = static_cast<int>(out.dtype);
    const SoftmaxTable& loops = softmax_loops();
    LineWork work{make_lines(std::array{out, in}, axis), loops.forward[log][dtype], loops.forward_columns[log][dtype]};
    if (are_short_and_contiguous(work.lines)) work.together = loops.forward_lines[log][dtype];
    return work;
}
LineWork backward_work(bool log, const View& out, const View& grad, const View& result, int axis) {
    const int dtype = static_cast<int>(out.dtype);
    const SoftmaxTable& loops = softmax_loops();
    return {make_lines(std::array{out, grad, result}, axis), loops.backward[log][dtype],
            loops.backward_columns[log][dtype]};
}

// What there is to do is found out once, however often it is done.
class LineCall : public KernelCall {
public:
    explicit LineCall(const LineWork& work) : work_(work) {}
    void run() const override { work_.run(); }
    Operands operands() override {
        Plan& plan = work_.lines.plan;
        Operands list;
        for (int k = 0; k < plan.operands; ++k) {
            Operand operand{&plan.data[k], 0, plan.items[k], k == 0};
            operand.reach(work_.lines.length - 1, work_.lines.steps[k]);
            for (int axis = 0; axis < plan.ndim; ++axis) operand.reach(plan.sizes[axis] - 1, plan.strides[axis][k]);
            list.push_back(operand);
        }
        return list;
    }
    std::size_t bytes() const override { return sizeof(*this); }
    std::int64_t work() const override { return work_.lines.count * work_.lines.length; }

protected:
    char* const& data(int operand) const { return work_.lines.plan.data[operand]; }

private:
    LineWork work_;
};

class LogBackwardCall final : public LineCall {
public:
    LogBackwardCall(const LineWork& work, const View& out, const View& result, int axis)
        : LineCall(work), out_(out), result_(result), axis_(axis) {}
    std::size_t bytes() const override { return sizeof(*this); }
    unsigned traits() const override { return kJoins; }
    std::unique_ptr<KernelCall> joined_with(const KernelCall& before, const char* const* place) const override {
        const auto* const loss = dynamic_cast<const NllBackwardCall*>(&before);
        if (!loss || place != &data(1)) return nullptr;
        View out = out_.view(), result = result_.view();
        out.data = data(0);
        result.data = data(2);
        return loss->through_log_softmax(out, result, axis_);
    }

private:
    OwnedView out_, result_;  // but for where they lie
    int axis_;
};

// Runs it, and captures it as `call()` if kernels are captured.
template <class Call>
void run_or_capture(const LineWork& work, const Call& call) {
    if (work.lines.count == 0 || work.lines.length == 0) return;
    if (kernel_mode == KernelMode::Run) [[likely]]
        return work.run();
    capture_under_way->calls.push_back(call());
    const RunScope runs;
    work.run();
}
void run_or_capture(const LineWork& work) {
    run_or_capture(work, [&] { return std::make_unique<LineCall>(work); });
}

}  // namespace

void softmax(const View& out, const View& in, int axis) {
    if (!skips_kernels()) run_or_capture(forward_work(false, out, in, axis));
}
void log_softmax(const View& out, const View& in, int axis) {
    if (!skips_kernels()) run_or_capture(forward_work(true, out, in, axis));
}
void softmax_backward(const View& out, const View& grad, const View& result, int axis) {
    if (!skips_kernels()) run_or_capture(backward_work(false, out, grad, result, axis));
}
void log_softmax_backward(const View& out, const View& grad, const View& result, int axis) {
    if (skips_kernels()) return;
    const LineWork work = backward_work(true, out, grad, result, axis);
    run_or_capture(work, [&] { return std::make_unique<LogBackwardCall>(work, out, result, axis); });
}

}  // namespace clew::kernels
