// One kind of call, recorded: its program, and what it needs of Python.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind/keep/results.h"
#include "core/program/replay/digests.h"
#include "core/program/replay/slice.h"
#include "core/program/results/outcome.h"

namespace clew::bind {

struct Variant {
    std::string key;
    Program program;
    PythonState state;
    std::unique_ptr<ResultForm> form;
    int value = -1;
    std::vector<Held> objects;                       // that the key knows by address
    std::vector<std::pair<int, std::size_t>> bound;  // input, argument
    std::vector<std::pair<std::size_t, Held>> same;  // arguments that the call also reached in another way
    struct Reached {
        int input;
        Held tensor;
        nanobind::object type;
    };
    std::vector<Reached> reached;  // inputs that are no arguments
    // A float among the arguments.
    struct GivenFloat {
        bool followed;
        double value;  // in the program now
        std::vector<std::size_t> constants;
    };
    std::vector<GivenFloat> floats;
    std::vector<NumberWitness> comparisons;  // of these
    std::vector<Option> options;
    std::vector<Counter> counters;
    // Inputs that lie in an entry which the call sets: carried.cpp.
    struct Carried {
        int input;
        nanobind::object dict, key, type;
        int item, items;  // of a tuple there; -1: it is the entry itself
        Tensor now() const;
    };
    std::vector<Carried> carried;
    bool running = false;
    std::uint64_t hits = 0, misses = 0;  // misses: calls of this kind where something read differs
    std::uint64_t misses_in_a_row = 0;
    std::string last_miss;
    std::string given;         // what the recorded call was given, in words
    std::string recorded_for;  // why another variant of this kind did not do; empty: there was none
    struct {
        std::int64_t eager = 0, recording = 0, planning = 0;  // of the recorded call, in nanoseconds
        std::int64_t replay = 0;                              // the shortest of the first ones
    } times;

    // Takes over what the tracer has found; arguments are let go.
    void keep(Tracer& tracer, const CallArguments& arguments);
    void fold();  // what repeats in its program: Note [Loops of programs]
    // Modules, tensors and instances are not kept alive any more; `died` is called when one dies, and has to drop the
    // variant.
    void weaken(const nanobind::object& died);
    // Whether the floats are such that the call goes this way.
    bool fits(const CallArguments& arguments) const;
    // `given`, where floats that are followed are no values.
    std::string told_arguments() const;
    // Throws ReplayFailed, with nothing changed, if this is not the variant after all.
    nanobind::object replay(const CallArguments& arguments);
    // What a replay would make now; nothing is changed.
    Rehearsal rehearse(const CallArguments& arguments);
    int traverse(visitproc visit, void* arg) const;

private:
    class Running;
    nanobind::object run(const CallArguments& arguments);
    void check_same(const CallArguments& arguments) const;
    void bind(const CallArguments& arguments);
    void unbind();
    void check_counters() const;
    void count() const;
    void set_floats(const CallArguments& arguments);
    void set_options(const CallArguments& arguments);
    void carry(Tracer& tracer);
    bool carry_entry(const Tracer& tracer, const Effect& set, PyObject* before);
    Input* carried_input(PyObject* object);
};

}  // namespace clew::bind
