// Loops for functions of complex numbers, by the C++ library's: compiled once, for the baseline.
#pragma once
#include "core/kernels/view.h"

namespace clew::kernels {

namespace complex_functions {
struct Exp;
struct Exp2;
struct Expm1;
struct Log;
struct Log2;
struct Log10;
struct Log1p;
struct Sinh;
struct Cosh;
struct Tanh;
struct Sigmoid;
struct Sin;
struct Cos;
struct Tan;
struct Asin;
struct Acos;
struct Atan;
struct Sqrt;
struct Rsqrt;
struct Silu;
struct Sign;   // z / |z|, 0 at 0
struct Abs;    // real
struct Angle;  // real
}  // namespace complex_functions

template <class Function, class T>
void complex_loop(char* const* data, const std::int64_t* strides, std::int64_t count);
template <class T>
void complex_power_loop(char* const* data, const std::int64_t* strides, std::int64_t count);
template <class T>
void complex_power_by_number(char* const* data, const std::int64_t* strides, std::int64_t count, const Number* params);

}  // namespace clew::kernels
