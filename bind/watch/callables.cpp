// Callables that a compiled call makes and that outlive it, mostly hooks: closures, bound methods, partials.
#include "bind/errors.h"
#include "bind/keep/results.h"
#include "bind/types/objects.h"
#include "bind/watch/kinds.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

constexpr const char* kFunctionParts[] = {"__name__",     "__qualname__",   "__module__",      "__doc__",
                                          "__defaults__", "__kwdefaults__", "__annotations__", "__dict__"};
constexpr const char* kPartialParts[] = {"func", "args", "keywords"};

}  // namespace

int ResultForm::add_callable(PyObject* object) {
    const auto part = [&](const char* name) {
        const nb::object found = nb::steal(checked(PyObject_GetAttrString(object, name)));
        tracer_->hold(found);  // some are made when they are asked for, and no other object may get the address
        return add(found.ptr());
    };
    ValueForm form{};
    if (PyFunction_Check(object)) {
        const auto* const function = reinterpret_cast<PyFunctionObject*>(object);
        form.kind = ValueForm::Function;
        form.object = nb::borrow(function->func_code);
        form.keys = nb::borrow(function->func_globals);
        for (const char* const name : kFunctionParts) form.items.push_back(part(name));
        PyObject* const cells = function->func_closure;
        for (Py_ssize_t i = 0; cells && i < PyTuple_GET_SIZE(cells); ++i)
            form.items.push_back(add(PyTuple_GET_ITEM(cells, i)));
    } else if (PyCell_Check(object)) {
        form.kind = ValueForm::Cell;
        if (PyObject* const content = PyCell_GET(object)) form.items.push_back(add(content));
    } else if (PyMethod_Check(object)) {
        form.kind = ValueForm::Method;
        form.items = {add(PyMethod_GET_FUNCTION(object)), add(PyMethod_GET_SELF(object))};
    } else if (is_partial(object)) {
        form.kind = ValueForm::Partial;
        form.object = nb::borrow(as_object(Py_TYPE(object)));
        for (const char* const name : kPartialParts) form.items.push_back(part(name));
    } else {
        return -1;
    }
    return add_value(std::move(form));
}

nb::object ResultForm::make_function(const ValueForm& value, Made& made) const {
    nb::object function = nb::steal(checked(PyFunction_New(value.object.ptr(), value.keys.ptr())));
    constexpr std::size_t kParts = std::size(kFunctionParts);
    for (std::size_t i = 0; i < kParts; ++i)
        checked(PyObject_SetAttrString(function.ptr(), kFunctionParts[i], make(value.items[i], made).ptr()));
    const auto count = static_cast<Py_ssize_t>(value.items.size() - kParts);
    if (count == 0) return function;
    const nb::object cells = nb::steal(checked(PyTuple_New(count)));
    for (Py_ssize_t i = 0; i < count; ++i)
        PyTuple_SET_ITEM(cells.ptr(), i, make(value.items[kParts + static_cast<std::size_t>(i)], made).release().ptr());
    checked(PyFunction_SetClosure(function.ptr(), cells.ptr()));
    return function;
}

nb::object ResultForm::make_callable(const ValueForm& value, Made& made) const {
    switch (value.kind) {
        case ValueForm::Function:
            return make_function(value, made);
        case ValueForm::Cell:
            return nb::steal(checked(PyCell_New(value.items.empty() ? nullptr : make(value.items[0], made).ptr())));
        case ValueForm::Method:
            return nb::steal(checked(PyMethod_New(make(value.items[0], made).ptr(), make(value.items[1], made).ptr())));
        default: {
            const nb::object given = make(value.items[1], made);
            const nb::object arguments = nb::steal(checked(PyTuple_New(PyTuple_GET_SIZE(given.ptr()) + 1)));
            PyTuple_SET_ITEM(arguments.ptr(), 0, make(value.items[0], made).release().ptr());
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given.ptr()); ++i)
                PyTuple_SET_ITEM(arguments.ptr(), i + 1, Py_NewRef(PyTuple_GET_ITEM(given.ptr(), i)));
            return nb::steal(
                checked(PyObject_Call(value.object.ptr(), arguments.ptr(), make(value.items[2], made).ptr())));
        }
    }
}

void ResultForm::add_hooks_of(Node* node) {
    if (node->extras == nullptr) return;
    const std::size_t place = hooked.size(), before = hooks_.size();
    for (const auto list : {&NodeExtras::tensor_hooks, &NodeExtras::pre_hooks, &NodeExtras::post_hooks})
        for (const Hook& hook : node->extras->*list)
            hooks_.push_back({place, list, hook.output, add(static_cast<PyObject*>(hook.callable.get()))});
    if (hooks_.size() > before) hooked.push_back(node);
}

void ResultForm::add_hooks(const std::vector<NodeRef>& nodes, Made& made) const {
    for (const MadeHook& one : hooks_)
        add_hook(*nodes[one.node], one.list, one.output, Handle::borrow(make(one.value, made).ptr()));
}

}  // namespace clew::bind
