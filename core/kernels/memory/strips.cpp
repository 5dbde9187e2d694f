#include "core/kernels/memory/strips.h"

#include <algorithm>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/memory/scratch.h"

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
    constexpr std::int64_t kPiece = 4 * kStrip;  // several loops run over it: as much work as one has over kChunk
    parallel_for(count_, kPiece, [&](std::int64_t begin, std::int64_t end) {
        const Scratch local(static_cast<std::size_t>(local_bytes_));
        for (; begin < end; begin += kStrip) run_part(begin, std::min(begin + kStrip, end), local.as<char>());
    });
}

void Strips::run_part(std::int64_t begin, std::int64_t end, char* local) const {
    for (const Stage& stage : stages_) {
        char* data[kMaxOperands];
        for (int k = 0; k < stage.loop.operands; ++k)
            data[k] = stage.local[k] < 0 ? stage.data[k] + begin * stage.loop.strides[k] : local + stage.local[k];
        stage.loop.run(data, end - begin);
    }
}

}  // namespace clew::kernels
