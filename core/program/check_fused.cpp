#include <algorithm>
#include <cstring>
#include <span>

#include "core/ops/recording.h"
#include "core/program/check.h"
#include "core/program/names.h"

namespace clew {
namespace {

bool same_shape_and_dtype(const KeptRegister& a, const KeptRegister& b) {
    return a.dtype == b.dtype && same_sizes(a.layout->shape(), b.layout->shape());
}

// The operand of a rule, beside what it was in the call.
bool is_saved(const Program& program, int operand, int of_call, bool needed) {
    if (operand < 0) return !needed || of_call < 0;
    if (of_call < 0) return false;
    const KeptRegister &a = program.of(operand), &b = program.of(of_call);
    return same_shape_and_dtype(a, b) && same_sizes(a.layout->strides(), b.layout->strides());
}

bool reads_of(const Program& program, const Step& rule, const Step& made, std::uint64_t needed) {
    const std::size_t inputs = made.inputs.size(), outputs = made.outputs.size();
    if (needed >> inputs != 0 || rule.inputs[0] < 0) return false;
    const Saves saved = what_to_save(*made.op, shapes_of(program, made.inputs), needed, made.attributes.data());
    for (std::size_t i = 0; i < inputs; ++i) {
        if (needed >> i & 1 && made.inputs[i] < 0) return false;
        if (!is_saved(program, rule.inputs[outputs + i], made.inputs[i], saved.inputs >> i & 1)) return false;
    }
    for (std::size_t i = 0; i < outputs; ++i) {
        const int gradient = rule.inputs[i];
        if (!is_saved(program, rule.inputs[outputs + inputs + i], made.outputs[i], saved.outputs >> i & 1))
            return false;
        if (gradient >= 0 &&
            (made.outputs[i] < 0 || !same_shape_and_dtype(program.of(gradient), program.of(made.outputs[i]))))
            return false;
    }
    return true;
}

}  // namespace

// The call has checked all of what it read; the rule reads the same.
bool is_fused_rule(const Program& program, int step) {
    const Step& rule = program.steps[static_cast<std::size_t>(step)];
    const OpDef& op = *rule_of(*rule.op);
    FusedHeader header;
    std::memcpy(&header, rule.attributes.data(), sizeof header);
    const std::size_t inputs = rule.outputs.size(), outputs = header.outputs;
    if (rule.form != Form::Functional || outputs >= 64 || inputs >= 64 || rule.inputs.size() != inputs + 2 * outputs)
        return false;
    for (int i = 0; i < step; ++i) {
        const Step& made = program.steps[static_cast<std::size_t>(i)];
        if (made.op == &op && made.kind == StepKind::Run && made.form == Form::Functional &&
            made.inputs.size() == inputs && made.outputs.size() == outputs &&
            std::ranges::equal(made.attributes, std::span(rule.attributes).subspan(sizeof header)) &&
            reads_of(program, rule, made, header.needed))
            return true;
    }
    return false;
}

std::vector<Tensor> shapes_of(const Program& program, const std::vector<int>& registers) {
    std::vector<Tensor> shapes;
    for (const int reg : registers)
        shapes.push_back(reg < 0 ? Tensor() : empty(program.of(reg).layout, program.of(reg).dtype));
    return shapes;
}

}  // namespace clew
