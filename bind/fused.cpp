#include "bind/fused.h"

#include <cmath>
#include <vector>

#include "bind/errors.h"
#include "bind/objects.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/kernels/training/optim.h"
#include "core/ops/dispatch.h"
#include "core/tensor/packing.h"

namespace clew::bind {
namespace {

// Lists that run in parallel, checked before anything is written.
struct Lists {
    PyObject* params;
    Py_ssize_t count;
    const char* op;

    TensorObject* at(PyObject* list, Py_ssize_t i, const char* what) const {
        if (PyList_GET_SIZE(list) != count)
            fail(ErrorKind::Value, "%s: expected %zd %s, got %zd", op, count, what, PyList_GET_SIZE(list));
        TensorObject* tensor = as_tensor(PyList_GET_ITEM(list, i));
        if (tensor == nullptr)
            fail(ErrorKind::Type, "%s: expected a Tensor in %s, got %s", op, what,
                 Py_TYPE(PyList_GET_ITEM(list, i))->tp_name);
        return tensor;
    }
    void check(TensorObject* param, TensorObject* other, const char* what) const {
        if (other->dtype != param->dtype || !same_shape(*other->layout, *param->layout))
            fail(ErrorKind::Runtime, "%s: expected %s of shape %s and dtype %s like its parameter, got %s and %s", op,
                 what, shape_text(param->layout->shape()).c_str(), dtype_name(param->dtype),
                 shape_text(other->layout->shape()).c_str(), dtype_name(other->dtype));
    }
};

// Kernels want memory without gaps, in one order for the parameter and all that belongs to it; what lies otherwise goes
// through a copy and back.
class Dense {
public:
    Dense(TensorObject* tensor, const LayoutRef& order) : tensor_(Tensor(tensor)), dense_(tensor_) {
        if (tensor->layout == order || lie_alike(*tensor->layout, *order)) return;
        dense_ = empty(order, tensor_.dtype());
        kernels::copy(dense_.view(), tensor_.view());
    }
    void* data() const { return dense_.data(); }
    void write_back() const {
        if (!dense_.same(tensor_)) kernels::copy(tensor_.view(), dense_.view());
    }

private:
    Tensor tensor_, dense_;
};

void need_floating(TensorObject* param, const char* op) {
    if (!is_floating(param->dtype))
        fail(ErrorKind::Runtime, "%s: expected floating parameters, got %s", op, dtype_name(param->dtype));
}

// (params, grads, momentum_buffers | None, lr, momentum, dampening, weight_decay, nesterov, maximize, first)
PyObject* fused_sgd(PyObject*, PyObject* args) {
    PyObject *params, *grads, *buffers;
    kernels::SgdOptions options;
    int nesterov, maximize, first;
    if (!PyArg_ParseTuple(args, "O!O!Oddddppp:fused_sgd", &PyList_Type, &params, &PyList_Type, &grads, &buffers,
                          &options.lr, &options.momentum, &options.dampening, &options.weight_decay, &nesterov,
                          &maximize, &first))
        return nullptr;
    options.nesterov = nesterov;
    options.maximize = maximize;
    return guarded([&]() -> PyObject* {
        const Lists lists{params, PyList_GET_SIZE(params), "fused_sgd"};
        const bool momentum = buffers != Py_None;
        for (Py_ssize_t i = 0; i < lists.count; ++i) {
            TensorObject* param = lists.at(params, i, "params");
            need_floating(param, lists.op);
            lists.check(param, lists.at(grads, i, "grads"), "a gradient");
            if (momentum) lists.check(param, lists.at(buffers, i, "momentum buffers"), "a momentum buffer");
        }
        for (Py_ssize_t i = 0; i < lists.count; ++i) {
            TensorObject* param = lists.at(params, i, "params");
            announce_write(Tensor(param));
            const LayoutRef order = like_layout(Tensor(param));
            const Dense data(param, order), grad(lists.at(grads, i, "grads"), order);
            if (momentum) {
                const Dense buffer(lists.at(buffers, i, "momentum buffers"), order);
                kernels::sgd_step(param->dtype, data.data(), grad.data(), buffer.data(), param->layout->numel, options,
                                  first != 0);
                buffer.write_back();
            } else {
                kernels::sgd_step(param->dtype, data.data(), grad.data(), nullptr, param->layout->numel, options,
                                  first != 0);
            }
            data.write_back();
            bump_version(Tensor(param), "sgd_step");
        }
        Py_RETURN_NONE;
    });
}

// (params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, lr, beta1, beta2, eps, weight_decay, decoupled,
// maximize)
PyObject* fused_adam(PyObject*, PyObject* args) {
    PyObject *params, *grads, *averages, *squares, *largest, *steps;
    kernels::AdamOptions options;
    int decoupled, maximize;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!dddddpp:fused_adam", &PyList_Type, &params, &PyList_Type, &grads,
                          &PyList_Type, &averages, &PyList_Type, &squares, &PyList_Type, &largest, &PyList_Type, &steps,
                          &options.lr, &options.beta1, &options.beta2, &options.eps, &options.weight_decay, &decoupled,
                          &maximize))
        return nullptr;
    options.decoupled = decoupled;
    options.maximize = maximize;
    return guarded([&]() -> PyObject* {
        const Lists lists{params, PyList_GET_SIZE(params), "fused_adam"};
        const bool amsgrad = PyList_GET_SIZE(largest) > 0;
        std::vector<std::int64_t> counts;
        for (Py_ssize_t i = 0; i < lists.count; ++i) {
            TensorObject* param = lists.at(params, i, "params");
            need_floating(param, lists.op);
            lists.check(param, lists.at(grads, i, "grads"), "a gradient");
            lists.check(param, lists.at(averages, i, "exp_avgs"), "an exp_avg");
            lists.check(param, lists.at(squares, i, "exp_avg_sqs"), "an exp_avg_sq");
            if (amsgrad) lists.check(param, lists.at(largest, i, "max_exp_avg_sqs"), "a max_exp_avg_sq");
            if (PyList_GET_SIZE(steps) != lists.count)
                fail(ErrorKind::Value, "fused_adam: expected one step count for each parameter");
            const double step = PyFloat_AsDouble(PyList_GET_ITEM(steps, i));
            if (step == -1 && PyErr_Occurred()) throw PythonError();
            counts.push_back(std::llround(step));
        }
        for (Py_ssize_t i = 0; i < lists.count; ++i) {
            TensorObject* param = lists.at(params, i, "params");
            announce_write(Tensor(param));
            const LayoutRef order = like_layout(Tensor(param));
            const Dense data(param, order), grad(lists.at(grads, i, "grads"), order),
                average(lists.at(averages, i, "exp_avgs"), order), square(lists.at(squares, i, "exp_avg_sqs"), order),
                most(amsgrad ? lists.at(largest, i, "max_exp_avg_sqs") : param, order);
            kernels::adam_step(param->dtype, data.data(), grad.data(), average.data(), square.data(),
                               amsgrad ? most.data() : nullptr, param->layout->numel, options,
                               counts[static_cast<std::size_t>(i)]);
            for (const Dense* dense : {&average, &square, &data}) dense->write_back();
            if (amsgrad) most.write_back();
            bump_version(Tensor(param), "adam_step");
        }
        Py_RETURN_NONE;
    });
}

PyMethodDef functions[] = {
    {"fused_sgd", fused_sgd, METH_VARARGS, nullptr},
    {"fused_adam", fused_adam, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_fused(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
