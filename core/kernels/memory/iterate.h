// Runs an inner loop over strided views of any shape.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>

#include "core/kernels/view.h"

namespace clew::kernels {

inline constexpr int kMaxInputs = 5;

// Calls `loop` on all elements of `out` and of the inputs, which have the sizes of `out` (stride 0 along broadcast
// axes). An input may be `out` itself, element for element; other overlaps are for the caller to avoid.
void elementwise(Loop loop, const View& out, std::span<const View> inputs);
// `params`: three, however many the loop reads.
void elementwise(ParamLoop loop, const Number* params, const View& out, std::span<const View> inputs);
// A loop with a state, which it refers to.
class AnyLoop {
public:
    template <class Body>
    explicit AnyLoop(const Body& body)
        : body_(&body),
          call_([](const void* body_, char* const* data, const std::int64_t* strides, std::int64_t count) {
              (*static_cast<const Body*>(body_))(data, strides, count);
          }) {}
    void operator()(char* const* data, const std::int64_t* strides, std::int64_t count) const {
        call_(body_, data, strides, count);
    }

private:
    const void* body_;
    void (*call_)(const void*, char* const*, const std::int64_t*, std::int64_t);
};
void elementwise(const AnyLoop& loop, const View& out, std::span<const View> inputs);

inline void elementwise(Loop loop, const View& out, std::initializer_list<View> inputs) {
    elementwise(loop, out, std::span<const View>(inputs.begin(), inputs.size()));
}
inline void elementwise(ParamLoop loop, const Number* params, const View& out, std::initializer_list<View> inputs) {
    elementwise(loop, params, out, std::span<const View>(inputs.begin(), inputs.size()));
}

inline std::int64_t element_count(const View& view) {
    std::int64_t count = 1;
    for (int axis = 0; axis < view.ndim; ++axis) count *= view.sizes[axis];
    return count;
}

}  // namespace clew::kernels
