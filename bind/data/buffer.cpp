#include "bind/data/buffer.h"

#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace clew::bind {

namespace {

[[noreturn, gnu::cold]] void fail_format(const char* format) {
    constexpr std::pair<const char*, const char*> kNotYet[] = {
        {"H", "uint16"}, {"I", "uint32"}, {"L", "uint64"}, {"Q", "uint64"}, {"g", "float128"}, {"Zg", "complex256"},
    };
    for (const auto& [known, name] : kNotYet)
        if (std::strcmp(format, known) == 0)
            fail(ErrorKind::NotImplemented,
                 "from_numpy: arrays of dtype %s are not supported yet; cast to a signed integer or a floating dtype",
                 name);
    if (*format == '>' || *format == '!')
        fail(ErrorKind::Value,
             "from_numpy: given numpy array has byte order different from the native byte order; convert it with "
             "array.astype(array.dtype.newbyteorder('='))");
    fail(ErrorKind::Type,
         "can't convert np.ndarray of format '%s'. The only supported types are: float64, float32, float16, "
         "complex64, complex128, int64, int32, int16, int8, uint8, and bool.",
         format);
}

}  // namespace

DType dtype_of_format(const Py_buffer& buffer) {
    const char* const whole = buffer.format ? buffer.format : "B";
    const bool native = *whole == '@' || *whole == '=' || *whole == '<';
    const char* const format = whole + native;
    if (std::strcmp(format, "q") == 0 && buffer.itemsize == 8) return DType::Int64;
    for (int i = 0; i < kDTypes; ++i) {
        const DTypeInfo& known = kDTypeInfo[i];
        if (*format == *known.format && *format && buffer.itemsize == known.size &&
            std::strcmp(format, known.format) == 0)
            return static_cast<DType>(i);
    }
    fail_format(format);
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
