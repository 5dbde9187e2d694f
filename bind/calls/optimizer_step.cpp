#include "bind/calls/optimizer_step.h"

#include <cstring>
#include <vector>

#include "bind/calls/operation.h"
#include "bind/calls/parse.h"
#include "bind/errors.h"
#include "bind/types/objects.h"
#include "core/base/error.h"

namespace clew::bind {
namespace {

// The arguments of one operation for many parameters: lists run in parallel, all else is the same for each.
class Steps {
public:
    Steps(const OpDef& op, PyObject* const* values, Py_ssize_t count) : op_(op) {
        if (count != static_cast<Py_ssize_t>(op.schema.arguments.size()))
            fail(ErrorKind::Type, "%s: expected %zu arguments, got %zd", op.name, op.schema.arguments.size(), count);
        length_ = PyList_Check(values[0]) ? PyList_GET_SIZE(values[0]) : 0;
        tensors_.reserve(static_cast<std::size_t>(count));
        attributes_.resize(op.attribute_bytes);
        std::size_t field = 0;
        for (Py_ssize_t i = 0; i < count; ++i) {
            const Argument& argument = op.schema.arguments[static_cast<std::size_t>(i)];
            if (PyList_Check(values[i]) && PyList_GET_SIZE(values[i]) != length_)
                fail(ErrorKind::Value, "%s: expected %zd %s, got %zd", op.name, length_, argument.name.c_str(),
                     PyList_GET_SIZE(values[i]));
            if (is_tensor(argument)) {
                tensors_.push_back(values[i] == Py_None && argument.optional ? nullptr : values[i]);
                if (argument.name == "step") counts_ |= 1u << (tensors_.size() - 1);
            } else if (PyList_Check(values[i]))
                read_numbers(values[i], field++);
            else
                set(field++, argument.type, values[i]);
        }
    }

    // All that could go wrong is found before anything is written.
    void check() const {
        for (Py_ssize_t i = 0; i < length_; ++i) {
            const TensorObject* first = tensor(0, i);
            if (!is_inexact(first->dtype))
                fail(ErrorKind::Runtime, "%s: expected floating or complex parameters, got %s", op_.name,
                     dtype_name(first->dtype));
            for (std::size_t list = 1; list < tensors_.size(); ++list) {
                const TensorObject* other = tensors_[list] ? tensor(list, i) : first;
                if ((counts_ >> list & 1) && other->layout->numel == 1) continue;
                if (other->dtype != first->dtype || !same_shape(*other->layout, *first->layout))
                    fail(ErrorKind::Runtime,
                         "%s: expected %s of shape %s and dtype %s like its parameter, got %s and %s", op_.name,
                         op_.input_name(op_, static_cast<int>(list)), shape_text(first->layout->shape()).c_str(),
                         dtype_name(first->dtype), shape_text(other->layout->shape()).c_str(),
                         dtype_name(other->dtype));
            }
        }
    }

    void run() {
        const ModeGuard guard(kNoGrad, true);  // check() has seen that all are tensors, and nobody else has the lists
        std::vector<Tensor> inputs(tensors_.size());
        for (Py_ssize_t i = 0; i < length_; ++i) {
            for (std::size_t list = 0; list < tensors_.size(); ++list)
                if (tensors_[list]) inputs[list] = Tensor(reinterpret_cast<TensorObject*>(object(list, i)));
            for (const Numbers& numbers : numbers_)
                set_number(numbers.field, numbers.values[static_cast<std::size_t>(i)]);
            apply_in_place(op_, inputs, attributes_.data());
        }
    }

private:
    struct Numbers {
        std::size_t field;
        std::vector<double> values;
    };

    PyObject* object(std::size_t list, Py_ssize_t i) const {
        return PyList_Check(tensors_[list]) ? PyList_GET_ITEM(tensors_[list], i) : tensors_[list];
    }
    TensorObject* tensor(std::size_t list, Py_ssize_t i) const {
        TensorObject* tensor = as_tensor(object(list, i));
        if (tensor == nullptr)
            fail(ErrorKind::Type, "%s: expected a Tensor in %s, got %s", op_.name,
                 op_.input_name(op_, static_cast<int>(list)), Py_TYPE(object(list, i))->tp_name);
        return tensor;
    }
    // Tensors of one element count as numbers.
    static double number(PyObject* object) {
        const double number = PyFloat_AsDouble(object);
        if (number == -1 && PyErr_Occurred()) throw PythonError();
        return number;
    }
    // One for each parameter.
    void read_numbers(PyObject* list, std::size_t field) {
        Numbers numbers{field, {}};
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
            numbers.values.push_back(number(PyList_GET_ITEM(list, i)));
        numbers_.push_back(std::move(numbers));
    }
    void set(std::size_t field, ArgType type, PyObject* object) {
        if (type != ArgType::Bool) return set_number(field, number(object));
        value_.tag = Value::Bool;
        value_.integer = PyObject_IsTrue(object);
        checked(static_cast<int>(value_.integer));
        op_.fields[field].set(attributes_.data(), value_);
    }
    void set_number(std::size_t field, double number) {
        value_.tag = Value::Float;
        value_.real = number;
        op_.fields[field].set(attributes_.data(), value_);
    }

    const OpDef& op_;
    Py_ssize_t length_ = 0;
    std::vector<PyObject*> tensors_;  // lists, or null where there is none
    std::uint32_t counts_ = 0;        // bit i: list i has a number for each parameter: how many steps it has seen
    std::vector<char> attributes_;
    Value value_;  // on its way into attributes_
    std::vector<Numbers> numbers_;
};

// (operation, *arguments)
PyObject* optimizer_step(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return guarded([&]() -> PyObject* {
        const OpDef* op = count ? operation_of(args[0]) : nullptr;
        if (op == nullptr) fail(ErrorKind::Type, "optimizer_step: expected an operation and its arguments");
        Steps steps(*op, args + 1, count - 1);
        steps.check();
        steps.run();
        Py_RETURN_NONE;
    });
}

PyMethodDef functions[] = {
    {"optimizer_step", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(optimizer_step)), METH_FASTCALL,
     "(operation, *arguments): one call of the operation for each element of the lists among its arguments."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_optimizer_step(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
