// What a compiled call gives to Python, and changes there: as it can be made again from the results of a replay.
#pragma once
#include <unordered_set>
#include <vector>

#include "bind/keep/arguments.h"
#include "bind/watch/tracer.h"
#include "core/autograd/hooks.h"
#include "core/program/program.h"

namespace clew::bind {

// Note [Values of results]
// A value is a tensor of the replay, an argument, a number that was read or given, a container of values, a callable
// that was made of such, or an object that was there before.
struct ValueForm {
    enum Kind {
        ResultTensor,
        ArgumentTensor,
        ArgumentContainer,
        Number,
        ArgumentNumber,
        Constant,
        Tuple,
        List,
        Dict,
        OrderedDict,
        Set,  // its object: such a one, of constants
        Instance,
        Function,  // its items: globals, name, defaults, those by keyword, annotations, dict, cells
        Cell,
        Method,  // its items: function, self
        Partial  // its items: function, arguments, those by keyword
    } kind;
    int index = -1;
    nanobind::object object{};  // Constant; the class of an instance, a Size or a tuple with names; a function's code
    nanobind::object keys{};    // of a dict or an instance: a tuple
    std::vector<int> items{};   // of ResultForm::values
};

class ResultForm {
public:
    // Lists in `tensors` which tensors a replay has to make; what can't be told is a cause in the tracer.
    ResultForm(Tracer& tracer, const CallArguments& arguments);
    int add(PyObject* object);
    void add_effects();
    // What nodes of autograd.Functions hold, and hooks, leave the call with the graphs that they are in.
    void add_graphs(std::uint64_t began);

    std::vector<Tensor> tensors;
    std::vector<Node*> nodes;  // of these Functions
    std::vector<Node*> hooked;
    std::string unknown;

    // The value of a replay. `numbers`: of reads that are followed, by their place among these.
    struct Made {
        const std::vector<Tensor>& tensors;
        const std::vector<int>& given;  // which of these are results
        const std::vector<nanobind::object>& numbers;
        const CallArguments& arguments;
        std::vector<nanobind::object> values{};  // each once, so that what was one object is one
    };
    nanobind::object make(int value, Made& made) const;
    bool effects_fit() const;
    void make_effects(Made& made) const;
    // The objects that become these nodes, and then what they hold.
    std::vector<NodeRef> make_contexts() const;
    void fill_contexts(const std::vector<NodeRef>& contexts, Made& made) const;
    void add_hooks(const std::vector<NodeRef>& hooked, Made& made) const;
    // Which followed number each read is; after all has been added.
    void settle(Program& program);
    void forget_call();
    int traverse(visitproc visit, void* arg) const;

private:
    int add_container(PyObject* object);
    int add_entries(PyObject* dict, ValueForm form);
    // callables.cpp
    int add_callable(PyObject* object);  // -1: it is none
    nanobind::object make_callable(const ValueForm& value, Made& made) const;
    nanobind::object make_function(const ValueForm& value, Made& made) const;
    nanobind::object make_dict(const ValueForm& value, Made& made) const;
    nanobind::object make_value(const ValueForm& value, Made& made) const;
    int add_value(ValueForm value) {
        values_.push_back(std::move(value));
        return static_cast<int>(values_.size()) - 1;
    }
    struct MadeEffect {
        Effect effect;
        int value;
    };
    struct Context {
        nanobind::object type;
        int attributes;
    };
    struct MadeHook {
        std::size_t node;  // of `hooked`
        std::vector<Hook> NodeExtras::* list;
        int output;
        int value;
    };
    void add_graph(Node* root, std::uint64_t began);
    void add_hooks_of(Node* node);

    Tracer* tracer_;
    const CallArguments* arguments_;
    std::vector<ValueForm> values_;
    std::vector<MadeEffect> effects_;
    std::vector<Context> contexts_;
    std::vector<MadeHook> hooks_;
    std::unordered_set<Node*> seen_nodes_;
    int depth_ = 0;  // of the container that is looked at
    std::unordered_map<PyObject*, int> seen_;
};

}  // namespace clew::bind
