// vmap: the interpreter that runs calls on batched tensors as calls on their values.
//
// Note [How a call is batched]
// In this order, the first that fits:
//
//     by rule         (BatchBy) products, views that name sizes, layers: products.cpp, views.cpp, layers.cpp
//     elementwise     (derivative class "elementwise") values are broadcast as samples would be: axes of one element
//                     are put between the batch and the axes of values whose samples have fewer
//     leading axes    (kLeadingAxes) the operation takes any axes in front as they are
//     along axes      attributes that name axes (dim, dims, dim0 ...) count the batch; a reduction of everything is one
//                     over all axes of the sample
//     loop            for each sample the operation itself, and the results are stacked: right for all
//
// Composites and calls with out= are batched call by call. Operations whose results have sizes that depend on values
// are refused, reads of values, too, unless the samples are alike. What is drawn is said by `randomness`.
#pragma once
#include <string>

#include "core/ops/batching/batched.h"
#include "core/ops/interpreter.h"

namespace clew {

class Batching : public Interpreter {
public:
    enum Randomness : std::uint8_t { Error, Different, Same };
    Batching(std::int64_t size, Randomness randomness);

    void handle(OpCall& call) override;
    bool takes_whole(const OpCall& call) const override;

    const std::int64_t batch, size;
    const Randomness randomness;

private:
    void change_axes(const OpCall& call);
    void note_alike(const OpCall& call, bool alike) const;
};

// Begins a batch on this thread; gives its number. The last that began ends first.
std::int64_t begin_batch(std::int64_t size, Batching::Randomness randomness);
void end_batch(std::int64_t batch);
// Of this thread, from the outermost.
const std::vector<const Batching*>& active_batches();
// How often, on this thread, a write was refused that would have been one value for all samples, which are alike.
std::int64_t refused_writes();

}  // namespace clew
