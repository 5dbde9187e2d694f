// The element types that have native kernels, and what can be asked of them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace clew {

enum class DType : std::uint8_t { Bool, UInt8, Int32, Int64, Float32, Float64 };
inline constexpr int kDTypes = 6;

inline constexpr std::size_t item_size(DType t) {
    constexpr std::size_t sizes[kDTypes] = {1, 1, 4, 8, 4, 8};
    return sizes[static_cast<int>(t)];
}
inline constexpr const char* dtype_name(DType t) {
    constexpr const char* names[kDTypes] = {"bool", "uint8", "int32", "int64", "float32", "float64"};
    return names[static_cast<int>(t)];
}
inline constexpr bool is_floating(DType t) { return t >= DType::Float32; }
inline constexpr bool is_integral(DType t) { return t < DType::Float32; }  // Bool included
// Into what is given to write to: floats don't become integers, nor numbers truth values.
inline constexpr bool can_cast(DType from, DType to) {
    return from == to || is_floating(to) || from == DType::Bool || (!is_floating(from) && to != DType::Bool);
}

template <class T>
struct dtype_of;
template <>
struct dtype_of<bool> {
    static constexpr DType value = DType::Bool;
};
template <>
struct dtype_of<std::uint8_t> {
    static constexpr DType value = DType::UInt8;
};
template <>
struct dtype_of<std::int32_t> {
    static constexpr DType value = DType::Int32;
};
template <>
struct dtype_of<std::int64_t> {
    static constexpr DType value = DType::Int64;
};
template <>
struct dtype_of<float> {
    static constexpr DType value = DType::Float32;
};
template <>
struct dtype_of<double> {
    static constexpr DType value = DType::Float64;
};

}  // namespace clew
