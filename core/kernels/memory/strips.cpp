#include "core/kernels/memory/strips.h"

#include "core/base/frame.h"

namespace clew::kernels {

void Strips::add(const FlatLoop& loop, const char* const* data, const std::int64_t* local) {
    Stage& stage = stages_.emplace_back(Stage{loop, {}, {}});
    for (int k = 0; k < loop.operands; ++k) stage.data[k] = const_cast<char*>(data[k]);
    std::copy_n(local, loop.operands, stage.local);
}

std::vector<StripCall::Place> Strips::places() const {
    std::vector<Place> list;
    for (int stage = 0; stage < stages(); ++stage)
        for (int k = 0; k < loop(stage).operands; ++k)
            if (!is_local(stage, k)) list.push_back({stage, k});
    return list;
}

Operands Strips::operands() {
    Operands list;
    for (const auto [stage, operand] : places()) {
        Stage& of = stages_[static_cast<std::size_t>(stage)];
        list.push_back(of.loop.operand(operand, &of.data[operand]));
    }
    return list;
}

void Strips::run() const {
    CLEW_ASSERT_FRAME();
    each(false, [&](const Strip& strip) { run_stages(strip); });
}

void Strips::run_part(std::int64_t begin, std::int64_t end, char* local) const {
    each_of_part(begin, end, local, [&](const Strip& strip) { run_stages(strip); });
}

void Strips::run_stages(const Strip& strip) const {
    for (int stage = 0; stage < stages(); ++stage) run_stage(stage, strip);
}

void Strips::run_stage(int stage, const Strip& strip) const {
    const FlatLoop& one = loop(stage);
    char* data[kMaxOperands];
    for (int k = 0; k < one.operands; ++k) data[k] = address(stage, k, strip);
    one.run(data, strip.end - strip.begin);
}

}  // namespace clew::kernels
