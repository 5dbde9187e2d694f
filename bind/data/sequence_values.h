// Numbers of Python's as they were read from a sequence: the dtype they will have is known at the end only.
#pragma once
#include <Python.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "bind/errors.h"
#include "core/base/dtype.h"
#include "core/base/error.h"

namespace clew::bind {

class Values {
public:
    enum Kind : std::uint8_t {
        Whole,        // an int that fits int64, or a bool
        Real,         // a float
        RealTensor,   // the floating element of a tensor: a Python float would be cut to an int, this is not
        BeyondInt64,  // an int, rounded to a double
        BeyondReal,   // an int that no double holds
        Complex,
    };

    void reserve(std::int64_t count) { bits_.reserve(static_cast<std::size_t>(count)); }
    std::int64_t size() const { return static_cast<std::int64_t>(bits_.size()); }
    void add(std::int64_t value) { add({.whole = value}, Whole); }
    void add(double value, Kind kind = Real) { add({.real = value}, kind); }
    void add(clew::Complex<double> value) {
        add({.real = value.real}, Complex);
        imag_.resize(bits_.size());
        imag_.back() = value.imag;
    }

    template <class T>
    void store(T* out) const {
        for (std::size_t i = 0; i < bits_.size(); ++i) {
            const Kind kind = kinds_.empty() ? first_kind_ : kinds_[i];
            if constexpr (is_complex(dtype_of<T>::value))
                out[i] = T(clew::Complex<double>(converted<double>(bits_[i], kind == Complex ? Real : kind),
                                                 i < imag_.size() ? imag_[i] : 0.0));
            else
                out[i] = converted<T>(bits_[i], kind);
        }
    }

private:
    union Bits {
        std::int64_t whole;
        double real;
    };

    void add(Bits bits, Kind kind) {
        if (bits_.empty())
            first_kind_ = kind;
        else if (kind != first_kind_ && kinds_.empty())
            kinds_.assign(bits_.size(), first_kind_);
        const bool mixed = kind != first_kind_ || !kinds_.empty();
        bits_.push_back(bits);
        if (mixed) kinds_.push_back(kind);
    }

    template <class T>
    static T converted(Bits bits, Kind kind) {
        if (kind == Complex)
            fail(ErrorKind::Type, "tensor: expected real numbers for dtype %s, got a complex one; give a complex dtype",
                 dtype_name(dtype_of<T>::value));
        if constexpr (std::is_same_v<T, bool>) {
            return kind == Whole ? bits.whole != 0 : bits.real != 0;
        } else if constexpr (is_floating(dtype_of<T>::value)) {
            if (kind == BeyondReal) {
                PyErr_SetString(PyExc_OverflowError, "tensor: int too large to convert to float");
                throw PythonError();
            }
            return static_cast<T>(kind == Whole ? static_cast<double>(bits.whole) : bits.real);
        } else {
            return converted_to_int<T>(bits, kind);
        }
    }

    template <class T>
    static T converted_to_int(Bits bits, Kind kind) {
        using Limits = std::numeric_limits<T>;
        const char* name = dtype_name(dtype_of<T>::value);
        if (kind == BeyondInt64 || kind == BeyondReal)
            fail(ErrorKind::Value, "tensor: expected integers that fit int64, got a larger one; give a floating dtype");
        if (kind == RealTensor)
            fail(ErrorKind::Type,
                 "tensor: expected integer tensors of a single element for dtype %s, got a floating one; convert it "
                 "with int()",
                 name);
        if (kind == Real) {
            // The limits themselves may be no doubles; 2 to the power of the digits is one.
            const double above = std::ldexp(1.0, Limits::digits), whole = std::trunc(bits.real);
            if (!(whole < above && whole >= (Limits::is_signed ? -above : 0.0)))
                fail(ErrorKind::Runtime, "tensor: value %g cannot be converted to type %s without overflow", bits.real,
                     name);
            return static_cast<T>(whole);
        }
        if (bits.whole < Limits::min() || bits.whole > Limits::max())
            fail(ErrorKind::Runtime, "tensor: value %lld cannot be converted to type %s without overflow",
                 static_cast<long long>(bits.whole), name);
        return static_cast<T>(bits.whole);
    }

    std::vector<Bits> bits_;
    Kind first_kind_ = Whole;
    std::vector<Kind> kinds_;   // empty while all are of the first one's
    std::vector<double> imag_;  // as long as there are complex numbers
};

}  // namespace clew::bind
