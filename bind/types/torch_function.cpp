// Note [Asking classes]
// A call goes to type(object).__torch_function__(func, types, args, kwargs) where an argument's class has one, wherever
// the argument stands, in a list or tuple too, and whether the class is one of tensors or not. The default of Tensor
// (in src/clew/_subclass.py) runs func with dispatch off and turns plain results into the subclass. Before classes, the
// innermost mode of the thread is asked (torch.overrides.TorchFunctionMode), about calls without such arguments, too.
//
// An object of a subclass of Tensor has the flag kSubclass if its class is to be asked (Parameter's is not), so that
// plain tensors pay one test of a flag for an attribute, and nothing where an operation takes its fast way.
#include "bind/types/torch_function.h"

#include <algorithm>
#include <string>

#include "bind/errors.h"
#include "bind/types/asked.h"
#include "core/base/error.h"

namespace clew::bind {
namespace {

PyObject* disabled = nullptr;           // torch._C._disabled_torch_function_impl
PyObject* disabled_dispatch = nullptr;  // torch._C._disabled_torch_dispatch_impl

PyObject* handler_name() {
    static PyObject* const name = PyUnicode_InternFromString("__torch_function__");
    return name;
}

// Of this thread, the innermost last.
thread_local constinit std::vector<PyObject*>* modes = nullptr;

void update_mode() {
    const bool any = modes && !modes->empty();
    mode_word = any ? mode_word | kFunctionMode : mode_word & ~std::uint32_t{kFunctionMode};
}

// A mode handles a call with itself off, so that its own calls go to those outside it.
class InnermostMode {
public:
    InnermostMode() : mode_(modes->back()) {
        modes->pop_back();
        update_mode();
    }
    ~InnermostMode() {
        modes->push_back(mode_);
        update_mode();
    }
    PyObject* get() const { return mode_; }

private:
    PyObject* mode_;
};

using Objects = std::vector<PyObject*>;

// One object for each class, before the first whose class it is derived from.
void add(Objects& order, Objects& types, PyObject* object) {
    PyTypeObject* const type = Py_TYPE(object);
    for (PyObject* known : types)
        if (known == as_object(type)) return;
    types.push_back(as_object(type));
    auto place = order.begin();
    while (place != order.end() && !PyType_IsSubtype(type, Py_TYPE(*place))) ++place;
    order.insert(place, object);
}

bool overrides(PyObject* object) {
    if (is_exact_tensor(object) || !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
    if (TensorObject* tensor = as_tensor(object)) return tensor->has(TensorObject::kSubclass);
    return class_overrides(Py_TYPE(object));
}

void collect(Objects& order, Objects& types, PyObject* object) {
    if (overrides(object)) return add(order, types, object);
    if (PyTuple_Check(object) || PyList_Check(object))
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
            if (PyObject* const item = PySequence_Fast_GET_ITEM(object, i); overrides(item)) add(order, types, item);
}

PyObject* call_handler(PyObject* object, PyObject* function, PyObject* types, PyObject* args, PyObject* kwargs) {
    const Handle handler = Handle::steal(checked(PyObject_GetAttr(object, handler_name())));
    return checked(PyObject_CallFunctionObjArgs(as_object(handler), function, types, args, kwargs, nullptr));
}

[[noreturn]] void nobody_answered(PyObject* function, const Objects& types) {
    const Handle name = Handle::steal(checked(PyObject_HasAttrString(function, "__name__")
                                                  ? PyObject_GetAttrString(function, "__name__")
                                                  : PyObject_Repr(function)));
    std::string names;
    for (PyObject* type : types)
        names += (names.empty() ? "" : ", ") + std::string(reinterpret_cast<PyTypeObject*>(type)->tp_name);
    fail(ErrorKind::Type,
         "no implementation found for '%s' on types that implement __torch_function__: [%s]; each returned "
         "NotImplemented",
         PyUnicode_AsUTF8(checked(PyObject_Str(as_object(name)))), names.c_str());
}

PyObject* ask_all(PyObject* function, const Objects& order, const Objects& types, PyObject* args, PyObject* kwargs) {
    PyObject* const kinds = checked(PyTuple_New(static_cast<Py_ssize_t>(types.size())));
    const Handle held = Handle::steal(kinds);
    for (std::size_t i = 0; i < types.size(); ++i)
        PyTuple_SET_ITEM(kinds, static_cast<Py_ssize_t>(i), Py_NewRef(types[i]));
    if (mode(kFunctionMode)) {
        const InnermostMode innermost;
        PyObject* const answer = call_handler(innermost.get(), function, kinds, args, kwargs);
        if (answer != Py_NotImplemented) return answer;
        Py_DECREF(answer);
    }
    for (PyObject* object : order) {
        PyObject* const answer = call_handler(object, function, kinds, args, kwargs);
        if (answer != Py_NotImplemented) return answer;
        Py_DECREF(answer);
    }
    nobody_answered(function, types);
}

Objects values_of(PyObject* dict) {
    Objects values;
    PyObject *name, *value;
    for (Py_ssize_t place = 0; PyDict_Next(dict, &place, &name, &value);) values.push_back(value);
    return values;
}

PyObject* ask_with(PyObject* function, PyObject* args, PyObject* kwargs) {
    Objects order, types;
    if (!mode(kNoTorchFunction)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) collect(order, types, PyTuple_GET_ITEM(args, i));
        for (PyObject* value : values_of(kwargs)) collect(order, types, value);
    }
    return ask_all(function, order, types, args, kwargs);
}

Handle of_tensor(const char* name) {
    return Handle::steal(checked(PyObject_GetAttrString(as_object(&tensor_type), name)));
}

}  // namespace

bool class_overrides(PyTypeObject* type) {
    PyObject* const found = _PyType_Lookup(type, handler_name());
    return found != nullptr && found != disabled && found != Py_None;
}

void refuse_dispatch(PyTypeObject* type) {
    static PyObject* const name = PyUnicode_InternFromString("__torch_dispatch__");
    PyObject* const found = _PyType_Lookup(type, name);
    if (found == nullptr || found == disabled_dispatch || found == Py_None) return;
    fail(ErrorKind::NotImplemented,
         "%s: its __torch_dispatch__ would not be called\n  expected: a class with __torch_function__, or with "
         "__torch_dispatch__ = torch._C._disabled_torch_dispatch_impl",
         type->tp_name);
}

bool may_override_or_hold(PyObject* object) {
    if (overrides(object)) return true;
    if (PyTuple_Check(object) || PyList_Check(object))
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
            if (overrides(PySequence_Fast_GET_ITEM(object, i))) return true;
    return false;
}

PyObject* ask(PyObject* function, const Arguments& arguments) {
    PyObject* const args = checked(PyTuple_New(arguments.count));
    const Handle held = Handle::steal(args);
    for (Py_ssize_t i = 0; i < arguments.count; ++i) PyTuple_SET_ITEM(args, i, Py_NewRef(arguments.values[i]));
    PyObject* const kwargs = checked(PyDict_New());
    const Handle held_names = Handle::steal(kwargs);
    const Py_ssize_t names = arguments.names ? PyTuple_GET_SIZE(arguments.names) : 0;
    for (Py_ssize_t i = 0; i < names; ++i)
        checked(PyDict_SetItem(kwargs, PyTuple_GET_ITEM(arguments.names, i), arguments.values[arguments.count + i]));
    return ask_with(function, args, kwargs);
}

PyObject* ask_method(const char* name, const Arguments& arguments) {
    const Handle method = of_tensor(name);
    return ask(as_object(method), arguments);
}

PyObject* ask_method(const char* name, PyObject* self, PyObject* args, PyObject* kwargs) {
    const Handle method = of_tensor(name);
    const Handle first = Handle::steal(checked(PyTuple_Pack(1, self)));
    const Handle all = args ? Handle::steal(checked(PySequence_Concat(as_object(first), args))) : Handle(first);
    const Handle named = kwargs ? Handle::borrow(kwargs) : Handle::steal(checked(PyDict_New()));
    return ask_with(as_object(method), as_object(all), as_object(named));
}

PyObject* ask_attribute(const char* name, const char* accessor, PyObject* self, PyObject* value) {
    const Handle descriptor = Handle::steal(Py_NewRef(
        checked(_PyType_Lookup(&tensor_type, as_object(Handle::steal(checked(PyUnicode_FromString(name))))))));
    const Handle function = Handle::steal(checked(PyObject_GetAttrString(as_object(descriptor), accessor)));
    PyObject* const values[] = {self, value};
    return ask(as_object(function), {values, value ? 2 : 1, nullptr});
}

PyObject* ask_after_error(const char* name, PyObject* self, PyObject* args, PyObject* kwargs) {
    const bool asked = may_override(args) || (kwargs && std::ranges::any_of(values_of(kwargs), may_override));
    if (!asked || mode(kNoTorchFunction)) return nullptr;
    PyErr_Clear();
    return guarded([&] { return ask_method(name, self, args, kwargs); });
}

namespace {

PyObject* push_mode(PyObject*, PyObject* mode) {
    if (modes == nullptr) modes = new std::vector<PyObject*>;
    modes->push_back(Py_NewRef(mode));
    update_mode();
    Py_RETURN_NONE;
}
PyObject* pop_mode(PyObject*, PyObject*) {
    if (modes == nullptr || modes->empty()) {
        PyErr_SetString(PyExc_RuntimeError, "pop: expected a mode on the stack of function modes, which is empty");
        return nullptr;
    }
    PyObject* const mode = modes->back();
    modes->pop_back();
    update_mode();
    return mode;
}
PyObject* list_modes(PyObject*, PyObject*) {
    PyObject* const list = PyList_New(0);
    if (list && modes)
        for (PyObject* mode : *modes)
            if (PyList_Append(list, mode) < 0) return Py_DECREF(list), nullptr;
    return list;
}

// (func, types, args=(), kwargs=None): what a class has that does not want to be asked. It is never called, but by
// classes that call their base's.
PyObject* disabled_torch_function(PyObject*, PyObject* arguments) {
    PyObject *function, *types, *args = nullptr, *kwargs = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO|OO:_disabled_torch_function_impl", &function, &types, &args, &kwargs))
        return nullptr;
    const ModeGuard off(kNoTorchFunction, true);
    const Handle given = args ? Handle::steal(PySequence_Tuple(args)) : Handle::steal(PyTuple_New(0));
    if (!given) return nullptr;
    return PyObject_Call(function, as_object(given), kwargs == Py_None ? nullptr : kwargs);
}

PyObject* has_torch_function(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    if (mode(kNoTorchFunction | kFunctionMode)) return PyBool_FromLong(count > 0 && mode(kFunctionMode));
    return PyBool_FromLong(std::any_of(arguments, arguments + count, overrides));
}

// (func, relevant, args, kwargs)
PyObject* ask_classes(PyObject*, PyObject* arguments) {
    PyObject *function, *relevant, *args, *kwargs;
    if (!PyArg_ParseTuple(arguments, "OO!O!O!:ask_classes", &function, &PyTuple_Type, &relevant, &PyTuple_Type, &args,
                          &PyDict_Type, &kwargs))
        return nullptr;
    return guarded([&] {
        Objects order, types;
        if (!mode(kNoTorchFunction))
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(relevant); ++i)
                if (PyObject* const one = PyTuple_GET_ITEM(relevant, i); overrides(one)) add(order, types, one);
        return ask_all(function, order, types, args, kwargs);
    });
}

PyMethodDef functions[] = {
    {"_push_function_mode", push_mode, METH_O, "(mode): it is asked about every call of this thread."},
    {"_pop_function_mode", pop_mode, METH_NOARGS, "Takes the innermost mode off the stack, and returns it."},
    {"_function_modes", list_modes, METH_NOARGS, "The modes of this thread, the innermost last."},
    {"_disabled_torch_function_impl", disabled_torch_function, METH_VARARGS,
     "(func, types, args=(), kwargs=None): as __torch_function__ of a class, it takes the class out of dispatch."},
    {"_disabled_torch_dispatch_impl", disabled_torch_function, METH_VARARGS,
     "(func, types, args=(), kwargs=None): the __torch_dispatch__ of all classes; no other is supported."},
    {"has_torch_function", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(has_torch_function)),
     METH_FASTCALL,
     "has_torch_function(*objects)\n--\n\nWhether a call with these goes to a mode or to the class of one of them."},
    {"ask_classes", ask_classes, METH_VARARGS, "(func, relevant, args, kwargs): what modes and classes answer."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_torch_function(PyObject* module) {
    checked(PyModule_AddFunctions(module, functions));
    disabled = checked(PyObject_GetAttrString(module, "_disabled_torch_function_impl"));
    disabled_dispatch = checked(PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl"));
}

}  // namespace clew::bind
