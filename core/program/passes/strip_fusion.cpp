// Puts elementwise calls over the same elements into one.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/program/code/coded_strips.h"
#include "core/program/code/pieces.h"
#include "core/program/passes/arena.h"
#include "core/program/passes/fused_product.h"
#include "core/program/passes/plan.h"
#include "core/program/passes/reduced_strips.h"
#include "core/program/replay/slice.h"

namespace clew {

// Note [Strip fusion]
// A group runs where the first of its calls was. A later call joins it if it needs nothing of the calls between, and
// these nothing of it, and if it touches memory of the group at the same place, element for element, or beside it. What
// is between are captured calls that can't fail. Two inputs may overlap somehow in a later replay, so that an input
// that is written counts as any input.
class StripFusion {
public:
    explicit StripFusion(Planner& planner)
        : planner_(planner), uses_(planner.count_uses()), between_(planner.memories()) {}

    void go() {
        const Call* last = nullptr;
        for (std::size_t step = 0; step < planner_.noted_.size(); ++step)
            for (std::size_t k = 0; k < planner_.noted_[step].calls.size(); ++k) {
                const Call& call = planner_.noted_[step].calls[k];
                const Call* const before = std::exchange(last, call.runs && !call.constant ? &call : last);
                if (!opens(call)) continue;
                collect(step, k);
                const bool short_ones = members_[0].loop.count <= 2 * kernels::kStrip;
                const bool alone = !(before && is_worth_fusing(before->call->product())) && reductions_.empty();
                if (members_.size() >= (short_ones ? 4 : alone ? 2 : 1)) put_together();
            }
    }

private:
    using Call = Planner::Call;
    using Reference = Planner::Reference;
    static constexpr std::int64_t kWorthIt = 32 << 10;  // bytes of an operand: less stays in a cache from call to call
    static constexpr std::size_t kMost = kernels::kMostStages, kMostBetween = 64;

    struct Member {
        Call* call;
        kernels::FlatLoop loop;
    };
    struct Seen {
        bool read = false, written = false;
    };

    bool is_coded() const { return planner_.program_.coded && code::is_wanted(); }
    bool opens(const Call& call) const {
        if (!call.runs || call.constant || call.call->work() < Planner::kWorthCode) return false;
        const auto loop = call.call->flat();
        if (!loop || loop->strides[0] == 0) return false;
        if (is_coded()) return loop->count >= Planner::kWorthCode;
        return loop->count * loop->items[0] >= kWorthIt && loop->count > 2 * kernels::kStrip;
    }

    void collect(std::size_t step, std::size_t k) {
        members_.clear();
        reductions_.clear();
        std::ranges::fill(between_, Seen{});
        written_between_ = any_between_ = false;
        std::size_t passed = 0;
        for (; step < planner_.noted_.size(); ++step, k = 0) {
            if (planner_.runs_as_it_is(step)) return;
            for (; k < planner_.noted_[step].calls.size(); ++k) {
                Call& call = planner_.noted_[step].calls[k];
                if (!call.runs || call.constant) continue;
                if (const auto loop = call.call->flat(); loop && joins(call, *loop)) {
                    members_.push_back({&call, *loop});
                    if (members_.size() == kMost) return;
                } else {
                    if (is_reduction_of_members(call)) reductions_.push_back(&call);
                    for (const Reference& one : call.references) pass(one);
                    if (++passed == kMostBetween || call.call->may_fail()) return;
                }
            }
        }
    }

    // That it is passed keeps later members from writing what it reads: Note [Reductions of strips].
    bool is_reduction_of_members(const Call& call) const {
        const auto* const reduction = dynamic_cast<const kernels::ReductionCall*>(call.call.get());
        const auto how = reduction ? reduction->flat_reduction() : std::nullopt;
        if (!how || how->count != members_[0].loop.count || how->count <= 2 * kernels::kStrip) return false;
        const Reference &out = call.references[0], &in = call.references[1];
        if (planner_.is_input(out.memory) || (planner_.is_input(in.memory) && written_between_)) return false;
        const Seen& seen = between_[static_cast<std::size_t>(out.memory)];
        return !seen.read && !seen.written && !between_[static_cast<std::size_t>(in.memory)].written &&
               stage_of(in, how->item) >= 0 && std::ranges::none_of(members_, [&](const Member& member) {
                   return std::ranges::count(member.call->references, out.memory, &Reference::memory) > 0;
               });
    }
    // The member that wrote it last, as its result; -1: there is none.
    int stage_of(const Reference& in, std::int64_t item) const {
        for (int i = static_cast<int>(members_.size()) - 1; i >= 0; --i) {
            const auto& [call, loop] = members_[static_cast<std::size_t>(i)];
            const Reference& out = call->references[0];
            const bool dense = loop.strides[0] == item && loop.items[0] == item;
            if (dense && out.memory == in.memory && out.offset == in.offset) return i;
        }
        return -1;
    }
    int reductions_of(int memory) const {
        return static_cast<int>(
            std::ranges::count_if(reductions_, [&](const Call* one) { return one->references[1].memory == memory; }));
    }

    void pass(const Reference& one) {
        Seen& seen = between_[static_cast<std::size_t>(one.memory)];
        (one.written ? seen.written : seen.read) = true;
        if (planner_.is_input(one.memory)) (one.written ? written_between_ : any_between_) = true;
    }

    bool joins(const Call& call, const kernels::FlatLoop& loop) const {
        if (!members_.empty() && loop.count != members_[0].loop.count) return false;
        for (std::size_t k = 0; k < call.references.size(); ++k) {
            const Reference& one = call.references[k];
            const Seen& seen = between_[static_cast<std::size_t>(one.memory)];
            if (seen.written || (seen.read && one.written)) return false;
            if (planner_.is_input(one.memory) && (written_between_ || (one.written && any_between_))) return false;
            if (std::ranges::any_of(members_, [&](const Member& member) { return disturbs(one, loop, k, member); }))
                return false;
        }
        return true;
    }
    bool disturbs(const Reference& one, const kernels::FlatLoop& loop, std::size_t k, const Member& member) const {
        for (std::size_t j = 0; j < member.call->references.size(); ++j) {
            const Reference& other = member.call->references[j];
            if (!one.written && !other.written) continue;
            if (one.memory != other.memory) {
                if (planner_.is_input(one.memory) && planner_.is_input(other.memory)) return true;
            } else if (!element_for_element(one, loop, k, other, member.loop, j) &&
                       !apart(one, loop, k, other, member.loop, j)) {
                return true;
            }
        }
        return false;
    }
    static bool element_for_element(const Reference& a, const kernels::FlatLoop& in, std::size_t i, const Reference& b,
                                    const kernels::FlatLoop& other, std::size_t j) {
        return a.offset == b.offset && in.strides[i] == other.strides[j] && in.items[i] == other.items[j] &&
               in.strides[i] != 0;
    }
    static bool apart(const Reference& a, const kernels::FlatLoop& in, std::size_t i, const Reference& b,
                      const kernels::FlatLoop& other, std::size_t j) {
        const kernels::Operand one = in.operand(static_cast<int>(i), nullptr);
        const kernels::Operand two = other.operand(static_cast<int>(j), nullptr);
        return a.offset + one.after <= b.offset - two.before || b.offset + two.after <= a.offset - one.before;
    }

    // Of which no other call needs anything, and which all of the group see alike: a strip of it is enough.
    bool is_local(int memory) const {
        if (!planner_.is_planned(memory) || planner_.wanted_[static_cast<std::size_t>(memory)]) return false;
        int found = 0;
        std::size_t first_reference = 0;
        const Member* first = nullptr;
        for (const Member& member : members_)
            for (std::size_t k = 0; k < member.call->references.size(); ++k) {
                const Reference& one = member.call->references[k];
                if (one.memory != memory) continue;
                if (member.loop.strides[k] != member.loop.items[k]) return false;
                if (!found++) {
                    if (!one.written) return false;
                    first = &member;
                    first_reference = k;
                } else if (!element_for_element(one, member.loop, k, first->call->references[first_reference],
                                                first->loop, first_reference)) {
                    return false;
                }
            }
        return found + reductions_of(memory) == uses_[static_cast<std::size_t>(memory)];
    }

    // Statements for code, and the members in the order in which they are to run.
    std::shared_ptr<code::Job> put_in_order() {
        auto job = std::make_shared<code::Job>();
        job->write = code::write_pieces;
        job->fused = planner_.program_.fused;
        std::vector<code::Statement> statements;
        std::vector<int> memories;
        const kernels::Expression* first = nullptr;
        for (const Member& member : members_) {
            code::Statement made = Planner::dense_statement_of(member.loop, member.call->references);
            if (made.expression && first && made.expression->wide != first->wide) made.expression = nullptr;
            if (made.expression) first = made.expression;
            for (std::size_t k = 0; k < made.accesses.size(); ++k) {
                const int memory = member.call->references[k].memory;
                const auto known = std::ranges::find(memories, memory);
                made.accesses[k].memory = static_cast<int>(known - memories.begin());
                if (known != memories.end()) continue;
                memories.push_back(memory);
                job->memories.push_back({!is_local(memory) || reductions_of(memory) > 0, planner_.is_input(memory)});
            }
            statements.push_back(std::move(made));
        }
        std::vector<Member> members;
        for (const int index : code::in_few_pieces(statements)) {
            members.push_back(members_[static_cast<std::size_t>(index)]);
            job->statements.push_back(std::move(statements[static_cast<std::size_t>(index)]));
        }
        members_ = std::move(members);
        return job;
    }

    void put_together() {
        Call& place = *members_[0].call;
        std::shared_ptr<code::Job> job = put_in_order();
        auto strips = std::make_unique<kernels::Strips>(members_[0].loop.count);
        const std::vector<std::int64_t> places = place_locals(*strips);
        Planner::References references;
        std::size_t next = 0;
        for (const Member& member : members_) {
            const char* data[kernels::kMaxOperands];
            std::int64_t local[kernels::kMaxOperands];
            for (std::size_t k = 0; k < member.call->references.size(); ++k) {
                const Reference& one = member.call->references[k];
                data[k] = *one.pointer;
                local[k] = places[next++];
                if (local[k] < 0) references.push_back(one);
            }
            strips->add(member.loop, data, local);
            member.call->runs = false;
        }
        const kernels::Operands operands = strips->operands();
        for (std::size_t i = 0; i < references.size(); ++i) references[i].pointer = operands[i].place;
        std::unique_ptr<kernels::StripCall> call;
        if (is_coded() && code::is_worth_it(job->statements))
            call = std::make_unique<code::CodedStrips>(std::move(strips), std::move(job));
        else
            call = std::move(strips);
        place.call = reductions_.empty() ? std::move(call) : with_reductions(std::move(call), references);
        place.references = std::move(references);
        place.runs = true;
        planner_.kinds_.strips = true;
    }

    std::unique_ptr<kernels::KernelCall> with_reductions(std::unique_ptr<kernels::StripCall> strips,
                                                         Planner::References& references) {
        auto made = std::make_unique<ReducedStrips>(std::move(strips));
        for (Call* const one : reductions_) {
            const auto how = dynamic_cast<kernels::ReductionCall&>(*one->call).flat_reduction();
            references.push_back(one->references[0]);
            made->add(std::move(one->call), {stage_of(one->references[1], how->item), 0});
            one->runs = false;
        }
        return made;
    }

    // Of each reference, member by member: its place in a thread's memory, or -1.
    std::vector<std::int64_t> place_locals(kernels::Strips& strips) const {
        struct Local {
            int memory;
            std::int64_t bytes, place;
            std::size_t first, last;
        };
        std::vector<Local> locals;
        const auto find = [&](int memory) { return std::ranges::find(locals, memory, &Local::memory); };
        for (std::size_t i = 0; i < members_.size(); ++i)
            for (std::size_t k = 0; k < members_[i].call->references.size(); ++k) {
                const int memory = members_[i].call->references[k].memory;
                if (const auto known = find(memory); known != locals.end())
                    known->last = i;
                else if (is_local(memory))
                    locals.push_back({memory, members_[i].loop.items[k] * kernels::kStrip, 0, i, i});
            }
        Arena arena;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            for (Local& local : locals)
                if (local.first == i) local.place = arena.take(local.bytes);
            for (const Local& local : locals)
                if (local.last == i && !reductions_of(local.memory)) arena.give(local.place, local.bytes);
        }
        strips.set_local_bytes(arena.bytes());
        std::vector<std::int64_t> places;
        for (const Member& member : members_)
            for (const Reference& one : member.call->references) {
                const auto found = find(one.memory);
                places.push_back(found == locals.end() ? -1 : found->place);
            }
        return places;
    }

    Planner& planner_;
    std::vector<int> uses_;
    std::vector<Seen> between_;                           // what the calls between do with each memory
    bool written_between_ = false, any_between_ = false;  // inputs
    std::vector<Member> members_;
    std::vector<Call*> reductions_;  // of what they make
};

void Planner::fuse_strips() {
    if (kinds_.most_work >= kWorthCode) StripFusion(*this).go();
}

}  // namespace clew
