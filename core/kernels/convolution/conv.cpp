#include "core/kernels/convolution/conv.h"

#include <algorithm>

#include "core/base/frame.h"
#include "core/kernels/convolution/conv_plan.h"

namespace clew::kernels {
namespace {

using namespace convolution;

template <class Body>
void with_floating(DType dtype, const Body& body) {
    if (dtype == DType::Float32)
        body.template operator()<float>();
    else
        body.template operator()<double>();
}

template <class T>
void gather(const Conv& c, const Sides<T>& s) {
    if (c.batch == 0 || product(s.result_size) == 0) return;
    if (is_scattered(c)) return scattered(c, s);
    if (suits_depthwise(c)) return depthwise(c, s);
    if (suits_few(c, s.backward)) return few(c, s);
    if (!suits_winograd(c)) return direct(c, s, nullptr);
    std::vector<std::uint8_t> again(static_cast<std::size_t>(c.batch));
    winograd(c, s, again.data());
    if (std::find(again.begin(), again.end(), 1) != again.end()) direct(c, s, again.data());
}

}  // namespace

void conv(const Conv& shape, void* out, const void* in, const void* weight, const void* bias) {
    CLEW_KERNEL();
    with_floating(shape.dtype, [&]<class T>() { gather<T>(shape, sides_of<T>(shape, false, out, in, weight, bias)); });
}

void conv_transposed(const Conv& shape, void* in, const void* out, const void* weight, const void* bias) {
    CLEW_KERNEL();
    with_floating(shape.dtype, [&]<class T>() { gather<T>(shape, sides_of<T>(shape, true, in, out, weight, bias)); });
}

void conv_weight_gradient(const Conv& shape, void* weight, const void* grad_out, const void* in) {
    CLEW_KERNEL();
    with_floating(shape.dtype, [&]<class T>() {
        T* to = static_cast<T*>(weight);
        if (shape.batch == 0 || product(shape.out) == 0) {
            std::fill_n(to, shape.groups * shape.out_channels * shape.in_channels * product(shape.kernel), T(0));
            return;
        }
        const T *g = static_cast<const T*>(grad_out), *x = static_cast<const T*>(in);
        if (is_scattered(shape)) return scattered_weight_gradient(shape, to, g, x);
        if (suits_depthwise(shape)) return depthwise_weight_gradient(shape, to, g, x);
        if (suits_winograd(shape) && winograd_weight_gradient(shape, to, g, x)) return;
        direct_weight_gradient(shape, to, g, x);
    });
}

}  // namespace clew::kernels
