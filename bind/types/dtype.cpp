#include "bind/types/dtype.h"

#include <utility>

#include <nanobind/nanobind.h>
#include <structmember.h>

#include "bind/errors.h"
#include "bind/types/type.h"
#include "core/base/error.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

// A dtype that tensors can have, or one of PyTorch's others: a name that stands in tables and annotations.
enum class Sign : std::uint8_t { Unsigned, Signed, Undefined };
struct NameOnly {
    const char* name;
    std::uint8_t size;
    Category category;
    Sign sign;
};
constexpr NameOnly kNamesOnly[] = {
    {"uint16", 2, Category::Integer, Sign::Unsigned},
    {"uint32", 4, Category::Integer, Sign::Unsigned},
    {"uint64", 8, Category::Integer, Sign::Unsigned},
    {"complex32", 4, Category::Complex, Sign::Signed},
    {"float8_e4m3fn", 1, Category::Floating, Sign::Signed},
    {"float8_e4m3fnuz", 1, Category::Floating, Sign::Signed},
    {"float8_e5m2", 1, Category::Floating, Sign::Signed},
    {"float8_e5m2fnuz", 1, Category::Floating, Sign::Signed},
    {"float8_e8m0fnu", 1, Category::Floating, Sign::Unsigned},
    {"float4_e2m1fn_x2", 1, Category::Floating, Sign::Signed},
    {"qint8", 1, Category::Integer, Sign::Undefined},
    {"quint8", 1, Category::Integer, Sign::Undefined},
    {"qint32", 4, Category::Integer, Sign::Undefined},
    {"quint4x2", 1, Category::Integer, Sign::Undefined},
    {"quint2x4", 1, Category::Integer, Sign::Undefined},
    {"bits1x8", 1, Category::Integer, Sign::Undefined},
    {"bits2x4", 1, Category::Integer, Sign::Undefined},
    {"bits4x2", 1, Category::Integer, Sign::Undefined},
    {"bits8", 1, Category::Integer, Sign::Undefined},
    {"bits16", 2, Category::Integer, Sign::Undefined},
#define CLEW_FEW_BITS(n) \
    {"int" #n, 1, Category::Integer, Sign::Signed}, { "uint" #n, 1, Category::Integer, Sign::Unsigned }
    CLEW_FEW_BITS(1),
    CLEW_FEW_BITS(2),
    CLEW_FEW_BITS(3),
    CLEW_FEW_BITS(4),
    CLEW_FEW_BITS(5),
    CLEW_FEW_BITS(6),
    CLEW_FEW_BITS(7),
#undef CLEW_FEW_BITS
};

struct DTypeObject {
    PyObject_HEAD DType value;
    const NameOnly* name_only;  // or null; then `value` counts
};

PyTypeObject dtype_type = blank_type();
PyObject* natives[kDTypes];

DType self_of(PyObject* object) { return reinterpret_cast<DTypeObject*>(object)->value; }
const NameOnly* name_only(PyObject* object) { return reinterpret_cast<DTypeObject*>(object)->name_only; }
const char* name_of(PyObject* object) {
    return name_only(object) ? name_only(object)->name : dtype_name(self_of(object));
}
Category category_of(PyObject* object) {
    return name_only(object) ? name_only(object)->category : category(self_of(object));
}

// The class of tensors that a module has, and a global of the program. Invalid if there is none.
nb::object tensor_of_module(PyObject* module) {
    const bool is_module = module && PyModule_Check(module);  // attributes of others may be anything
    nb::object found = nb::steal(is_module ? PyObject_GetAttrString(module, "Tensor") : nullptr);
    PyErr_Clear();
    return found;
}
nb::object tensor_of_global(const char* name) {
    PyObject* const program = PyImport_AddModule("__main__");
    return tensor_of_module(program ? PyDict_GetItemString(PyModule_GetDict(program), name) : nullptr);
}

// What the program calls this library: "clew" only if it has it by that name alone.
const char* imported_as() {
    const nb::object ours = tensor_of_module(PyImport_AddModule("clew"));
    return ours.is_valid() && tensor_of_global("clew").is(ours) && !tensor_of_global("torch").is(ours) ? "clew"
                                                                                                       : "torch";
}
PyObject* get_imported_as(PyObject*, PyObject*) { return PyUnicode_FromString(imported_as()); }

PyObject* dtype_repr(PyObject* object) { return PyUnicode_FromFormat("%s.%s", imported_as(), name_of(object)); }
PyObject* dtype_reduce(PyObject* object, PyObject*) {
    PyObject* module = PyImport_AddModule("clew._core");  // borrowed
    PyObject* getter = module ? PyObject_GetAttrString(module, "_dtype_by_name") : nullptr;
    return getter ? Py_BuildValue("N(s)", getter, name_of(object)) : nullptr;
}
PyObject* get_floating(PyObject* object, void*) { return PyBool_FromLong(category_of(object) == Category::Floating); }
PyObject* get_complex(PyObject* object, void*) { return PyBool_FromLong(category_of(object) == Category::Complex); }
PyObject* get_signed(PyObject* object, void*) {
    if (const NameOnly* const other = name_only(object)) {
        if (other->sign != Sign::Undefined) return PyBool_FromLong(other->sign == Sign::Signed);
        return PyErr_Format(PyExc_RuntimeError, "is_signed: not defined for %s", other->name);
    }
    return PyBool_FromLong(self_of(object) != DType::UInt8 && self_of(object) != DType::Bool);
}
PyObject* get_size(PyObject* object, void*) {
    const NameOnly* const other = name_only(object);
    return PyLong_FromSize_t(other ? other->size : item_size(self_of(object)));
}
PyObject* to_real(PyObject* object, PyObject*) {
    if (name_only(object))
        return category_of(object) == Category::Complex ? dtype_object(DType::Float16) : Py_NewRef(object);
    const DType dtype = self_of(object);
    return dtype_object(is_complex(dtype) ? real_dtype(dtype) : dtype);
}
PyObject* to_complex(PyObject* object, PyObject*) {
    if (name_only(object) == nullptr) return dtype_object(complex_dtype(self_of(object)));
    if (category_of(object) == Category::Complex) return Py_NewRef(object);
    return PyErr_Format(PyExc_RuntimeError, "to_complex: no complex dtype has parts of %s", name_of(object));
}

PyGetSetDef attributes[] = {
    {"is_floating_point", get_floating, nullptr, "floating, complex excluded", nullptr},
    {"is_complex", get_complex, nullptr, "complex", nullptr},
    {"is_signed", get_signed, nullptr, "has negative values", nullptr},
    {"itemsize", get_size, nullptr, "bytes of one element", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {"to_real", to_real, METH_NOARGS, "to_real($self, /)\n--\n\nThe dtype of the parts of a complex number."},
    {"to_complex", to_complex, METH_NOARGS,
     "to_complex($self, /)\n--\n\nThe dtype of complex numbers whose parts have this dtype."},
    {nullptr, nullptr, 0, nullptr},
};

// PyTorch's second names.
constexpr std::pair<DType, const char*> kAliases[] = {
    {DType::Int16, "short"},   {DType::Int32, "int"},      {DType::Int64, "long"},       {DType::Float16, "half"},
    {DType::Float32, "float"}, {DType::Float64, "double"}, {DType::Complex64, "cfloat"}, {DType::Complex128, "cdouble"},
};

PyObject* by_name(PyObject* module, PyObject* name) {
    for (const char* const table : {"dtypes", "dtype_names"}) {
        PyObject* dtypes = PyObject_GetAttrString(module, table);
        if (dtypes == nullptr) return nullptr;
        PyObject* found = PyDict_GetItemWithError(dtypes, name);
        Py_DECREF(dtypes);
        if (found != nullptr || PyErr_Occurred()) return Py_XNewRef(found);
    }
    PyErr_SetObject(PyExc_KeyError, name);
    return nullptr;
}
PyObject* get_name(PyObject*, PyObject* dtype) {
    if (Py_TYPE(dtype) == &dtype_type) return PyUnicode_FromString(name_of(dtype));
    return PyErr_Format(PyExc_TypeError, "dtype_name: expected a dtype, got %s", Py_TYPE(dtype)->tp_name);
}
PyMethodDef functions[] = {{"imported_as", get_imported_as, METH_NOARGS, nullptr},
                           {"dtype_name", get_name, METH_O, nullptr},
                           {"_dtype_by_name", by_name, METH_O, nullptr},
                           {}};

}  // namespace

PyObject* dtype_object(DType dtype) { return Py_NewRef(natives[static_cast<int>(dtype)]); }

std::optional<DType> dtype_from(PyObject* object) {
    if (Py_TYPE(object) == &dtype_type) {
        if (name_only(object))
            fail(ErrorKind::NotImplemented,
                 "%s.%s: expected a dtype that tensors can have, got a name only; use bool, uint8, int8, int16, int32, "
                 "int64, float16, bfloat16, float32, float64, complex64 or complex128",
                 imported_as(), name_of(object));
        return self_of(object);
    }
    if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::Float64;
    if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::Int64;
    if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
    if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::Complex128;
    return std::nullopt;
}

void set_default_dtype(DType dtype) {
    if (!is_floating(dtype))
        fail(ErrorKind::Type, "set_default_dtype: only floating-point types are supported as the default type, got %s",
             dtype_name(dtype));
    chosen_default_dtype = dtype;
}

void init_dtypes(PyObject* module) {
    dtype_type.tp_name = "torch.dtype";
    dtype_type.tp_basicsize = sizeof(DTypeObject);
    dtype_type.tp_repr = dtype_repr;
    dtype_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    dtype_type.tp_getset = attributes;
    dtype_type.tp_methods = methods;
    dtype_type.tp_doc = "The type of a tensor's elements.";
    checked(PyType_Ready(&dtype_type));
    PyObject* all = checked(PyDict_New());
    const auto add = [&](const char* name, DType value, const NameOnly* other) {
        auto* made = PyObject_New(DTypeObject, &dtype_type);
        checked(reinterpret_cast<PyObject*>(made));
        made->value = value;
        made->name_only = other;
        checked(PyDict_SetItemString(all, name, reinterpret_cast<PyObject*>(made)));
        return reinterpret_cast<PyObject*>(made);
    };
    for (int i = 0; i < kDTypes; ++i) natives[i] = add(kDTypeInfo[i].name, static_cast<DType>(i), nullptr);
    for (const auto& [dtype, alias] : kAliases)
        checked(PyDict_SetItemString(all, alias, natives[static_cast<int>(dtype)]));
    checked(PyModule_AddObjectRef(module, "dtypes", all));
    all = checked(PyDict_New());
    for (const NameOnly& other : kNamesOnly) Py_DECREF(add(other.name, DType{}, &other));
    checked(PyDict_SetItemString(all, "chalf", PyDict_GetItemString(all, "complex32")));
    checked(PyDict_SetItemString(all, "bit", PyDict_GetItemString(all, "uint1")));
    checked(PyModule_AddObjectRef(module, "dtype_names", all));
    checked(PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(&dtype_type)));
    checked(PyModule_AddFunctions(module, functions));
}

}  // namespace clew::bind
