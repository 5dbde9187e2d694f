// Watches the Python of a call while it is recorded: Note [Watching].
//
// Note [Watching]
// An observer is told of each instruction before it runs, and looks at its operands on the frame's stack. An
// object is older than the call if it was reached through something older: an argument that is known by identity, a
// global, a cell, an entry of an older dict. What an instruction reads of an older object becomes a guard
// (python_state.h); what it reads of a young one needs none, since the call made that itself. Python functions are
// watched in turn. Of callables in C only those are let pass of which it is known what they read: clew's, methods of
// the built-in types, and those in a table. Everything else, and a write to an older object that a replay can't make
// again, is a cause to stay eager.
#pragma once
#include "bind/graph/frame.h"

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <nanobind/nanobind.h>

#include "bind/graph/code_table.h"
#include "bind/watch/python_state.h"
#include "core/base/flat_table.h"
#include "core/base/object.h"
#include "core/program/record/recorder.h"

namespace clew::bind {

struct Cause {
    std::string text;
    Handle code;
    std::int32_t instruction;
};

// A change of an older object, made again at the end of a replay.
struct Effect {
    enum Kind { SetItem, Append } kind;
    nanobind::object holder, key, value;
};

// Note [Followed numbers]
// A float that was read from a tensor (item()), that is an argument, or an option of an optimizer, is followed while it
// is only handed on: into a result, an effect, a step of an optimizer, or to an operation that takes a number as the
// tensor that it becomes (kTakesNumber). So is a list that tolist() gave. Each replay reads it anew. Of a comparison
// with a constant the outcome is the guard. Used in any other way, its value is. An argument is an object of its own
// while the call is recorded, so that no constant is taken for it.
struct FollowedNumber {
    nanobind::object number;  // held, so that its address is no other's
    int read = -1;
    int argument = -1;                     // or of CallArguments::floats
    nanobind::object given{};              // which was this object
    nanobind::object dict{}, key{};        // or an entry of a group of parameters,
    int item = -1;                         // or an item of a tuple there,
    Py_ssize_t items = 0;                  // of so many
    std::vector<std::size_t> constants{};  // of the program: operands that it became
    bool used = false;
    bool is_option() const { return dict.is_valid(); }
};

// An option that is handed to a step of an optimizer: each replay reads it anew.
struct Option {
    nanobind::object dict, key;
    int argument;  // if there is no dict
    int step;
    std::size_t field;
    void* attributes = nullptr;  // the step's
    int item = -1;               // of a tuple that is the entry
    Py_ssize_t items = 0;
    std::optional<double> set{};        // in the program, by a replay,
    std::uint64_t version = 0;          // when the dict was of this version
    std::optional<double> now() const;  // of the entry; none: it is no float any more
};

// `self.count += 1`, where nothing else reads the count.
struct Counter {
    nanobind::object dict, key, change;
    bool stored = false, read = false;
};

class Watch;
class Tracer {
public:
    Tracer(Recorder& recorder, Program& program) : recorder_(recorder), program_(program) {}
    ~Tracer() { stop(); }
    Tracer(const Tracer&) = delete;
    Tracer& operator=(const Tracer&) = delete;

    // What the call is given: by identity, or by content, which the variant's key compares.
    void add_older(PyObject* object);
    void add_argument(PyObject* container);
    void add_callback(PyObject* callable);  // and what it gives on
    static bool watches(PyObject* callable);
    // The positional or named arguments with floats of their own, which are followed from `first` on.
    nanobind::object with_own_floats(PyObject* arguments, int first);
    void begin_call(PyObject* function, PyObject* arguments);
    void begin_root(PyObject* function);
    // observer_311.cpp, observer_312.cpp
    void start();
    void stop();
    static bool others_trace();  // a debugger, a profiler

    PythonState state;
    std::optional<Cause> cause;
    Handle returned_code;  // where the call returned last
    std::int32_t returned_at = 0;
    std::vector<Effect> effects;
    std::unordered_map<PyObject*, FollowedNumber> numbers;
    std::vector<NumberWitness> comparisons;  // of arguments, by their place among the floats
    std::vector<Option> options;
    std::vector<Counter> counters;
    std::int64_t spent = 0;                        // nanoseconds of watching, about
    std::unordered_set<PyObject*> compared;        // tensors of which it was asked which object they are
    void use(PyObject* operand);                   // a number that was read is more than handed on
    void use_all(PyObject* root);                  // so is each that C code can reach
    static bool reads_values(PyObject* iterator);  // going on with it runs C code on what it hands on
    void finish();                                 // the call is over
    FollowedNumber* followed(PyObject* object);    // null: it is none of a tensor or an argument
    bool is_older(PyObject* object) const;
    void hold(nanobind::object object) { held_.push_back(std::move(object)); }
    bool is_argument(PyObject* object) const { return arguments_.contains(object); }

    // What the observer tells of: a function that begins, and an instruction before it runs.
    void enter(_PyInterpreterFrame* frame);
    void instruction(_PyInterpreterFrame* frame);

private:
    friend class Watch;

    void look_at(_PyInterpreterFrame* frame);
    bool waits() const { return reading_ || handed_on_ || stepping_ || question_.frame; }  // for what the last gave
    void count_witnesses();
    bool is_collectors(_PyInterpreterFrame* frame);
    bool is_generators(_PyInterpreterFrame* frame);

    // contents.cpp
    void stay_eager(std::string text);
    void define_class() { stay_eager("defines a class or runs code of a module"); }
    void expect_number() {
        reading_ = current_;
        reads_before_ = program_.reads.size();
    }
    void contents(PyObject* object, bool deep = true);
    // Of contents(): what has been looked at already, since containers may hold themselves.
    struct Looking {
        explicit Looking(Tracer& tracer) : tracer(tracer) { ++tracer.looking_; }
        ~Looking() {
            if (--tracer.looking_ == 0) tracer.looked_at_.clear();
        }
        Looking(const Looking&) = delete;
        Looking& operator=(const Looking&) = delete;
        Tracer& tracer;
    };
    int looking_ = 0;
    std::unordered_set<PyObject*> looked_at_;
    std::unordered_set<PyObject*> touched_keys_;  // of these dicts
    void use_if_read(PyObject* iterable);
    void touch(PyObject* object);  // its class, as a whole, and which one it is
    void touch_class(PyTypeObject* type);
    void special_method(PyTypeObject* holder, const std::string& name, PyObject* value);
    void ask_class(PyObject* object);
    void note_identity(PyObject* object);
    void add_key(PyObject* key) { note_identity(key), use_all(key), touch_key(key); }
    void touch_key(PyObject* key);
    void touch_keys(PyObject* dict);
    void identity(PyObject* left, PyObject* right);
    void iterate(PyObject* object);
    void load_global(_PyInterpreterFrame& frame, PyObject* name);
    void import(_PyInterpreterFrame& frame, PyObject* name, PyObject* level);
    void import_from(PyObject* module, PyObject* name);
    void raise(PyObject* const* operands, int count);
    void match_class(PyObject* subject, PyObject* kind, PyObject* names, int positional);
    void match_exception(PyObject* exception, PyObject* classes);

    // numbers.cpp
    void compare(PyObject* left, PyObject* right, int operation);
    bool note_comparison(PyObject* number, PyObject* constant, int operation);
    void truth(PyObject* object);
    void arithmetic(PyObject* left, PyObject* right, int operation);
    void hand_on(PyObject* number);
    void take_constant();
    bool follow_option(PyObject* dict, PyObject* key);
    bool follow_option(PyObject* dict, PyObject* key, PyObject* value, int item, Py_ssize_t items);
    void call_optimizer_step(PyObject* const* arguments, std::size_t count);
    void take_options();

    // attributes.cpp
    void attribute(PyObject* object, PyObject* name);
    void attribute_of_super(PyObject* super, PyObject* name);
    bool data_attribute(PyObject* object, PyObject* found, PyObject* name);
    void instance_attribute(PyObject* object, PyObject* name, bool by_base = false);  // as the first base in C reads it
    PyObject* own_of_thread(PyObject* local);
    void note(TensorObject* tensor);
    void tensor_attribute(PyObject* object, PyObject* name);
    void descriptor(PyObject* found);
    void kinds(PyObject* classes);  // of isinstance and issubclass
    void pretended_class(PyObject* object);
    void type_attribute(PyObject* type, PyObject* name);
    void module_attribute(PyObject* module, PyObject* name);
    void look_up_entry(PyObject* dict, PyObject* key);  // of an older dict
    void subscript(PyObject* container, PyObject* key);

    // changes.cpp
    void set_attribute(PyObject* object, PyObject* name, PyObject* value);
    bool sets_property(PyObject* object, PyObject* found, PyObject* value);
    void set_item(PyObject* container, PyObject* key, PyObject* value);
    void set_item_itself(PyObject* container, PyObject* key, PyObject* value);
    void set_entry(PyObject* dict, PyObject* key, PyObject* value);
    void enter_with(PyObject* manager);
    bool was_set(PyObject* holder, PyObject* key) const;
    void drop_undone();
    bool is_as_before(PyObject* dict) const;
    bool begins_to_count(PyObject* dict, PyObject* name);
    Counter* counter_of(PyObject* dict, PyObject* key);
    bool stores_count(PyObject* dict, PyObject* key);
    void read_counter(Counter& counter);

    // calls.cpp
    void call(PyObject* callee, PyObject* const* arguments, std::size_t count);
    void call_type(PyTypeObject* type, PyObject* const* arguments, std::size_t count);
    void call_operation(PyObject* callee, PyObject* const* arguments, std::size_t count);
    void call_known(const std::string& name, PyObject* const* arguments, std::size_t count);

    // caches.cpp
    bool ask(PyObject* callee, PyObject* const* arguments, std::size_t count);
    void take_answer(PyObject* answer);
    void fills_cache();  // what was asked last was not in it

    // methods.cpp
    void call_builtin(PyObject* callee, PyObject* self, const std::string& name, PyObject* const* arguments,
                      std::size_t count);
    void take_over(PyObject* argument);
    void call_method(PyObject* self, const std::string& name, PyObject* const* arguments, std::size_t count);

    Recorder& recorder_;
    Program& program_;
    FlatTable<PyObject*, char> older_;
    std::unordered_set<PyObject*> arguments_, made_codes_;
    std::unordered_set<_PyInterpreterFrame*> generators_;  // that began in the call
    std::unordered_set<PyObject*> gradients_;              // what was read as the .grad of an older tensor
    std::vector<nanobind::object> held_;
    nanobind::object handled_before_;                 // the exception that is handled around the call
    PyCodeObject* code_of_root_ = nullptr;            // until its frame begins
    std::unordered_set<_PyInterpreterFrame*> roots_;  // that C began, which does no more than hand on what they return
    _PyInterpreterFrame* current_ = nullptr;
    _PyInterpreterFrame* reading_ = nullptr;     // the frame whose last instruction called what may read a number
    _PyInterpreterFrame* collecting_ = nullptr;  // of a callback of the garbage collector
    std::size_t reads_before_ = 0;
    // What the last instruction asked a functools.lru_cache.
    struct Question {
        _PyInterpreterFrame* frame = nullptr;
        nanobind::object cache, arguments;
        std::int64_t misses = 0;
    } question_;
    bool plain_call_ = false;        // the call that is looked at has no arguments by name
    bool names_arguments_ = false;   // an instruction has named arguments of the call to come
    PyObject* handed_on_ = nullptr;  // a number that the last instruction gave to an operation
    std::size_t constants_before_ = 0;
    _PyInterpreterFrame* stepping_ = nullptr;  // the frame whose last instruction called a step of an optimizer
    std::size_t steps_before_ = 0;
    std::vector<Option> pending_;
    std::unordered_set<PyObject*> option_tuples_;  // held: of floats, as betas are
    std::span<const Instruction> rest_;            // the instructions after the one that is looked at
    PyCodeObject* code_ = nullptr;
    bool on_ = false;
    std::uint32_t instructions_ = 0;  // that were looked at
};

// What an operation of ours computes in Python depends on its arguments only: no tracer is told of it.
class Unwatched {
public:
    explicit Unwatched(bool ours) : paused_(ours && Recorder::at_work()) {
        if (paused_) PyThreadState_EnterTracing(PyThreadState_Get());
    }
    ~Unwatched() {
        if (paused_) PyThreadState_LeaveTracing(PyThreadState_Get());
    }
    Unwatched(const Unwatched&) = delete;
    Unwatched& operator=(const Unwatched&) = delete;

private:
    bool paused_;
};

// Calls of which it is known that they read no more than their arguments, by full name: set from Python.
void set_known_calls(nanobind::dict known);
const std::string* known_call(const std::string& name);

}  // namespace clew::bind
