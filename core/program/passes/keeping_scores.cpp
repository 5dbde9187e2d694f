// Scores of attention that its backward needs again: Note [Scores kept for the backward].
#include <algorithm>

#include "core/kernels/layers/attention_call.h"
#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"

namespace clew {

// Note [Scores kept for the backward]
// Attention saves its result and a number for each query, so that memory is linear in the length of the sequence; its
// backward computes all scores again. Where they are few, a replay keeps them in between: of the products of a
// backward, one in five.
void Planner::keep_scores() {
    constexpr std::int64_t kMost = 1 << 20;  // bytes: more go to memory and back, and take it
    struct Forward {
        std::size_t step;
        Call* call;
        kernels::AttentionCall* attention;
    };
    if (!(kinds_.traits & kernels::kAttends)) return;
    std::vector<Forward> forwards;
    for (std::size_t step = 0; step < noted_.size(); ++step)
        for (Call& call : noted_[step].calls) {
            kernels::AttentionCall* const attention = call.call->attending();
            if (attention == nullptr) continue;
            if (!attention->is_backward()) {
                const std::int64_t bytes = attention->bytes_of_scores();
                if (bytes > 0 && bytes <= kMost) forwards.push_back({step, &call, attention});
                continue;
            }
            const auto fits = [&](const Forward& one) {
                const References& theirs = one.call->references;
                for (std::size_t k = 0; k < theirs.size(); ++k) {
                    const Reference& mine = call.references[k];
                    if (mine.memory != theirs[k].memory || mine.offset != theirs[k].offset) return false;
                    const bool is_read = !theirs[k].written && k != 2;  // scores don't read the values
                    if (is_read && may_change_between(one.step, step, mine.memory)) return false;
                }
                return attention->scores_as(*one.attention);
            };
            const auto forward = std::ranges::find_if(forwards, fits);
            if (forward == forwards.end()) continue;
            const auto memory = static_cast<int>(memories());
            temporaries_.push_back({nullptr, 0, attention->bytes_of_scores()});
            for (auto& [of, user] : {std::pair(forward->call, forward->attention), std::pair(&call, attention)}) {
                user->keep_scores(*of->references[0].pointer);  // until memory is laid out
                const kernels::Operands operands = user->operands();
                for (std::size_t k = of->references.size(); k < operands.size(); ++k)
                    of->references.push_back({operands[k].place, 0, memory, operands[k].written});
            }
            forwards.erase(forward);
        }
}

}  // namespace clew
