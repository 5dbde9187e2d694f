#include "core/kernels/convolution/conv_plan.h"

#include "core/base/frame.h"

namespace clew::kernels::convolution {

Axis forward_axis(const Conv& c, int axis) {
    Axis found{c.in[axis], c.stride[axis], 0, 1, c.out[axis], {}};
    for (Index k = 0; k < c.kernel[axis]; ++k) found.taps.push_back({k * c.dilation[axis] - c.padding[axis], k});
    return found;
}

Axis backward_axis(const Conv& c, int axis, Index phase) {
    const Index stride = c.stride[axis];
    const Index count = phase < c.in[axis] ? (c.in[axis] - phase + stride - 1) / stride : 0;
    Axis found{c.out[axis], 1, phase, stride, count, {}};
    for (Index k = c.kernel[axis] - 1; k >= 0; --k) {
        const Index distance = phase + c.padding[axis] - k * c.dilation[axis];
        if (distance % stride == 0) found.taps.push_back({distance / stride, k});
    }
    return found;
}

template <class T>
void load_pixels(T* to, Index pixel_stride, const PlaneOf<T>& plane, Index row, Index rows, Index column,
                 Index columns) {
    CLEW_KERNEL();
    const Index first = std::clamp<Index>(-column, 0, columns);
    const Index last = std::clamp<Index>(plane.width - column, first, columns);
    const auto transpose = loops<T>().transpose;
    const bool whole = first == 0 && last == columns && column == 0 && columns == plane.width;
    const Index top = std::clamp<Index>(-row, 0, rows), bottom = std::clamp<Index>(plane.height - row, top, rows);
    const auto pixel = [&](Index r, Index c) { return to + (r * columns + c) * pixel_stride; };
    std::fill(to, pixel(top, 0), T(0));
    std::fill(pixel(bottom, 0), pixel(rows, 0), T(0));
    if (whole) {
        transpose(pixel(top, 0), pixel_stride, plane.data + (row + top) * plane.width, plane.channel_step,
                  plane.channels, (bottom - top) * columns);
        return;
    }
    for (Index r = top; r < bottom; ++r) {
        std::fill(pixel(r, 0), pixel(r, first), T(0));
        transpose(pixel(r, first), pixel_stride, plane.data + (row + r) * plane.width + column + first,
                  plane.channel_step, plane.channels, last - first);
        std::fill(pixel(r, last), pixel(r, columns), T(0));
    }
}

BandShape band_shape(const Axis (&axes)[3], Index channels, Index rows) {
    return {channels, axes[1].needed(rows), axes[2].needed(axes[2].count), static_cast<Index>(axes[0].taps.size())};
}

Index rows_of_band(const Axis (&axes)[3], Index channels, Index item_size, Index images) {
    constexpr Index kBytes = Index{160} << 10, kFewest = 4, kTasks = 16;
    const Index of_row = axes[2].needed(axes[2].count) * channels * item_size *
                         std::max<Index>(1, static_cast<Index>(axes[0].taps.size()));
    const Index fit = (kBytes / std::max<Index>(1, of_row) - axes[1].span()) / axes[1].source_step + 1;
    const Index parts = (kTasks + images - 1) / images;
    const Index share = std::max(kFewest, (axes[1].count + parts - 1) / parts);
    return std::clamp<Index>(std::min(fit, share), 1, std::max<Index>(1, axes[1].count));
}

template <class T>
void load_band(T* band, const BandShape& shape, const Axis (&axes)[3], const T* image, Index depth, Index row) {
    CLEW_KERNEL();
    const Index area = axes[1].source_size * axes[2].source_size;
    for (const Tap& tap : axes[0].taps) {
        const Index at = depth * axes[0].source_step + tap.place;
        PlaneOf<T> plane{image + at * area, shape.channels, axes[0].source_size * area, axes[1].source_size,
                         axes[2].source_size};
        if (at < 0 || at >= axes[0].source_size) plane = {image, shape.channels, 0, 0, 0};
        load_pixels(band, shape.channels, plane, row * axes[1].source_step + axes[1].low(), shape.rows, axes[2].low(),
                    shape.columns);
        band += shape.rows * shape.row_stride();
    }
}

Segments segments_of(const Axis (&axes)[3], const BandShape& band) {
    const bool merged = axes[2].adjacent();
    Segments found{{}, band.channels * (merged ? static_cast<Index>(axes[2].taps.size()) : 1)};
    for (Index plane = 0; plane < band.planes; ++plane)
        for (const Tap& row : axes[1].taps)
            for (const Tap& column : axes[2].taps) {
                const Index at = (plane * band.rows + row.place - axes[1].low()) * band.columns + column.place;
                found.offsets.push_back((at - axes[2].low()) * band.channels);
                if (merged) break;
            }
    return found;
}

template void load_pixels(float*, Index, const PlaneOf<float>&, Index, Index, Index, Index);
template void load_pixels(double*, Index, const PlaneOf<double>&, Index, Index, Index, Index);
template void load_band(float*, const BandShape&, const Axis (&)[3], const float*, Index, Index);
template void load_band(double*, const BandShape&, const Axis (&)[3], const double*, Index, Index);

}  // namespace clew::kernels::convolution
