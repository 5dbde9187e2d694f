// Levels that are open, and dual tensors.
#include <algorithm>
#include <utility>

#include "core/autograd/leaf.h"
#include "core/base/error.h"
#include "core/ops/batching/batching.h"
#include "core/ops/forward/dual_level.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

std::int64_t last_level = 0;

// What is left open when its thread ends is never closed: that would run Python, and the thread has lost the GIL.
struct LevelsOfThread {
    DualLevels open;
    ~LevelsOfThread() {
        for (auto& level : open) static_cast<void>(level.release());
    }
};

DualLevels& levels() {
    thread_local LevelsOfThread mine;
    return mine.open;
}

// A tensor that may stand for samples, as its value.
struct Unwrapped {
    struct Batch {
        std::int64_t number;
        bool alike;  // Note [Samples that are alike]
    };
    Tensor value;
    std::vector<Batch> batches;  // from the outermost, one for each leading axis

    explicit Unwrapped(const Tensor& tensor) : value(tensor) {
        while (is_batched(value)) {
            batches.insert(batches.begin(), {batched(value).batch, batched(value).alike});
            value = batched(value).value;
        }
    }
    // Another value in the same batches: the same for all samples where this one is, or none.
    Tensor wrapped(Tensor other, bool as_alike) const {
        for (const auto& [number, alike] : batches) other = make_batched(other, number, alike && as_alike);
        return other;
    }
    // An axis for each batch that only the other one has.
    void align(const Unwrapped& other) {
        for (std::size_t i = 0; i < other.batches.size(); ++i) {
            const std::int64_t number = other.batches[i].number;
            const auto place = std::ranges::lower_bound(batches, number, {}, &Batch::number);
            if (place != batches.end() && place->number == number) continue;
            const auto axis = static_cast<int>(place - batches.begin());
            batches.insert(place, {number, true});
            Dims sizes(value.sizes());
            sizes.insert(axis, other.value.size(static_cast<int>(i)));
            value = expand_view(unsqueeze(value, axis), sizes);
        }
    }
};

void check_dual(DualLevel& level, const Tensor& primal, const Tensor& tangent) {
    if (tangent_of(level, primal))
        fail(ErrorKind::Runtime,
             "make_dual: Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
             "%lld is not supported.",
             static_cast<long long>(level.number()));
    if (tangent_of(level, tangent))
        fail(ErrorKind::Runtime,
             "make_dual: Setting a forward grad that itself has a forward gradient at the same level %lld is not "
             "supported.",
             static_cast<long long>(level.number()));
    if (!same_sizes(primal.sizes(), tangent.sizes()))
        fail(ErrorKind::Runtime,
             "make_dual: Trying to set a forward gradient that has a different size than that of the original Tensor, "
             "this is not supported. Tensor is of size %s while the given forward gradient is of size %s.",
             shape_text(primal.sizes()).c_str(), shape_text(tangent.sizes()).c_str());
    if (primal.dtype() != tangent.dtype())
        fail(ErrorKind::Runtime, "make_dual: expected a tangent of the primal's dtype %s, got %s; cast it first",
             dtype_name(primal.dtype()), dtype_name(tangent.dtype()));
}

}  // namespace

std::int64_t open_level() {
    auto made = std::make_unique<DualLevel>(++last_level);
    const auto& batches = active_batches();
    if (batches.empty())
        made->push();
    else
        made->push_beneath(const_cast<Batching&>(*batches.front()));
    mode_word |= kForwardMode;
    levels().push_back(std::move(made));
    return last_level;
}

void close_level(std::int64_t number) {
    if (levels().empty() || levels().back()->number() != number)
        fail(ErrorKind::Runtime,
             "exit_dual_level: Trying to exit a forward AD level that was not the last one that was created. This is "
             "not supported.");
    levels().back()->pop();
    const std::unique_ptr<DualLevel> last = std::move(levels().back());  // its end may run Python
    levels().pop_back();
    if (levels().empty()) mode_word &= ~std::uint32_t{kForwardMode};
}

const DualLevels& open_levels() { return levels(); }

DualLevel& level_of(std::int64_t number) {
    for (const auto& level : levels())
        if (level->number() == number) return *level;
    fail(ErrorKind::Runtime, "forward_ad: expected a dual level that is open on this thread");
}

Tensor make_dual(DualLevel& level, const Tensor& primal, const Tensor& tangent) {
    check_dual(level, primal, tangent);
    Unwrapped value(primal), along(tangent);
    value.align(along);
    along.align(value);
    const Tensor dual = view_alias(value.value);
    level.give_tangent(dual, along.value);
    return value.wrapped(dual, true);
}

Tensor primal_of(DualLevel& level, const Tensor& dual) {
    const Unwrapped value(dual);
    struct Suspended {
        DualLevel& level;
        bool before = std::exchange(level.suspended, true);
        ~Suspended() { level.suspended = before; }
    } suspended{level};
    return value.wrapped(view_alias(value.value), true);
}

Tensor tangent_of(DualLevel& level, const Tensor& dual) {
    const Unwrapped value(dual);
    Tensor tangent = level.tangent_of(value.value);
    if (!tangent && level.knows(value.value)) tangent = zeros_like(value.value);
    return tangent ? value.wrapped(std::move(tangent), false) : tangent;
}

void give_tangent(DualLevel& level, const Tensor& output, const Tensor& tangent, Tensors inputs) {
    Unwrapped value(output), along(tangent);
    std::vector<Tensor> values;
    for (const Tensor& input : inputs) values.push_back(Unwrapped(input).value);
    level.give_output(value.value, along.value, values);
}

void write_tangent(DualLevel& level, const Tensor& output, const Tensor& tangent) {
    level.write_tangent(Unwrapped(output).value, tangent ? Unwrapped(tangent).value : tangent);
}

bool asks_for_derivative(const Tensor& tensor) {
    if (grad_enabled() && tensor.requires_grad()) return true;
    return std::ranges::any_of(levels(), [&](const auto& level) { return bool(tangent_of(*level, tensor)); });
}

void carry_tangents(const Tensor& from, const Tensor& to) {
    const Tensor source = Unwrapped(from).value, target = Unwrapped(to).value;
    for (const auto& level : levels())
        if (Tensor tangent = level->tangent_of(source)) level->give_tangent(target, std::move(tangent));
}

}  // namespace clew
