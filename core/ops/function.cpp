#include "core/ops/function.h"

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/ops/functions.h"
#include "core/ops/interpreter.h"

namespace clew {
namespace {

bool contains(Tensors list, const Tensor& tensor) {
    for (const Tensor& one : list)
        if (one && one.same(tensor)) return true;
    return false;
}

// What became of one output of forward.
Tensor finish_output(const NodeRef& node, int i, const Tensor& output, Tensors inputs, bool dirty, bool records) {
    const bool is_input = contains(inputs, output);
    if (dirty) {
        bump_version(output, node->kind->name);
        if (records) {
            rebase_history(output, node);
            if (grad_of(output)) set_grad(output, {});  // that of what was here before
        }
        return records || !output.requires_grad() ? output : detach(output);
    }
    if (!records) {
        if (!is_input) return output;
        // Not the argument itself: what is done to the result (requires_grad_) must not be done to it.
        if (output.requires_grad()) return detach(output);
        const Tensor view = alias(output, output->layout, output->offset);
        mark_view(view, output, ViewKind::NoGrad);
        return view;
    }
    if (is_input) {
        // Returned as it came: a view with this node as its history.
        const Tensor view = alias(output, output->layout, output->offset);
        mark_view(view, output, ViewKind::CustomFunction);
        set_history(view, node, i);
        return view;
    }
    if (output->base) output->view_kind = ViewKind::CustomFunction;
    set_history(output, node, i);
    return output;
}

}  // namespace

void record_function(const NodeRef& node, const FunctionRecord& call, bool records) {
    const auto [inputs, outputs, saved, dirty, constants] = call;
    for (const Tensor& tensor : dirty) {
        if (!contains(inputs, tensor))
            fail(ErrorKind::Runtime, "mark_dirty: expected an input of forward; only inputs can be modified in place");
        check_in_place(tensor, node->kind->name, records);
    }
    if (records) {
        if (inputs.size() > 0xffff || outputs.size() > 0xffff || saved.size() > 0xffff)
            fail(ErrorKind::NotImplemented, "Function: at most 65535 inputs, outputs and saved tensors are supported");
        attach_body(node.get(), {static_cast<std::uint32_t>(inputs.size()), static_cast<std::uint16_t>(saved.size()),
                                 static_cast<std::uint16_t>(outputs.size())});
        for (std::size_t i = 0; i < inputs.size(); ++i) set_edge(*node, static_cast<int>(i), gradient_edge(inputs[i]));
        node->sequence =
            tick();  // younger than what it leads to: an input that is a view may have got its node just now
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i]) continue;
        const bool constant = contains(constants, outputs[i]) || !is_inexact(outputs[i].dtype());
        const bool is_dirty = contains(dirty, outputs[i]);
        if (constant && records)
            set_output_shape(*node, static_cast<int>(i), outputs[i].layout_ref(), outputs[i].dtype());
        outputs[i] = finish_output(node, static_cast<int>(i), outputs[i], inputs, is_dirty, records && !constant);
    }
    if (!dirty.empty() && mode(kInterpreted)) Interpreter::tell({.event = Event::Counted, .tensors = dirty});
    if (records)
        for (std::size_t i = 0; i < saved.size(); ++i) save_any(*node, node->slots()[i], saved[i], inputs, outputs);
    if (mode(kInterpreted))
        Interpreter::tell({.event = Event::FunctionMade, .tensors = outputs, .what = records ? node.get() : nullptr});
}

}  // namespace clew
