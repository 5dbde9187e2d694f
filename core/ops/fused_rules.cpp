// Note [Rules that run kernels].
#include <cstring>
#include <vector>

#include "core/ops/dispatch.h"

namespace clew {

namespace opdef_detail {

const OpDef* fused_rule(const OpDef& op, void (*forward)(OpCall&)) {
    const auto* name = new std::string(std::string(op.name) + "_backward");  // as long as the program
    auto* rule = new OpDef(unregistered(name->c_str(), forward));
    rule->attribute_bytes = static_cast<std::uint32_t>(sizeof(FusedHeader)) + op.attribute_bytes;
    return rule;
}

void run_from_operands(OpCall& call, void (*fused_backward)(BackwardCall&)) {
    FusedHeader header;
    std::memcpy(&header, call.attributes, sizeof header);
    const std::size_t inputs = call.inputs.size() - 2 * header.outputs;
    std::vector<Tensor> incoming(call.inputs.begin(),
                                 call.inputs.begin() + static_cast<std::ptrdiff_t>(header.outputs));
    const RuleOperands operands{&call.op, call.inputs.subspan(header.outputs, inputs),
                                call.inputs.subspan(header.outputs + inputs),
                                static_cast<const char*>(call.attributes) + sizeof header};
    BackwardCall rule{nullptr, incoming, call.outputs, header.needed, &operands};
    fused_backward(rule);
}

}  // namespace opdef_detail

void show_fused(const OpDef& op, BackwardCall& call) {
    const OpDef& rule = *op.fused;
    const int outputs = static_cast<int>(call.incoming.size()), inputs = static_cast<int>(call.results.size());
    std::vector<Tensor> operands(call.incoming.begin(), call.incoming.end());
    for (int i = 0; i < inputs; ++i) operands.push_back(saved_input(call, i));
    for (int i = 0; i < outputs; ++i) operands.push_back(saved_output(call, i));
    std::vector<char> attributes(rule.attribute_bytes);
    const FusedHeader header{call.needed, call.incoming.size()};
    std::memcpy(attributes.data(), &header, sizeof header);
    if (op.attribute_bytes)
        std::memcpy(attributes.data() + sizeof header, &attributes_of<char>(call), op.attribute_bytes);
    OpCall shown{rule, operands, attributes.data(), call.results};
    dispatch(shown);
}

}  // namespace clew
