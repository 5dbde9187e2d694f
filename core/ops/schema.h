// The Python face of an operation, parsed from one line:
//
//     sum.dim(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)
//
// Types: Tensor, Tensor? (may be None), Tensor[] , Operand (a tensor or a number), bool, int, float, Scalar, int[],
// str, dtype, memory_format; a ? after any of them admits None. Tensor! is written by every call, beside the results
// that the form of the call writes. An overload's name follows a dot.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.h"

namespace clew {

// Toward zero; the nearest that 64 bits hold, 0 for NaN.
std::int64_t whole(double value);

// A Python number as an attribute. Of real ones both forms are always there.
struct Scalar {
    enum Kind : std::uint8_t { Bool, Int, Float, Complex } kind = Int;
    union {
        std::int64_t integer = 0;
        double imag;  // of complex ones alone
    };
    double real = 0;
    static Scalar of(double value) { return {Float, {whole(value)}, value}; }
    static Scalar of(std::int64_t value) { return {Int, {value}, static_cast<double>(value)}; }
    static Scalar of(double real, double imag) { return {Complex, {.imag = imag}, real}; }
    bool operator==(const Scalar& other) const {
        if (kind != other.kind) return false;
        if (kind == Complex) return real == other.real && imag == other.imag;
        return kind == Float ? real == other.real : integer == other.integer;
    }
};

// A short text by value: reductions, rounding modes.
struct Text {
    char data[24] = {};
    Text() = default;
    explicit Text(std::string_view text);
    operator std::string_view() const { return data; }
    bool operator==(const Text& other) const { return std::string_view(*this) == std::string_view(other); }
    bool operator==(std::string_view other) const { return std::string_view(*this) == other; }
};

// Format: clew.contiguous_format is true, clew.preserve_format false.
enum class ArgType : std::uint8_t {
    Tensor,
    TensorList,
    Operand,
    Bool,
    Int,
    Float,
    Scalar,
    IntList,
    Text,
    DType,
    Format
};

// One argument as it came from Python.
struct Value {
    enum Tag : std::uint8_t { None, Bool, Int, Float, Complex, IntList, Text, DType } tag = None;
    std::int64_t integer = 0;  // Bool, Int, DType
    double real = 0;
    double imag = 0;
    Dims dims{};
    clew::Text text{};
};

struct Argument {
    std::string name;
    ArgType type;
    bool optional = false;  // None is fine
    bool keyword_only = false;
    bool has_default = false;
    bool written = false;
    Value default_value;
    std::string default_text;
};

bool is_tensor(const Argument& argument);  // or several

struct Schema {
    std::string name;      // "sum"
    std::string overload;  // "dim" or ""
    std::vector<Argument> arguments;
    std::uint64_t writes = 0;  // bit i: tensor i is written by every call
    std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
};

Schema parse_schema(std::string_view line);
std::string schema_text(const Schema& schema);
const char* type_name(ArgType type);

}  // namespace clew
