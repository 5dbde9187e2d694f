// The gradient of the weights: for each tap and channel, the sum over all pixels of input times gradient of the output.
#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/convolution/conv_plan.h"
#include "core/kernels/memory/scratch.h"

namespace clew::kernels::convolution {
namespace {

template <class T>
class WeightGradient {
public:
    WeightGradient(const Conv& c, T* weight, const T* grad_out, const T* in)
        : c_(c),
          weight_(weight),
          grad_out_(grad_out),
          in_(in),
          axes_{forward_axis(c, 0), forward_axis(c, 1), forward_axis(c, 2)},
          panels_(panels_of<T>(c.out_channels)),
          rows_(rows_of_band(axes_, c.in_channels, sizeof(T), kMany)),
          band_(band_shape(axes_, c.in_channels, rows_)),
          segments_(segments_of(axes_, band_)),
          terms_(static_cast<Index>(segments_.offsets.size()) * segments_.run) {}

    // Tasks are groups of images, groups of channels, pairs of panels. Each has sums of its own for all its images.
    void run() {
        const Index sum = terms_ * panels_.width, of_group = sum * panels_.count;
        const Index parts = image_groups(c_, c_.groups * of_group * static_cast<Index>(sizeof(T)));
        const Scratch memory(static_cast<std::size_t>(parts * c_.groups * of_group) * sizeof(T));
        T* sums = memory.as<T>();
        const Index pairs = (panels_.count + 1) / 2;
        parallel_for(parts * c_.groups * pairs, 1, [&](Index begin, Index end) {
            const Index pixels = rows_ * axes_[2].count * panels_.width;
            const Scratch room(static_cast<std::size_t>(band_.elements() + pixels + 2 * kCarveSlack) * sizeof(T));
            Carve<T> pieces(room.as<T>());
            T* band = pieces.take(band_.elements());
            T* gradient = pieces.take(pixels);
            for (Index task = begin; task < end; ++task) {
                const Index pair = task % pairs, group = task / pairs % c_.groups, part = task / pairs / c_.groups;
                T* to = sums + (part * c_.groups + group) * of_group;
                bool first = true;
                for (Index image = c_.batch * part / parts; image < c_.batch * (part + 1) / parts; ++image)
                    for (Index depth = 0; depth < axes_[0].count; ++depth)
                        for (Index row = 0; row < axes_[1].count; row += rows_, first = false)
                            add_band({image, group, depth, row}, 2 * pair, to, band, gradient, !first);
            }
        });
        for (Index part = 1; part < parts; ++part)
            for (Index i = 0; i < c_.groups * of_group; ++i) sums[i] += sums[part * c_.groups * of_group + i];
        put(sums);
    }

private:
    static constexpr Index kMany = 1 << 20;  // bands are not cut for the sake of threads
    struct Place {
        Index image, group, depth, row;
    };

    void add_band(const Place& at, Index panel, T* sums, T* band, T* gradient, bool accumulate) const {
        const Index image = at.image * c_.groups + at.group;
        load_band(band, band_, axes_, in_ + image * c_.in_channels * product(c_.in), at.depth, at.row);
        const Index rows = std::min(rows_, axes_[1].count - at.row), columns = axes_[2].count;
        const Index plane = product(c_.out), last = std::min(panel + 2, panels_.count);
        std::vector<Index> lines;
        for (Index r = 0; r < rows; ++r) lines.push_back(r * axes_[1].source_step * band_.row_stride());
        for (; panel < last; ++panel) {
            const Index channels = std::min(panels_.width, c_.out_channels - panel * panels_.width);
            if (channels < panels_.width) std::fill_n(gradient, rows * columns * panels_.width, T(0));
            loops<T>().transpose(gradient, panels_.width,
                                 grad_out_ + (image * c_.out_channels + panel * panels_.width) * plane +
                                     (at.depth * axes_[1].count + at.row) * columns,
                                 plane, channels, rows * columns);
            T* to = sums + panel * terms_ * panels_.width;
            for (const Index segment : segments_.offsets) {
                in_even_pieces(segments_.run, loops<T>().rows, [&](Index begin, Index count) {
                    loops<T>().tile[panels_.vectors - 1][1][count](
                        {band + segment + begin, axes_[2].source_step * band_.channels, lines.data(), rows, columns,
                         gradient, nullptr, accumulate, to + begin * panels_.width, panels_.width});
                });
                to += segments_.run * panels_.width;
            }
        }
    }

    // From (group, panel, tap, in channel, out channel) to the order of the weights.
    void put(const T* sums) const {
        const Index taps = product(c_.kernel);
        for (Index group = 0; group < c_.groups; ++group)
            for (Index panel = 0; panel < panels_.count; ++panel) {
                const Index channels = std::min(panels_.width, c_.out_channels - panel * panels_.width);
                T* to = weight_ + (group * c_.out_channels + panel * panels_.width) * c_.in_channels * taps;
                for (Index tap = 0; tap < taps; ++tap)
                    for (Index i = 0; i < c_.in_channels; ++i, sums += panels_.width)
                        for (Index o = 0; o < channels; ++o) to[(o * c_.in_channels + i) * taps + tap] = sums[o];
            }
    }

    const Conv& c_;
    T* weight_;
    const T* grad_out_;
    const T* in_;
    const Axis axes_[3];
    Panels panels_;
    Index rows_;
    BandShape band_;
    Segments segments_;
    Index terms_;
};

}  // namespace

template <class T>
void direct_weight_gradient(const Conv& c, T* weight, const T* grad_out, const T* in) {
    CLEW_KERNEL();
    WeightGradient<T>(c, weight, grad_out, in).run();
}

template void direct_weight_gradient(const Conv&, float*, const float*, const float*);
template void direct_weight_gradient(const Conv&, double*, const double*, const double*);

}  // namespace clew::kernels::convolution
