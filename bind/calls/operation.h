// Operations as Python callables: one object for each name, made from the registry; it names no operation.
#pragma once
#include <Python.h>

#include <array>
#include <string>
#include <vector>

#include "core/ops/dispatch.h"

namespace clew::bind {

struct Arguments;  // bind/calls/parse.h

// What a region of autocast does with the arguments of a call: Note [Autocast] in bind/transforms/autocast.h.
enum class Autocast : std::uint8_t {
    None,
    Lower,    // they are cast to the dtype of the region
    Float32,  // to float32
    Promote,  // to the wider of the two that is among them
    Custom,   // `handler` is called, with the callable and them
};
struct AutocastRule {
    Autocast kind = Autocast::None;
    PyObject* handler = nullptr;
};

// Interned, as the keywords of calls mostly are: then a comparison of addresses tells.
struct ArgumentName {
    PyObject* name;
    std::array<PyObject*, 4>
        others{};  // "input" for "self", and NumPy's: kNumpysNames in bind/calls/parse.h; null: no more
};

struct Overload {
    const OpDef* def;
    std::vector<char> defaults;       // attributes as the schema's defaults say
    std::vector<ArgumentName> names;  // of its arguments
};

// Most calls give up to three tensors and numbers by position. What a group does with them is known beforehand: by
// their count, and which are numbers (bit i: the i-th).
inline constexpr int kMostPlain = 3;
constexpr std::size_t plain_index(Py_ssize_t count, std::uint32_t numbers) { return std::size_t{1} << count | numbers; }

// All overloads of one name.
struct OpGroup {
    std::string name;
    std::vector<Overload> overloads;
    PyObject* return_type = nullptr;  // a named tuple for several outputs
    PyObject* callable = nullptr;     // the one object that programs see, and that of the derived in-place form
    PyObject* in_place_callable = nullptr;
    PyObject* asked = nullptr;
    AutocastRule autocast{};
    // By plain_index: the overload that takes these, the other arguments being their defaults; null where that takes a
    // closer look.
    std::array<const Overload*, plain_index(kMostPlain + 1, 0)> plain{};

    PyObject* callable_for(bool in_place) const { return in_place && in_place_callable ? in_place_callable : callable; }
    // What __torch_function__ gets: a function of nn.functional for an operation that is public only there.
    PyObject* asked_for(bool in_place) const { return !in_place && asked ? asked : callable_for(in_place); }
    bool is_hidden() const { return overloads[0].def->is(kHidden); }
};

OpGroup* find_group(const std::string& name);

// Calls a group like Python would. `in_place`: the derived form that writes over the first argument. `donated`: the
// argument that the result may be written over (Note [Temporaries]).
PyObject* call_group(OpGroup& group, bool in_place, PyObject* const* args, Py_ssize_t count, PyObject* names,
                     const TensorObject* donated = nullptr);

// The same without a look for who is to be asked (Note [Asking classes]), or for a fast way.
PyObject* call_parsed(OpGroup& group, bool in_place, const Arguments& arguments, const TensorObject* donated = nullptr);

// No overload takes the arguments.
[[noreturn]] void no_overload(const OpGroup& group, bool in_place, const Arguments& arguments);

// An operator of Tensor. The group is null where no operation claims it. `reflected` is for a number on the left: it is
// called with the operands exchanged. The names are of the methods that __torch_function__ gets.
struct Operator {
    const char* dunder;
    const char* name;
    const char* reflected_name = nullptr;
    const char* in_place_name = nullptr;
    OpGroup* group = nullptr;
    OpGroup* reflected = nullptr;
};
// Slots of the number protocol.
PyObject* binary_operator(const Operator& op, PyObject* a, PyObject* b);
PyObject* in_place_operator(const Operator& op, PyObject* a, PyObject* b);
PyObject* unary_operator(const Operator& op, PyObject* a);

// Makes a callable for a definition that joined the registry after init_operations(), and puts it where its flags say.
PyObject* publish(const OpDef& def);
// Makes groups and callables from the registry and puts them where their flags say.
void init_operations(PyObject* module);
OpGroup* group_for_operator(const char* dunder);
// The definition behind a callable that has only one; null for any other object.
const OpDef* operation_of(PyObject* object);

}  // namespace clew::bind
