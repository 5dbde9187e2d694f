#include "core/kernels/layers/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/layers/batch_norm_loops.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

// Where a sample has a single element of each channel, channels are walked side by side.
bool side_by_side(const BatchNorm& s) { return s.inner == 1; }

class At {
public:
    explicit At(const BatchNorm& s)
        : size_(static_cast<Index>(item_size(s.dtype))), channels_(s.channels), inner_(s.inner) {}
    template <class Byte>
    Byte* operator()(Byte* data, Index sample, Index channel) const {
        return data + (sample * channels_ + channel) * inner_ * size_;
    }

private:
    Index size_, channels_, inner_;
};
const char* bytes(const void* data) { return static_cast<const char*>(data); }

// body(first channel, end) for groups of channels, whose sums nobody else touches.
template <class Body>
void for_channels(const BatchNorm& s, const Body& body) {
    const Index work = std::max<Index>(1, s.batch * s.inner);
    const Index least = side_by_side(s) ? 64 : 1;
    parallel_for(s.channels, std::max(least, (Index{1} << 15) / work), body);
}

}  // namespace

void batch_moments(const BatchNorm& s, double* mean, double* squares, const void* x) {
    CLEW_KERNEL();
    const BatchNormTable& loops = batch_norm_loops();
    const int type = static_cast<int>(s.dtype);
    const At at(s);
    const double count = static_cast<double>(s.batch * s.inner);
    // Squares out of float32's range, which sums of a few elements are made in.
    const auto widen = [&](Index c) {
        if (std::isfinite(squares[c]) || s.dtype != DType::Float32) return;
        squares[c] = 0;
        for (Index n = 0; n < s.batch; ++n) {
            const float* from = reinterpret_cast<const float*>(at(bytes(x), n, c));
            for (Index i = 0; i < s.inner; ++i) squares[c] += (from[i] - mean[c]) * (from[i] - mean[c]);
        }
    };
    for_channels(s, [&](Index begin, Index end) {
        std::fill(mean + begin, mean + end, 0.0);
        std::fill(squares + begin, squares + end, 0.0);
        if (side_by_side(s)) {
            for (Index n = 0; n < s.batch; ++n) loops.add_row[type](mean + begin, at(bytes(x), n, begin), end - begin);
            for (Index c = begin; c < end; ++c) mean[c] /= count;
            for (Index n = 0; n < s.batch; ++n)
                loops.add_squares_row[type](squares + begin, at(bytes(x), n, begin), end - begin, mean + begin);
            for (Index c = begin; c < end; ++c) widen(c);
            return;
        }
        for (Index c = begin; c < end; ++c) {
            for (Index n = 0; n < s.batch; ++n) mean[c] += loops.sum[type](at(bytes(x), n, c), s.inner);
            mean[c] /= count;
            for (Index n = 0; n < s.batch; ++n) squares[c] += loops.squares[type](at(bytes(x), n, c), s.inner, mean[c]);
            widen(c);
        }
    });
}

void batch_affine(const BatchNorm& s, void* out, const void* x, const double* mean, const double* scale,
                  const double* shift) {
    CLEW_KERNEL();
    const BatchNormTable& loops = batch_norm_loops();
    const int type = static_cast<int>(s.dtype);
    const At at(s);
    char* to = static_cast<char*>(out);
    for_channels(s, [&](Index begin, Index end) {
        for (Index n = 0; side_by_side(s) && n < s.batch; ++n)
            loops.affine_row[type](at(to, n, begin), at(bytes(x), n, begin), end - begin, mean + begin, scale + begin,
                                   shift + begin);
        for (Index c = begin; !side_by_side(s) && c < end; ++c)
            for (Index n = 0; n < s.batch; ++n)
                loops.affine[type](at(to, n, c), at(bytes(x), n, c), s.inner, mean[c], scale[c], shift[c]);
    });
}

void batch_gradient_sums(const BatchNorm& s, double* sum, double* product, const void* grad, const void* x,
                         const double* mean) {
    CLEW_KERNEL();
    const BatchNormTable& loops = batch_norm_loops();
    const int type = static_cast<int>(s.dtype);
    const At at(s);
    for_channels(s, [&](Index begin, Index end) {
        std::fill(sum + begin, sum + end, 0.0);
        std::fill(product + begin, product + end, 0.0);
        for (Index n = 0; side_by_side(s) && n < s.batch; ++n)
            loops.gradient_sums_row[type](sum + begin, product + begin, at(bytes(grad), n, begin),
                                          at(bytes(x), n, begin), end - begin, mean + begin);
        for (Index c = begin; !side_by_side(s) && c < end; ++c) {
            double sums[2] = {};
            for (Index n = 0; n < s.batch; ++n)
                loops.gradient_sums[type](sums, at(bytes(grad), n, c), at(bytes(x), n, c), s.inner, mean[c]);
            sum[c] = sums[0];
            product[c] = sums[1];
        }
    });
}

void batch_gradient(const BatchNorm& s, void* out, const void* grad, const void* x, const double* mean,
                    const double* scale, const double* slope, const double* shift) {
    CLEW_KERNEL();
    const BatchNormTable& loops = batch_norm_loops();
    const int type = static_cast<int>(s.dtype);
    const At at(s);
    char* to = static_cast<char*>(out);
    for_channels(s, [&](Index begin, Index end) {
        for (Index n = 0; side_by_side(s) && n < s.batch; ++n)
            loops.gradient_row[type](at(to, n, begin), at(bytes(grad), n, begin), at(bytes(x), n, begin), end - begin,
                                     mean + begin, scale + begin, slope + begin, shift + begin);
        for (Index c = begin; !side_by_side(s) && c < end; ++c)
            for (Index n = 0; n < s.batch; ++n)
                loops.gradient[type](at(to, n, c), at(bytes(grad), n, c), at(bytes(x), n, c), s.inner, mean[c],
                                     scale[c], slope[c], shift[c]);
    });
}

}  // namespace clew::kernels
