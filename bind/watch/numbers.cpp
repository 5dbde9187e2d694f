// Numbers that are only handed on: Note [Followed numbers].
#include "bind/watch/kinds.h"
#include "bind/watch/tracer.h"

#include <opcode.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bind/calls/operation_object.h"
#include "bind/errors.h"
#include "bind/types/objects.h"

#if CLEW_READS_FRAMES

namespace nb = nanobind;

namespace clew::bind {
namespace {

bool takes_number(PyObject* operation) {
    return std::ranges::all_of(self_of(operation)->group->overloads,
                               [](const Overload& one) { return one.def->is(kTakesNumber); });
}

bool is_tuple_of_floats(PyObject* object) {
    if (!PyTuple_CheckExact(object) || PyTuple_GET_SIZE(object) == 0) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
        if (!PyFloat_CheckExact(PyTuple_GET_ITEM(object, i))) return false;
    return true;
}

}  // namespace

nb::object Tracer::with_own_floats(PyObject* arguments, int first) {
    const auto own = [&](PyObject* number) {
        nb::object fresh = nb::steal(checked(PyFloat_FromDouble(PyFloat_AS_DOUBLE(number))));
        numbers[fresh.ptr()] = {.number = fresh, .argument = first++, .given = nb::borrow(number)};
        return fresh;
    };
    if (PyTuple_CheckExact(arguments)) {
        const nb::object all = nb::steal(checked(PySequence_List(arguments)));
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.ptr()); ++i)
            if (PyObject* const one = PyList_GET_ITEM(all.ptr(), i); PyFloat_CheckExact(one))
                checked(PyList_SetItem(all.ptr(), i, own(one).release().ptr()));
        return nb::steal(checked(PyList_AsTuple(all.ptr())));
    }
    nb::object all = nb::steal(checked(PyDict_Copy(arguments)));
    PyObject *name, *value;
    for (Py_ssize_t place = 0; PyDict_Next(arguments, &place, &name, &value);)
        if (PyFloat_CheckExact(value)) checked(PyDict_SetItem(all.ptr(), name, own(value).ptr()));
    return all;
}

void Tracer::use(PyObject* operand) {
    if (numbers.empty() || operand == nullptr || !may_be_followed(operand)) return;
    const auto found = numbers.find(operand);
    if (found == numbers.end() || std::exchange(found->second.used, true) || !found->second.is_option()) return;
    state.entry(found->second.dict.ptr(), found->second.key.ptr());
}

FollowedNumber* Tracer::followed(PyObject* object) {
    if (numbers.empty()) return nullptr;
    const auto found = numbers.find(object);
    if (found == numbers.end() || found->second.used || found->second.is_option()) return nullptr;
    return &found->second;
}

bool Tracer::note_comparison(PyObject* object, PyObject* constant, int operation) {
    const FollowedNumber* const number = followed(object);
    if (number == nullptr || !PyFloat_CheckExact(object) || numbers.contains(constant)) return false;
    if (!PyFloat_CheckExact(constant) && !is_exact_as_double(constant)) return false;
    const int outcome = PyObject_RichCompareBool(object, constant, operation);
    checked(outcome);
    const bool read = number->read >= 0;
    (read ? program_.comparisons : comparisons)
        .push_back({read ? number->read : number->argument, operation, PyFloat_AsDouble(constant), outcome == 1});
    return true;
}

// With a constant, the outcome is the guard.
void Tracer::compare(PyObject* left, PyObject* right, int operation) {
    static constexpr int kMirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
    if (note_comparison(left, right, operation) || note_comparison(right, left, kMirrored[operation])) return;
    contents(left);
    contents(right);
}

void Tracer::truth(PyObject* object) {
    if (object == Py_True || object == Py_False || object == Py_None) return;
    static PyObject* const zero = PyFloat_FromDouble(0);
    if (!note_comparison(object, zero, Py_NE)) contents(object, false);
}

void Tracer::arithmetic(PyObject* left, PyObject* right, int operation) {
    if (is_exact_tensor(left) && is_exact_tensor(right)) return;
    static constexpr int kKnown[] = {NB_ADD,         NB_SUBTRACT,         NB_MULTIPLY,         NB_TRUE_DIVIDE,
                                     NB_INPLACE_ADD, NB_INPLACE_SUBTRACT, NB_INPLACE_MULTIPLY, NB_INPLACE_TRUE_DIVIDE};
    if (std::ranges::find(kKnown, operation) != std::end(kKnown))
        for (const auto& [number, tensor] : {std::pair(left, right), std::pair(right, left)})
            if (as_tensor(tensor) && PyFloat_CheckExact(number) && followed(number)) {
                contents(tensor);
                return hand_on(number);
            }
    contents(left);
    contents(right);
}

void Tracer::call_operation(PyObject* callee, PyObject* const* arguments, std::size_t count) {
    const bool hands_on = count == 2 && as_tensor(arguments[0]) && PyFloat_CheckExact(arguments[1]) &&
                          followed(arguments[1]) && takes_number(callee);
    for (std::size_t i = 0; i < count - hands_on; ++i) contents(arguments[i]);
    if (hands_on) hand_on(arguments[1]);
}

// Which constant it is there is known when the operation has run.
void Tracer::hand_on(PyObject* number) {
    handed_on_ = number;
    constants_before_ = program_.constants.size();
}

void Tracer::take_constant() {
    PyObject* const object = std::exchange(handed_on_, nullptr);
    FollowedNumber* const number = followed(object);
    if (number == nullptr) return;
    const auto& constants = program_.constants;
    if (constants.size() != constants_before_ + 1) return use(object);
    const Tensor& made = constants.back().second;
    const double value = PyFloat_AS_DOUBLE(object);
    if (made.dtype() != DType::Float64 || !made->has(TensorObject::kWrappedNumber) ||
        std::memcmp(made.data(), &value, sizeof value) != 0)
        return use(object);
    number->constants.push_back(constants_before_);
    if (number->read >= 0) program_.number_uses.push_back({number->read, constants_before_});
}

// A float of a group of parameters is read anew by each replay, if it goes only to the step of the optimizer.
bool Tracer::follow_option(PyObject* dict, PyObject* key) {
    static PyObject* const params = PyUnicode_InternFromString("params");
    PyObject* const value = PyDict_GetItemWithError(dict, key);
    if (value == nullptr || !PyDict_GetItemWithError(dict, params)) return false;
    if (PyFloat_CheckExact(value)) return follow_option(dict, key, value, -1, 0);
    if (!is_tuple_of_floats(value) || state.has_entry(dict, key)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
        if (!follow_option(dict, key, PyTuple_GET_ITEM(value, i), static_cast<int>(i), PyTuple_GET_SIZE(value)))
            return false;
    add_older(value);
    option_tuples_.insert(value);
    return true;
}

bool Tracer::follow_option(PyObject* dict, PyObject* key, PyObject* value, int item, Py_ssize_t items) {
    const auto [found, fresh] = numbers.emplace(value, FollowedNumber{nb::borrow(value)});
    FollowedNumber& number = found->second;
    if (fresh) {
        number.dict = nb::borrow(dict);
        number.key = nb::borrow(key);
        number.item = item;
        number.items = items;
        return true;
    }
    if (number.used) return false;
    if (number.is_option() && number.dict.ptr() == dict && same_value(number.key.ptr(), key) && number.item == item)
        return true;
    use(value);  // one object in two places
    return false;
}

// (operation, *arguments)
void Tracer::call_optimizer_step(PyObject* const* arguments, std::size_t count) {
    if (count == 0 || Py_TYPE(arguments[0]) != &operation_type) return;
    const Schema& schema = self_of(arguments[0])->group->overloads.front().def->schema;
    stepping_ = current_;
    steps_before_ = program_.steps.size();
    std::size_t field = 0;
    for (std::size_t i = 1; i < count; ++i) {
        const bool tensor = i <= schema.arguments.size() && is_tensor(schema.arguments[i - 1]);
        const std::size_t mine = field;
        field += !tensor;
        const auto found = numbers.find(arguments[i]);
        if (!tensor && found != numbers.end() && found->second.read < 0 && !found->second.used)
            pending_.push_back({found->second.dict, found->second.key, found->second.argument, 0, mine, nullptr,
                                found->second.item, found->second.items});
        else
            contents(arguments[i]);
    }
}

// What a step of an optimizer was given: its steps have been recorded by now.
void Tracer::take_options() {
    stepping_ = nullptr;
    for (std::size_t i = steps_before_; i < program_.steps.size(); ++i) {
        if (!program_.steps[i].action->op->is(kOptimizerStep)) continue;
        for (const Option& one : pending_)
            options.push_back(
                {one.dict, one.key, one.argument, static_cast<int>(i), one.field, nullptr, one.item, one.items});
    }
    pending_.clear();
}

void Tracer::finish() {
    count_witnesses();
    if (handed_on_) take_constant();
    if (stepping_) take_options();
    if (question_.frame) fills_cache();
    drop_undone();
    for (const Counter& one : counters)
        if (!one.stored) stay_eager("counts, but does not store the count");
}

}  // namespace clew::bind

#endif
