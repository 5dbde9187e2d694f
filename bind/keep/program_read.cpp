// A program from plain Python data: what clew.load_program reads.
#include <cstring>
#include <string>
#include <unordered_set>

#include <nanobind/stl/string.h>

#include "bind/errors.h"
#include "bind/keep/program_file.h"
#include "bind/types/objects.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/program/files/check.h"
#include "core/program/files/names.h"
#include "core/program/record/leaves.h"
#include "core/program/record/recorder.h"
#include "core/program/record/weak_bindings.h"
#include "core/program/replay/guards.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

constexpr std::size_t kLongestName = 200;

// Write logs and programs point to such texts: never taken down.
const char* static_text(const std::string& text) {
    static auto* const all = new std::unordered_set<std::string>;
    if (text.size() > kLongestName) fail(ErrorKind::Value, "expected a name, got %zu characters", text.size());
    return all->insert(text).first->c_str();
}

Tensor tensor_of(nb::handle object) {
    TensorObject* const tensor = as_tensor(object.ptr());
    if (tensor == nullptr) fail(ErrorKind::Value, "expected a tensor");
    return Tensor(tensor);
}

class Reader {
public:
    Reader(Program& program, nb::handle data) : program_(program), data_(data) {}

    void go(bool attached) {
        for (const nb::handle one : list("memories")) {
            if (!PyLong_CheckExact(one.ptr())) fail(ErrorKind::Value, "expected a number of bytes");
            program_.memories.push_back({.bytes = nb::cast<std::int64_t>(one), .input = -1, .made_by = -1});
        }
        for (const nb::handle one : list("registers")) add_register(one);
        for (const nb::handle one : list("inputs")) add_input(one);
        for (const nb::handle one : list("constants")) program_.constants.emplace_back(reg(one[0]), tensor_of(one[1]));
        for (const nb::handle one : list("reads")) program_.reads.push_back(tensor_of(one));
        for (const nb::handle one : list("living")) add_living(one);
        add_leaves();
        for (const nb::handle one : list("grads"))
            program_.grads.push_back({index_from_python(one[0], program_.inputs.size()), truth(one[1])});
        for (const nb::handle one : list("once"))
            program_.once.push_back({nb::cast<std::string>(one[0]), site_from_python(one[1]), -1});
        program_.has_backward = truth(data_["has_backward"]);
        for (const nb::handle one : list("generators")) add_generator(one);
        for (const nb::handle one : list("steps")) add_step(one);
        program_.forget_known();
        std::vector<NodeRef> made;
        nodes_from_python(program_, list("nodes"), made);
        check_program(program_);
        for (const KeptNode& kept : program_.nodes) check_node(program_, kept);
        check_living();
        if (attached) attach();
    }

private:
    nb::list list(const char* key) const { return nb::cast<nb::list>(data_[key]); }
    static bool truth(nb::handle object) { return nb::cast<bool>(object); }
    int reg(nb::handle object, bool optional = false) const {
        return index_from_python(object, program_.registers.size(), optional);
    }

    void add_register(nb::handle one) {
        Geometry place = geometry_from_python(one[1]);
        const auto size = static_cast<std::int64_t>(item_size(place.dtype));
        if (place.offset < 0 || place.offset > INT64_MAX / size) fail(ErrorKind::Value, "expected an offset");
        const int memory = index_from_python(one[0], program_.memories.size());
        program_.registers.push_back(
            {std::move(place.layout), place.offset * size, memory, -1, place.dtype, truth(one[2])});
    }
    void add_input(nb::handle one) {
        const Tensor tensor = tensor_of(one[0]);
        const bool grad_of = truth(one[1]);
        program_.inputs.push_back({tensor, grad_of, reg(one[2]), truth(one[3]), 0, 0});
        if (!program_.inputs.back().present()) fail(ErrorKind::Value, "expected an input that is there");
    }
    void add_living(nb::handle one) {
        program_.tracked.push_back({tensor_of(one[0]).get(), reg(one[1]), nb::cast<int>(one[2]), 0, 0, 0});
        outputs_.push_back(nb::cast<int>(one[3]));
    }
    void add_leaves() {
        const nb::list leaves = list("leaves"), steps = list("steps");
        for (const nb::handle one : leaves)
            program_.leaves.push_back({.input = index_from_python(one[0], program_.inputs.size(), true),
                                       .tracked = index_from_python(one[1], program_.tracked.size(), true),
                                       .last = index_from_python(one[2], nb::len(steps), true)});
    }
    void add_generator(nb::handle state) {
        const nb::object made = nb::type<Generator>()();
        const auto bytes = nb::cast<nb::bytes>(state);
        nb::inst_ptr<Generator>(made)->set_state(std::string(bytes.c_str(), bytes.size()));
        generators_.push_back(nb::inst_ptr<Generator>(made));
        program_.held.push_back(Handle::borrow(made.ptr()));
    }

    Numbers registers(nb::handle numbers) const {
        Numbers result;
        for (const nb::handle one : nb::cast<nb::list>(numbers)) result.push_back(reg(one, true));
        return result;
    }
    void add_step(nb::handle data) {
        const auto kind = nb::cast<std::string>(data["kind"]), name = nb::cast<std::string>(data["op"]);
        Action action;
        int index = -1;
        if (kind == "read" || kind == "set_grad") {
            const bool reads = kind == "read";
            action.op = reads ? &read_op : &grad_op;
            action.form = reads ? Form::Read : Form::Rebind;
            action.kind = reads ? StepKind::Read : StepKind::Rebind;
            index = index_from_python(data["index"], reads ? program_.reads.size() : program_.leaves.size());
        } else {
            if (kind != "run" && kind != "nothing") fail(ErrorKind::Value, "expected a kind of step");
            action.op = op_in_file(name);
            if (action.op == nullptr)
                fail(ErrorKind::Value, "operation '%s' isn't known here; import what defines it", name.c_str());
            action.kind = kind == "run" ? StepKind::Run : StepKind::Nothing;
            action.form = static_cast<Form>(index_from_python(data["form"], static_cast<int>(Form::Accumulate) + 1));
        }
        if (!data["name"].is_none()) action.name = static_text(nb::cast<std::string>(data["name"]));
        if (action.kind == StepKind::Read && action.name == nullptr) fail(ErrorKind::Value, "expected how it reads");
        if (action.kind == StepKind::Read) action.read = read_of_name(action.name);
        Step step{.inputs = registers(data["inputs"]), .outputs = registers(data["outputs"]), .index = index};
        for (const nb::handle one : nb::cast<nb::list>(data["writes"]))
            step.writes.push_back({reg(one[0]), nb::cast<std::uint32_t>(one[1]),
                                   index_from_python(one[2], program_.inputs.size(), true)});
        const int generator = index_from_python(data["generator"], generators_.size(), true);
        if (generator >= 0) action.generator = generators_[static_cast<std::size_t>(generator)];
        action.code = site_from_python(data["site"]);
        action.in_backward = truth(data["in_backward"]);
        AliasAttrs alias;
        std::vector<char> attributes;
        if (action.kind == StepKind::Run && action.op == &alias_op) {
            alias = alias_of(step);
            action.attributes = as_bytes(alias);
        } else if (action.kind == StepKind::Run && action.op->attribute_bytes) {
            attributes = attributes_from_python(*action.op, data["attributes"]);
            action.attributes = attributes;
        }
        step.action = program_.keep(std::move(action));
        program_.steps.push_back(std::move(step));
    }
    AliasAttrs alias_of(const Step& step) const {
        if (step.inputs.size() != 1 || step.outputs.size() != 1 || step.inputs[0] < 0 || step.outputs[0] < 0)
            fail(ErrorKind::Value, "expected an alias of one tensor");
        const KeptRegister &from = program_.of(step.inputs[0]), &to = program_.of(step.outputs[0]);
        return {to.layout.get(), to.offset - from.offset, to.dtype};
    }

    // Tensors of the block that share memory have it from one storage, each at its place.
    void check_living() {
        std::vector<const Storage*> places(program_.memories.size());
        std::unordered_set<const TensorObject*> seen;
        for (const Input& input : program_.inputs)
            places[static_cast<std::size_t>(program_.of(input.reg).memory)] = input.present()->storage.get();
        for (std::size_t i = 0; i < program_.tracked.size(); ++i) {
            const TrackedTensor& tracked = program_.tracked[i];
            if (!seen.insert(tracked.tensor).second) fail(ErrorKind::Value, "expected one tensor at one place");
            const Storage*& place = places[static_cast<std::size_t>(program_.of(tracked.reg).memory)];
            if (place && place != tracked.tensor->storage.get())
                fail(ErrorKind::Value, "expected tensors of the block to share memory as its steps do");
            place = tracked.tensor->storage.get();
            const int node = index_from_python(nb::int_(tracked.node), program_.nodes.size(), true);
            if (node < 0) continue;
            const Node& made = *program_.nodes[static_cast<std::size_t>(node)].node;
            const Layout* const layout = outputs_[i] >= 0 && outputs_[i] < made.output_count
                                             ? const_cast<Node&>(made).outputs()[outputs_[i]].layout
                                             : nullptr;
            if (layout == nullptr || !same_shape(*layout, *tracked.tensor->layout))
                fail(ErrorKind::Value, "expected a tensor of the block to be a result of its node");
        }
    }

    void attach() {
        for (const TrackedTensor& tracked : program_.tracked)
            if (tracked.tensor->extras && tracked.tensor->extras->kept)
                fail(ErrorKind::Value, "expected one tensor at one place");
        const Ref<Release> unfilled = Release::make("load_program");
        for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
            program_.nodes[i].born = program_.nodes[i].node->sequence;
            keep_node(program_, static_cast<int>(i));
            release_saved(*program_.nodes[i].node, unfilled);
        }
        std::unordered_set<const TensorObject*> gradients;
        for (const Input& input : program_.inputs)
            if (input.tensor->extras && input.tensor->extras->grad) gradients.insert(input.tensor->extras->grad.get());
        for (std::size_t i = 0; i < program_.tracked.size(); ++i) {
            TrackedTensor& tracked = program_.tracked[i];
            const Tensor tensor(tracked.tensor);
            if (tracked.node >= 0)
                set_history(tensor, NodeRef(program_.nodes[static_cast<std::size_t>(tracked.node)].node), outputs_[i]);
            tracked.version = version_of(*tracked.tensor);
            tracked.place = place_of(*tracked.tensor);
            keep_tensor(program_, static_cast<int>(i), !gradients.contains(tracked.tensor));
        }
        note_values(program_);
        program_.finished = program_.loaded = true;
    }

    Program& program_;
    nb::handle data_;
    std::vector<Generator*> generators_;
    std::vector<int> outputs_;  // of its node, each tracked tensor is
};

}  // namespace

void program_from_python(nb::handle core_program, nb::handle data, bool attached) {
    Program& program = program_of(core_program);
    if (program.finished || !program.steps.empty()) fail(ErrorKind::Runtime, "expected a new program");
    program.self = core_program.ptr();
    struct LetGo {  // of what the program does not know to be alive
        Program& program;
        ~LetGo() {
            if (!program.finished) program.nodes.clear(), program.tracked.clear();
        }
    } const unless_attached{program};
    Reader(program, data).go(attached);
}

}  // namespace clew::bind
