// Matrices that several products of a replay transpose: Note [Matrices transposed once].
#include <algorithm>
#include <utility>

#include "core/kernels/matrix/transposed_product.h"
#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"

namespace clew {
namespace {

// Where a matrix of a product lies.
struct Matrix {
    int memory;
    std::int64_t offset, rows, columns, row_stride;
    DType dtype;
    bool operator==(const Matrix&) const = default;
};

}  // namespace

// Only inputs, and only where no input is written: two may overlap.
void Planner::share_transposes() {
    struct Use {
        std::size_t step;
        Call* call;
        Matrix matrix;
    };
    if (!(kinds_.traits & kernels::kTransposes) || writes_inputs()) return;
    std::vector<Use> uses;
    for (std::size_t step = 0; step < noted_.size(); ++step)
        for (Call& call : noted_[step].calls) {
            if (call.references.size() < 2 || !is_input(call.references[1].memory)) continue;
            const Reference& at = call.references[1];
            const kernels::TransposingProduct* const product = call.call->transposing();
            if (const kernels::View* const a = product ? product->transposed() : nullptr)
                uses.push_back(
                    {step, &call, {at.memory, at.offset, a->sizes[0], a->sizes[1], a->strides[0], a->dtype}});
        }
    std::vector<std::pair<std::size_t, Call>> transpositions;
    while (!uses.empty()) {
        const Use first = uses.front();
        const auto others =
            std::ranges::stable_partition(uses, [&](const Use& one) { return one.matrix == first.matrix; });
        if (others.begin() - uses.begin() > 1) {
            const auto memory = static_cast<int>(memories());
            const std::int64_t bytes =
                first.matrix.rows * first.matrix.columns * static_cast<std::int64_t>(item_size(first.matrix.dtype));
            temporaries_.push_back({nullptr, 0, bytes});
            char* const anywhere = *first.call->references[1].pointer;  // until memory is laid out
            Call transposition{first.call->call->transposing()->transpose(anywhere), {}};
            const auto operands = transposition.call->operands();
            transposition.references = {{operands[0].place, 0, memory, true},
                                        {operands[1].place, first.matrix.offset, first.matrix.memory, false}};
            transpositions.emplace_back(first.step, std::move(transposition));
            for (auto use = uses.begin(); use != others.begin(); ++use) {
                Call& call = *use->call;
                call.call = call.call->transposing()->with_transposed(anywhere);
                const auto now = call.call->operands();
                for (std::size_t k = 0; k < now.size(); ++k) call.references[k].pointer = now[k].place;
                call.references[1].memory = memory;
                call.references[1].offset = 0;
            }
        }
        uses.erase(uses.begin(), others.begin());
    }
    for (auto& [step, transposition] : transpositions) noted_[step].calls.insert(slabs_, 0, std::move(transposition));
}

}  // namespace clew
