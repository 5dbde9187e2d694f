// The element types of tensors, and what can be asked of them. They are listed here, and nowhere else.
//
// Note [Storage types]
// Kernels compute in the types of the first part of the list. Those of the second are stored, no more: what computes
// converts them to their compute dtype, block by block (core/kernels/memory/converted.h) or as a whole
// (core/ops/storage_types.h), and rounds the result back. What only moves elements knows their size alone.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/base/element.h"

namespace clew {

// X(name, C++ type, Python's name, format in buffers (as in Python's struct; "": none), category, compute dtype)
#define CLEW_REAL_DTYPES(X)                              \
    X(Bool, bool, "bool", "?", Boolean, Bool)            \
    X(UInt8, std::uint8_t, "uint8", "B", Integer, UInt8) \
    X(Int32, std::int32_t, "int32", "i", Integer, Int32) \
    X(Int64, std::int64_t, "int64", "l", Integer, Int64) \
    X(Float32, float, "float32", "f", Floating, Float32) \
    X(Float64, double, "float64", "d", Floating, Float64)
#define CLEW_COMPLEX_DTYPES(X)                                          \
    X(Complex64, Complex<float>, "complex64", "Zf", Complex, Complex64) \
    X(Complex128, Complex<double>, "complex128", "Zd", Complex, Complex128)
#define CLEW_STORAGE_DTYPES(X)                             \
    X(Int8, std::int8_t, "int8", "b", Integer, Int32)      \
    X(Int16, std::int16_t, "int16", "h", Integer, Int32)   \
    X(Float16, Float16, "float16", "e", Floating, Float32) \
    X(BFloat16, BFloat16, "bfloat16", "", Floating, Float32)
#define CLEW_KERNEL_DTYPES(X) CLEW_REAL_DTYPES(X) CLEW_COMPLEX_DTYPES(X)
#define CLEW_DTYPES(X)    \
    CLEW_KERNEL_DTYPES(X) \
    CLEW_STORAGE_DTYPES(X)

#define CLEW_NAME(name, ...) name,
enum class DType : std::uint8_t { CLEW_DTYPES(CLEW_NAME) };
#undef CLEW_NAME
#define CLEW_ONE(...) +1
inline constexpr int kDTypes = 0 CLEW_DTYPES(CLEW_ONE);
inline constexpr int kKernelDTypes = 0 CLEW_KERNEL_DTYPES(CLEW_ONE);
#undef CLEW_ONE

// In order of promotion.
enum class Category : std::uint8_t { Boolean, Integer, Floating, Complex };

struct DTypeInfo {
    const char* name;
    const char* format;
    std::uint8_t size;
    Category category;
    DType compute;
};
#define CLEW_INFO(name, type, text, format, category, compute) \
    {text, format, sizeof(type), Category::category, DType::compute},
inline constexpr DTypeInfo kDTypeInfo[kDTypes] = {CLEW_DTYPES(CLEW_INFO)};
#undef CLEW_INFO

inline constexpr const DTypeInfo& info(DType t) { return kDTypeInfo[static_cast<int>(t)]; }
inline constexpr std::size_t item_size(DType t) { return info(t).size; }
inline constexpr const char* dtype_name(DType t) { return info(t).name; }
inline constexpr Category category(DType t) { return info(t).category; }
inline constexpr DType compute_dtype(DType t) { return info(t).compute; }
inline constexpr bool is_storage_type(DType t) { return static_cast<int>(t) >= kKernelDTypes; }
inline constexpr bool is_floating(DType t) { return category(t) == Category::Floating; }
inline constexpr bool is_complex(DType t) { return category(t) == Category::Complex; }
inline constexpr bool is_inexact(DType t) { return category(t) >= Category::Floating; }  // what has derivatives
inline constexpr bool is_integral(DType t) { return category(t) <= Category::Integer; }  // Bool included
// Of the parts of a complex number; a real dtype itself.
inline constexpr DType real_dtype(DType t) {
    return t == DType::Complex64 ? DType::Float32 : t == DType::Complex128 ? DType::Float64 : t;
}
inline constexpr DType complex_dtype(DType t) {
    return t == DType::Float64 || t == DType::Complex128 ? DType::Complex128 : DType::Complex64;
}

// The smallest dtype that holds both, and is a neighbour of neither category.
inline constexpr DType promote(DType a, DType b) {
    if (a == b) return a;
    if (category(a) != category(b)) {
        const DType higher = category(a) > category(b) ? a : b, lower = higher == a ? b : a;
        return higher == DType::Complex64 && lower == DType::Float64 ? DType::Complex128 : higher;
    }
    if (category(a) == Category::Floating && item_size(a) == item_size(b)) return DType::Float32;  // the two halves
    const DType wider = item_size(a) >= item_size(b) ? a : b;
    return item_size(a) == 1 && item_size(b) == 1 ? DType::Int16 : wider;  // uint8 and int8
}
// Into what is given to write to: categories don't become lower ones.
inline constexpr bool can_cast(DType from, DType to) { return category(from) <= category(to); }

// Of floating tensors for which none is given, of Python's floats beside integers, and of functions of integers. The
// GIL guards it.
inline DType chosen_default_dtype = DType::Float32;
inline DType default_dtype() { return chosen_default_dtype; }

template <class T>
struct dtype_of;
#define CLEW_DTYPE_OF(name, type, ...)              \
    template <>                                     \
    struct dtype_of<type> {                         \
        static constexpr DType value = DType::name; \
    };
CLEW_DTYPES(CLEW_DTYPE_OF)
#undef CLEW_DTYPE_OF

[[noreturn]] void no_kernel_for(DType dtype);  // NotImplemented

// Calls body.operator()<T>() with the C++ type of the elements: of any, or of those of real numbers that kernels
// compute in; others are an error.
#define CLEW_CASE(name, type, ...) \
    case DType::name:              \
        return body.template operator()<type>();
template <class Body>
decltype(auto) with_any_type(DType dtype, const Body& body) {
    switch (dtype) { CLEW_DTYPES(CLEW_CASE) }
    __builtin_unreachable();
}
template <class Body>
decltype(auto) with_real_type(DType dtype, const Body& body) {
    switch (dtype) {
        CLEW_REAL_DTYPES(CLEW_CASE)
        default:
            no_kernel_for(dtype);
    }
}
#undef CLEW_CASE
// The same with a type of the elements' size, for what is moved.
template <class Body>
decltype(auto) with_size(DType dtype, const Body& body) {
    switch (item_size(dtype)) {
        case 1:
            return body.template operator()<std::uint8_t>();
        case 2:
            return body.template operator()<std::uint16_t>();
        case 4:
            return body.template operator()<std::uint32_t>();
        case 8:
            return body.template operator()<std::uint64_t>();
        default:
            return body.template operator()<Complex<double>>();
    }
}

}  // namespace clew
