// From Python arguments to the inputs and attributes of an operation.
#pragma once
#include <Python.h>

#include <string>
#include <utility>
#include <vector>

#include "bind/calls/operation.h"

namespace clew::bind {

inline constexpr std::size_t kAttributeBytes = 1024;

struct Arguments {
    PyObject* const* values;
    Py_ssize_t count;  // positional
    PyObject* names;   // of the keywords, whose values follow; may be null
};

struct Parsed {
    std::vector<Tensor> inputs;
    alignas(16) char attributes[kAttributeBytes];
    PyObject* out = nullptr;  // borrowed: the out= argument
};

// True if the arguments fit this overload. If they don't and `why` is not null, it says what did not (text costs time,
// and most overloads that don't fit are followed by one that does).
bool parse(const Overload& overload, const Arguments& arguments, Parsed& parsed, std::string* why);

ArgumentName argument_name(const char* name);

// NumPy's names of arguments, which PyTorch's functions take where they are written in C++, and the names here.
inline constexpr std::pair<const char*, const char*> kNumpysNames[] = {
    {"axis", "dim"}, {"keepdims", "keepdim"}, {"x", "input"}, {"a", "input"}, {"x1", "input"}, {"x2", "other"}};

inline bool is_tensor_type(ArgType type) {
    return type == ArgType::Tensor || type == ArgType::TensorList || type == ArgType::Operand;
}

// Reads the field-th attribute from a Python object; false if it is of another type.
bool set_attribute(const OpDef& def, std::size_t field, ArgType type, PyObject* object, void* attributes);
// The value of an attribute as Python has it: the field-th of those in `attributes`.
PyObject* attribute_object(const OpDef& def, const void* attributes, std::size_t field);

}  // namespace clew::bind
