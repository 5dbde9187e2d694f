// Puts matrix products together with what is done to their results: Note [Products with their surroundings].
#include <algorithm>
#include <memory>
#include <utility>

#include "core/program/passes/fused_product.h"
#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"

namespace clew {

class EpilogueFusion {
public:
    explicit EpilogueFusion(Planner& planner) : planner_(planner), uses_(planner.count_uses()) {}

    void go() {
        Call* before = nullptr;  // that ran last, with nothing between
        for (std::size_t step = 0; step < planner_.noted_.size(); ++step) {
            if (planner_.runs_as_it_is(step)) before = nullptr;
            for (Call& call : planner_.noted_[step].calls) {
                if (!call.runs || call.constant) continue;
                if (before && is_row_of(*before, call)) add_row(*before, call);
                if (before && fits(*before, call)) put_together(*before, call);
                before = &call;
            }
        }
    }

private:
    using Call = Planner::Call;
    using Reference = Planner::Reference;
    using Place = kernels::StripCall::Place;

    bool fits(const Call& product, const Call& after) const {
        const auto shape = product.call->product();
        const auto* const call = dynamic_cast<const kernels::StripCall*>(after.call.get());
        if (!shape || !call) return false;
        const kernels::Strips& strips = call->strips();
        const Reference& result = product.references[0];
        if (strips.count() != shape->rows * shape->columns || !is_worth_fusing(shape) ||
            planner_.is_input(result.memory))
            return false;
        const std::vector<Place> places = strips.places();
        for (std::size_t k = 0; k < places.size(); ++k) {
            const Reference& one = after.references[k];
            if (one.memory == result.memory ? !(one.offset == result.offset && is_dense(strips, places[k], shape->item))
                                            : one.written && touches(product, one.memory))
                return false;
        }
        return true;
    }
    static bool is_dense(const kernels::Strips& strips, Place place, std::int64_t item) {
        const kernels::FlatLoop& loop = strips.loop(place.stage);
        return loop.strides[place.operand] == item && loop.items[place.operand] == item;
    }
    // Two inputs may overlap in a later replay.
    bool touches(const Call& call, int memory) const {
        return std::ranges::any_of(call.references, [&](const Reference& one) {
            return one.memory == memory || (planner_.is_input(one.memory) && planner_.is_input(memory));
        });
    }

    void put_together(Call& product, Call& after) {
        write_in_place(product, after);
        Planner::References references = std::move(product.references);
        for (const Reference& one : after.references) references.push_back(one);
        std::unique_ptr<kernels::StripCall> strips(dynamic_cast<kernels::StripCall*>(after.call.release()));
        after.call = std::make_unique<FusedProduct>(std::move(product.call), std::move(strips));
        after.references = std::move(references);
        product.runs = false;
    }

    bool is_row_of(const Call& row, const Call& product) const {
        const auto shape = product.call->product();
        if (!shape || row.call->repeated_row() != shape->columns) return false;
        const Reference &result = product.references[0], &filled = row.references[0];
        return filled.memory == result.memory && filled.offset == result.offset && !planner_.is_input(result.memory) &&
               row.references[1].memory != result.memory && row.call->work() == shape->rows * shape->columns;
    }
    void add_row(Call& row, Call& product) {
        const Reference from = row.references[1];
        std::unique_ptr<kernels::KernelCall> with_row = product.call->with_row(*from.pointer);
        if (!with_row) return;
        product.call = std::move(with_row);
        product.references.push_back(from);
        const kernels::Operands operands = product.call->operands();
        for (std::size_t k = 0; k < operands.size(); ++k) product.references[k].pointer = operands[k].place;
        row.runs = false;
        --uses_[static_cast<std::size_t>(row.references[0].memory)];
    }

    // Whether the stage that writes reference k reads what was there.
    static bool reads(const Call& after, const std::vector<Place>& places, std::size_t k) {
        for (std::size_t i = 0; i < places.size(); ++i)
            if (places[i].stage == places[k].stage && !after.references[i].written &&
                after.references[i].memory == after.references[k].memory)
                return true;
        return false;
    }

    // Where nobody else needs the result as it is, the product writes it where the strips will put theirs.
    void write_in_place(Call& product, Call& after) const {
        const int memory = product.references[0].memory;
        const kernels::Strips& strips = static_cast<const kernels::StripCall&>(*after.call).strips();
        const std::vector<Place> places = strips.places();
        int uses = 0, last = 0;
        for (Call* const call : {&product, &after})
            uses += static_cast<int>(std::ranges::count(call->references, memory, &Reference::memory));
        if (uses != uses_[static_cast<std::size_t>(memory)] || !planner_.is_planned(memory) ||
            planner_.wanted_[static_cast<std::size_t>(memory)])
            return;
        for (std::size_t k = 0; k < places.size(); ++k)
            if (after.references[k].memory == memory) {
                if (after.references[k].written) return;
                last = places[k].stage;
            }
        for (std::size_t k = 0; k < places.size(); ++k) {
            const Reference to = after.references[k];
            const bool first = std::ranges::find(after.references, to.memory, &Reference::memory) ==
                               after.references.begin() + static_cast<std::ptrdiff_t>(k);
            if (!to.written || !first || places[k].stage < last || planner_.is_input(to.memory) ||
                touches(product, to.memory) || reads(after, places, k) ||
                !is_dense(strips, places[k], product.call->product()->item))
                continue;
            for (Call* const call : {&product, &after})
                for (Reference& one : call->references)
                    if (one.memory == memory) {
                        one.memory = to.memory;
                        one.offset = to.offset;
                        *one.pointer = *to.pointer;
                    }
            return;
        }
    }

    Planner& planner_;
    std::vector<int> uses_;
};

void Planner::fuse_epilogues() {
    if (kinds_.traits & kernels::kMultiplies) EpilogueFusion(*this).go();
}

}  // namespace clew
