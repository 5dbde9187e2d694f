// A program as plain Python data: what clew.Program.save writes.
#include <algorithm>
#include <cstring>

#include <nanobind/stl/string.h>

#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/keep/program_file.h"
#include "bind/types/objects.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/program/files/names.h"
#include "core/program/record/leaves.h"
#include "core/program/record/recorder.h"
#include "core/program/record/weak_bindings.h"
#include "core/program/replay/guards.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

[[noreturn]] void refuse(const std::string& what, const Handle& code, std::int32_t instruction) {
    const std::string at = code ? " At " + site_text(code.get(), instruction) + "." : "";
    fail(ErrorKind::NotImplemented, "save: %s.%s", what.c_str(), at.c_str());
}

const char* const kKinds[] = {"run", "nothing", "read", "set_grad"};

class Writer {
public:
    Writer(Program& program, nb::list named) : program_(program), named_(std::move(named)) {}

    nb::dict go() {
        if (!program_.finished) fail(ErrorKind::Runtime, "save: expected a program whose block has ended");
        notice_writes(program_);
        check_leaves(program_);
        nb::dict data;
        data["inputs"] = inputs();
        data["registers"] = registers();
        data["memories"] = memories();
        data["steps"] = steps();
        data["constants"] = constants();
        data["reads"] = reads();
        data["nodes"] = living_and_nodes();
        data["living"] = living_;
        data["leaves"] = leaves();
        data["grads"] = grads();
        data["once"] = once();
        data["has_backward"] = program_.has_backward;
        data["generators"] = generators_;
        return data;
    }

private:
    static nb::list list_of(const Numbers& numbers) {
        nb::list result;
        for (const int one : numbers) result.append(one);
        return result;
    }
    static nb::object object_of(const Tensor& tensor) { return nb::steal(wrap(tensor)); }

    nb::list inputs() const {
        nb::list result;
        for (const Input& input : program_.inputs) {
            if (input.tensor->grad_fn || input.history)
                refuse_input(input, "has a history from before the block; detach() it before");
            if (!input.grad_of && hooks_of(input.tensor))
                refuse_input(input, "has hooks, which are Python; remove them before");
            if (!input.present()) refuse_input(input, "has lost its .grad");
            if (is_meta(input.tensor)) refuse_input(input, "has no values");
            if (const KeptRegister& then = program_.of(input.reg); !same_geometry(input.present(), then))
                refuse_input(input,
                             "is not as in the recorded run: " + difference(input.present(), then) + "; set it back");
            result.append(nb::make_tuple(object_of(input.tensor), input.grad_of, input.reg, input.requires_grad));
        }
        return result;
    }
    // Which one it is: its place, its shape, and what reads it first.
    [[noreturn]] void refuse_input(const Input& input, const std::string& why) const {
        const auto reads = [&](const Step& step) { return std::ranges::count(step.inputs, input.reg) > 0; };
        const auto first = std::ranges::find_if(program_.steps, reads);
        const bool is_read = first != program_.steps.end();
        const std::string reader = is_read ? ", read first by " + name_of(*first) + "," : "";
        refuse(format("input %d, of shape %s%s %s", static_cast<int>(&input - program_.inputs.data()),
                      shape_text(input.tensor.sizes()).c_str(), reader.c_str(), why.c_str()),
               is_read ? first->action->code : Handle(), is_read ? first->action->instruction : -1);
    }
    nb::list registers() const {
        nb::list result;
        for (const KeptRegister& one : program_.registers)
            result.append(nb::make_tuple(
                one.memory,
                geometry_to_python(*one.layout, one.offset / static_cast<std::int64_t>(item_size(one.dtype)),
                                   one.dtype),
                one.number));
        return result;
    }
    nb::list memories() const {
        nb::list result;
        for (const Memory& one : program_.memories) result.append(one.bytes);
        return result;
    }
    nb::list constants() const {
        nb::list result;
        for (const auto& [reg, value] : program_.constants) result.append(nb::make_tuple(reg, object_of(value)));
        return result;
    }
    nb::list reads() const {
        nb::list result;
        for (const Tensor& one : program_.reads) result.append(object_of(one));
        return result;
    }
    nb::list grads() const {
        nb::list result;
        for (const GradWitness& one : program_.grads) result.append(nb::make_tuple(one.input, one.present));
        return result;
    }
    nb::list once() const {
        nb::list result;
        for (const Refusal& one : program_.once)
            result.append(nb::make_tuple(one.text, site_to_python(one.code, one.instruction)));
        return result;
    }
    nb::list leaves() const {
        nb::list result;
        for (const Leaf& one : program_.leaves)
            result.append(nb::make_tuple(
                one.input, one.tracked < 0 ? -1 : places_[static_cast<std::size_t>(one.tracked)], one.last));
        return result;
    }

    nb::list steps() {
        nb::list result;
        for (const Step& step : program_.steps) {
            const bool runs = step.action->kind == StepKind::Run || step.action->kind == StepKind::Nothing;
            const std::string name =
                runs ? name_in_files(*step.action->op) : kKinds[static_cast<int>(step.action->kind)];
            if (name.empty())
                refuse(format("'%s' is a step in Python, which a file can't hold; write it in operations",
                              step.action->name ? step.action->name : step.action->op->name),
                       step.action->code, step.action->instruction);
            nb::list writes;
            for (const KeptWrite& one : step.writes) writes.append(nb::make_tuple(one.reg, one.bump, one.through));
            const bool has_attributes = runs && step.action->op != &alias_op && !step.action->attributes.empty();
            nb::dict one;
            one["op"] = name;
            one["kind"] = kKinds[static_cast<int>(step.action->kind)];
            one["form"] = static_cast<int>(step.action->form);
            one["inputs"] = list_of(step.inputs);
            one["outputs"] = list_of(step.outputs);
            one["writes"] = writes;
            one["attributes"] =
                has_attributes ? attributes_to_python(*step.action->op, step.action->attributes.data()) : nb::list();
            one["name"] = step.action->name ? nb::object(nb::str(step.action->name)) : nb::none();
            one["generator"] = generator(step.action->generator);
            one["site"] = site_to_python(step.action->code, step.action->instruction);
            one["index"] = step.index;
            one["in_backward"] = step.action->in_backward;
            result.append(one);
        }
        return result;
    }
    int generator(const Generator* one) {
        if (one == nullptr) return -1;
        const auto found = std::ranges::find(seen_, one);
        if (found != seen_.end()) return static_cast<int>(found - seen_.begin());
        seen_.push_back(one);
        const std::string state = one->get_state();
        generators_.append(nb::bytes(state.data(), state.size()));
        return static_cast<int>(seen_.size()) - 1;
    }

    // Of tensors of the block, those with names, and the nodes below them.
    nb::list living_and_nodes() {
        places_.assign(program_.tracked.size(), -1);
        std::vector<int> nodes;
        for (const nb::handle object : named_) {
            const auto [by, index] = kept_by(*as_tensor(object.ptr()));
            if (by != &program_ || is_input(index)) continue;
            check_unchanged(program_, index, false);
            const TrackedTensor& tracked = program_.tracked[static_cast<std::size_t>(index)];
            if (is_refreshed_view(program_, tracked))
                refuse("a named tensor is a view whose base was written since; name a clone() of it", {}, -1);
            if (tracked.node >= 0)
                nodes = nodes_below(program_, program_.nodes[static_cast<std::size_t>(tracked.node)].node,
                                    std::move(nodes));
        }
        for (const nb::handle object : named_) {
            const auto [by, index] = kept_by(*as_tensor(object.ptr()));
            if (by != &program_ || is_input(index) || places_[static_cast<std::size_t>(index)] >= 0) continue;
            places_[static_cast<std::size_t>(index)] = static_cast<int>(nb::len(living_));
            const TrackedTensor& tracked = program_.tracked[static_cast<std::size_t>(index)];
            const int node =
                tracked.node < 0 ? -1 : static_cast<int>(std::ranges::find(nodes, tracked.node) - nodes.begin());
            living_.append(nb::make_tuple(object, tracked.reg, node,
                                          node < 0 ? 0 : static_cast<int>(tracked.tensor->output_index)));
        }
        for (const Step& step : program_.steps)
            if (step.action->kind == StepKind::Rebind)
                for (const TrackedTensor& tracked : program_.tracked)
                    if (tracked.reg == step.inputs[0] && tracked.node >= 0)
                        refuse("a .grad has a history (create_graph=True), which a file can't hold yet",
                               step.action->code, step.action->instruction);
        return nodes_to_python(program_, nodes);
    }

    // A leaf of the block that is one by now.
    bool is_input(int tracked) const {
        const KeptRegister& reg = program_.of(program_.tracked[static_cast<std::size_t>(tracked)].reg);
        return reg.made_by < 0 && program_.memories[static_cast<std::size_t>(reg.memory)].input >= 0;
    }

    Program& program_;
    nb::list named_;
    nb::list living_, generators_;
    std::vector<int> places_;  // in the file, of each tracked tensor
    std::vector<const Generator*> seen_;
};

}  // namespace

nb::dict program_to_python(nb::handle core_program, nb::list named) {
    return Writer(program_of(core_program), std::move(named)).go();
}

}  // namespace clew::bind
