#include "core/ops/infer.h"

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/base/frame.h"
#include "core/ops/dispatch.h"

namespace clew {
namespace {

Inferred described(const Tensor& output, Tensors inputs) {
    if (!output) return {{}, DType::Bool, -1, 0};
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] && inputs[i]->storage == output->storage)
            return {output.layout_ref(), output.dtype(), static_cast<int>(i), output->offset};
    return {output.layout_ref(), output.dtype(), -1, output->offset};
}

}  // namespace

std::vector<Inferred> infer(const OpDef& op, Tensors inputs, const void* attributes) {
    if (op.is(kWritesInput))
        fail(ErrorKind::NotImplemented, "infer: %s writes its input, whose geometry is known", op.name);
    std::vector<Tensor> outputs;
    {
        const ModeGuard quietly(kNoGrad | kInBackward, true), unseen(kInterpreted | kTiming, false);
        const SkipKernels skip(true);
        outputs.resize(op.count_outputs ? op.count_outputs(inputs, attributes) : op.output_count);
        OpCall call{op, inputs, attributes, outputs};
        run_functional(call);
    }
    std::vector<Inferred> result;
    for (const Tensor& output : outputs) result.push_back(described(output, inputs));
    return result;
}

}  // namespace clew
