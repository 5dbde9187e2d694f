#include "core/kernels/random/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/frame.h"
#include "core/kernels/random/box_muller.h"

// Note [The same stream as PyTorch]
// What is drawn, in which order and from how many words was found by drawing from PyTorch 2.13 and comparing; the tests
// compare it again wherever PyTorch is installed. A word is 32 bits of the engine; a double takes two.

namespace clew {
namespace {

template <class T>
T uniform(Generator& generator) {
    if constexpr (std::is_same_v<T, float>)
        return generator.uniform_float();
    else
        return generator.uniform_double();
}

// Box and Muller on sixteen uniforms: the first eight give radii, the others angles.
void normals_from_uniforms(double* data, std::int64_t blocks, double mean, double deviation) {
    for (; blocks > 0; --blocks, data += 16) {
        for (int i = 0; i < 8; ++i) {
            const double radius = std::sqrt(-2 * std::log(1 - data[i]));  // 1 - u is never 0
            const double angle = 2 * std::numbers::pi * data[i + 8];
            data[i] = std::fma(radius * std::cos(angle), deviation, mean);
            data[i + 8] = std::fma(radius * std::sin(angle), deviation, mean);
        }
    }
}
// See Note [The same normal numbers as PyTorch].
void normals_from_uniforms(float* data, std::int64_t blocks, float mean, float deviation) {
    kernels::box_muller().float32(data, blocks, mean, deviation);
}

template <class T>
void draw_by_cumulative_sums(Generator& generator, std::int64_t* out, std::int64_t draws, const T* weights,
                             std::int64_t rows, std::int64_t categories) {
    std::vector<T> cumulative(static_cast<std::size_t>(categories));
    for (std::int64_t row = 0; row < rows; ++row) {
        T sum = 0;
        for (T& each : cumulative) each = sum += *weights++;
        for (T& each : cumulative) each /= sum;
        cumulative.back() = 1;
        for (std::int64_t draw = 0; draw < draws; ++draw) {
            const double u = generator.uniform_double();
            *out++ = std::partition_point(cumulative.begin(), cumulative.end(), [u](T each) { return each < u; }) -
                     cumulative.begin();
        }
    }
}

// Each category runs against the others with its weight as speed: the order of arrival is a draw without replacement
// (Efraimidis and Spirakis, 2006). All rows draw their times first.
template <class T>
void draw_by_race(Generator& generator, std::int64_t* out, std::int64_t draws, const T* weights, std::int64_t rows,
                  std::int64_t categories) {
    std::vector<T> speed(static_cast<std::size_t>(rows * categories));
    fill_exponential(generator, speed.data(), rows * categories, 1.0);
    for (T& each : speed) each = *weights++ / each;
    std::vector<std::int64_t> order(static_cast<std::size_t>(categories));
    for (std::int64_t row = 0; row < rows; ++row) {
        const T* of_row = speed.data() + row * categories;
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::partial_sort(order.begin(), order.begin() + draws, order.end(), [of_row](std::int64_t a, std::int64_t b) {
            return of_row[a] > of_row[b] || (of_row[a] == of_row[b] && a < b);
        });
        out = std::copy_n(order.begin(), draws, out);
    }
}

}  // namespace

template <class T>
void fill_uniform(Generator& generator, T* out, std::int64_t count, double from, double to) {
    CLEW_KERNEL();
    if (from == 0 && to == 1) {
        for (std::int64_t i = 0; i < count; ++i) out[i] = uniform<T>(generator);
        return;
    }
    const T low = static_cast<T>(from), width = static_cast<T>(to) - low;
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = std::fma(uniform<T>(generator), width, low);  // rounded once, as there
}

// Fewer than 16 come one by one from the pairs of normal_double. 16 or more are made from as many uniforms, sixteen at
// a time; if the count is no multiple of 16, the last 16 are then drawn once more from fresh ones. For halves those
// that are not used are not drawn.
template <class T>
void fill_normal(Generator& generator, T* out, std::int64_t count, double mean, double deviation, bool for_halves) {
    CLEW_KERNEL();
    if (count < 16) {
        for (std::int64_t i = 0; i < count; ++i)
            out[i] = static_cast<T>(std::fma(generator.normal_double(), deviation, mean));
        return;
    }
    const T center = static_cast<T>(mean), width = static_cast<T>(deviation);
    fill_uniform(generator, out, for_halves ? count / 16 * 16 : count, 0, 1);
    normals_from_uniforms(out, count / 16, center, width);
    if (count % 16 == 0) return;
    T* last = out + count - 16;
    fill_uniform(generator, last, 16, 0, 1);
    normals_from_uniforms(last, 1, center, width);
}

template <class T>
void fill_exponential(Generator& generator, T* out, std::int64_t count, double rate) {
    CLEW_KERNEL();
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = static_cast<T>(-1 / rate * std::log1p(-generator.uniform_double()));
}

void fill_integers(Generator& generator, void* out, DType dtype, std::int64_t count, std::int64_t low,
                   std::int64_t high) {
    CLEW_KERNEL();
    const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const bool one_word = range < std::uint64_t{1}
                                      << 28;  // a remainder of 32 bits favours small numbers by up to 1 in 16
    with_any_type(dtype, [&]<class T>() {
        for (std::int64_t i = 0; i < count; ++i) {
            const std::uint64_t draw = one_word ? generator.random() : generator.random64();
            const std::uint64_t value = (range == 0 ? draw : draw % range) + static_cast<std::uint64_t>(low);
            static_cast<T*>(out)[i] = static_cast<T>(static_cast<std::int64_t>(value));
        }
    });
}

void fill_permutation(Generator& generator, std::int64_t* out, std::int64_t count) {
    CLEW_KERNEL();
    for (std::int64_t i = 0; i < count; ++i) out[i] = i;
    const bool one_word = count < std::numeric_limits<std::uint32_t>::max() / 20;
    for (std::int64_t i = 0; i < count - 1; ++i) {
        const std::uint64_t draw = one_word ? generator.random() : generator.random64();
        std::swap(out[i], out[i + static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(count - i))]);
    }
}

void fill_bernoulli(Generator& generator, void* out, DType dtype, std::int64_t count, double probability) {
    CLEW_KERNEL();
    with_any_type(dtype, [&]<class T>() {
        T* to = static_cast<T*>(out);
        for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(generator.uniform_double() < probability);
    });
}

template <class T>
void fill_bernoulli(Generator& generator, void* out, DType dtype, std::int64_t count, const T* probabilities) {
    CLEW_KERNEL();
    with_any_type(dtype, [&]<class To>() {
        To* to = static_cast<To*>(out);
        for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(uniform<T>(generator) < probabilities[i]);
    });
}

template <class T>
void fill_multinomial(Generator& generator, std::int64_t* out, std::int64_t draws, const T* weights, std::int64_t rows,
                      std::int64_t categories, bool replacement) {
    CLEW_KERNEL();
    if (replacement && draws > 1)
        draw_by_cumulative_sums(generator, out, draws, weights, rows, categories);
    else
        draw_by_race(generator, out, draws, weights, rows, categories);
}

template void fill_uniform(Generator&, float*, std::int64_t, double, double);
template void fill_uniform(Generator&, double*, std::int64_t, double, double);
template void fill_normal(Generator&, float*, std::int64_t, double, double, bool);
template void fill_normal(Generator&, double*, std::int64_t, double, double, bool);
template void fill_exponential(Generator&, float*, std::int64_t, double);
template void fill_exponential(Generator&, double*, std::int64_t, double);
template void fill_bernoulli(Generator&, void*, DType, std::int64_t, const float*);
template void fill_bernoulli(Generator&, void*, DType, std::int64_t, const double*);
template void fill_multinomial(Generator&, std::int64_t*, std::int64_t, const float*, std::int64_t, std::int64_t, bool);
template void fill_multinomial(Generator&, std::int64_t*, std::int64_t, const double*, std::int64_t, std::int64_t,
                               bool);

}  // namespace clew
