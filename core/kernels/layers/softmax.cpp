#include "core/kernels/layers/softmax.h"

#include <algorithm>

#include "core/base/frame.h"
#include "core/kernels/capture.h"
#include "core/kernels/elementwise/lines.h"
#include "core/kernels/layers/softmax_loops.h"
#include "core/kernels/training/loss.h"

namespace clew::kernels {
namespace {

constexpr std::int64_t kSoftmaxChunk = kChunk / 8;  // an exponential takes as long as ten additions

void run_lines(const Lines& lines, SoftmaxTable::Line line, SoftmaxTable::Columns columns) {
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

bool are_short_and_contiguous(const Lines& lines) {
    for (int k = 0; k < lines.plan.operands; ++k)
        if (lines.steps[k] != lines.plan.items[k]) return false;
    return lines.length <= kShortLine;
}

std::int64_t lines_in_group(std::int64_t line_bytes) {
    constexpr std::int64_t kTogether = 16 << 10;  // so that all stay in the first-level cache
    return std::clamp<std::int64_t>(kTogether / line_bytes, 1, kMostLines);
}

void forward(bool log, const View& out, const View& in, int axis) {
    const View views[] = {out, in};
    const int dtype = static_cast<int>(out.dtype);
    const SoftmaxTable& loops = softmax_loops();
    const Lines lines = make_lines(views, axis);
    if (lines.count == 0 || lines.length == 0) return;
    if (lines.side_by_side || !are_short_and_contiguous(lines))
        return run_lines(lines, loops.forward[log][dtype], loops.forward_columns[log][dtype]);
    const auto together = loops.forward_lines[log][dtype];
    const std::int64_t group = lines_in_group(lines.length * lines.plan.items[0]);
    const auto piece = [&](char* const* data, const std::int64_t* strides, std::int64_t count) {
        together(data, strides, count, lines.length, group);
    };
    for_each_line(lines, piece, kSoftmaxChunk, group);
}
void backward(bool log, const View& out, const View& grad, const View& result, int axis) {
    const View views[] = {out, grad, result};
    const int dtype = static_cast<int>(out.dtype);
    run_lines(make_lines(views, axis), softmax_loops().backward[log][dtype],
              softmax_loops().backward_columns[log][dtype]);
}

constexpr auto kLogBackward = [](const View& out, const View& grad, const View& result, int axis) {
    log_softmax_backward(out, grad, result, axis);
};

class LogBackwardCall final : public CallOf<1, decltype(kLogBackward), View, View, View, int> {
public:
    using CallOf::CallOf;
    std::unique_ptr<KernelCall> joined_with(const KernelCall& before, const char* const* place) const override {
        const auto* const loss = dynamic_cast<const NllBackwardCall*>(&before);
        const bool is_grad = static_cast<const void*>(place) == &argument<1>().data;
        return loss && is_grad ? loss->through_log_softmax(argument<0>(), argument<2>(), argument<3>()) : nullptr;
    }
};

}  // namespace

void softmax(const View& out, const View& in, int axis) {
    CLEW_CAPTURED_KERNEL(softmax, out, in, axis);
    forward(false, out, in, axis);
}
void log_softmax(const View& out, const View& in, int axis) {
    CLEW_CAPTURED_KERNEL(log_softmax, out, in, axis);
    forward(true, out, in, axis);
}
void softmax_backward(const View& out, const View& grad, const View& result, int axis) {
    CLEW_CAPTURED_KERNEL(softmax_backward, out, grad, result, axis);
    backward(false, out, grad, result, axis);
}
void log_softmax_backward(const View& out, const View& grad, const View& result, int axis) {
    CLEW_ASSERT_FRAME();
    if (kernel_mode != KernelMode::Run) [[unlikely]]
        if (detour_as<LogBackwardCall>(kLogBackward, out, grad, result, axis)) return;
    backward(true, out, grad, result, axis);
}

}  // namespace clew::kernels
