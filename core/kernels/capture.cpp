#include "core/kernels/capture.h"

#include <numeric>

namespace clew {

bool note_uncaptured() {
    kernels::capture_under_way->complete = false;
    return false;
}

}  // namespace clew

namespace clew::kernels {

thread_local constinit Capture* capture_under_way = nullptr;

CaptureScope::CaptureScope(Capture& capture) {
    capture_under_way = &capture;
    set_kernel_mode(KernelMode::Capture);
}
CaptureScope::~CaptureScope() {
    set_kernel_mode(KernelMode::Run);
    capture_under_way = nullptr;
}

Operand operand_of(View& view, bool written) {
    const auto size = static_cast<std::int64_t>(item_size(view.dtype));
    char** const place = reinterpret_cast<char**>(&view.data);
    Operand operand{place, 0, size, written};
    for (int axis = 0; axis < view.ndim; ++axis) {
        if (view.sizes[axis] == 0) return {place, 0, 0, written};
        operand.reach(view.sizes[axis] - 1, view.strides[axis] * size);
    }
    return operand;
}

CopiedTo::CopiedTo(const PlainCopy& copy) {
    for (int axis = 0; axis < copy.in->ndim; ++axis)
        if (copy.in->sizes[axis] != 1)
            axes_.push_back({copy.in->sizes[axis], copy.in->strides[axis], copy.out->strides[axis]});
    std::ranges::sort(axes_, std::ranges::greater{}, &Axis::from);
}

std::optional<std::int64_t> CopiedTo::operator()(std::int64_t first, std::int64_t count) const {
    if (axes_.empty() || axes_.back().from != 1 || axes_.back().to != 1) return std::nullopt;
    std::int64_t at = 0, step = 0;
    for (const Axis& axis : axes_) {
        // One that reaches into the next on the outside: an element may lie there several times.
        if (axis.from <= 0 || (step != 0 && axis.size * axis.from > step)) return std::nullopt;
        step = axis.from;
        const std::int64_t index = first / axis.from;
        if (first < 0 || index >= axis.size) return std::nullopt;
        first %= axis.from;
        at += index * axis.to;
        if (axis.from == 1 && index + count > axis.size) return std::nullopt;
    }
    return first == 0 ? std::optional(at) : std::nullopt;
}

bool lie_apart(const View& one, const View& other, std::int64_t distance) {
    std::int64_t step = 0;  // all elements lie at multiples of it, and a few behind these
    struct Reach {
        std::int64_t few = 1, whole = 1;
    };
    const auto reach_of = [&](const View& view) {
        Reach reach;
        for (int axis = 0; axis < view.ndim; ++axis) {
            if (view.sizes[axis] == 1) continue;
            const std::int64_t stride = view.strides[axis], last = (view.sizes[axis] - 1) * stride;
            if (stride == 1)
                reach.few += last;
            else
                step = std::gcd(step, stride);
            reach.whole += last;
        }
        return reach;
    };
    const auto is_forward = [](const View& view) {
        return std::all_of(view.strides, view.strides + view.ndim, [](std::int64_t stride) { return stride >= 0; });
    };
    const Reach first = reach_of(one), second = reach_of(other);
    if (!is_forward(one) || !is_forward(other)) return false;
    if (distance >= first.whole || -distance >= second.whole) return true;
    if (step == 0) return false;
    const std::int64_t apart = (distance % step + step) % step;
    return apart >= first.few && apart + second.few <= step;
}

}  // namespace clew::kernels
