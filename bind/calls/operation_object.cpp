#include "bind/calls/operation_object.h"

#include <structmember.h>

#include <string>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/types/torch_function.h"
#include "bind/types/type.h"

namespace clew::bind {

PyTypeObject operation_type = blank_type();

namespace {

PyObject* operation_repr(PyObject* object) { return PyUnicode_FromFormat("<operation %U>", self_of(object)->name); }

PyObject* operation_get(PyObject* self, PyObject* instance, PyObject*) {
    if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

PyObject* operation_reduce(PyObject* object, PyObject*) {
    PyObject* finder = PyObject_GetAttrString(PyImport_AddModule("clew._core"), "_find_operation");
    if (finder == nullptr) return nullptr;
    return Py_BuildValue("N(sO)", finder, self_of(object)->group->name.c_str(),
                         self_of(object)->in_place ? Py_True : Py_False);
}

PyObject* operation_overloads(PyObject* object, void*) { return overloads_list(*self_of(object)->group); }

// What Python code says of an operation, only when it is asked for: `closure` is "module.function" of ours.
PyObject* operation_text(PyObject* object, void* closure) {
    const std::string path = static_cast<const char*>(closure);
    const std::size_t dot = path.rfind('.');
    PyObject* module = PyImport_ImportModule(path.substr(0, dot).c_str());
    if (module == nullptr) return nullptr;
    PyObject* text = PyObject_CallMethod(module, path.substr(dot + 1).c_str(), "O", object);
    Py_DECREF(module);
    return text;
}

PyGetSetDef operation_attributes[] = {
    {"__doc__", operation_text, nullptr, nullptr, const_cast<char*>("clew._operation_docs.doc_of")},
    {"overloads", operation_overloads, nullptr, "what the registry says of each overload", nullptr},
    {"__signature__", operation_text, nullptr, "for inspect.signature",
     const_cast<char*>("clew._signatures.signature_of")},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef operation_members[] = {
    {"__name__", T_OBJECT_EX, offsetof(OperationObject, name), READONLY, nullptr},
    {"__qualname__", T_OBJECT_EX, offsetof(OperationObject, name), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyMethodDef operation_methods[] = {
    {"__reduce__", operation_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* property_get(PyObject* tensor, void* closure) {
    return guarded([&] {
        OpGroup& group = *static_cast<OpGroup*>(closure);
        if (is_asked_about(tensor)) return ask_attribute(group.name.c_str(), "__get__", tensor, nullptr);
        return call_group(group, false, &tensor, 1, nullptr);
    });
}

}  // namespace

PyObject* new_operation(OpGroup* group, bool in_place) {
    auto* made = PyObject_New(OperationObject, &operation_type);
    checked(reinterpret_cast<PyObject*>(made));
    made->vectorcall = operation_call;
    made->group = group;
    made->in_place = in_place;
    made->dict = nullptr;
    const bool writes = group->overloads[0].def->is(kWritesInput);
    made->name = checked(PyUnicode_FromString((group->name + (in_place && !writes ? "_" : "")).c_str()));
    return reinterpret_cast<PyObject*>(made);
}

// x.T, an operation without parentheses. The type keeps the definition for good.
PyObject* new_property(OpGroup& group) {
    const OpText& text = group.overloads[0].def->text;
    auto* doc = new std::string(std::string(text.doc) + "\n\n" + text.example);
    auto* definition = new PyGetSetDef{group.name.c_str(), property_get, nullptr, doc->c_str(), &group};
    return checked(PyDescr_NewGetSet(&tensor_type, definition));
}

bool is_operation_property(PyObject* descriptor) {
    return Py_TYPE(descriptor) == &PyGetSetDescr_Type &&
           reinterpret_cast<PyGetSetDescrObject*>(descriptor)->d_getset->get == property_get;
}

const OpDef* operation_of(PyObject* object) {
    if (!Py_IS_TYPE(object, &operation_type) || self_of(object)->group->overloads.size() != 1) return nullptr;
    return self_of(object)->group->overloads[0].def;
}

void init_operation_type(PyObject* module) {
    operation_type.tp_name = "clew.Operation";
    operation_type.tp_basicsize = sizeof(OperationObject);
    operation_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                              Py_TPFLAGS_DISALLOW_INSTANTIATION;
    operation_type.tp_vectorcall_offset = offsetof(OperationObject, vectorcall);
    operation_type.tp_call = PyVectorcall_Call;
    operation_type.tp_descr_get = operation_get;
    operation_type.tp_repr = operation_repr;
    operation_type.tp_getset = operation_attributes;
    operation_type.tp_members = operation_members;
    operation_type.tp_methods = operation_methods;
    operation_type.tp_dictoffset = offsetof(OperationObject, dict);
    checked(PyType_Ready(&operation_type));
    checked(PyModule_AddObjectRef(module, "Operation", reinterpret_cast<PyObject*>(&operation_type)));
}

}  // namespace clew::bind
