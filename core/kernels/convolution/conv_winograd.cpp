// Kernels of 3 x 3 with stride 1 in fewer products: see Note [Winograd] in conv_loops.isa.cpp.
//
// For each of the 16 elements of a transformed tile there is a product of matrices: tiles by channels (V) times
// channels by result channels (U). A block of tiles, some rows of one image, stays in the cache from the pixels to the
// result. The transforms mix the pixels of a tile, so one that is not finite spreads over all of it: what comes out so
// is computed again by the plain sum.
#include <atomic>

#include "core/base/frame.h"
#include "core/kernels/convolution/conv_winograd.h"

namespace clew::kernels::convolution {
namespace {
// G w G' of one 3 x 3 kernel.
template <class T>
void transform_weight(const T (&w)[3][3], T (&out)[4][4]) {
    const auto side = [](T a, T b, T c, T(&to)[4]) {
        to[0] = a;
        to[1] = (a + b + c) * T(0.5);
        to[2] = (a - b + c) * T(0.5);
        to[3] = c;
    };
    T half[3][4];
    for (int j = 0; j < 3; ++j) side(w[0][j], w[1][j], w[2][j], half[j]);
    for (int i = 0; i < 4; ++i) side(half[0][i], half[1][i], half[2][i], out[i]);
}

// U by panel, element, source channel, result channel; padded with zeros.
template <class T>
void pack_weights(T* to, const Sides<T>& s, Index group, const Panels& panels, Index padded) {
    std::fill_n(to, panels.count * kElements * padded * panels.width, T(0));
    const T* group_weight = s.weight + group * s.by_group;
    for (Index i = 0; i < s.source_channels; ++i)
        for (Index r = 0; r < s.result_channels; ++r) {
            const T* from = group_weight + i * s.weight_by_source + r * s.weight_by_result;
            T weight[3][3], out[4][4];
            for (int k = 0; k < 9; ++k) weight[k / 3][k % 3] = from[s.backward ? 8 - k : k];
            transform_weight(weight, out);
            T* place = to + (r / panels.width * kElements * padded + i) * panels.width + r % panels.width;
            for (int k = 0; k < kElements; ++k) place[k * padded * panels.width] = out[k / 4][k % 4];
        }
}
template <class T>
class Winograd {
public:
    Winograd(const Conv& c, const Sides<T>& s, std::uint8_t* not_finite)
        : c_(c),
          s_(s),
          not_finite_(not_finite),
          panels_(panels_of<T>(s.result_channels)),
          padded_(rounded_up(s.source_channels, loops<T>().lanes)),
          blocks_(s.result_size[1], s.result_size[2]) {
        for (int i = 0; i < 2; ++i)
            padding_[i] = s.backward ? c.kernel[i + 1] - 1 - c.padding[i + 1] : c.padding[i + 1];
    }

    void run() {
        const Index of_group = panels_.count * kElements * padded_ * panels_.width;
        const Index shifts = panels_.count * panels_.width;
        const Scratch memory(static_cast<std::size_t>(c_.groups * (of_group + shifts)) * sizeof(T));
        T* weights = memory.as<T>();
        T* bias = weights + c_.groups * of_group;
        std::fill_n(bias, c_.groups * shifts, T(0));
        parallel_for(c_.groups, 1, [&](Index begin, Index end) {
            for (Index group = begin; group < end; ++group) {
                pack_weights(weights + group * of_group, s_, group, panels_, padded_);
                if (s_.bias != nullptr)
                    std::copy_n(s_.bias + group * s_.result_channels, s_.result_channels, bias + group * shifts);
            }
        });
        parallel_for(c_.batch * c_.groups * blocks_.count, 1, [&](Index begin, Index end) {
            const Index tiles = blocks_.tiles();
            const Index sizes[] = {blocks_.band_pixels() * padded_, kElements * tiles * padded_,
                                   kElements * tiles * panels_.width, 4 * tiles * panels_.width};
            const Scratch room(static_cast<std::size_t>(sizes[0] + sizes[1] + sizes[2] + sizes[3] + 4 * kCarveSlack) *
                               sizeof(T));
            Carve<T> pieces(room.as<T>());
            const Room r{pieces.take(sizes[0]), pieces.take(sizes[1]), pieces.take(sizes[2]), pieces.take(sizes[3])};
            for (Index task = begin; task < end; ++task) {
                const Index image = task / blocks_.count, group = image % c_.groups;
                one_block(image, task % blocks_.count, weights + group * of_group, bias + group * shifts, r);
            }
        });
    }

private:
    struct Room {
        T *band, *transformed, *products, *pixels;
    };

    void one_block(Index image, Index block, const T* weights, const T* bias, const Room& r) const {
        const Index plane = s_.source_size[1] * s_.source_size[2];
        load_tiles(r.transformed, r.band, blocks_, block,
                   PlaneOf<T>{s_.source + image * s_.source_channels * plane, s_.source_channels, plane,
                              s_.source_size[1], s_.source_size[2]},
                   padded_, padding_);
        for (Index panel = 0; panel < panels_.count; ++panel) {
            const Index step = padded_ * panels_.width;
            multiply(r, weights + panel * kElements * step, blocks_.rows_of(block) * blocks_.tile_columns);
            loops<T>().winograd_output(
                {r.pixels, panels_.width, 2 * blocks_.tile_columns * panels_.width, r.products, panels_.width,
                 blocks_.tiles() * panels_.width, blocks_.rows_of(block), blocks_.tile_columns, panels_.width},
                bias + panel * panels_.width);
            put(r.pixels, image, block, panel);
        }
    }

    void multiply(const Room& r, const T* weights, Index tiles) const {
        const auto& tile = loops<T>().tile[panels_.vectors - 1][0];
        for (Index k = 0; k < kElements; ++k) {
            const T* from = r.transformed + k * blocks_.tiles() * padded_;
            T* to = r.products + k * blocks_.tiles() * panels_.width;
            in_even_pieces(tiles, loops<T>().rows, [&](Index begin, Index count) {
                tile[count]({from + begin * padded_, padded_, kZero, 1, padded_, weights, nullptr, false,
                             to + begin * panels_.width, panels_.width});
            });
            weights += padded_ * panels_.width;
        }
    }

    void put(const T* pixels, Index image, Index block, Index panel) const {
        const Index height = s_.result_size[1], width = s_.result_size[2];
        const Index first = 2 * block * blocks_.rows, rows = std::min(2 * blocks_.rows_of(block), height - first);
        const Index columns = 2 * blocks_.tile_columns, channel = panel * panels_.width;
        const Index channels = std::min(panels_.width, s_.result_channels - channel);
        if (!loops<T>().all_finite(pixels, rows * columns * panels_.width))
            std::atomic_ref(not_finite_[image / c_.groups]).store(1, std::memory_order_relaxed);
        T* to = s_.result + (image * s_.result_channels + channel) * height * width + first * width;
        const auto transpose = loops<T>().transpose;
        if (columns == width) return transpose(to, height * width, pixels, panels_.width, rows * width, channels);
        for (Index r = 0; r < rows; ++r)
            transpose(to + r * width, height * width, pixels + r * columns * panels_.width, panels_.width, width,
                      channels);
    }

    const Conv& c_;
    const Sides<T>& s_;
    std::uint8_t* not_finite_;
    Panels panels_;
    Index padded_;
    Blocks blocks_;
    Index padding_[2];
};
}  // namespace

// With few channels the transforms cost more than the products that they save; with few tiles those of the weights do.
bool suits_winograd(const Conv& c) {
    const bool three_by_three =
        c.kernel[0] == 1 && c.kernel[1] == 3 && c.kernel[2] == 3 && c.in[0] == 1 && c.out[0] == 1 && c.padding[0] == 0;
    const bool plain = c.stride[1] == 1 && c.stride[2] == 1 && c.dilation[1] == 1 && c.dilation[2] == 1;
    return three_by_three && plain && c.in_channels >= 16 && c.out_channels >= 16 && c.out[1] > 1 && c.out[2] > 1 &&
           c.batch * c.out[1] * c.out[2] >= 256;
}

template <class T>
void winograd(const Conv& c, const Sides<T>& s, std::uint8_t* not_finite) {
    CLEW_KERNEL();
    Winograd<T>(c, s, not_finite).run();
}
template void winograd(const Conv&, const Sides<float>&, std::uint8_t*);
template void winograd(const Conv&, const Sides<double>&, std::uint8_t*);

}  // namespace clew::kernels::convolution
