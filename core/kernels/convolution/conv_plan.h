// What the ways to compute a convolution share.
//
// Note [Direct convolution by taps]
// A convolution and the gradient of its input are one thing: each pixel of the result is a sum over taps, pixels of the
// source at fixed distances, times the weights of the tap. Along one axis result[first + j * result_step] takes
// source[j * source_step + place] for each place of a tap. For the convolution itself source_step is the stride and
// place = k * dilation - padding. For the gradient the result falls into as many phases as the stride is long; within a
// phase j and the source go in step, and only those k count whose distance the stride divides.
//
// Both run over a band: some rows of one image, copied with their padding, channels last. There the terms of one tap,
// and of neighbouring taps, are adjacent, and so are the pixels that a tile of the result takes them from.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/kernels/convolution/conv.h"
#include "core/kernels/convolution/conv_loops.h"

namespace clew::kernels::convolution {

using Index = std::int64_t;

template <class T>
const ConvLoops<T>& loops();
template <>
inline const ConvLoops<float>& loops<float>() {
    return conv_loops().float32;
}
template <>
inline const ConvLoops<double>& loops<double>() {
    return conv_loops().float64;
}

inline Index rounded_up(Index value, Index unit) { return (value + unit - 1) / unit * unit; }
inline Index product(const Index (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

// Source, result and weights of one of the two directions.
template <class T>
struct Sides {
    const T* source;
    T* result;
    const T* weight;
    const T* bias;
    Index source_channels, result_channels;              // of one group
    Index source_size[3], result_size[3];                // pixels along each axis
    Index weight_by_source, weight_by_result, by_group;  // steps in weight
    bool backward;
};

template <class T>
Sides<T> sides_of(const Conv& c, bool backward, void* result, const void* source, const void* weight,
                  const void* bias) {
    const Index taps = product(c.kernel);
    Sides<T> s{static_cast<const T*>(source),
               static_cast<T*>(result),
               static_cast<const T*>(weight),
               static_cast<const T*>(bias),
               backward ? c.out_channels : c.in_channels,
               backward ? c.in_channels : c.out_channels,
               {},
               {},
               backward ? c.in_channels * taps : taps,
               backward ? taps : c.in_channels * taps,
               c.out_channels * c.in_channels * taps,
               backward};
    std::copy_n(backward ? c.out : c.in, 3, s.source_size);
    std::copy_n(backward ? c.in : c.out, 3, s.result_size);
    return s;
}

// The panels of result channels.
struct Panels {
    Index vectors, width, count;
};
template <class T>
Panels panels_of(Index channels) {
    const Index lanes = loops<T>().lanes;
    const Index vectors = channels > lanes ? 2 : 1, width = vectors * lanes;
    return {vectors, width, (channels + width - 1) / width};
}

struct Tap {
    Index place;  // relative to the source pixel of j
    Index which;  // in the kernel
};
struct Axis {
    Index source_size, source_step;
    Index first, result_step, count;  // of the result
    std::vector<Tap> taps;            // by rising place
    Index low() const { return taps.empty() ? 0 : taps.front().place; }
    Index span() const { return taps.empty() ? 1 : taps.back().place - taps.front().place + 1; }
    Index needed(Index results) const { return (results - 1) * source_step + span(); }  // source pixels
    bool adjacent() const {
        for (std::size_t i = 1; i < taps.size(); ++i)
            if (taps[i].place != taps[i - 1].place + 1) return false;
        return true;
    }
};
Axis forward_axis(const Conv& c, int axis);
Axis backward_axis(const Conv& c, int axis, Index phase);
// body(axes) for each phase of the result that has pixels.
template <class Body>
void for_each_phase(const Conv& c, bool backward, const Body& body) {
    if (!backward) {
        const Axis axes[3] = {forward_axis(c, 0), forward_axis(c, 1), forward_axis(c, 2)};
        return body(axes);
    }
    for (Index phase = 0; phase < product(c.stride); ++phase) {
        const Axis axes[3] = {backward_axis(c, 0, phase / (c.stride[1] * c.stride[2])),
                              backward_axis(c, 1, phase / c.stride[2] % c.stride[1]),
                              backward_axis(c, 2, phase % c.stride[2])};
        if (axes[0].count * axes[1].count * axes[2].count > 0) body(axes);
    }
}

// rows x columns pixels of one plane of all channels, from (row, column) on, to channels last; what lies outside of the
// plane is zero.
template <class T>
struct PlaneOf {
    const T* data;
    Index channels, channel_step;
    Index height, width;
};
template <class T>
void load_pixels(T* to, Index pixel_stride, const PlaneOf<T>& plane, Index row, Index rows, Index column,
                 Index columns);

// One band of the source for `rows` rows of the result.
struct BandShape {
    Index channels;
    Index rows, columns;  // of each plane of the source
    Index planes;         // one for each tap of axis 0
    Index elements() const { return planes * rows * columns * channels; }
    Index row_stride() const { return columns * channels; }
};
BandShape band_shape(const Axis (&axes)[3], Index channels, Index rows);
// As many rows of the result as keep the band in the cache, and leave work for several threads.
Index rows_of_band(const Axis (&axes)[3], Index channels, Index item_size, Index images);
template <class T>
void load_band(T* band, const BandShape& shape, const Axis (&axes)[3], const T* image, Index depth, Index row);

// Where the terms of one result pixel lie in a band: segments of `run` adjacent terms.
struct Segments {
    std::vector<Index> offsets;
    Index run;
};
Segments segments_of(const Axis (&axes)[3], const BandShape& band);

// Pieces of at most `most`, as equal as may be: body(begin, count).
template <class Body>
void in_even_pieces(Index total, Index most, const Body& body) {
    const Index pieces = (total + most - 1) / most;
    for (Index i = 0, begin = 0; i < pieces; ++i) {
        const Index end = total * (i + 1) / pieces;
        body(begin, end - begin);
        begin = end;
    }
}

// Gives out pieces of one block of scratch memory.
template <class T>
class Carve {
public:
    explicit Carve(T* memory) : next_(memory) {}
    T* take(Index elements) {
        T* piece = next_;
        next_ += rounded_up(elements, 64 / static_cast<Index>(sizeof(T)));
        return piece;
    }

private:
    T* next_;
};
inline constexpr Index kCarveSlack = 64;  // elements that a Carve may lose at each piece

// conv_direct.cpp; only_images: null for all, or which to compute
template <class T>
void direct(const Conv& c, const Sides<T>& s, const std::uint8_t* only_images);
template <class T>
void direct_weight_gradient(const Conv& c, T* weight, const T* grad_out, const T* in);

// conv_depthwise.cpp
bool suits_depthwise(const Conv& c);
template <class T>
void depthwise(const Conv& c, const Sides<T>& s);
template <class T>
void depthwise_weight_gradient(const Conv& c, T* weight, const T* grad_out, const T* in);

// conv_few.cpp
bool suits_few(const Conv& c, bool backward);
template <class T>
void few(const Conv& c, const Sides<T>& s);

// conv_winograd.cpp
bool suits_winograd(const Conv& c);
template <class T>
void winograd(const Conv& c, const Sides<T>& s, std::uint8_t* not_finite);  // by image: is to be done again
template <class T>
bool winograd_weight_gradient(const Conv& c, T* weight, const T* grad_out, const T* in);  // false: do it again

// conv_scattered.cpp
bool is_scattered(const Conv& c);
template <class T>
void scattered(const Conv& c, const Sides<T>& s);
template <class T>
void scattered_weight_gradient(const Conv& c, T* weight, const T* grad_out, const T* in);

// The images are cut into so many groups, each with a sum of its own.
inline Index image_groups(const Conv& c, Index bytes_of_sum) {
    const Index most = std::clamp<Index>((Index{8} << 20) / (bytes_of_sum + 1), 1, 8);
    return std::clamp<Index>(c.batch, 1, most);
}

}  // namespace clew::kernels::convolution
