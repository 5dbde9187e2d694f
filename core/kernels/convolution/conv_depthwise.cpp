// Convolutions in which each channel is by itself. There are no channels to take side by side, so vectors go along the
// rows: of a band each tap finds its elements adjacent, once columns that are a stride apart have been brought
// together.
#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/convolution/conv_plan.h"
#include "core/kernels/convolution/depthwise_loops.h"
#include "core/kernels/memory/scratch.h"

namespace clew::kernels::convolution {
namespace {

template <class T>
const DepthwiseLoops<T>& depthwise();
template <>
const DepthwiseLoops<float>& depthwise<float>() {
    return depthwise_loops().float32;
}
template <>
const DepthwiseLoops<double>& depthwise<double>() {
    return depthwise_loops().float64;
}

// A band of one channel: by plane, row, place of the column within a step, column. Zeros follow each row.
template <class T>
class Bands {
public:
    explicit Bands(const Axis (&axes)[3])
        : axes_(axes),
          rows(rows_of_band(axes, 1, sizeof(T), kMany)),
          out_stride(rounded_up(axes[2].count, depthwise<T>().lanes)),
          planes_(static_cast<Index>(axes[0].taps.size())),
          band_rows_(axes[1].needed(rows)),
          steps_(axes[2].source_step),
          length_(out_stride + (axes[2].span() + steps_ - 1) / steps_) {
        for (Index plane = 0; plane < planes_; ++plane)
            for (const Tap& row : axes[1].taps)
                for (const Tap& column : axes[2].taps) {
                    const Index across = column.place - axes[2].low();
                    offsets_.push_back(((plane * band_rows_ + row.place - axes[1].low()) * steps_ + across % steps_) *
                                           length_ +
                                       across / steps_);
                }
    }

    Index elements() const { return planes_ * band_rows_ * steps_ * length_; }
    Index taps() const { return static_cast<Index>(offsets_.size()); }
    DepthwiseRows<T> view(const T* band, Index count) const {
        return {band,          axes_[1].source_step * steps_ * length_, offsets_.data(), taps(), out_stride, count,
                axes_[2].count};
    }

    void load(T* band, const T* channel, Index depth, Index row) const {
        std::fill_n(band, elements(), T(0));
        const Index height = axes_[1].source_size, width = axes_[2].source_size, low = axes_[2].low();
        const Index first = std::max<Index>(0, -low), end = std::min(axes_[2].needed(axes_[2].count), width - low);
        for (const Tap& tap : axes_[0].taps) {
            const Index plane = depth * axes_[0].source_step + tap.place;
            for (Index r = 0; r < band_rows_; ++r, band += steps_ * length_) {
                const Index line = row * axes_[1].source_step + axes_[1].low() + r;
                if (plane < 0 || plane >= axes_[0].source_size || line < 0 || line >= height) continue;
                const T* from = channel + (plane * height + line) * width + low;
                if (steps_ == 1)
                    std::copy(from + first, from + std::max(first, end), band + first);
                else
                    for (Index c = first; c < end; ++c) band[c % steps_ * length_ + c / steps_] = from[c];
            }
        }
    }

private:
    static constexpr Index kMany = 1 << 20;  // bands are not cut for the sake of threads
    const Axis (&axes_)[3];

public:
    Index rows, out_stride;

private:
    Index planes_, band_rows_, steps_, length_;
    std::vector<Index> offsets_;
};

// The weights of one channel in the order of the taps.
template <class T>
void pick_weights(T* to, const T* from, const Conv& c, const Axis (&axes)[3]) {
    for (const Tap& depth : axes[0].taps)
        for (const Tap& row : axes[1].taps)
            for (const Tap& column : axes[2].taps)
                *to++ = from[(depth.which * c.kernel[1] + row.which) * c.kernel[2] + column.which];
}

template <class T>
void put_rows(const Sides<T>& s, const Axis (&axes)[3], T* channel, const T* from, Index from_stride, Index depth,
              Index row, Index rows) {
    for (Index r = 0; r < rows; ++r) {
        const Index line = (axes[0].first + depth * axes[0].result_step) * s.result_size[1] + axes[1].first +
                           (row + r) * axes[1].result_step;
        T* to = channel + line * s.result_size[2] + axes[2].first;
        if (axes[2].result_step == 1)
            std::copy_n(from + r * from_stride, axes[2].count, to);
        else
            for (Index i = 0; i < axes[2].count; ++i) to[i * axes[2].result_step] = from[r * from_stride + i];
    }
}

template <class T>
void gather_phase(const Conv& c, const Sides<T>& s, const Axis (&axes)[3]) {
    const Bands<T> bands(axes);
    const Index result = product(s.result_size), source = product(s.source_size);
    const Index grain = std::max<Index>(1, (1 << 18) / (result * (bands.taps() + 4)));
    parallel_for(c.batch * c.groups, grain, [&](Index begin, Index end) {
        const Index sizes[] = {bands.elements(), bands.rows * bands.out_stride, bands.taps()};
        const Scratch memory(static_cast<std::size_t>(sizes[0] + sizes[1] + sizes[2] + 3 * kCarveSlack) * sizeof(T));
        Carve<T> pieces(memory.as<T>());
        T *band = pieces.take(sizes[0]), *rows = pieces.take(sizes[1]), *weights = pieces.take(sizes[2]);
        for (Index channel = begin; channel < end; ++channel) {
            const Index group = channel % c.groups;
            pick_weights(weights, s.weight + group * s.by_group, c, axes);
            for (Index depth = 0; depth < axes[0].count; ++depth)
                for (Index row = 0; row < axes[1].count; row += bands.rows) {
                    const Index count = std::min(bands.rows, axes[1].count - row);
                    bands.load(band, s.source + channel * source, depth, row);
                    depthwise<T>().gather(bands.view(band, count), rows, weights,
                                          s.bias == nullptr ? T(0) : s.bias[group]);
                    put_rows(s, axes, s.result + channel * result, rows, bands.out_stride, depth, row, count);
                }
        }
    });
}

}  // namespace

bool suits_depthwise(const Conv& c) { return c.in_channels == 1 && c.out_channels == 1; }

template <class T>
void depthwise(const Conv& c, const Sides<T>& s) {
    CLEW_KERNEL();
    for_each_phase(c, s.backward, [&](const Axis(&axes)[3]) { gather_phase(c, s, axes); });
}

// One task sums a channel over all images, in order.
template <class T>
void depthwise_weight_gradient(const Conv& c, T* weight, const T* grad_out, const T* in) {
    CLEW_KERNEL();
    const Axis axes[3] = {forward_axis(c, 0), forward_axis(c, 1), forward_axis(c, 2)};
    const Bands<T> bands(axes);
    const Index plane = product(c.out), columns = axes[2].count;
    std::fill_n(weight, c.groups * bands.taps(), T(0));
    parallel_for(c.groups, 1, [&](Index begin, Index end) {
        const Index sizes[] = {bands.elements(), bands.rows * bands.out_stride};
        const Scratch memory(static_cast<std::size_t>(sizes[0] + sizes[1] + 2 * kCarveSlack) * sizeof(T));
        Carve<T> pieces(memory.as<T>());
        T *band = pieces.take(sizes[0]), *grad = pieces.take(sizes[1]);
        std::fill_n(grad, sizes[1], T(0));
        for (Index group = begin; group < end; ++group)
            for (Index image = 0; image < c.batch; ++image)
                for (Index depth = 0; depth < axes[0].count; ++depth)
                    for (Index row = 0; row < axes[1].count; row += bands.rows) {
                        const Index count = std::min(bands.rows, axes[1].count - row);
                        const Index channel = image * c.groups + group;
                        bands.load(band, in + channel * product(c.in), depth, row);
                        const T* from = grad_out + channel * plane + (depth * axes[1].count + row) * columns;
                        for (Index r = 0; r < count; ++r)
                            std::copy_n(from + r * columns, columns, grad + r * bands.out_stride);
                        depthwise<T>().weight_gradient(bands.view(band, count), weight + group * bands.taps(), grad);
                    }
    });
}

template void depthwise(const Conv&, const Sides<float>&);
template void depthwise(const Conv&, const Sides<double>&);
template void depthwise_weight_gradient(const Conv&, float*, const float*, const float*);
template void depthwise_weight_gradient(const Conv&, double*, const double*, const double*);

}  // namespace clew::kernels::convolution
