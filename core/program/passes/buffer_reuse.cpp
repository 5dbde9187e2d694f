// Which memory an elementwise call writes its result to: Note [Reused buffers].
#include "core/program/passes/passes.h"
#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"

namespace clew {

// Note [Reused buffers]
// The result of an elementwise call may lie where an operand lies, element for element. Of an operand that nobody needs
// afterwards the place is free while the call runs: it is in the cache already, where another one has to be read first.
std::vector<char> Planner::reused_buffers(const std::vector<int>& last) const {
    constexpr std::int64_t kWorthIt = 32 << 10;  // bytes: less is in a cache, wherever it is
    constexpr std::int64_t kWidest = 16;         // bytes of an element
    std::vector<char> found(last.size());
    if (kinds_.most_work * kWidest < kWorthIt || !is_pass_on("reuse_buffers")) return found;
    int position = 0;
    for (const Noted& noted : noted_) {
        for (const Call& call : noted.calls) {
            if (!call.runs) continue;
            const int now = position++;
            if (call.is_gathered() || call.call->work() * kWidest < kWorthIt) continue;
            const auto loop = call.call->flat();
            if (!loop || loop->count * loop->items[0] < kWorthIt) continue;
            const auto lies_as_result = [&](std::size_t k) {
                const Reference& one = call.references[k];
                return one.offset == 0 && static_cast<std::size_t>(one.memory) < program_.memories.size() &&
                       loop->strides[k] == loop->items[0] && loop->items[k] == loop->items[0];
            };
            if (!lies_as_result(0)) continue;
            for (std::size_t k = 1; k < call.references.size(); ++k) {
                const auto memory = static_cast<std::size_t>(call.references[k].memory);
                bool fits = last[memory] == now && call.references[k].memory != call.references[0].memory;
                for (std::size_t j = 1; j < call.references.size(); ++j)
                    fits = fits && (call.references[j].memory != call.references[k].memory || lies_as_result(j));
                found[memory] = fits;
            }
        }
        position += !noted.captured;
    }
    return found;
}

}  // namespace clew
