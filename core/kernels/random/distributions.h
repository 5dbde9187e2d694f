// Draws over contiguous buffers. Numbers, and where the stream stands afterwards, are those of PyTorch's CPU generator:
// to the bit. T is float or double unless a line says otherwise.
#pragma once
#include <cstdint>

#include "core/base/dtype.h"
#include "core/base/random.h"

namespace clew {

template <class T>
void fill_uniform(Generator& generator, T* out, std::int64_t count, double from, double to);
template <class T>
void fill_normal(Generator& generator, T* out, std::int64_t count, double mean, double deviation,
                 bool for_halves = false);
template <class T>
void fill_exponential(Generator& generator, T* out, std::int64_t count, double rate);

// Integers in [low, high), as values of any dtype.
void fill_integers(Generator& generator, void* out, DType dtype, std::int64_t count, std::int64_t low,
                   std::int64_t high);
// 0 ... count - 1 in random order.
void fill_permutation(Generator& generator, std::int64_t* out, std::int64_t count);
// True with the given probability, as 0 and 1 of any dtype; one probability, or one for each element.
void fill_bernoulli(Generator& generator, void* out, DType dtype, std::int64_t count, double probability);
template <class T>
void fill_bernoulli(Generator& generator, void* out, DType dtype, std::int64_t count, const T* probabilities);

// `draws` indices for each row of weights (rows x categories, not negative, not all zero). Without replacement, the
// caller sees to it that a row has that many weights above zero.
template <class T>
void fill_multinomial(Generator& generator, std::int64_t* out, std::int64_t draws, const T* weights, std::int64_t rows,
                      std::int64_t categories, bool replacement);

}  // namespace clew
