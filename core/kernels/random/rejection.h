// Draws by rejection: gamma, Poisson and binomial numbers. Each takes from the stream what PyTorch's CPU generator
// takes, in the same order, so that the numbers agree.
#pragma once
#include "core/base/random.h"

namespace clew {

// From the gamma distribution of rate 1; a >= 0. T, float or double, is what a is calculated in.
template <class T>
double draw_gamma(Generator& generator, T a);
// From the Poisson distribution; rate >= 0.
double draw_poisson(Generator& generator, double rate);
// How many of `count` trials succeed; NaN for a count or a probability that is NaN. T is what is calculated in.
template <class T>
T draw_binomial(Generator& generator, T count, T probability);

}  // namespace clew
