// Parts of programs and graphs as plain Python data.
#include "bind/keep/program_file.h"

#include <cstring>

#include <nanobind/stl/string.h>

#include "bind/calls/parse.h"
#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/types/dtype.h"
#include "bind/types/objects.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/ops/opdef.h"
#include "core/program/files/names.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

constexpr std::size_t kHeaderNumbers = 2;

[[noreturn]] void wrong(const char* what, nb::handle got) {
    fail(ErrorKind::Value, "expected %s, got %.80s", what, nb::repr(got).c_str());
}

std::int64_t number(nb::handle object) {
    if (!PyLong_CheckExact(object.ptr())) wrong("a whole number", object);
    return nb::cast<std::int64_t>(object);
}

Dims numbers(nb::handle object) {
    if (!PyList_CheckExact(object.ptr()) && !PyTuple_CheckExact(object.ptr())) wrong("a list of numbers", object);
    Dims list;
    for (const nb::handle one : object) list.push_back(number(one));
    return list;
}

DType dtype_of(nb::handle object) {
    const auto dtype = dtype_from(object.ptr());
    if (!dtype) wrong("a dtype", object);
    return *dtype;
}

// Of the type that the schema says, and of no other.
Value value_of(const Argument& argument, nb::handle object) {
    PyObject* const o = object.ptr();
    if (o == Py_None) {
        if (!argument.optional) wrong("an attribute", object);
        return {};
    }
    const ArgType type = argument.type;
    if (PyBool_Check(o) && (type == ArgType::Bool || type == ArgType::Format || type == ArgType::Scalar))
        return {.tag = Value::Bool, .integer = o == Py_True};
    if (PyLong_CheckExact(o) && (type == ArgType::Int || type == ArgType::Scalar))
        return {.tag = Value::Int, .integer = number(object)};
    if (PyFloat_CheckExact(o) && (type == ArgType::Float || type == ArgType::Scalar))
        return {.tag = Value::Float, .integer = whole(PyFloat_AS_DOUBLE(o)), .real = PyFloat_AS_DOUBLE(o)};
    if (PyComplex_CheckExact(o) && type == ArgType::Scalar)
        return {.tag = Value::Complex, .real = PyComplex_RealAsDouble(o), .imag = PyComplex_ImagAsDouble(o)};
    if (PyUnicode_CheckExact(o) && type == ArgType::Text)
        return {.tag = Value::Text, .text = Text(nb::cast<std::string>(object))};
    if (type == ArgType::IntList) return {.tag = Value::IntList, .dims = numbers(object)};
    if (type == ArgType::DType) return {.tag = Value::DType, .integer = static_cast<std::int64_t>(dtype_of(object))};
    wrong(type_name(type), object);
}

}  // namespace

int index_from_python(nb::handle object, std::size_t limit, bool optional) {
    const std::int64_t index = number(object);
    if (index < (optional ? -1 : 0) || index >= static_cast<std::int64_t>(limit))
        fail(ErrorKind::Value, "expected a number below %zu, got %lld", limit, static_cast<long long>(index));
    return static_cast<int>(index);
}

nb::list attributes_to_python(const OpDef& op, const char* attributes) {
    nb::list list;
    const OpDef* const rule = rule_of(op);
    const OpDef& of = rule ? *rule : op;
    if (rule) {
        FusedHeader header;
        std::memcpy(&header, attributes, sizeof header);
        list.append(header.needed);
        list.append(header.outputs);
        attributes += sizeof header;
    }
    for (std::size_t i = 0; i < of.fields.size(); ++i)
        list.append(nb::steal(checked(attribute_object(of, attributes, i))));
    return list;
}

std::vector<char> attributes_from_python(const OpDef& op, nb::handle data) {
    const OpDef* const rule = rule_of(op);
    const OpDef& of = rule ? *rule : op;
    const std::size_t header_numbers = rule ? kHeaderNumbers : 0;
    if (!PyList_CheckExact(data.ptr()) || nb::len(data) != of.fields.size() + header_numbers)
        wrong("a list of all attributes", data);
    std::vector<char> attributes(op.attribute_bytes);
    char* place = attributes.data();
    if (rule) {
        const FusedHeader header{static_cast<std::uint64_t>(number(data[0])),
                                 static_cast<std::uint64_t>(number(data[1]))};
        std::memcpy(place, &header, sizeof header);
        place += sizeof header;
    }
    std::size_t field = 0;
    for (const Argument& argument : of.schema.arguments) {
        if (is_tensor(argument)) continue;
        of.fields[field].set(place, value_of(argument, data[field + header_numbers]));
        ++field;
    }
    return attributes;
}

nb::object geometry_to_python(const Layout& layout, std::int64_t offset, DType dtype) {
    return nb::make_tuple(nb::steal(plain_tuple(layout.shape())), nb::steal(plain_tuple(layout.strides())), offset,
                          nb::steal(dtype_object(dtype)));
}

Geometry geometry_from_python(nb::handle data) {
    const Dims sizes = numbers(data[0]), strides = numbers(data[1]);
    if (sizes.size() != strides.size()) wrong("as many strides as sizes", data);
    for (const std::int64_t size : sizes)
        if (size < 0) wrong("sizes from 0 on", data);
    return {Layout::make(sizes, strides), number(data[2]), dtype_of(data[3])};
}

nb::object site_to_python(const Handle& code, std::int32_t instruction) {
    if (!code) return nb::none();
    const nb::object site = nb::steal(checked(site_object({code.get(), instruction})));
    return nb::make_tuple(site.attr("file"), site.attr("function"), site.attr("line"));
}

// Code without instructions, which begins at that line.
Handle site_from_python(nb::handle data) {
    if (data.is_none()) return {};
    const auto file = nb::cast<std::string>(data[0]), function = nb::cast<std::string>(data[1]);
    const std::int64_t line = number(data[2]);
    if (line < 0 || line > INT32_MAX) wrong("a line", data);
    PyCodeObject* const code = PyCode_NewEmpty(file.c_str(), function.c_str(), static_cast<int>(line));
    return Handle::steal(checked(reinterpret_cast<PyObject*>(code)));
}

namespace {

// All of the memory that a tensor looks at, as bytes.
nb::object whole_memory(nb::handle object) {
    TensorObject* const tensor = as_tensor(object.ptr());
    if (tensor == nullptr) wrong("a tensor", object);
    const Tensor bytes = Tensor::steal(new_tensor_object());
    bytes->storage = tensor->storage;
    bytes->layout = Layout::make(Dims{tensor->storage->bytes});
    bytes->dtype = DType::UInt8;
    return nb::steal(wrap(bytes));
}

// The place of a tensor's memory: the same for those that share it, while they live.
std::uintptr_t memory_place(nb::handle object) {
    TensorObject* const tensor = as_tensor(object.ptr());
    if (tensor == nullptr) wrong("a tensor", object);
    return reinterpret_cast<std::uintptr_t>(tensor->storage.get());
}

// A tensor of that geometry on the memory of `bytes`.
nb::object tensor_on(nb::handle bytes, nb::handle geometry, bool number) {
    TensorObject* const on = as_tensor(bytes.ptr());
    if (on == nullptr) wrong("a tensor", bytes);
    const Geometry place = geometry_from_python(geometry);
    check_inside_storage("tensor", *place.layout, place.offset, place.dtype, *on->storage);
    const Tensor made = Tensor::steal(new_tensor_object());
    made->storage = on->storage;
    made->layout = place.layout;
    made->offset = place.offset;
    made->dtype = place.dtype;
    made->set(TensorObject::kWrappedNumber, number);
    return nb::steal(wrap(made));
}
// That, whether it stands for a Python number, and the place of its version counter, if that is not its memory's.
nb::object geometry_of(nb::handle object) {
    TensorObject* const tensor = as_tensor(object.ptr());
    if (tensor == nullptr) wrong("a tensor", object);
    return nb::make_tuple(
        geometry_to_python(*tensor->layout, tensor->offset, tensor->dtype), tensor->has(TensorObject::kWrappedNumber),
        tensor->has(TensorObject::kAliasCounter) ? reinterpret_cast<std::uintptr_t>(tensor->extras->counter.get()) : 0);
}
// Gives a new tensor the version counter of another, or (None) one of its own.
void count_as(nb::handle object, nb::handle other) {
    TensorObject *const tensor = as_tensor(object.ptr()), *const with = as_tensor(other.ptr());
    if (tensor == nullptr) wrong("a tensor", object);
    with ? share_version(Tensor(tensor), Tensor(with)) : own_version(Tensor(tensor), 0);
}

}  // namespace

void init_program_file(nb::module_& module) {
    init_graph_file(module);
    module.def("program_to_python", &program_to_python, nb::arg("program"), nb::arg("named"));
    module.def("program_from_python", &program_from_python, nb::arg("program"), nb::arg("data"), nb::arg("attached"));
    module.def("whole_memory", &whole_memory, nb::arg("tensor"));
    module.def("memory_place", &memory_place, nb::arg("tensor"));
    module.def("tensor_on", &tensor_on, nb::arg("memory"), nb::arg("geometry"), nb::arg("number"));
    module.def("count_as", &count_as, nb::arg("tensor"), nb::arg("other").none());
    module.def("geometry_of", &geometry_of, nb::arg("tensor"));
}

}  // namespace clew::bind
