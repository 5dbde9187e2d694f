// One kind of call, recorded: its program, and what it needs of Python.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind/compile/results.h"
#include "core/program/outcome.h"
#include "core/program/program.h"
#include "core/program/slice.h"

namespace clew::bind {

struct Variant {
    std::string key;
    Program program;
    PythonState state;
    std::unique_ptr<ResultForm> form;
    int value = -1;
    std::vector<nanobind::object> objects;             // that the key knows by address
    std::vector<std::pair<int, std::size_t>> bound;    // input, argument
    std::vector<std::pair<std::size_t, Tensor>> same;  // arguments that the call also reached in another way
    std::vector<Option> options;
    std::vector<Counter> counters;
    // Inputs that lie in an entry which the call sets: state that goes from call to call.
    struct Carried {
        int input;
        nanobind::object dict, key, type;
    };
    std::vector<Carried> carried;
    bool running = false;

    // Takes over what the tracer has found; arguments are let go.
    void keep(Tracer& tracer, const CallArguments& arguments);
    // Throws ReplayFailed, with nothing changed, if this is not the variant after all.
    nanobind::object replay(const CallArguments& arguments);
    int traverse(visitproc visit, void* arg) const;

private:
    void check_same(const CallArguments& arguments) const;
    void bind(const CallArguments& arguments);
    void unbind();
    void check_counters() const;
    void count() const;
    void set_option(const Option& option);
    void carry(Tracer& tracer);
    Input* carried_input(PyObject* object);
};

}  // namespace clew::bind
