#include "core/ops/elementwise/scalar.h"

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/elementwise/elementwise.h"

namespace clew {

Tensor number(const Scalar& value) {
    if (value.kind == Scalar::Complex) {
        Tensor result = scalar(Complex<double>(value.real, value.imag), DType::Complex128);
        result->set(TensorObject::kWrappedNumber, true);
        return result;
    }
    const DType dtype = value.kind == Scalar::Float ? DType::Float64
                        : value.kind == Scalar::Int ? DType::Int64
                                                    : DType::Bool;
    Tensor result = value.kind == Scalar::Float ? scalar(value.real, dtype) : scalar_int(value.integer, dtype);
    result->set(TensorObject::kWrappedNumber, true);
    return result;
}

Scalar number_in(const Tensor& x) {
    if (is_complex(x.dtype())) {
        const Complex<double> value = read_complex(x);
        return Scalar::of(value.real, value.imag);
    }
    if (is_inexact(x.dtype())) return Scalar::of(read_number(x));
    Scalar value = Scalar::of(read_integer(x));
    if (x.dtype() == DType::Bool) value.kind = Scalar::Bool;
    return value;
}

namespace {
struct Range {
    std::int64_t low, high;
};
Range range_of(DType dtype) {
    if (dtype == DType::UInt8) return {0, UINT8_MAX};
    if (dtype == DType::Int8) return {INT8_MIN, INT8_MAX};
    if (dtype == DType::Int16) return {INT16_MIN, INT16_MAX};
    if (dtype == DType::Int32) return {INT32_MIN, INT32_MAX};
    return {INT64_MIN, INT64_MAX};
}

const char* c_name(DType dtype) {
    switch (dtype) {
        case DType::UInt8:
            return "uint8_t";
        case DType::Int8:
            return "int8_t";
        case DType::Int16:
            return "int16_t";
        case DType::Int32:
            return "int";
        case DType::Int64:
            return "int64_t";
        case DType::Float16:
            return "c10::Half";
        case DType::BFloat16:
            return "c10::BFloat16";
        case DType::Complex64:
            return "c10::complex<float>";
        case DType::Float64:
            return "double";
        default:
            return "float";
    }
}

}  // namespace

double largest(DType inexact) {
    constexpr double kBFloat16 = 0x1.fep127, kFloat16 = 65504;
    if (real_dtype(inexact) == DType::Float64) return std::numeric_limits<double>::max();
    return inexact == DType::Float16    ? kFloat16
           : inexact == DType::BFloat16 ? kBFloat16
                                        : std::numeric_limits<float>::max();
}

Scalar lowest(DType integer) { return Scalar::of(range_of(integer).low); }
Scalar highest(DType integer) { return Scalar::of(range_of(integer).high); }

bool fits(const Scalar& value, DType dtype) {
    constexpr double kInAll = 65504;  // every floating dtype reaches at least as far
    if (value.kind != Scalar::Complex && is_inexact(dtype) && std::abs(value.real) <= kInAll) return true;
    if (value.kind == Scalar::Complex) {
        if (!is_complex(dtype) && value.imag != 0) return false;
        return fits(Scalar::of(value.real), dtype) && fits(Scalar::of(value.imag), dtype);
    }
    if (dtype == DType::Bool || real_dtype(dtype) == DType::Float64) return true;
    if (is_inexact(dtype)) return !(std::abs(value.real) > largest(dtype)) || std::isinf(value.real);
    const Range range = range_of(dtype);
    if (value.kind != Scalar::Float) return value.integer >= range.low && value.integer <= range.high;
    if (dtype == DType::Int64) return value.real >= -0x1p63 && value.real < 0x1p63;
    return value.real >= static_cast<double>(range.low) && value.real <= static_cast<double>(range.high);
}

void check_fits(const char* op, const Scalar& value, DType dtype) {
    if (fits(value, dtype)) return;
    const std::string got = value.kind == Scalar::Complex ? format("%g%+gj", value.real, value.imag)
                            : value.kind == Scalar::Float ? format("%g", value.real)
                                                          : format("%lld", static_cast<long long>(value.integer));
    if (is_inexact(dtype))
        fail(ErrorKind::Runtime,
             "%s: value cannot be converted to type %s without overflow: got %s; make it smaller, or use float64", op,
             c_name(dtype), got.c_str());
    const Range range = range_of(dtype);
    fail(ErrorKind::Runtime,
         "%s: value cannot be converted to type %s without overflow: got %s, expected %lld to %lld; use another dtype",
         op, c_name(dtype), got.c_str(), static_cast<long long>(range.low), static_cast<long long>(range.high));
}

void check_operand_fits(const char* op, const Tensor& operand, DType dtype) {
    if (operand->has(TensorObject::kWrappedNumber)) check_fits(op, number_in(operand), dtype);
}

Scalar rounded_beside(const Tensor& x, const Scalar& value) {
    if (!is_storage_type(x.dtype()) || !is_floating(x.dtype()) || value.kind == Scalar::Complex) return value;
    return number_in(converted(number(value), x.dtype()));
}

Tensor element(const char* op, const Scalar& value, DType dtype) {
    check_fits(op, value, dtype);
    if (value.kind == Scalar::Complex) return scalar(Complex<double>(value.real, value.imag), dtype);
    return value.kind == Scalar::Float ? scalar(value.real, dtype) : scalar_int(value.integer, dtype);
}

void fill_with(const char* op, const Tensor& x, const Scalar& value) {
    check_fits(op, value, x.dtype());
    if (value.kind == Scalar::Complex)
        kernels::fill(x.view(), Complex<double>(value.real, value.imag));
    else if (value.kind == Scalar::Float)
        kernels::fill(x.view(), value.real);
    else
        kernels::fill(x.view(), value.integer);
}

DType dtype_beside(const Tensor& x, std::initializer_list<Scalar> numbers) {
    // A number changes the dtype only where its category is larger than that of the tensor.
    DType dtype = x.dtype();
    for (const Scalar& value : numbers) {
        if (value.kind == Scalar::Float && is_integral(dtype)) dtype = default_dtype();
        if (value.kind == Scalar::Complex && !is_complex(dtype)) dtype = complex_dtype(dtype);
        if (value.kind == Scalar::Int && dtype == DType::Bool) dtype = DType::Int64;
    }
    return dtype;
}

Tensor converted_beside(const Tensor& x, std::initializer_list<Scalar> numbers) {
    return converted(x, dtype_beside(x, numbers));
}

Tensor number(double value, DType dtype) {
    Tensor result = scalar(value, dtype);
    result->set(TensorObject::kWrappedNumber, true);
    return result;
}

}  // namespace clew
