// Whole numbers that come from outside and need not be sizes of anything: sums and products that stop at the ends of 64
// bits. A window, a shift or a diagonal that reaches so far reaches past every tensor.
#pragma once
#include <cstdint>

namespace clew {

inline std::int64_t clipped_sum(std::int64_t a, std::int64_t b) {
    std::int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return b < 0 ? INT64_MIN : INT64_MAX;
}
inline std::int64_t clipped_difference(std::int64_t a, std::int64_t b) {
    std::int64_t difference;
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;
    return b < 0 ? INT64_MAX : INT64_MIN;
}
inline std::int64_t clipped_product(std::int64_t a, std::int64_t b) {
    std::int64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}
// a / b, rounded up; b is positive.
inline std::int64_t divided_up(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0); }

}  // namespace clew
