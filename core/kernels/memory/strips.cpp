#include "core/kernels/memory/strips.h"

#include "core/base/frame.h"

namespace clew::kernels {

void Strips::add(const FlatLoop& loop, const char* const* data, const std::int64_t* local) {
    Stage& stage = stages_.emplace_back(Stage{loop, {}, {}});
    for (int k = 0; k < loop.operands; ++k) stage.data[k] = const_cast<char*>(data[k]);
    std::copy_n(local, loop.operands, stage.local);
}

std::vector<Operand> Strips::operands() {
    std::vector<Operand> list;
    for (Stage& stage : stages_)
        for (int k = 0; k < stage.loop.operands; ++k)
            if (stage.local[k] < 0) list.push_back(stage.loop.operand(k, &stage.data[k]));
    return list;
}

void Strips::run() const {
    CLEW_ASSERT_FRAME();
    each(false, [&](const Strip& strip) {
        for (int stage = 0; stage < stages(); ++stage) run_stage(stage, strip);
    });
}

void Strips::run_stage(int stage, const Strip& strip) const {
    const FlatLoop& one = loop(stage);
    char* data[kMaxOperands];
    for (int k = 0; k < one.operands; ++k) data[k] = address(stage, k, strip);
    one.run(data, strip.end - strip.begin);
}

}  // namespace clew::kernels
