// The level's vectors, for loops that keep their sums in registers; for .isa.cpp files alone.
#pragma once

namespace clew::kernels {
namespace {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T, int Bytes = kVectorBytes>
struct VectorOf {
    typedef T type __attribute__((vector_size(Bytes)));
    typedef T loose __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));  // at any address
};

}  // namespace
}  // namespace clew::kernels
