// The gradient of the weights over transformed tiles: see conv_winograd.cpp.
#include "core/base/frame.h"
#include "core/kernels/convolution/conv_winograd.h"

namespace clew::kernels::convolution {
namespace {

// G' m G, the other way.
template <class T>
void transform_gradient(const T (&m)[4][4], T (&out)[3][3]) {
    const auto side = [](T a, T b, T c, T d, T(&to)[3]) {
        to[0] = a + (b + c) * T(0.5);
        to[1] = (b - c) * T(0.5);
        to[2] = (b + c) * T(0.5) + d;
    };
    T half[4][3];
    for (int j = 0; j < 4; ++j) side(m[0][j], m[1][j], m[2][j], m[3][j], half[j]);
    for (int i = 0; i < 3; ++i) side(half[0][i], half[1][i], half[2][i], half[3][i], out[i]);
}
template <class T>
class WinogradGradient {
public:
    WinogradGradient(const Conv& c, const T* grad_out, const T* in)
        : c_(c),
          grad_out_(grad_out),
          in_(in),
          panels_(panels_of<T>(c.out_channels)),
          padded_(rounded_up(c.in_channels, loops<T>().lanes)),
          blocks_(c.out[1], c.out[2]) {}

    void run(T* weight) const {
        const Index of_panel = kElements * padded_ * panels_.width, of_group = of_panel * panels_.count;
        const Index parts = image_groups(c_, c_.groups * of_group * static_cast<Index>(sizeof(T)));
        const Scratch memory(static_cast<std::size_t>(parts * c_.groups * of_group) * sizeof(T));
        T* sums = memory.as<T>();
        const Index pairs = (panels_.count + 1) / 2;
        parallel_for(parts * c_.groups * pairs, 1, [&](Index begin, Index end) {
            const Index tiles = blocks_.tiles();
            const Index sizes[] = {blocks_.band_pixels() * padded_, kElements * tiles * padded_,
                                   kElements * tiles * panels_.width, 4 * tiles * panels_.width};
            const Scratch room(static_cast<std::size_t>(sizes[0] + sizes[1] + sizes[2] + sizes[3] + 4 * kCarveSlack) *
                               sizeof(T));
            Carve<T> pieces(room.as<T>());
            const Room r{pieces.take(sizes[0]), pieces.take(sizes[1]), pieces.take(sizes[2]), pieces.take(sizes[3])};
            for (Index task = begin; task < end; ++task) {
                const Index pair = task % pairs, group = task / pairs % c_.groups, part = task / pairs / c_.groups;
                bool first = true;
                for (Index image = c_.batch * part / parts; image < c_.batch * (part + 1) / parts; ++image)
                    for (Index block = 0; block < blocks_.count; ++block, first = false)
                        add_block(image * c_.groups + group, block, 2 * pair,
                                  sums + (part * c_.groups + group) * of_group, r, !first);
            }
        });
        parallel_for(c_.groups * of_group, 1 << 14, [&](Index begin, Index end) {
            for (Index part = 1; part < parts; ++part)
                for (Index i = begin; i < end; ++i) sums[i] += sums[part * c_.groups * of_group + i];
        });
        for (Index group = 0; group < c_.groups; ++group)
            put(weight + group * c_.out_channels * c_.in_channels * 9, sums + group * of_group);
    }

private:
    struct Room {
        T *band, *transformed, *gradients, *pixels;
    };

    void add_block(Index image, Index block, Index panel, T* sums, const Room& r, bool accumulate) const {
        const Index plane = c_.in[1] * c_.in[2], tiles = blocks_.tiles();
        load_tiles(r.transformed, r.band, blocks_, block,
                   PlaneOf<T>{in_ + image * c_.in_channels * plane, c_.in_channels, plane, c_.in[1], c_.in[2]}, padded_,
                   c_.padding + 1);
        const Index last = std::min(panel + 2, panels_.count), used = blocks_.rows_of(block) * blocks_.tile_columns;
        for (; panel < last; ++panel) {
            load_gradients(image, block, panel, r);
            T* to = sums + panel * kElements * padded_ * panels_.width;
            for (Index k = 0; k < kElements; ++k, to += padded_ * panels_.width)
                in_even_pieces(padded_, loops<T>().rows, [&](Index begin, Index count) {
                    loops<T>().tile[panels_.vectors - 1][1][count](
                        {r.transformed + k * tiles * padded_ + begin, padded_, kZero, 1, used,
                         r.gradients + k * tiles * panels_.width, nullptr, accumulate, to + begin * panels_.width,
                         panels_.width});
                });
        }
    }

    void load_gradients(Index image, Index block, Index panel, const Room& r) const {
        const Index plane = c_.out[1] * c_.out[2], rows = 2 * blocks_.rows_of(block),
                    columns = 2 * blocks_.tile_columns;
        const Index channel = panel * panels_.width, channels = std::min(panels_.width, c_.out_channels - channel);
        if (channels < panels_.width) std::fill_n(r.pixels, rows * columns * panels_.width, T(0));
        load_pixels(
            r.pixels, panels_.width,
            PlaneOf<T>{grad_out_ + (image * c_.out_channels + channel) * plane, channels, plane, c_.out[1], c_.out[2]},
            2 * block * blocks_.rows, rows, 0, columns);
        loops<T>().winograd_gradient({r.pixels, panels_.width, columns * panels_.width, r.gradients, panels_.width,
                                      blocks_.tiles() * panels_.width, blocks_.rows_of(block), blocks_.tile_columns,
                                      panels_.width});
    }

    void put(T* weight, const T* sums) const {
        for (Index o = 0; o < c_.out_channels; ++o)
            for (Index i = 0; i < c_.in_channels; ++i) {
                const T* from =
                    sums + (o / panels_.width * kElements * padded_ + i) * panels_.width + o % panels_.width;
                T m[4][4], out[3][3];
                for (int k = 0; k < kElements; ++k) m[k / 4][k % 4] = from[k * padded_ * panels_.width];
                transform_gradient(m, out);
                for (int k = 0; k < 9; ++k) weight[(o * c_.in_channels + i) * 9 + k] = out[k / 3][k % 3];
            }
    }

    const Conv& c_;
    const T* grad_out_;
    const T* in_;
    Panels panels_;
    Index padded_;
    Blocks blocks_;
};

}  // namespace
template <class T>
bool winograd_weight_gradient(const Conv& c, T* weight, const T* grad_out, const T* in) {
    CLEW_KERNEL(true);
    WinogradGradient<T>(c, grad_out, in).run(weight);
    return loops<T>().all_finite(weight, c.groups * c.out_channels * c.in_channels * 9);
}
template bool winograd_weight_gradient(const Conv&, float*, const float*, const float*);
template bool winograd_weight_gradient(const Conv&, double*, const double*, const double*);

}  // namespace clew::kernels::convolution
