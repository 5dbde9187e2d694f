// Operations that draw random numbers, as the `randomness` of vmap says.
#include "core/base/error.h"
#include "core/ops/batching/rules.h"
#include "core/ops/creation/random.h"
#include "core/ops/functions.h"

namespace clew::batching {
namespace {

// Numbers of its own for each sample: one call, if the operation takes a batch of what it takes, else a loop.
void draw_different(const Call& call) {
    if (call.call.form == Form::InPlace && !call.batched(0))
        fail(ErrorKind::Runtime,
             "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
             "randomness. If this is necessary for your usage, draw out of place");
    AttributeCopy attributes(call.op(), call.call.attributes);
    if (call.count() == 0 && attributes.has("size")) {
        Dims size = attributes.get("size").dims;
        size.insert(0, call.by.size);
        attributes.set("size", size);
        return call.run({}, attributes.data());
    }
    Call all = call;
    if (call.count() && call.call.form != Form::InPlace)
        for (std::size_t i = 0; i < call.count(); ++i)
            all.values[i] = call.expanded(i), all.is_batched[i] = call.has(i);
    if (elementwise(all)) return;
    by_loop(all);
}

// The same for each: the generator goes back to where it was before each sample.
void draw_same(const Call& call) {
    if (!call.any()) return dispatch(call.call);
    by_loop(call, true);
}

}  // namespace

void draw(const Call& call) {
    switch (call.by.randomness) {
        case Batching::Error:
            fail(ErrorKind::Runtime,
                 "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                 "'different' randomness flags on vmap or perform the randomness operation out of vmap");
        case Batching::Different:
            return draw_different(call);
        case Batching::Same:
            return draw_same(call);
    }
}

}  // namespace clew::batching
