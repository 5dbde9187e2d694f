// Which device a tensor is on, and on which one new ones are made. Device objects are Python's (src/clew/_device.py).
#include "bind/types/device.h"

#include "bind/errors.h"
#include "bind/types/asked.h"
#include "bind/types/objects.h"
#include "core/autograd/mode.h"

namespace clew::bind {
namespace {

PyObject *cpu = nullptr, *meta = nullptr;

bool on_meta(PyObject* self) { return is_meta(Tensor(reinterpret_cast<TensorObject*>(self))); }

PyObject* get_device(PyObject* self, void*) { return Py_NewRef(on_meta(self) ? meta : cpu); }
PyObject* get_is_meta(PyObject* self, void*) { return PyBool_FromLong(on_meta(self)); }
PyObject* get_is_cpu(PyObject* self, void*) { return PyBool_FromLong(!on_meta(self)); }

PyGetSetDef properties[] = {
    asked_attribute<"device", get_device>("where its memory is; on 'meta' it has none"),
    asked_attribute<"is_meta", get_is_meta>("whether it is on the device 'meta': without values"),
    asked_attribute<"is_cpu", get_is_cpu>("whether it is on the CPU"),
};

PyObject* set_devices(PyObject*, PyObject* args) {
    PyObject *first, *second;
    if (!PyArg_ParseTuple(args, "OO", &first, &second)) return nullptr;
    Py_XSETREF(cpu, Py_NewRef(first));
    Py_XSETREF(meta, Py_NewRef(second));
    for (PyGetSetDef& property : properties) {
        PyObject* const descriptor = PyDescr_NewGetSet(&tensor_type, &property);
        if (descriptor == nullptr || PyDict_SetItemString(tensor_type.tp_dict, property.name, descriptor) < 0)
            return nullptr;
        Py_DECREF(descriptor);
    }
    PyType_Modified(&tensor_type);
    Py_RETURN_NONE;
}

PyObject* makes_meta(PyObject*, PyObject*) { return PyBool_FromLong(mode(kMakeMeta)); }
PyObject* set_makes_meta(PyObject*, PyObject* wanted) {
    const bool before = mode(kMakeMeta);
    mode_word = wanted == Py_True ? mode_word | kMakeMeta : mode_word & ~std::uint32_t{kMakeMeta};
    return PyBool_FromLong(before);
}

PyMethodDef functions[] = {
    {"_set_devices", set_devices, METH_VARARGS, "(cpu, meta): the device objects that tensors give."},
    {"_makes_meta", makes_meta, METH_NOARGS, "Whether this thread makes new tensors on meta."},
    {"_set_makes_meta", set_makes_meta, METH_O, "(on) -> as it was: whether this thread makes new tensors on meta."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_devices(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
