#include "core/ops/jvp.h"

#include <algorithm>
#include <cstring>

#include "core/autograd/engine.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

// One call with the tangents of its inputs.
struct Pushed {
    const OpDef& op;
    Tensors inputs;
    const void* attributes;
    Tensors outputs;
    Tensors tangents;

    // The inputs that a tensor (or a list of them) of the schema stands for.
    struct Range {
        std::size_t begin, end;
    };
    Range range(int place) const {
        const std::size_t arguments = static_cast<std::size_t>(std::ranges::count_if(op.schema.arguments, is_tensor));
        const std::size_t in_list = inputs.size() + 1 - arguments;
        std::size_t begin = 0;
        for (const Argument& argument : op.schema.arguments) {
            if (!is_tensor(argument)) continue;
            const std::size_t length = argument.type == ArgType::TensorList ? in_list : 1;
            if (place-- == 0) return {begin, begin + length};
            begin += length;
        }
        return {begin, begin};
    }
    bool has_tangent(int place) const {
        const Range at = range(place);
        return std::any_of(tangents.begin() + static_cast<std::ptrdiff_t>(at.begin),
                           tangents.begin() + static_cast<std::ptrdiff_t>(at.end),
                           [](const Tensor& one) { return bool(one); });
    }
};

Tensor added(Tensor sum, Tensor more) {
    if (!sum) return more;
    return more ? add(sum, more) : sum;
}

Tensor zeros_as(const Tensor& x) { return x ? expand(zeros(Dims{}, x.dtype()), x.sizes()) : Tensor(); }

// ------------------------------------------------------------------------------------------------------ elementwise
Tensor elementwise_tangent(const Pushed& call) {
    const Tensor& output = call.outputs[0];
    const RuleOperands operands{&call.op, call.inputs, call.outputs, call.attributes};
    Tensor sum;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        if (!call.tangents[i]) continue;  // where there is no derivative, the rule is missing or refuses
        std::vector<Tensor> incoming(call.outputs.size()), results(call.inputs.size());
        incoming[0] = expand(cast(call.tangents[i], output.dtype()), output.sizes());
        BackwardCall rule{nullptr, incoming, results, std::uint64_t{1} << i, &operands};
        call.op.backward(rule);
        sum = added(std::move(sum), std::move(results[i]));
    }
    return sum ? expand(cast(sum, output.dtype()), output.sizes()) : sum;
}

// ----------------------------------------------------------------------------------------------------------- linear
// All tangents are of inputs that some term has.
bool covered(const Pushed& call) {
    std::vector<bool> known(call.inputs.size());
    for (const auto& term : call.op.derivative.terms)
        for (const int factor : term) {
            const auto [begin, end] = call.range(factor);
            std::fill(known.begin() + static_cast<std::ptrdiff_t>(begin),
                      known.begin() + static_cast<std::ptrdiff_t>(end), true);
        }
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
        if (call.tangents[i] && !known[i]) return false;
    return true;
}

// The inputs where each term has its turn-th factor that has a tangent replaced by that, and is 0 if it has no such.
std::vector<Tensor> replaced(const Pushed& call, std::size_t turn) {
    std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
    for (const auto& term : call.op.derivative.terms) {
        std::size_t seen = 0;
        const auto chosen =
            std::ranges::find_if(term, [&](int factor) { return call.has_tangent(factor) && seen++ == turn; });
        for (auto factor = term.begin(); factor != term.end(); ++factor) {
            if (chosen != term.end() && factor != chosen) continue;
            const auto [begin, end] = call.range(*factor);
            for (std::size_t i = begin; i < end; ++i)
                inputs[i] = factor == chosen && call.tangents[i] ? call.tangents[i] : zeros_as(call.inputs[i]);
        }
    }
    return inputs;
}

std::vector<Tensor> linear_tangents(const Pushed& call) {
    std::vector<char> attributes(call.op.attribute_bytes);
    if (!attributes.empty()) std::memcpy(attributes.data(), call.attributes, attributes.size());
    for (const int field : call.op.derivative.zeroed)
        call.op.fields[static_cast<std::size_t>(field)].set(attributes.data(),
                                                            {.tag = Value::Int, .dims = {}, .text = {}});
    std::size_t turns = 0;
    for (const auto& term : call.op.derivative.terms)
        turns = std::max<std::size_t>(turns, static_cast<std::size_t>(std::ranges::count_if(
                                                 term, [&](int factor) { return call.has_tangent(factor); })));
    std::vector<Tensor> sums(call.outputs.size());
    for (std::size_t turn = 0; turn < turns; ++turn) {
        const std::vector<Tensor> inputs = replaced(call, turn);
        std::vector<Tensor> parts(call.outputs.size());
        apply(call.op, inputs, attributes.empty() ? nullptr : attributes.data(), parts);
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (parts[i] && is_inexact(parts[i].dtype()) &&
                (call.op.differentiable_outputs >> std::min<std::size_t>(i, 63) & 1))
                sums[i] = added(std::move(sums[i]), std::move(parts[i]));
    }
    return sums;
}

// ---------------------------------------------------------------------------------------------------------- by rules
std::vector<Tensor> transposed_tangents(const Pushed& call) {
    const auto asks = [](const Tensor& x) { return x && x.requires_grad(); };
    const bool records =
        grad_enabled() && (std::ranges::any_of(call.inputs, asks) || std::ranges::any_of(call.tangents, asks));
    const ModeGuard recording(kNoGrad, false);
    std::vector<Tensor> incoming(call.outputs.size()), results(call.inputs.size()), dummies;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        const Tensor& output = call.outputs[i];
        if (!output || !is_inexact(output.dtype()) ||
            !(call.op.differentiable_outputs >> std::min<std::size_t>(i, 63) & 1))
            continue;
        incoming[i] = ones(output.sizes(), output.dtype());
        set_requires_grad(incoming[i], true);
        dummies.push_back(incoming[i]);
        places.push_back(i);
    }
    std::uint64_t needed = 0;
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
        if (call.tangents[i] && call.op.has_derivative(static_cast<int>(i), static_cast<int>(call.inputs.size())))
            needed |= std::uint64_t{1} << std::min<std::size_t>(i, 63);
    std::vector<Tensor> tangents(call.outputs.size());
    if (needed == 0) return tangents;
    const RuleOperands operands{&call.op, call.inputs, call.outputs, call.attributes};
    BackwardCall rule{nullptr, incoming, results, needed, &operands};
    call.op.backward(rule);
    std::vector<Tensor> roots, gradients;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!results[i] || !call.tangents[i]) continue;
        fit_gradient(results[i], call.inputs[i].layout(), call.inputs[i].dtype(), call.op.name, static_cast<int>(i));
        if (!results[i].requires_grad()) continue;
        roots.push_back(results[i]);
        gradients.push_back(call.tangents[i]);
    }
    if (roots.empty()) return tangents;
    const BackwardResult found = run_backward({.roots = roots,
                                               .gradients = gradients,
                                               .keep_graph = records,
                                               .create_graph = records,
                                               .kind = "jvp",
                                               .inputs = dummies});
    for (std::size_t i = 0; i < places.size(); ++i) tangents[places[i]] = found.captured[i];
    return tangents;
}

}  // namespace

std::vector<Tensor> jvp(const OpDef& op, Tensors inputs, const void* attributes, Tensors outputs, Tensors tangents,
                        bool by_rule) {
    const Pushed call{op, inputs, attributes, outputs, tangents};
    if (op.is(kComposite))
        fail(ErrorKind::NotImplemented, "jvp: not implemented for %s, which is composed; ask the operations in it",
             op.name);
    if (!op.differentiable || op.backward == nullptr || op.is(kNonDifferentiable))
        return std::vector<Tensor>(outputs.size());
    by_rule = by_rule || op.is(kWritesInput);  // its class would be of what it is called with
    if (!by_rule && op.derivative.kind == DerivativeClass::Linear && covered(call)) return linear_tangents(call);
    // Transposed over the reals: the rule of abs or conj on a tangent would not be its tangent.
    const auto complex = [](const Tensor& x) { return x && is_complex(x.dtype()); };
    by_rule = by_rule || std::ranges::any_of(inputs, complex) || std::ranges::any_of(outputs, complex);
    if (!by_rule && op.derivative.kind == DerivativeClass::Elementwise) {
        std::vector<Tensor> found(outputs.size());
        found[0] = elementwise_tangent(call);
        return found;
    }
    return transposed_tangents(call);
}

}  // namespace clew
