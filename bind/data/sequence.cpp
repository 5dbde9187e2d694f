#include "bind/data/sequence.h"

#include <utility>
#include <vector>

#include "bind/data/buffer.h"
#include "bind/data/sequence_values.h"
#include "bind/errors.h"
#include "bind/types/dtype.h"
#include "bind/types/escapes.h"
#include "bind/types/objects.h"
#include "core/base/error.h"
#include "core/ops/creation/constant.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"

namespace clew::bind {
namespace {

// Note [Reading a sequence once]
// A sequence may be somebody's class, whose methods can change any list that is being read, or answer differently the
// next time. So each element is asked for once, and its number goes at once into Values: sizes, dtype and elements all
// come from there. While code of others may run, nothing of a list is held but a reference to one element.
class Reader {
public:
    Reader(PyObject* data, std::optional<DType> dtype) : dtype_(dtype) { read(data, 0); }

    Tensor result() const {
        const LayoutRef layout = Layout::make(sizes_);
        if (layout->numel != values_.size())  // each sequence was as long as the first of its depth
            fail(ErrorKind::Runtime, "tensor: expected %lld numbers, got %lld; was the data changed meanwhile?",
                 static_cast<long long>(layout->numel), static_cast<long long>(values_.size()));
        Tensor made = constant(layout, dtype_.value_or(inferred()), [&](const Tensor& out) { store(out); });
        made->lost = lost_;
        return made;
    }
    void store(const Tensor& out) const {
        with_any_type(out.dtype(), [&]<class T>() { values_.store(out.data_as<T>()); });
    }

private:
    DType inferred() const {
        std::optional<DType> common;
        for (int i = 0; i < kDTypes; ++i) {
            const auto dtype = static_cast<DType>(i);
            if (seen_ & 1u << i) common = common ? promote(*common, dtype) : dtype;
        }
        return common.value_or(default_dtype());
    }

    void saw(DType dtype) { seen_ |= 1u << static_cast<int>(dtype); }

    void read(PyObject* object, int depth) {
        if (PyFloat_CheckExact(object)) {
            // The first float only: a list of data is long.
            if (!(seen_ & 1u << static_cast<int>(default_dtype())) && !lost_) lost_ = where_read(object);
            saw(default_dtype());
            number(depth).add(PyFloat_AS_DOUBLE(object));
        } else if (PyBool_Check(object)) {
            saw(DType::Bool);
            number(depth).add(std::int64_t{object == Py_True});
        } else if (PyLong_Check(object)) {
            saw(DType::Int64);
            read_int(object, depth);
        } else if (PyList_Check(object)) {
            read_list(object, depth);
        } else if (PyTuple_Check(object)) {
            const auto count = enter(PyTuple_GET_SIZE(object), depth);
            for (Py_ssize_t i = 0; i < count; ++i) read(PyTuple_GET_ITEM(object, i), depth + 1);
        } else if (TensorObject* tensor = as_tensor(object)) {
            read_tensor(Tensor(tensor), depth);
        } else if (PyObject_CheckBuffer(object) && is_array(object)) {
            Buffer buffer(object, PyBUF_STRIDES | PyBUF_FORMAT);
            read_array(buffer, depth);
        } else if (PyFloat_Check(object)) {
            saw(default_dtype());
            number(depth).add(PyFloat_AS_DOUBLE(object));
        } else if (PySequence_Check(object) && !PyUnicode_Check(object) && !PyDict_Check(object) &&
                   (!PyBytes_Check(object) || (dtype_ && depth > 0))) {
            read_sequence(object, depth);
        } else {
            read_other(object, depth);
        }
    }

    void read_int(PyObject* object, int depth) {
        int overflow = 0;
        const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow == 0) return number(depth).add(std::int64_t{value});
        const double rounded = PyLong_AsDouble(object);
        const bool beyond = rounded == -1 && PyErr_Occurred();
        PyErr_Clear();
        number(depth).add(rounded, beyond ? Values::BeyondReal : Values::BeyondInt64);
    }

    void read_list(PyObject* list, int depth) {
        const auto count = enter(PyList_GET_SIZE(list), depth);
        for (Py_ssize_t i = 0; i < count; ++i) {
            if (i >= PyList_GET_SIZE(list))
                fail(ErrorKind::Runtime, "tensor: expected a list of length %zd, got one that shrank while it was read",
                     count);
            const Handle item = Handle::borrow(PyList_GET_ITEM(list, i));
            read(static_cast<PyObject*>(item.get()), depth + 1);
        }
    }

    void read_sequence(PyObject* object, int depth) {
        const Py_ssize_t length = PySequence_Size(object);
        if (length < 0) throw PythonError();
        const auto count = enter(length, depth);
        for (Py_ssize_t i = 0; i < count; ++i) {
            const Handle item = Handle::steal(checked(PySequence_GetItem(object, i)));
            read(static_cast<PyObject*>(item.get()), depth + 1);
        }
    }

    // A tensor where numbers are due counts as its one element, whatever its axes.
    void read_tensor(const Tensor& tensor, int depth) {
        if (!lost_) lost_ = lost_by_copy(tensor);
        saw(tensor.dtype());
        if (!fixed_ || depth >= sizes_.size()) {
            if (tensor.numel() != 1)
                fail(ErrorKind::Value,
                     "tensor: only one element tensors can be converted to Python scalars, got one of shape %s; join "
                     "tensors with stack or cat",
                     shape_text(tensor.sizes()).c_str());
            number(depth);
        } else {
            for (int i = 0; i < tensor.ndim(); ++i) enter(tensor.size(i), depth + i);
            number(depth + tensor.ndim());
        }
        const Tensor dense = copy_as(escape(tensor, Read::Other, "tensor"), tensor.dtype());
        add_all(dense.data(), dense.dtype(), dense.numel(), Values::RealTensor);
    }

    void read_array(Buffer& buffer, int depth) {
        const DType dtype = dtype_of_format(*buffer);
        saw(dtype);
        for (int i = 0; i < buffer->ndim; ++i)
            if (enter(buffer->shape[i], depth + i) == 0) return;  // what it would have further in does not count
        number(depth + buffer->ndim);
        std::vector<char> dense(static_cast<std::size_t>(buffer->len));
        checked(PyBuffer_ToContiguous(dense.data(), &*buffer, buffer->len, 'C'));
        add_all(dense.data(), dtype, buffer->len / buffer->itemsize, Values::Real);
    }

    void add_all(const void* data, DType dtype, std::int64_t count, Values::Kind real) {
        with_any_type(dtype, [&]<class T>() {
            const T* numbers = static_cast<const T*>(data);
            for (std::int64_t i = 0; i < count; ++i) {
                if constexpr (is_complex(dtype_of<T>::value))
                    values_.add(Complex<double>(numbers[i]));
                else if constexpr (is_floating(dtype_of<T>::value))
                    values_.add(static_cast<double>(numbers[i]), real);
                else if constexpr (std::is_same_v<T, bool>)  // other bytes than 0 and 1 are true, too
                    values_.add(std::int64_t{static_cast<const std::uint8_t*>(data)[i] != 0});
                else
                    values_.add(static_cast<std::int64_t>(numbers[i]));
            }
        });
    }

    // A sequence begins: the first of each depth says how long all are.
    Py_ssize_t enter(Py_ssize_t count, int depth) {
        if (depth == sizes_.size()) {
            if (fixed_) fail(ErrorKind::Type, "tensor: expected a number at dim %d (got a sequence)", depth);
            if (depth == kMaxDims)
                fail(ErrorKind::Value, "tensor: too many dimensions: expected at most %d nested sequences", kMaxDims);
            sizes_.push_back(count);
            if (count == 0) fixed_ = true;
        } else if (count != sizes_[depth]) {
            fail(ErrorKind::Value, "tensor: expected sequence of length %lld at dim %d (got %zd)",
                 static_cast<long long>(sizes_[depth]), depth, count);
        }
        return count;
    }

    // A number is due: the first one says how deep all are, and how many there will be.
    Values& number(int depth) {
        if (!fixed_) {
            fixed_ = true;
            values_.reserve(count_elements(sizes_));
        }
        if (depth != sizes_.size())
            fail(ErrorKind::Type, "tensor: expected sequence of length %lld at dim %d (got a number)",
                 static_cast<long long>(sizes_[depth]), depth);
        return values_;
    }

    // A fraction, say, is a number if the dtype need not be found out.
    void read_other(PyObject* object, int depth) {
        const char* name = Py_TYPE(object)->tp_name;
        const bool text = PyUnicode_Check(object) || PyBytes_Check(object);
        if (PyUnicode_Check(object) && depth > 0 && !fixed_)
            fail(ErrorKind::Value, "tensor: too many dimensions '%s'; expected numbers", name);
        if (is_complex_number(object)) {
            const Py_complex value = PyComplex_AsCComplex(object);
            saw(complex_dtype(default_dtype()));
            return number(depth).add(Complex<double>(value.real, value.imag));
        }
        if (text || !dtype_) refuse(object);
        if (!is_inexact(*dtype_))
            fail(ErrorKind::Type, "tensor: '%s' object cannot be interpreted as an integer", name);
        const double value = PyFloat_AsDouble(object);
        if (value == -1 && PyErr_Occurred()) throw PythonError();
        number(depth).add(value);
    }

    [[noreturn]] static void refuse(PyObject* object) {
        if (PyUnicode_Check(object) || PyBytes_Check(object))
            fail(ErrorKind::Type, "tensor: invalid data type '%s'; expected numbers or nested sequences of them",
                 Py_TYPE(object)->tp_name);
        fail(ErrorKind::Runtime, "tensor: Could not infer dtype of %s; expected numbers or nested sequences of them",
             Py_TYPE(object)->tp_name);
    }

    std::optional<DType> dtype_;  // that the tensor is to have
    Values values_;
    Dims sizes_;
    bool fixed_ = false;        // how many axes there are: known at the first number or empty sequence
    unsigned seen_ = 0;         // a bit for each dtype
    Ref<HistoryBreak> lost_{};  // the first element that had a history, or had lost it
};

}  // namespace

Tensor tensor_from_sequence(PyObject* data, std::optional<DType> dtype) { return Reader(data, dtype).result(); }

Ref<HistoryBreak> lost_by_copy(const Tensor& source) {
    return source.requires_grad() ? HistoryBreak::make("tensor") : source->lost;
}

}  // namespace clew::bind
