// The sum over all taps as it stands; for any kernel, stride and dilation.
#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/convolution/conv_plan.h"
#include "core/kernels/memory/scratch.h"

namespace clew::kernels::convolution {
namespace {

// Weights in the order in which the tiles read them: by group, panel, tap, source channel; padded with zeros.
template <class T>
void pack_weights(T* to, const Conv& c, const Sides<T>& s, const Axis (&axes)[3], const Panels& panels) {
    const Index rest = c.kernel[1] * c.kernel[2];
    for (Index group = 0; group < c.groups; ++group)
        for (Index panel = 0; panel < panels.count; ++panel) {
            const Index first = panel * panels.width;
            const Index channels = std::min(panels.width, s.result_channels - first);
            for (const Tap& depth : axes[0].taps)
                for (const Tap& row : axes[1].taps)
                    for (const Tap& column : axes[2].taps) {
                        const T* from = s.weight + group * s.by_group + first * s.weight_by_result +
                                        depth.which * rest + row.which * c.kernel[2] + column.which;
                        for (Index i = 0; i < s.source_channels; ++i, to += panels.width) {
                            for (Index r = 0; r < channels; ++r)
                                to[r] = from[i * s.weight_by_source + r * s.weight_by_result];
                            std::fill(to + channels, to + panels.width, T(0));
                        }
                    }
        }
}

// bias (groups * channels), each group padded to whole panels.
template <class T>
void pack_bias(T* to, const Conv& c, const Sides<T>& s, const Panels& panels) {
    const Index padded = panels.count * panels.width;
    for (Index group = 0; group < c.groups; ++group, to += padded) {
        std::copy_n(s.bias + group * s.result_channels, s.result_channels, to);
        std::fill(to + s.result_channels, to + padded, T(0));
    }
}

// All results of one phase.
template <class T>
class Phase {
public:
    Phase(const Conv& c, const Sides<T>& s, const Axis (&axes)[3], const std::uint8_t* only_images)
        : c_(c),
          s_(s),
          axes_(axes),
          only_images_(only_images),
          panels_(panels_of<T>(s.result_channels)),
          rows_(rows_of_band(axes, s.source_channels, sizeof(T), c.batch * c.groups * axes[0].count)),
          band_(band_shape(axes, s.source_channels, rows_)),
          segments_(segments_of(axes, band_)) {}

    void run() {
        const Index terms = static_cast<Index>(segments_.offsets.size()) * segments_.run;
        const Index padded = panels_.count * panels_.width;
        const Scratch memory(static_cast<std::size_t>(c_.groups * padded * (terms + 1) + 2 * kCarveSlack) * sizeof(T));
        Carve<T> carve(memory.as<T>());
        T* weights = carve.take(c_.groups * padded * terms);
        weights_ = weights;
        pack_weights(weights, c_, s_, axes_, panels_);
        if (s_.bias != nullptr) {
            T* bias = carve.take(c_.groups * padded);
            bias_ = bias;
            pack_bias(bias, c_, s_, panels_);
        }
        const Index bands = (axes_[1].count + rows_ - 1) / rows_;
        const Index work = rows_ * axes_[2].count * padded * (terms + 8);
        const Index grain = std::max<Index>(1, (1 << 18) / std::max<Index>(1, work));
        parallel_for(c_.batch * c_.groups * axes_[0].count * bands, grain, [&](Index begin, Index end) {
            const Index pixels = rows_ * axes_[2].count * panels_.width;
            const Scratch room(static_cast<std::size_t>(band_.elements() + pixels + 2 * kCarveSlack) * sizeof(T));
            Carve<T> pieces(room.as<T>());
            T* band = pieces.take(band_.elements());
            T* result = pieces.take(pixels);
            for (Index task = begin; task < end; ++task) {
                const Index row = task % bands * rows_, depth = task / bands % axes_[0].count;
                one_band(task / bands / axes_[0].count, depth, row, band, result);
            }
        });
    }

private:
    void one_band(Index image_of_group, Index depth, Index row, T* band, T* result) const {
        const Index image = image_of_group / c_.groups, group = image_of_group % c_.groups;
        if (only_images_ != nullptr && !only_images_[image]) return;
        const Index source_plane = product(s_.source_size);
        load_band(band, band_, axes_, s_.source + image_of_group * s_.source_channels * source_plane, depth, row);
        const Index rows = std::min(rows_, axes_[1].count - row);
        const Index terms = static_cast<Index>(segments_.offsets.size()) * segments_.run;
        for (Index panel = 0; panel < panels_.count; ++panel) {
            const Index at = group * panels_.count + panel;
            tiles(band, rows, weights_ + at * panels_.width * terms,
                  bias_ == nullptr ? nullptr : bias_ + at * panels_.width, result);
            put(result, image_of_group * s_.result_channels + panel * panels_.width,
                std::min(panels_.width, s_.result_channels - panel * panels_.width), depth, row, rows);
        }
    }

    void tiles(const T* band, Index rows, const T* weights, const T* bias, T* result) const {
        const ConvLoops<T>& l = loops<T>();
        const Index columns = axes_[2].count, step = axes_[2].source_step * band_.channels;
        for (Index row = 0; row < rows; ++row)
            in_even_pieces(columns, l.rows, [&](Index column, Index count) {
                l.tile[panels_.vectors - 1][0][count](
                    {band + row * axes_[1].source_step * band_.row_stride() + column * step, step,
                     segments_.offsets.data(), static_cast<Index>(segments_.offsets.size()), segments_.run, weights,
                     bias, false, result + (row * columns + column) * panels_.width, panels_.width});
            });
    }

    // The pixels of one panel, to where they belong.
    void put(const T* from, Index channel, Index channels, Index depth, Index row, Index rows) const {
        const Index area = s_.result_size[1] * s_.result_size[2], plane = s_.result_size[0] * area;
        T* to = s_.result + channel * plane + (axes_[0].first + depth * axes_[0].result_step) * area;
        const Index columns = axes_[2].count;
        if (axes_[1].result_step == 1 && axes_[2].result_step == 1)
            return loops<T>().transpose(to + row * columns, plane, from, panels_.width, rows * columns, channels);
        for (Index i = 0; i < channels; ++i)
            for (Index r = 0; r < rows; ++r) {
                T* line = to + i * plane + (axes_[1].first + (row + r) * axes_[1].result_step) * s_.result_size[2] +
                          axes_[2].first;
                for (Index j = 0; j < columns; ++j)
                    line[j * axes_[2].result_step] = from[(r * columns + j) * panels_.width + i];
            }
    }

    const Conv& c_;
    const Sides<T>& s_;
    const Axis (&axes_)[3];
    const std::uint8_t* only_images_;
    Panels panels_;
    Index rows_;
    BandShape band_;
    Segments segments_;
    const T* weights_ = nullptr;
    const T* bias_ = nullptr;
};

}  // namespace

template <class T>
void direct(const Conv& c, const Sides<T>& s, const std::uint8_t* only_images) {
    CLEW_KERNEL();
    for_each_phase(c, s.backward, [&](const Axis(&axes)[3]) { Phase<T>(c, s, axes, only_images).run(); });
}

template void direct(const Conv&, const Sides<float>&, const std::uint8_t*);
template void direct(const Conv&, const Sides<double>&, const std::uint8_t*);

}  // namespace clew::kernels::convolution
