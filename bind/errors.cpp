#include "bind/errors.h"

#include <new>
#include <string>

#include "bind/graph/site.h"
#include "bind/types/objects.h"
#include "core/autograd/anomaly.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/budget/account.h"
#include "core/program/program.h"

namespace clew::bind {
namespace {

PyObject* type_of(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::Value:
            return PyExc_ValueError;
        case ErrorKind::Type:
            return PyExc_TypeError;
        case ErrorKind::Index:
            return PyExc_IndexError;
        case ErrorKind::NotImplemented:
            return PyExc_NotImplementedError;
        case ErrorKind::Memory:
            return PyExc_MemoryError;
        default:
            return PyExc_RuntimeError;
    }
}

PyObject* node_object(const NodeRef& node) { return Py_NewRef(as_object(node.get())); }
PyObject* made_at(const NodeRef& node) {
    return node ? site_object({node->code, node->instruction}) : Py_NewRef(Py_None);
}
// What the running code calls a tensor, or None: the core knows no names.
PyObject* name_of(const Tensor& tensor) {
    PyObject* module = tensor ? PyImport_ImportModule("clew.graph.explanations.culprits") : nullptr;
    PyObject* name = module ? PyObject_CallMethod(module, "name_of", "O", as_object(tensor.get())) : nullptr;
    Py_XDECREF(module);
    PyErr_Clear();  // the error itself matters more
    return name ? name : Py_NewRef(Py_None);
}
// "... in an in-place operation. The leaf is `model.3.weight`. To do: ...".
void raise_leaf_modified(const LeafModified& error) {
    std::string text = error.what();
    const Handle name = Handle::steal(name_of(error.leaf));
    if (auto* const told = static_cast<PyObject*>(name.get()); PyUnicode_Check(told))
        text.insert(text.find(" To do:"), format(" The leaf is `%s`.", PyUnicode_AsUTF8(told)));
    PyErr_SetString(PyExc_RuntimeError, text.c_str());
}
PyObject* text_or_none(const char* text) { return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None); }
PyObject* shape_or_none(const std::vector<std::int64_t>& shape, bool known) {
    PyObject* sizes = known ? PyTuple_New(static_cast<Py_ssize_t>(shape.size())) : Py_NewRef(Py_None);
    for (std::size_t i = 0; known && sizes && i < shape.size(); ++i)
        PyTuple_SET_ITEM(sizes, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
    return sizes;
}

}  // namespace

void raise_with_fields(const char* name, const char* text, std::initializer_list<Field> fields) {
    PyObject* module = PyImport_ImportModule("clew.autograd.errors");
    PyObject* type = module ? PyObject_GetAttrString(module, name) : nullptr;
    PyObject* error = type ? PyObject_CallFunction(type, "s", text) : nullptr;
    for (const Field& field : fields) {
        if (error && field.value) PyObject_SetAttrString(error, field.name, field.value);
        Py_XDECREF(field.value);
    }
    if (error) PyErr_SetObject(type, error);
    Py_XDECREF(error);
    Py_XDECREF(type);
    Py_XDECREF(module);
}

void set_python_error() noexcept {
    try {
        throw;
    } catch (const PythonError&) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "clew: an error was announced but not set");
    } catch (const GraphFreed& error) {
        const Release* record = error.node->released;
        raise_with_fields("GraphFreedError", error.what(),
                          {{"node", node_object(error.node)},
                           {"made_at", made_at(error.node)},
                           {"saved_at", made_at(error.node)},
                           {"freed_at", record ? site_object(record->site) : Py_NewRef(Py_None)},
                           {"freed_by", text_or_none(record ? record->kind : nullptr)},
                           {"_youngest", PyLong_FromUnsignedLongLong(record ? record->youngest : 0)}});
    } catch (const ModifiedInPlace& error) {
        raise_with_fields("InplaceError", error.what(),
                          {{"node", node_object(error.node)},
                           {"made_at", made_at(error.node)},
                           {"saved_at", made_at(error.node)},
                           {"saved_name", text_or_none(error.saved_name)},
                           {"written_by", text_or_none(error.written_op)},
                           {"written_at", site_object({error.written_code.get(), error.written_instruction})}});
    } catch (const LeafModified& error) {
        raise_leaf_modified(error);
    } catch (const NonFinite& error) {
        raise_with_fields("NonFiniteError", error.what(),
                          {{"node", node_object(error.node)},
                           {"made_at", made_at(error.node)},
                           {"through_where", made_at(error.through_where)},
                           {"incoming_was_zero", PyBool_FromLong(error.incoming_was_zero)}});
    } catch (const budget::Impossible& error) {
        raise_with_fields("BudgetError", error.what(), {{"least", PyLong_FromLongLong(error.least)}});
    } catch (const ReplayFailed& error) {
        PyObject *type = nullptr, *cause = nullptr, *trace = nullptr;  // what a step in Python raised
        PyErr_Fetch(&type, &cause, &trace);
        if (type && !PyErr_GivenExceptionMatches(type, PyExc_Exception)) {  // Ctrl-C
            PyErr_Restore(type, cause, trace);
            return;
        }
        if (type) PyErr_NormalizeException(&type, &cause, &trace);
        const std::string at = error.code ? ". At " + site_text(error.code.get(), error.instruction) + "." : "";
        const bool reshaped = error.recorded_shape != error.got_shape;
        raise_with_fields(error.of_file ? "ProgramError" : "ReplayError", (error.what() + at).c_str(),
                          {{"site", site_object({error.code.get(), error.instruction})},
                           {"input", error.input ? wrap(Tensor(error.input)) : Py_NewRef(Py_None)},
                           {"input_name", name_of(error.input)},
                           {"is_grad", PyBool_FromLong(error.is_grad)},
                           {"recorded_shape", shape_or_none(error.recorded_shape, reshaped)},
                           {"got_shape", shape_or_none(error.got_shape, reshaped)},
                           {"__cause__", cause}});
        Py_XDECREF(type);
        Py_XDECREF(trace);
    } catch (const Error& error) {
        PyErr_SetString(type_of(error.kind()), error.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
}

PyObject* checked(PyObject* object) {
    if (object == nullptr) throw PythonError();
    return object;
}
void checked(int status) {
    if (status < 0) throw PythonError();
}

}  // namespace clew::bind
