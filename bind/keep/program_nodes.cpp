// Nodes of a program as plain Python data, and back.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <nanobind/stl/string.h>

#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/keep/program_file.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/frame.h"
#include "core/program/files/names.h"
#include "core/program/record/weak_bindings.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

constexpr const char* kCopySlices = "/copy_slices";

}  // namespace

[[noreturn]] void refuse_node(const char* op, const Node& node, const char* what) {
    const std::string at = node.code ? " At " + site_text(node.code, node.instruction) + "." : "";
    fail(ErrorKind::NotImplemented, "%s: %s %s.%s", op, node.kind->node_name, what, at.c_str());
}

void check_plain(const char* op, const Node& node) {
    if (node.has(Node::kFunction))
        refuse_node(op, node,
                    "is an autograd.Function, whose backward is Python; leave what it leads to without a name");
    if (node.extras == nullptr) return;
    const NodeExtras& extras = *node.extras;
    if (!extras.tensor_hooks.empty() || !extras.pre_hooks.empty() || !extras.post_hooks.empty() ||
        !extras.accumulate_hooks.empty())
        refuse_node(op, node, "has hooks, which are Python; remove them before");
    if (extras.retains_grad)
        refuse_node(op, node, "keeps the gradient of its result (retain_grad), which a file can't say yet");
}

std::string kind_name(const char* op, const Node& node) {
    if (node.kind == &copy_slices_kind) return kCopySlices;
    const std::string name = name_in_files(*node.kind);
    if (name.empty()) refuse_node(op, node, "is of a kind that has no name in files");
    return name;
}

const OpDef* op_in_file(const std::string& name) {
    if (const OpDef* const op = op_of_name(name)) return op;
    make_all_operations();
    if (const OpDef* const op = op_of_name(name)) return op;
    nb::module_::import_("clew._operation").attr("define_all")();
    return op_of_name(name);
}

const NodeKind& kind_of_name(const std::string& name) {
    if (name == kCopySlices) return copy_slices_kind;
    const OpDef* const op = op_in_file(name);
    if (op == nullptr || op->backward == nullptr || op->text.schema == nullptr)
        fail(ErrorKind::Value, "expected a kind of node, got '%s'", name.c_str());
    return *op;
}

namespace {

class NodesWriter {
public:
    NodesWriter(const Program& program, const std::vector<int>& kept) : program_(program) {
        for (std::size_t i = 0; i < kept.size(); ++i)
            numbers_[program.nodes[static_cast<std::size_t>(kept[i])].node] = static_cast<int>(i);
    }
    nb::dict one(const KeptNode& kept) {
        Node& node = *kept.node;
        check_plain("save", node);
        if (program_.steps[static_cast<std::size_t>(kept.step)].action->kind != StepKind::Run)
            refuse_node("save", node, "belongs to a write through a transposed view, which can't be saved yet");
        if (is_made_anew(kept))
            refuse_node("save", node,
                        "is of a view that was read after its memory had been written, as by a second write through "
                        "it, which a file can't say yet; take the view anew, or write out of place");
        nb::dict data;
        data["kind"] = kind_name("save", node);
        data["step"] = kept.step;
        nb::list edges, outputs, slots;
        for (int i = 0; i < static_cast<int>(node.edge_count); ++i) edges.append(edge(node, node.edge(i)));
        for (int i = 0; i < node.output_count; ++i) outputs.append(output(node, i));
        for (int i = 0; i < node.slot_count; ++i)
            slots.append(slot(node.slots()[i], kept.slots[static_cast<std::size_t>(i)]));
        data["edges"] = edges;
        data["outputs"] = outputs;
        data["slots"] = slots;
        Node* const inner = node.extras ? node.extras->inner.get() : nullptr;
        data["inner"] = inner ? numbers_.at(inner) : -1;
        return data;
    }

private:
    // That of a view, by a step that reads the view after its memory was written: as one of as_strided. A reader takes
    // the attributes of a node from its step, which has others.
    bool is_made_anew(const KeptNode& kept) const {
        const std::string_view name = kept.node->kind->node_name, as_strided = "AsStridedBackward0";
        return name == as_strided &&
               program_.steps[static_cast<std::size_t>(kept.step)].action->op->node_name != as_strided;
    }
    // (node, which of its outputs), (-1, input whose .grad it is), or None.
    nb::object edge(const Node& node, Edge to) const {
        if (!to) return nb::none();
        if (const auto found = numbers_.find(to.node); found != numbers_.end())
            return nb::make_tuple(found->second, to.index);
        if (!to.node->has(Node::kAccumulate)) refuse_node("save", node, "leads to a graph from outside the block");
        const TensorObject* const leaf = to.node->outputs()[0].tensor;
        if (leaf == nullptr) return nb::none();
        for (std::size_t i = 0; i < program_.inputs.size(); ++i)
            if (!program_.inputs[i].grad_of && program_.inputs[i].tensor.get() == leaf) return nb::make_tuple(-1, i);
        refuse_node("save", node, "leads to a leaf that was made in the block; make it before");
    }
    static nb::object output(Node& node, int i) {
        const Layout* const layout = node.outputs()[i].layout;
        return layout ? geometry_to_python(*layout, 0, node.output_dtypes()[i]) : nb::none();
    }
    // (source, index, register, input whose version counter it has, stale), or where CopySlices writes.
    nb::object slot(const SavedSlot& slot, const KeptSlot& kept) const {
        if (kept.edge) fail(ErrorKind::NotImplemented, "save: a node saved a value with a history of its own");
        if (kept.reg < 0)
            return slot.layout && slot.state == SlotState::Empty
                       ? geometry_to_python(*slot.layout, slot.offset, slot.dtype)
                       : nb::none();
        return nb::make_tuple(static_cast<int>(slot.source), static_cast<int>(slot.index), kept.reg, kept.through,
                              kept.stale, slot.wrapped_number);
    }

    const Program& program_;
    std::unordered_map<const Node*, int> numbers_;
};

class NodesReader {
public:
    NodesReader(Program& program, std::vector<NodeRef>& made) : program_(program), made_(made) {}

    void add(nb::handle data) {
        const auto name = nb::cast<std::string>(data["kind"]);
        const NodeKind* const kind = &kind_of_name(name);
        const int step = index_from_python(data["step"], program_.steps.size());
        const auto edges = nb::cast<nb::list>(data["edges"]), outputs = nb::cast<nb::list>(data["outputs"]),
                   slots = nb::cast<nb::list>(data["slots"]);
        if (nb::len(edges) > 0xffff || nb::len(outputs) > 0xffff || nb::len(slots) > 0xff)
            fail(ErrorKind::Value, "expected a smaller node");
        const NodeRef node =
            new_node(*kind, {static_cast<std::uint32_t>(nb::len(edges)), static_cast<std::uint16_t>(nb::len(slots)),
                             static_cast<std::uint16_t>(nb::len(outputs))});
        made_.push_back(node);
        KeptNode kept{.node = node.get(), .step = step, .born = node->sequence};
        if (kind->kept_bytes) {
            const Step& by = program_.steps[static_cast<std::size_t>(step)];
            if (by.action->attributes.size() < kind->kept_bytes)
                fail(ErrorKind::Value, "expected a step with attributes");
            std::memcpy(node->attributes(), by.action->attributes.data(), kind->kept_bytes);
        }
        set_site(*node, program_.steps[static_cast<std::size_t>(step)]);
        for (std::size_t i = 0; i < nb::len(edges); ++i) set_edge(*node, static_cast<int>(i), edge(edges[i]));
        for (std::size_t i = 0; i < nb::len(outputs); ++i) {
            if (outputs[i].is_none()) continue;
            const Geometry place = geometry_from_python(outputs[i]);
            set_output_shape(*node, static_cast<int>(i), place.layout, place.dtype);
        }
        for (std::size_t i = 0; i < nb::len(slots); ++i) kept.slots.push_back(slot(*node, node->slots()[i], slots[i]));
        if (const int inner = index_from_python(data["inner"], made_.size() - 1, true); inner >= 0) {
            const NodeRef& wrapped = made_[static_cast<std::size_t>(inner)];
            if (kind != &copy_slices_kind || wrapped->kind == &copy_slices_kind || wrapped->has(Node::kWrapped))
                fail(ErrorKind::Value, "expected CopySlices around one node");
            wrapped->set(Node::kWrapped);
            extras_of(*node).inner = wrapped;
        }
        program_.nodes.push_back(std::move(kept));
    }

private:
    static void set_site(Node& node, const Step& step) {
        if (node.code) runtime.release(node.code);
        node.code = step.action->code ? Handle(step.action->code).detach() : nullptr;
        node.instruction = step.action->instruction;
    }
    Edge edge(nb::handle data) const {
        if (data.is_none()) return {};
        const int to = index_from_python(data[0], made_.size() - 1, true);
        if (to >= 0) {
            Node* const node = made_[static_cast<std::size_t>(to)].get();
            return {node, static_cast<std::uint32_t>(index_from_python(data[1], node->output_count))};
        }
        const Input& leaf =
            program_.inputs[static_cast<std::size_t>(index_from_python(data[1], program_.inputs.size()))];
        if (leaf.grad_of || !leaf.tensor->has(TensorObject::kRequiresGrad))
            fail(ErrorKind::Value, "expected an edge to an input that requires grad");
        return {accumulator_of(leaf.tensor), 0};
    }
    // Filled by the first forward().
    KeptSlot slot(Node& node, SavedSlot& place, nb::handle data) const {
        KeptSlot known;
        if (data.is_none()) return known;
        if (nb::len(data) == 4) {
            Geometry where = geometry_from_python(data);
            place.layout = where.layout.detach();
            place.offset = where.offset;
            place.dtype = where.dtype;
            return known;
        }
        const int source = index_from_python(data[0], 2), index = index_from_python(data[1], 32);
        known.reg = index_from_python(data[2], program_.registers.size());
        known.through = index_from_python(data[3], program_.inputs.size(), true);
        known.stale = nb::cast<bool>(data[4]);
        const KeptRegister& of = program_.of(known.reg);
        const Tensor nothing = Tensor::steal(new_tensor_object());
        nothing->storage = Storage::make(0);
        nothing->layout = of.layout;
        nothing->dtype = of.dtype;
        nothing->set(TensorObject::kWrappedNumber, nb::cast<bool>(data[5]));
        const ModeGuard plainly(kSavedHooks, false);
        (source == static_cast<int>(SlotSource::Input) ? save_input : save_output)(node, place, nothing, index);
        return known;
    }

    Program& program_;
    std::vector<NodeRef>& made_;
};

}  // namespace

std::vector<int> nodes_below(const Program& program, Node* root, std::vector<int> found) {
    std::vector<Node*> stack{root};
    while (!stack.empty()) {
        Node* const node = stack.back();
        stack.pop_back();
        const int index = index_of(program, node);
        if (index < 0 || std::ranges::find(found, index) != found.end()) continue;
        found.push_back(index);
        if (node->extras && node->extras->inner) stack.push_back(node->extras->inner.get());
        for (std::uint32_t i = 0; i < node->edge_count; ++i)
            if (node->edge_nodes()[i]) stack.push_back(node->edge_nodes()[i]);
    }
    std::ranges::sort(found, {}, [&](int i) { return program.nodes[static_cast<std::size_t>(i)].born; });
    return found;
}

nb::list nodes_to_python(const Program& program, const std::vector<int>& kept) {
    NodesWriter writer(program, kept);
    nb::list result;
    for (const int index : kept) result.append(writer.one(program.nodes[static_cast<std::size_t>(index)]));
    return result;
}

void nodes_from_python(Program& program, nb::list data, std::vector<NodeRef>& made) {
    NodesReader reader(program, made);
    for (const nb::handle one : data) reader.add(one);
}

}  // namespace clew::bind
