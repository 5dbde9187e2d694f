// Few pixels beside large weights, as in the last layers of a network for images.
//
// The other ways bring the weights into another order first, which takes longer here than the products. So the few
// pixels are copied once for each tap, and one product of matrices reads the weights as they lie.
#include "core/base/frame.h"
#include "core/kernels/convolution/conv_plan.h"
#include "core/kernels/matrix/gemm.h"
#include "core/kernels/memory/scratch.h"

namespace clew::kernels::convolution {
namespace {

constexpr Index kFewPixels = 200, kLargeWeights = Index{1} << 18;

// The pixels of one channel that a tap reads, for all images; 0 outside.
template <class T>
T* copy_tap(const Conv& c, const T* channel, const Index (&tap)[3], T* to) {
    const Index by_image = c.in_channels * product(c.in);
    for (Index image = 0; image < c.batch; ++image, channel += by_image)
        for (Index depth = 0; depth < c.out[0]; ++depth)
            for (Index row = 0; row < c.out[1]; ++row) {
                const Index d = depth * c.stride[0] + tap[0] * c.dilation[0] - c.padding[0],
                            r = row * c.stride[1] + tap[1] * c.dilation[1] - c.padding[1];
                const bool inside = d >= 0 && d < c.in[0] && r >= 0 && r < c.in[1];
                const T* const line = inside ? channel + (d * c.in[1] + r) * c.in[2] : channel;
                Index place = tap[2] * c.dilation[2] - c.padding[2];
                for (Index column = 0; column < c.out[2]; ++column, place += c.stride[2])
                    *to++ = inside && place >= 0 && place < c.in[2] ? line[place] : T(0);
            }
    return to;
}

}  // namespace

bool suits_few(const Conv& c, bool backward) {
    return !backward && c.groups == 1 && c.batch * product(c.out) <= kFewPixels &&
           c.out_channels * c.in_channels * product(c.kernel) >= kLargeWeights;
}

template <class T>
void few(const Conv& c, const Sides<T>& s) {
    CLEW_KERNEL();
    const Index taps = product(c.kernel), terms = c.in_channels * taps, pixels = product(c.out),
                columns = c.batch * pixels;
    const Scratch room(static_cast<std::size_t>((terms + c.out_channels) * columns) * sizeof(T));
    T *const values = room.as<T>(), *const sums = values + terms * columns, *to = values;
    for (Index channel = 0; channel < c.in_channels; ++channel) {
        const T* const from = s.source + channel * product(c.in);
        Index tap[3];
        for (tap[0] = 0; tap[0] < c.kernel[0]; ++tap[0])
            for (tap[1] = 0; tap[1] < c.kernel[1]; ++tap[1])
                for (tap[2] = 0; tap[2] < c.kernel[2]; ++tap[2]) to = copy_tap(c, from, tap, to);
    }
    const Index of_out[2] = {c.out_channels, columns}, of_weight[2] = {c.out_channels, terms},
                of_values[2] = {terms, columns}, by_columns[2] = {columns, 1}, by_terms[2] = {terms, 1};
    gemm({sums, c.dtype, 2, of_out, by_columns}, {const_cast<T*>(s.weight), c.dtype, 2, of_weight, by_terms},
         {values, c.dtype, 2, of_values, by_columns});
    for (Index image = 0; image < c.batch; ++image)
        for (Index channel = 0; channel < c.out_channels; ++channel) {
            const T* const from = sums + channel * columns + image * pixels;
            T* const result = s.result + (image * c.out_channels + channel) * pixels;
            const T bias = s.bias == nullptr ? T(0) : s.bias[channel];
            for (Index i = 0; i < pixels; ++i) result[i] = from[i] + bias;
        }
}

template void few(const Conv&, const Sides<float>&);
template void few(const Conv&, const Sides<double>&);

}  // namespace clew::kernels::convolution
