#include "bind/keep/results.h"

#include <algorithm>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/watch/kinds.h"
#include "core/base/error.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

bool is_size_type(PyObject* type) {
    static PyObject* const size = from_module("clew._size", "Size");
    return type == size;
}

// A frozen one by way of another set, since a copy of itself would be the same object.
nb::object copied_set(PyObject* set) {
    nb::object copy = nb::steal(checked(PySet_New(set)));
    return PySet_CheckExact(set) ? copy : nb::steal(checked(PyFrozenSet_New(copy.ptr())));
}

// Of which a copy gives its items in the same order.
bool is_set_of_atoms(PyObject* object) {
    if (!PySet_CheckExact(object) && !PyFrozenSet_CheckExact(object)) return false;
    const std::vector<nb::object> items = items_of(object), copied = items_of(copied_set(object).ptr());
    return std::ranges::equal(items, copied, [](const nb::object& one, const nb::object& other) {
        return one.is(other) && (is_atom(one.ptr()) || is_tuple_of_atoms(one.ptr()));
    });
}

void append_to_deque(PyObject* deque, PyObject* value) {
    static PyObject* const append = PyUnicode_InternFromString("append");
    const nb::object none = nb::steal(checked(PyObject_CallMethodOneArg(deque, append, value)));
}

}  // namespace

ResultForm::ResultForm(Tracer& tracer, const CallArguments& arguments) : tracer_(&tracer), arguments_(&arguments) {}

int ResultForm::add(PyObject* object) {
    if (const auto found = seen_.find(object); found != seen_.end()) {
        if (found->second < 0 && unknown.empty()) unknown = "gives a container that holds itself";
        return found->second;
    }
    const auto value = [&](ValueForm form) { return seen_[object] = add_value(std::move(form)); };
    if (TensorObject* const tensor = as_tensor(object)) {
        for (std::size_t i = 0; i < arguments_->tensors.size(); ++i)
            if (arguments_->tensors[i].get() == tensor)
                return value({.kind = ValueForm::ArgumentTensor, .index = static_cast<int>(i)});
        tensors.emplace_back(tensor);
        return value({.kind = ValueForm::ResultTensor, .index = static_cast<int>(tensors.size()) - 1});
    }
    if (const FollowedNumber* const number = tracer_->followed(object))
        return value(number->read >= 0 ? ValueForm{.kind = ValueForm::Number, .index = number->read}
                                       : ValueForm{.kind = ValueForm::ArgumentNumber, .index = number->argument});
    tracer_->use(object);
    if (is_atom(object) || is_dtype(object)) return value({.kind = ValueForm::Constant, .object = nb::borrow(object)});
    const auto given = std::find(arguments_->containers.begin(), arguments_->containers.end(), object);
    if (given != arguments_->containers.end())
        return value(
            {.kind = ValueForm::ArgumentContainer, .index = static_cast<int>(given - arguments_->containers.begin())});
    if (tracer_->is_older(object)) return value({.kind = ValueForm::Constant, .object = nb::borrow(object)});
    seen_[object] = -1;  // one that holds itself
    if (depth_ == kDeepestContainer) {
        if (unknown.empty()) unknown = "gives containers that lie too deep in one another";
        return -1;
    }
    ++depth_;
    const int added = add_container(object);
    --depth_;
    return seen_[object] = added;
}

int ResultForm::add_container(PyObject* object) {
    const bool tuple = PyTuple_Check(object);
    if (tuple || PyList_CheckExact(object)) {
        ValueForm form{.kind = tuple ? ValueForm::Tuple : ValueForm::List};
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
            form.items.push_back(add(PySequence_Fast_GET_ITEM(object, i)));
        if (tuple && !PyTuple_CheckExact(object)) {
            if (!is_size_type(as_object(Py_TYPE(object))) && !PyObject_HasAttrString(object, "_fields")) {
                unknown = std::string("gives a ") + Py_TYPE(object)->tp_name;
                return -1;
            }
            if (PyObject* const dict = dict_of(object); dict && PyDict_GET_SIZE(dict)) {
                unknown = std::string("gives a ") + Py_TYPE(object)->tp_name + " with attributes of its own";
                return -1;
            }
            form.object = nb::borrow(as_object(Py_TYPE(object)));
        }
        return add_value(std::move(form));
    }
    if (PyDict_CheckExact(object)) return add_entries(object, {.kind = ValueForm::Dict});
    PyObject* const own = PyODict_CheckExact(object) ? dict_of(object) : nullptr;
    if (PyODict_CheckExact(object) && !(own && PyDict_GET_SIZE(own)))
        return add_entries(object, {.kind = ValueForm::OrderedDict});
    if (is_set_of_atoms(object)) return add_value({.kind = ValueForm::Set, .object = copied_set(object)});
    if (is_plain_instance(object) || is_namespace_type(Py_TYPE(object)))
        return add_entries(dict_of(object),
                           {.kind = ValueForm::Instance, .object = nb::borrow(as_object(Py_TYPE(object)))});
    if (const int callable = add_callable(object); callable >= 0) return callable;
    if (unknown.empty()) unknown = std::string("gives or keeps a ") + Py_TYPE(object)->tp_name + " that it made";
    return -1;
}

int ResultForm::add_entries(PyObject* dict, ValueForm form) {
    nb::list keys;
    if (!each_item(dict, [&](PyObject* key, PyObject* item) {
            if (!is_atom(key)) return false;
            keys.append(nb::handle(key));
            form.items.push_back(add(item));
            return true;
        })) {
        unknown = "gives a dict whose keys are no strings or numbers";
        return -1;
    }
    form.keys = nb::tuple(keys);
    return add_value(std::move(form));
}

void ResultForm::add_effects() {
    for (const Effect& one : tracer_->effects) effects_.push_back({one, add(one.value.ptr())});
}

void ResultForm::add_graphs(std::uint64_t began) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {  // what is found may add to them
        const Tensor tensor = tensors[i];
        add_graph(tensor->grad_fn.get(), began);
        if (tensor->base) add_graph(tensor->base->grad_fn.get(), began);
    }
}

void ResultForm::add_graph(Node* root, std::uint64_t began) {
    std::vector<Node*> stack{root};
    while (!stack.empty()) {
        Node* const node = stack.back();
        stack.pop_back();
        if (node == nullptr || node->has(Node::kAccumulate) || node->sequence < began) continue;
        if (!seen_nodes_.insert(node).second) continue;
        add_hooks_of(node);
        if (node->has(Node::kFunction)) {
            const nb::object attributes = nb::steal(checked(PyObject_GetAttrString(as_object(node), "__dict__")));
            nodes.push_back(node);
            contexts_.push_back({nb::borrow(as_object(Py_TYPE(as_object(node)))),
                                 add_entries(attributes.ptr(), {.kind = ValueForm::Dict})});
        }
        stack.insert(stack.end(), node->edge_nodes(), node->edge_nodes() + node->edge_count);
    }
}

void ResultForm::settle(Program& program) {
    for (const auto& [address, number] : tracer_->numbers)
        if (!number.used && number.read >= 0) program.followed[static_cast<std::size_t>(number.read)] = 1;
    for (ValueForm& value : values_) {
        if (value.kind != ValueForm::Number) continue;
        const auto end = program.followed.begin() + value.index;
        value.index = static_cast<int>(std::count(program.followed.begin(), end, char{1}));
    }
    for (MadeEffect& one : effects_) one.effect.value = {};
}

void ResultForm::forget_call() {
    tracer_ = nullptr;
    arguments_ = nullptr;
    seen_.clear();
    seen_nodes_.clear();
    nodes.clear();
    hooked.clear();
    tensors.clear();
}

nb::object ResultForm::make(int index, Made& made) const {
    // What is there already is the same object however often it is asked for.
    const ValueForm& form = values_[static_cast<std::size_t>(index)];
    if (form.kind == ValueForm::ResultTensor || form.kind == ValueForm::Constant) return make_value(form, made);
    made.values.resize(values_.size());
    nb::object& known = made.values[static_cast<std::size_t>(index)];
    if (!known.is_valid()) known = make_value(form, made);
    return known;
}

nb::object ResultForm::make_dict(const ValueForm& value, Made& made) const {
    nb::object dict = nb::steal(checked(value.kind == ValueForm::OrderedDict ? PyODict_New() : PyDict_New()));
    for (std::size_t i = 0; i < value.items.size(); ++i)
        checked(PyObject_SetItem(dict.ptr(), PyTuple_GET_ITEM(value.keys.ptr(), static_cast<Py_ssize_t>(i)),
                                 make(value.items[i], made).ptr()));
    return dict;
}

nb::object ResultForm::make_value(const ValueForm& value, Made& made) const {
    const auto at = static_cast<std::size_t>(value.index);
    switch (value.kind) {
        case ValueForm::ResultTensor:
            return nb::steal(wrap(made.tensors[static_cast<std::size_t>(made.given[at])]));
        case ValueForm::ArgumentTensor:
            return nb::steal(wrap(made.arguments.tensors[at]));
        case ValueForm::ArgumentContainer:
            return nb::borrow(made.arguments.containers[at]);
        case ValueForm::Number:
            return made.numbers[at];
        case ValueForm::ArgumentNumber:
            return nb::float_(made.arguments.floats[at]);
        case ValueForm::Constant:
            return value.object;
        case ValueForm::Dict:
        case ValueForm::OrderedDict:
            return make_dict(value, made);
        case ValueForm::Set:
            return copied_set(value.object.ptr());
        case ValueForm::Function:
        case ValueForm::Cell:
        case ValueForm::Method:
        case ValueForm::Partial:
            return make_callable(value, made);
        case ValueForm::Instance: {
            auto* const type = reinterpret_cast<PyTypeObject*>(value.object.ptr());
            if (is_namespace_type(type)) {  // whose __dict__ can't be set
                nb::object space = nb::steal(checked(PyObject_CallNoArgs(as_object(type))));
                checked(PyDict_Update(dict_of(space.ptr()), make_dict(value, made).ptr()));
                return space;
            }
            nb::object instance = nb::steal(checked(type->tp_alloc(type, 0)));
            // Not PyObject_GenericSetDict, which leaves an object of 3.13 with the values that it holds without a dict,
            // too.
            static PyObject* const name = PyUnicode_InternFromString("__dict__");
            checked(PyObject_GenericSetAttr(instance.ptr(), name, make_dict(value, made).ptr()));
            return instance;
        }
        default: {
            const auto count = static_cast<Py_ssize_t>(value.items.size());
            const bool list = value.kind == ValueForm::List;
            const nb::object sequence = nb::steal(checked(list ? PyList_New(count) : PyTuple_New(count)));
            for (Py_ssize_t i = 0; i < count; ++i) {
                PyObject* const item = make(value.items[static_cast<std::size_t>(i)], made).release().ptr();
                list ? PyList_SET_ITEM(sequence.ptr(), i, item) : PyTuple_SET_ITEM(sequence.ptr(), i, item);
            }
            if (!value.object.is_valid()) return sequence;
            if (is_size_type(value.object.ptr()))
                return nb::steal(checked(PyObject_CallOneArg(value.object.ptr(), sequence.ptr())));
            // Not by the class, whose __new__ has run.
            const nb::tuple items = nb::make_tuple(sequence);
            auto* const type = reinterpret_cast<PyTypeObject*>(value.object.ptr());
            return nb::steal(checked(PyTuple_Type.tp_new(type, items.ptr(), nullptr)));
        }
    }
}

// Whether what it sets items of is as long as that takes.
bool ResultForm::effects_fit() const {
    return std::ranges::all_of(effects_, [](const MadeEffect& one) {
        return one.effect.kind != Effect::SetItem || !PyList_CheckExact(one.effect.holder.ptr()) ||
               has_place(one.effect.holder.ptr(), one.effect.key.ptr());
    });
}

void ResultForm::make_effects(Made& made) const {
    for (const MadeEffect& one : effects_) {
        const nb::object value = make(one.value, made);
        PyObject* const holder = one.effect.holder.ptr();
        if (one.effect.kind == Effect::SetItem && is_plain_dict(holder))
            checked(PyDict_SetItem(holder, one.effect.key.ptr(), value.ptr()));
        else if (one.effect.kind == Effect::SetItem)
            checked(PyObject_SetItem(holder, one.effect.key.ptr(), value.ptr()));
        else if (PyList_CheckExact(holder))
            checked(PyList_Append(holder, value.ptr()));
        else
            append_to_deque(holder, value.ptr());
    }
}

std::vector<NodeRef> ResultForm::make_contexts() const {
    std::vector<NodeRef> made;
    for (const Context& one : contexts_) {
        const nb::object context = nb::steal(checked(PyObject_CallNoArgs(one.type.ptr())));
        made.emplace_back(as_node(context.ptr()));
    }
    return made;
}

void ResultForm::fill_contexts(const std::vector<NodeRef>& contexts, Made& made) const {
    for (std::size_t i = 0; i < contexts.size(); ++i) {
        const nb::object attributes = make(contexts_[i].attributes, made);
        PyObject *name, *value;
        for (Py_ssize_t place = 0; PyDict_Next(attributes.ptr(), &place, &name, &value);)
            checked(PyObject_SetAttr(as_object(contexts[i].get()), name, value));
    }
}

int ResultForm::traverse(visitproc visit, void* arg) const {
    for (const ValueForm& value : values_) Py_VISIT(value.object.ptr());
    for (const Context& one : contexts_) Py_VISIT(one.type.ptr());
    for (const MadeEffect& one : effects_) {
        Py_VISIT(one.effect.holder.ptr());
        Py_VISIT(one.effect.key.ptr());
    }
    return 0;
}

}  // namespace clew::bind
