#include "bind/buffer.h"

#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace clew::bind {

DType dtype_of_format(const Py_buffer& buffer) {
    const char* format = buffer.format ? buffer.format : "B";
    constexpr std::pair<const char*, const char*> kNotYet[] = {
        {"e", "float16"}, {"b", "int8"},   {"h", "int16"},    {"H", "uint16"},     {"I", "uint32"},
        {"L", "uint64"},  {"Q", "uint64"}, {"g", "float128"}, {"Zf", "complex64"}, {"Zd", "complex128"},
    };
    for (const auto& [known, name] : kNotYet)
        if (std::strcmp(format, known) == 0)
            fail(ErrorKind::NotImplemented,
                 "from_numpy: arrays of dtype %s are not supported yet; cast to float32, float64, int64, int32, uint8 "
                 "or bool",
                 name);
    if (*format == '>' || *format == '!')
        fail(ErrorKind::Value,
             "from_numpy: given numpy array has byte order different from the native byte order; convert it with "
             "array.astype(array.dtype.newbyteorder('='))");
    if (*format == '@' || *format == '=' || *format == '<') ++format;
    if (format[0] && !format[1]) {
        switch (*format) {
            case '?':
                return DType::Bool;
            case 'B':
                return DType::UInt8;
            case 'i':
                return DType::Int32;
            case 'l':
            case 'q':
                if (buffer.itemsize == 8) return DType::Int64;
                break;
            case 'f':
                return DType::Float32;
            case 'd':
                return DType::Float64;
            default:
                break;
        }
    }
    fail(ErrorKind::Type,
         "can't convert np.ndarray of format '%s'. The only supported types are: float64, float32, int64, int32, "
         "uint8, and bool.",
         format);
}

bool is_array(PyObject* object) {
    static PyObject* const name = PyUnicode_InternFromString("__array_interface__");
    static PyTypeObject* known = nullptr;  // numpy.ndarray: a static type, which stays
    PyTypeObject* type = Py_TYPE(object);
    if (type == known) return true;
    const bool found = PyObject_HasAttr(reinterpret_cast<PyObject*>(type), name) != 0;
    if (found && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) known = type;
    return found;
}

}  // namespace clew::bind
