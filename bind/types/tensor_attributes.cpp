#include "bind/types/tensor_attributes.h"

#include <cstring>

#include "bind/data/interop.h"
#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/types/asked.h"
#include "bind/types/dtype.h"
#include "bind/types/objects.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"

namespace clew::bind {
namespace {

PyObject* get_shape(PyObject* self, void*) {
    return guarded([&] { return size_tuple(self_of(self)->layout->shape()); });
}
PyObject* get_dtype(PyObject* self, void*) { return dtype_object(self_of(self)->dtype); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(self_of(self)->layout->ndim); }
PyObject* get_requires_grad(PyObject* self, void*) { return PyBool_FromLong(tensor_of(self).requires_grad()); }
int set_requires_grad_flag(PyObject* self, PyObject* value, void*) {
    return guarded(
        [&] {
            if (value == nullptr || !PyBool_Check(value))
                fail(ErrorKind::Runtime, "requires_grad: it must be a bool, got %s",
                     value ? Py_TYPE(value)->tp_name : "a deletion");
            set_requires_grad(tensor_of(self), value == Py_True);
            return 0;
        },
        -1);
}
PyObject* get_grad_fn(PyObject* self, void*) {
    return guarded([&] { return wrap(grad_fn_of(tensor_of(self))); });
}
// For those that look at all tensors: what a tensor holds now. grad_fn brings a view's up to date, or refuses to.
PyObject* get_held_node(PyObject* self, void*) {
    return guarded([&] { return wrap(NodeRef(self_of(self)->grad_fn.get())); });
}
PyObject* get_is_leaf(PyObject* self, void*) {
    return guarded([&] { return PyBool_FromLong(!grad_fn_of(tensor_of(self))); });
}
PyObject* get_grad(PyObject* self, void*) {
    return guarded([&] {
        const Tensor tensor = tensor_of(self);
        Tensor grad = grad_of(tensor);
        if (!grad && tensor->grad_fn && !tensor->has(TensorObject::kRetainsGrad))
            checked(PyErr_WarnEx(PyExc_UserWarning,
                                 "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                                 ".grad attribute won't be "
                                 "populated during autograd.backward(). If you indeed want the .grad field to be "
                                 "populated for a non-leaf "
                                 "Tensor, use .retain_grad() on the non-leaf Tensor.",
                                 1));
        return wrap(std::move(grad));
    });
}
int set_grad_attribute(PyObject* self, PyObject* value, void*) {
    return guarded(
        [&] {
            const Tensor tensor = tensor_of(self);
            if (value == nullptr || value == Py_None) {
                set_grad(tensor, Tensor());
                return 0;
            }
            TensorObject* grad = as_tensor(value);
            if (grad == nullptr)
                fail(ErrorKind::Type, "assigned grad expected to be a Tensor or None but got grad of type %s",
                     Py_TYPE(value)->tp_name);
            if (grad == tensor.get()) fail(ErrorKind::Runtime, "can't assign Variable as its own grad");
            if (grad->dtype != tensor->dtype)
                fail(ErrorKind::Runtime, "assigned grad has data of a different type: expected %s, got %s",
                     dtype_name(tensor.dtype()), dtype_name(grad->dtype));
            if (is_meta(Tensor(grad)) != is_meta(tensor) && !is_sparse(Tensor(grad)))
                fail(ErrorKind::Runtime,
                     "attempting to assign a gradient with device type '%s' to a tensor with device type '%s'. Please "
                     "ensure that the gradient and the tensor are on the same device",
                     is_meta(tensor) ? "cpu" : "meta", is_meta(tensor) ? "meta" : "cpu");
            if (!same_sizes(grad->layout->shape(), tensor.sizes()))
                fail(ErrorKind::Runtime, "assigned grad has data of a different size: expected %s, got %s",
                     shape_text(tensor.sizes()).c_str(), shape_text(grad->layout->shape()).c_str());
            set_grad(tensor, Tensor(grad));
            return 0;
        },
        -1);
}
PyObject* get_version(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        if (self_of(self)->has(TensorObject::kInference))
            fail(ErrorKind::Runtime, "Inference tensors do not track version counter.");
        return PyLong_FromUnsignedLong(version_of(*self_of(self)));
    });
}
PyObject* get_base(PyObject* self, void*) { return wrap(Tensor(self_of(self)->base.get())); }
PyObject* get_output_index(PyObject* self, void*) { return PyLong_FromLong(self_of(self)->output_index); }
PyObject* get_retains_grad(PyObject* self, void*) {
    return PyBool_FromLong(self_of(self)->has(TensorObject::kRetainsGrad));
}
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(item_size(self_of(self)->dtype)); }
PyObject* get_nbytes(PyObject* self, void*) { return PyLong_FromLongLong(bytes_of(tensor_of(self))); }
PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* get_storage_id(PyObject* self, void*) { return PyLong_FromVoidPtr(self_of(self)->storage.get()); }
PyObject* get_storage_bytes(PyObject* self, void*) { return PyLong_FromLongLong(self_of(self)->storage->bytes); }
PyObject* get_is_wrapped(PyObject* self, void*) {
    return PyBool_FromLong(self_of(self)->has(TensorObject::kWrappedNumber));
}

PyObject* get_data(PyObject* self, void*) {
    return guarded([&] {
        const Tensor tensor = tensor_of(self);
        if (is_batched(tensor)) return wrap(detach(tensor));
        Tensor result = alias(tensor, tensor->layout, tensor->offset);
        own_version(result, 0);
        if (tensor.requires_grad())
            result->lost = HistoryBreak::make("data");
        else
            result->lost = tensor->lost;
        return wrap(std::move(result));
    });
}
// x.data = t is no write: x looks at t's memory from now on, and graphs keep what they saved.
int set_data(PyObject* self, PyObject* value, void*) {
    return guarded(
        [&] {
            TensorObject* given = value ? as_tensor(value) : nullptr;
            if (given == nullptr)
                fail(ErrorKind::Type, "data: expected a Tensor, got %s",
                     value ? Py_TYPE(value)->tp_name : "a deletion");
            rebind(tensor_of(self), Tensor(given));
            return 0;
        },
        -1);
}

PyObject* record_of(const char* type, const char* text, PyObject* site, unsigned long long serial) {
    PyObject* module = checked(PyImport_ImportModule("clew.graph.model.records"));
    PyObject* made = std::strcmp(type, "HistoryBreak") == 0
                         ? PyObject_CallMethod(module, type, "sN", text, site)
                         : PyObject_CallMethod(module, type, "sNK", text, site, serial);
    Py_DECREF(module);
    return checked(made);
}
PyObject* get_lost(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        const Ref<HistoryBreak>& lost = self_of(self)->lost;
        if (!lost) Py_RETURN_NONE;
        return record_of("HistoryBreak", lost->cause, site_object(lost->site), 0);
    });
}
PyObject* get_last_write(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        const WriteLog* log = self_of(self)->storage->log;
        if (log == nullptr || log->last.op == nullptr) Py_RETURN_NONE;
        return record_of("Write", log->last.op, site_object(log->last.site), log->last.serial);
    });
}

// An attribute means a dict, and a dict may close a cycle: from now on the collector sees the tensor.
int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
    const int status = PyObject_GenericSetAttr(self, name, value);
    if (self_of(self)->dict && !self_of(self)->has(TensorObject::kTracked)) {
        track_tensor(self_of(self));
        note_late_python();
    }
    return status;
}
PyObject* get_dict(PyObject* self, void*) {
    PyObject* dict = PyObject_GenericGetDict(self, nullptr);
    if (dict && !self_of(self)->has(TensorObject::kTracked)) {
        track_tensor(self_of(self));
        note_late_python();
    }
    return dict;
}

PyObject* get_class(PyObject* self, void*) { return Py_NewRef(as_object(Py_TYPE(self))); }
// The memory of tensors of no subclass comes from a pool of its own.
int set_class(PyObject* self, PyObject* value, void*) {
    return guarded(
        [&] {
            if (value && value != as_object(Py_TYPE(self)) &&
                (is_exact_tensor(self) || value == as_object(&tensor_type)))
                fail(ErrorKind::Type,
                     "__class__: expected a tensor of a subclass of Tensor, and another subclass\n  got: a %s and %s\n"
                     "  to do: tensor.as_subclass(cls) gives a tensor of that class",
                     Py_TYPE(self)->tp_name,
                     PyType_Check(value) ? reinterpret_cast<PyTypeObject*>(value)->tp_name : "no class");
            static PyObject* const name = PyUnicode_InternFromString("__class__");
            PyObject* const of_object = _PyType_Lookup(&PyBaseObject_Type, name);
            return Py_TYPE(of_object)->tp_descr_set(of_object, self, value);
        },
        -1);
}

PyGetSetDef properties[] = {
    {"__class__", get_class, set_class, nullptr, nullptr},
    {"__dict__", get_dict, nullptr, nullptr, nullptr},
    asked_attribute<"shape", get_shape>("the sizes"),
    asked_attribute<"dtype", get_dtype>("the type of the elements"),
    asked_attribute<"ndim", get_ndim>("the number of axes"),
    asked_attribute<"requires_grad", get_requires_grad, set_requires_grad_flag>(
        "whether operations on it are recorded"),
    asked_attribute<"grad_fn", get_grad_fn>("the node that made it; None for a leaf"),
    {"_held_node", get_held_node, nullptr, "the node that it holds now; grad_fn brings a view's up to date", nullptr},
    asked_attribute<"is_leaf", get_is_leaf>("made by the user, not by a recorded operation"),
    asked_attribute<"grad", get_grad, set_grad_attribute>("the gradient that backward accumulated; None before"),
    asked_attribute<"data", get_data, set_data>("the same memory outside the graph, with a version counter of its own"),
    asked_attribute<"_version", get_version>("how often it was modified in place"),
    asked_attribute<"_base", get_base>("the tensor that this is a view of, or None"),
    asked_attribute<"output_nr", get_output_index>("which output of grad_fn it is"),
    asked_attribute<"retains_grad", get_retains_grad>("whether retain_grad() was called"),
    asked_attribute<"itemsize", get_itemsize>("bytes of one element"),
    asked_attribute<"nbytes", get_nbytes>("bytes of all elements"),
    asked_attribute<"is_cuda", get_false>("False: the only device is the CPU"),
    asked_attribute<"is_sparse", get_false>("False"),
    asked_attribute<"is_quantized", get_false>("False"),
    {"_storage_id", get_storage_id, nullptr, "equal for tensors that share memory", nullptr},
    {"_storage_nbytes", get_storage_bytes, nullptr, "bytes of the whole storage", nullptr},
    {"_is_wrapped_number", get_is_wrapped, nullptr, "stands for a Python number", nullptr},
    {"_lost", get_lost, nullptr, "why it has no history although its data came from a tensor that had", nullptr},
    {"_last_write", get_last_write, nullptr, "the last in-place write to its memory", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

void add_tensor_attributes(PyTypeObject& type) {
    type.tp_getset = properties;
    type.tp_methods = tensor_methods;
    type.tp_setattro = set_attribute;
    type.tp_getattro = PyObject_GenericGetAttr;
    type.tp_new = tensor_new;
}

}  // namespace clew::bind
