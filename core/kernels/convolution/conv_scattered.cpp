// Convolutions whose taps lie so far apart, or so far outside, that hardly any meets a pixel: strides, dilations and
// paddings much larger than the image. A band would hold all that lies between; here each tap is asked where it falls,
// so that work and memory follow the sizes of input, weight and result alone.
#include "core/base/checked.h"
#include "core/base/frame.h"
#include "core/kernels/convolution/conv_plan.h"

namespace clew::kernels::convolution {
namespace {

// body(pixel of out, pixel of in, tap) wherever a tap falls on the image.
template <class Body>
void for_each_meeting(const Conv& c, const Body& body) {
    const auto along = [&c](int axis, const auto& inner) {
        for (Index o = 0; o < c.out[axis]; ++o)
            for (Index k = 0; k < c.kernel[axis]; ++k) {
                const Index i = o * c.stride[axis] + (k * c.dilation[axis] - c.padding[axis]);
                if (i >= 0 && i < c.in[axis]) inner(o, i, k);
            }
    };
    along(0, [&](Index o0, Index i0, Index k0) {
        along(1, [&](Index o1, Index i1, Index k1) {
            along(2, [&](Index o2, Index i2, Index k2) {
                body((o0 * c.out[1] + o1) * c.out[2] + o2, (i0 * c.in[1] + i1) * c.in[2] + i2,
                     (k0 * c.kernel[1] + k1) * c.kernel[2] + k2);
            });
        });
    });
}

// body(plane of out, plane of in, plane of the weight) for all pairs of channels of all images.
template <class Body>
void for_each_channels(const Conv& c, const Body& body) {
    for (Index image = 0; image < c.batch; ++image)
        for (Index group = 0; group < c.groups; ++group)
            for (Index to = 0; to < c.out_channels; ++to)
                for (Index from = 0; from < c.in_channels; ++from) {
                    const Index unit = image * c.groups + group;
                    body(unit * c.out_channels + to, unit * c.in_channels + from,
                         (group * c.out_channels + to) * c.in_channels + from);
                }
}

}  // namespace

bool is_scattered(const Conv& c) {
    for (int axis = 0; axis < 3; ++axis) {
        const Index reach = clipped_sum(clipped_product(c.out[axis] - 1, c.stride[axis]),
                                        clipped_product(c.kernel[axis] - 1, c.dilation[axis]));
        if (reach / 16 > c.in[axis] + c.out[axis] + c.kernel[axis] + 256) return true;
    }
    return false;
}

template <class T>
void scattered(const Conv& c, const Sides<T>& s) {
    CLEW_KERNEL();
    const Index result = product(s.result_size), source = product(s.source_size), taps = product(c.kernel);
    for (Index image = 0; image < c.batch; ++image)
        for (Index channel = 0; channel < c.groups * s.result_channels; ++channel)
            std::fill_n(s.result + (image * c.groups * s.result_channels + channel) * result, result,
                        s.bias == nullptr ? T(0) : s.bias[channel]);
    for_each_channels(c, [&](Index out, Index in, Index plane) {
        T* to = s.result + (s.backward ? in : out) * result;
        const T *from = s.source + (s.backward ? out : in) * source, *weight = s.weight + plane * taps;
        for_each_meeting(
            c, [&](Index o, Index i, Index k) { to[s.backward ? i : o] += from[s.backward ? o : i] * weight[k]; });
    });
}

template <class T>
void scattered_weight_gradient(const Conv& c, T* weight, const T* grad_out, const T* in) {
    CLEW_KERNEL();
    const Index taps = product(c.kernel);
    std::fill_n(weight, c.groups * c.out_channels * c.in_channels * taps, T(0));
    for_each_channels(c, [&](Index out, Index image, Index plane) {
        const T *g = grad_out + out * product(c.out), *x = in + image * product(c.in);
        T* to = weight + plane * taps;
        for_each_meeting(c, [&](Index o, Index i, Index k) { to[k] += g[o] * x[i]; });
    });
}

template void scattered(const Conv&, const Sides<float>&);
template void scattered(const Conv&, const Sides<double>&);
template void scattered_weight_gradient(const Conv&, float*, const float*, const float*);
template void scattered_weight_gradient(const Conv&, double*, const double*, const double*);

}  // namespace clew::kernels::convolution
