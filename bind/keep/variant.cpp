#include "bind/keep/variant.h"

#include <algorithm>
#include <cstring>

#include "bind/data/interop.h"
#include "bind/errors.h"
#include "bind/keep/stopwatch.h"
#include "bind/types/objects.h"
#include "bind/watch/kinds.h"
#include "core/ops/elementwise/scalar.h"
#include "core/program/loops/loop.h"
#include "core/program/replay/replay.h"

namespace nb = nanobind;

namespace clew::bind {

void Variant::keep(Tracer& tracer, const CallArguments& arguments) {
    form->settle(program);
    carry(tracer);
    options = std::move(tracer.options);
    std::erase_if(options, [&](const Option& one) {
        return one.dict.is_valid() && tracer.state.has_entry(one.dict.ptr(), one.key.ptr());  // a guard
    });
    for (Option& one : options)
        one.attributes = program.vary_attributes(program.steps[static_cast<std::size_t>(one.step)]);
    comparisons = std::move(tracer.comparisons);
    for (const double value : arguments.floats) floats.push_back({true, value, {}});
    for (auto& [object, number] : tracer.numbers)
        if (number.argument >= 0)
            floats[static_cast<std::size_t>(number.argument)] = {!number.used, PyFloat_AS_DOUBLE(object),
                                                                 std::move(number.constants)};
    for (const GivenFloat& one : floats)
        if (one.followed) program.varying.insert(program.varying.end(), one.constants.begin(), one.constants.end());
    counters = std::move(tracer.counters);
    form->forget_call();
    state = std::move(tracer.state);
    state.seal();
    for (std::size_t i = 0; i < arguments.tensors.size(); ++i) {
        const Tensor& argument = arguments.tensors[i];
        if (state.mentions(as_object(argument.get()))) {
            same.emplace_back(i, nb::borrow(as_object(argument.get())));
            for (Input& input : program.inputs) input.bound = input.bound && !input.tensor.same(argument);
            continue;
        }
        for (std::size_t input = 0; input < program.inputs.size(); ++input)
            if (program.inputs[input].tensor.same(argument)) bound.emplace_back(static_cast<int>(input), i);
    }
    unbind();
}

void Variant::fold() {
    std::vector<int> constants;
    const std::vector<int> steps = clew::fold(program, constants);
    if (steps.empty()) return;
    for (Option& one : options) {
        one.step = steps[static_cast<std::size_t>(one.step)];
        one.attributes = program.vary_attributes(program.steps[static_cast<std::size_t>(one.step)]);
    }
    for (GivenFloat& one : floats)
        for (std::size_t& constant : one.followed ? one.constants : (one.constants = {}))
            constant = static_cast<std::size_t>(constants[constant]);
    for (const auto& loop : program.loops) {
        loop->body.coded = program.coded;
        loop->body.fused = program.fused;
    }
}

void Variant::weaken(const nb::object& died) {
    state.weaken(died);
    for (Held& object : objects) state.weaken(object, died);
    for (auto& [argument, tensor] : same) state.weaken(tensor, died);
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
        Input& input = program.inputs[i];
        if (input.bound || !input.older) continue;
        PyObject* const tensor = as_object(input.tensor.get());
        reached.push_back({static_cast<int>(i), nb::borrow(tensor), nb::borrow(as_object(Py_TYPE(tensor)))});
        input.tensor = Tensor();
        state.weaken(reached.back().tensor, died);
    }
}

// For as long as it is there, the program has the arguments of this call.
class Variant::Running {
public:
    Running(Variant& variant, const CallArguments& arguments) : variant_(variant) {
        variant.check_same(arguments);
        variant.check_counters();
        if (!variant.form->effects_fit()) throw ReplayFailed("found a shorter list than it sets an item of", nullptr);
        variant.running = true;
        try {
            variant.bind(arguments);
            variant.set_floats(arguments);
            variant.set_options(arguments);
        } catch (...) {
            stop();
            throw;
        }
    }
    ~Running() { stop(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

private:
    void stop() {
        variant_.unbind();
        variant_.program.outcome->contexts.clear();
        variant_.program.outcome->hooked.clear();
        variant_.running = false;
    }
    Variant& variant_;
};

Rehearsal Variant::rehearse(const CallArguments& arguments) {
    const Running running_now(*this, arguments);
    return clew::rehearse(program);
}

nb::object Variant::replay(const CallArguments& arguments) {
    constexpr std::uint64_t kTimed = 16;
    if (hits >= kTimed) return run(arguments);
    const Stopwatch watch;
    if (hits == 0) fold();
    slice_of(program, -1);
    if (times.planning == 0) times.planning = watch.nanoseconds();
    nb::object result = run(arguments);
    const std::int64_t took = watch.nanoseconds();
    times.replay = times.replay ? std::min(times.replay, took) : took;
    return result;
}

nb::object Variant::run(const CallArguments& arguments) {
    const Running running_now(*this, arguments);
    program.outcome->contexts = form->make_contexts();
    std::vector<ReadNumber> read;
    std::vector<Tensor> tensors = replay_call(program, read);
    std::vector<nb::object> numbers;
    for (const ReadNumber& one : read) {
        if (one.list) {
            numbers.push_back(nb::steal(checked(list_of(one.list))));
            continue;
        }
        const Tensor scalar = empty({}, one.dtype);
        std::memcpy(scalar.data(), one.bytes, item_size(one.dtype));
        numbers.push_back(nb::steal(checked(item(scalar))));
    }
    ResultForm::Made made{tensors, program.outcome->given, numbers, arguments};
    nb::object result = form->make(value, made);
    form->fill_contexts(program.outcome->contexts, made);
    form->add_hooks(program.outcome->hooked, made);
    form->make_effects(made);
    tensors.clear();
    program.outcome->room = std::move(tensors);
    count();
    ++hits;
    return result;
}

void Variant::check_same(const CallArguments& arguments) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i < arguments.tensors.size(); ++i) {
        const Tensor& given = arguments.tensors[i];
        const bool expected = next < same.size() && same[next].first == i;
        PyObject* const object = as_object(given.get());
        if (expected ? object != same[next++].second.ptr() : state.mentions(object))
            throw ReplayFailed("got another tensor, where it reaches one in another way, too", nullptr);
    }
    for (PyObject* const one : arguments.containers)
        if (!is_tuple_of_atoms(one) && state.mentions(one))
            throw ReplayFailed("got a container that another object also refers to", nullptr);
}

void Variant::bind(const CallArguments& arguments) {
    for (const auto& [input, argument] : bound)
        program.inputs[static_cast<std::size_t>(input)].tensor = arguments.tensors[argument];
    for (const Reached& one : reached) {
        if (as_object(Py_TYPE(one.tensor.ptr())) != one.type.ptr())
            throw ReplayFailed("read a tensor that was of another class", nullptr);
        program.inputs[static_cast<std::size_t>(one.input)].tensor = Tensor(as_tensor(one.tensor.ptr()));
    }
    for (const Carried& from : carried) program.inputs[static_cast<std::size_t>(from.input)].tensor = from.now();
}

// Neither arguments nor state nor what else it reaches are kept alive between calls.
void Variant::unbind() {
    for (const auto& [input, argument] : bound) program.inputs[static_cast<std::size_t>(input)].tensor = Tensor();
    for (const Carried& one : carried) program.inputs[static_cast<std::size_t>(one.input)].tensor = Tensor();
    for (const Reached& one : reached) program.inputs[static_cast<std::size_t>(one.input)].tensor = Tensor();
}

bool Variant::fits(const CallArguments& arguments) const {
    for (std::size_t i = 0; i < floats.size(); ++i)
        if (!floats[i].followed && !same_bits(arguments.floats[i], floats[i].value)) return false;
    return std::ranges::all_of(comparisons, [&](const NumberWitness& one) {
        return one.holds(arguments.floats[static_cast<std::size_t>(one.read)]);
    });
}

void Variant::set_floats(const CallArguments& arguments) {
    for (std::size_t i = 0; i < floats.size(); ++i) {
        const double now = arguments.floats[i];
        if (same_bits(now, floats[i].value)) continue;
        floats[i].value = now;
        for (const std::size_t constant : floats[i].constants) set_constant(program, constant, number(Scalar::of(now)));
    }
}

std::optional<double> Option::now() const {
    PyObject* found = look_up(dict.ptr(), key.ptr());
    if (found && item >= 0)
        found = PyTuple_CheckExact(found) && items == PyTuple_GET_SIZE(found) ? PyTuple_GET_ITEM(found, item) : nullptr;
    if (found == nullptr || !PyFloat_CheckExact(found)) return {};
    return PyFloat_AS_DOUBLE(found);
}

// Mostly one option of one group, for each of its parameters.
void Variant::set_options(const CallArguments& arguments) {
    if (options.empty()) return;
    const PyObject *dict = nullptr, *key = nullptr;
    int item = -1;
    Value number;
    number.tag = Value::Float;
    for (Option& one : options) {
        const std::uint64_t version = one.dict.is_valid() ? version_of_dict(one.dict.ptr()) : 0;
        if (version && one.set && one.version == version) continue;
        if (!one.dict.is_valid()) {
            number.real = arguments.floats[static_cast<std::size_t>(one.argument)];
        } else if (dict != one.dict.ptr() || key != one.key.ptr() || item != one.item) {
            const std::optional<double> now = one.now();
            if (!now) throw ReplayFailed("read an option of the optimizer that is no float", nullptr);
            number.real = *now;
        }
        dict = one.dict.ptr();
        key = one.key.ptr();
        item = one.item;
        one.version = version;
        if (one.set && same_bits(*one.set, number.real)) continue;
        program.steps[static_cast<std::size_t>(one.step)].action->op->fields[one.field].set(one.attributes, number);
        one.set = number.real;
    }
}

void Variant::check_counters() const {
    for (const Counter& one : counters)
        if (PyObject* const now = look_up(one.dict.ptr(), one.key.ptr()); now == nullptr || !PyLong_CheckExact(now))
            throw ReplayFailed("read something else than an int that it counts with", nullptr);
}

void Variant::count() const {
    for (const Counter& one : counters) {
        const nb::object next =
            nb::steal(checked(PyNumber_Add(look_up(one.dict.ptr(), one.key.ptr()), one.change.ptr())));
        checked(PyDict_SetItem(one.dict.ptr(), one.key.ptr(), next.ptr()));
    }
}

int Variant::traverse(visitproc visit, void* arg) const {
    if (const int result = state.traverse(visit, arg)) return result;
    if (const int result = form->traverse(visit, arg)) return result;
    for (const Held& object : objects)
        if (object.owned()) Py_VISIT(object.ptr());
    for (const Option& option : options)
        if (option.dict.is_valid()) Py_VISIT(option.dict.ptr());
    for (const Counter& counter : counters) Py_VISIT(counter.dict.ptr());
    for (const Carried& one : carried) Py_VISIT(one.dict.ptr());
    for (const auto& [argument, tensor] : same)
        if (tensor.owned()) Py_VISIT(tensor.ptr());
    for (const Reached& one : reached) {
        if (one.tensor.owned()) Py_VISIT(one.tensor.ptr());
        Py_VISIT(one.type.ptr());
    }
    for (const Input& input : program.inputs)
        if (input.tensor) Py_VISIT(as_object(input.tensor.get()));
    for (const Handle& held : program.held) Py_VISIT(static_cast<PyObject*>(held.get()));
    return 0;
}

}  // namespace clew::bind
