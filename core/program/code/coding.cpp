// Finds the runs of captured calls of a plan that code may take over: Note [Code takes over].
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/kernels/memory/flat_calls.h"
#include "core/program/code/coded_strips.h"
#include "core/program/loops/loop.h"
#include "core/program/passes/fused_product.h"
#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"
#include "core/program/results/graph_gradient.h"
#include "core/program/results/outcome.h"

namespace clew {

class Coding {
public:
    Coding(Planner& planner, Plan& plan)
        : planner_(planner), plan_(plan), uses_(planner.count_uses()), used_(uses_.size()), locals_(uses_.size()) {}

    static constexpr int kFewest = 3;  // statements on elements that are worth a function

    // Puts them into the plan's order, and gives all that code may replace: strips and what it found.
    std::vector<code::Replaceable*> find(std::vector<code::Replaceable*> all) {
        find_references();
        std::vector<Planned> order;
        plan_.located.resize(all.size());
        std::size_t safe = 0;
        for (std::size_t at = 0; at < plan_.order.size();) {
            if (at == plan_.safe) safe = order.size();
            const std::size_t most = at < plan_.safe ? plan_.safe : plan_.order.size();
            std::size_t end = at;
            while (end < most && is_small(plan_.order[end])) ++end;
            if (code::Coded* const coded = end > at ? put_together(at, end) : nullptr) {
                order.push_back({coded, 0});
                all.push_back(coded);
            } else {
                end = std::max(end, at + 1);
                order.insert(order.end(), plan_.order.begin() + static_cast<std::ptrdiff_t>(at),
                             plan_.order.begin() + static_cast<std::ptrdiff_t>(end));
            }
            for (; at < end; ++at)
                for (const Planner::References* references : references_[at])
                    for (const Planner::Reference& one : *references) ++used_[static_cast<std::size_t>(one.memory)];
        }
        if (all.empty()) return all;
        plan_.safe = plan_.safe < plan_.order.size() ? safe : order.size();
        plan_.order = std::move(order);
        return all;
    }

    static bool is_small(const Planned& one) { return one.call && !one.takes_long && !one.call->may_fail(); }

    static bool finds_enough(const Plan& plan) {
        int found = 0;
        for (const Planned& one : plan.order)
            if (is_small(one) && (found += with_text(*one.call)) >= kFewest) return true;
        return false;
    }

    static std::int64_t small_calls(const Plan& plan) {
        std::int64_t sum = 0;
        for (const Planned& one : plan.order)
            if (is_small(one)) sum += static_cast<std::int64_t>(code::calls_in(*one.call));
        return sum;
    }

    // Which follow nothing: they know where their operands lie.
    static std::vector<code::Replaceable*> strips(const Plan& plan) {
        std::vector<code::Replaceable*> found;
        for (const auto& call : plan.calls) {
            const auto* const around = dynamic_cast<HasStrips*>(call.get());
            kernels::KernelCall* const strips = around ? around->strips() : call.get();
            if (auto* const one = dynamic_cast<code::CodedStrips*>(strips)) found.push_back(one);
        }
        return found;
    }

private:
    static bool has_text(const kernels::FlatLoop& loop) {
        return loop.count <= code::kManyElements && kernels::expression_of(loop);
    }
    static int with_text(const kernels::KernelCall& call) {
        int found = 0;
        if (const auto* const several = call.flat_calls()) {
            for (std::size_t i = 0; i < several->size() && found < kFewest; ++i) found += has_text(several->loop(i));
            return found;
        }
        const auto loop = call.flat();
        return loop ? has_text(*loop) : !call.block().text.empty();
    }

    // The order has the calls as they stand.
    void find_references() {
        references_.resize(plan_.order.size());
        std::size_t at = 0;
        for (const Planner::Noted& noted : planner_.noted_)
            for (const Planner::Call& call : noted.calls) {
                if (!call.runs || call.constant) continue;
                while (plan_.order[at].call == nullptr) ++at;
                references_[at].push_back(&call.references);
                if (references_[at].size() == code::calls_in(*plan_.order[at].call)) ++at;
            }
    }

    code::Coded* put_together(std::size_t begin, std::size_t end) {
        auto job = std::make_shared<code::Job>();
        job->fused = planner_.program_.fused;
        std::vector<std::size_t> met;  // memories
        std::vector<kernels::KernelCall*> calls;
        Plan::Located located;
        std::optional<bool> wide;
        int written = 0;
        const auto add = [&](code::Statement made, const Planner::References& references) {
            // Of one type: what lies at one place at different times is then of one type, too.
            if (made.wide() && wide && made.wide() != wide) made.expression = nullptr, made.block = {};
            if (made.wide()) wide = made.wide(), ++written;
            located.starts.push_back(static_cast<int>(located.operands.size()));
            for (std::size_t k = 0; k < references.size(); ++k) {
                const auto memory = static_cast<std::size_t>(references[k].memory);
                Local& local = locals_[memory];
                if (local.uses++ == 0) {
                    local.index = static_cast<int>(met.size());
                    met.push_back(memory);
                }
                made.accesses[k].memory = local.index;
                located.operands.push_back(planner_.locate(plan_, references[k]));
            }
            job->statements.push_back(std::move(made));
        };
        for (std::size_t i = begin; i < end; ++i) {
            const kernels::KernelCall* const call = plan_.order[i].call;
            calls.push_back(const_cast<kernels::KernelCall*>(call));
            const auto* const several = call->flat_calls();
            for (std::size_t k = 0; k < references_[i].size(); ++k) {
                const Planner::References& references = *references_[i][k];
                code::Statement made = small_statement(several ? &several->loop(k) : call->flat(), references);
                if (!made.expression && !several) made.block = call->block();
                add(std::move(made), references);
            }
        }
        for (const std::size_t memory : met) {
            const bool input = planner_.is_input(static_cast<int>(memory));
            const int inside = std::exchange(locals_[memory], {}).uses;
            job->memories.push_back({input || planner_.wanted_[memory] || uses_[memory] != used_[memory] + inside,
                                     planner_.may_overlap(static_cast<int>(memory))});
        }
        if (written < kFewest) return nullptr;
        auto coded = std::make_unique<code::Coded>(std::move(calls), std::move(job));
        code::Coded* const made = coded.get();
        plan_.calls.push_back(std::move(coded));
        plan_.located.push_back(std::move(located));
        return made;
    }

    // What may overlap an input: no element of it becomes a variable.
    code::Statement small_statement(const kernels::FlatLoop* loop, const Planner::References& references) const {
        code::Statement made = Planner::statement_of(loop, references);
        if (made.expression == nullptr) return made;
        made.in_memory = loop->count > code::kFewElements || planner_.may_overlap(references[0].memory);
        if (loop->count > code::kManyElements) made.expression = nullptr;
        return made;
    }

    Planner& planner_;
    Plan& plan_;
    std::vector<int> uses_, used_;  // of each memory: in all, before what is put together
    struct Local {
        int index = -1, uses = 0;
    };
    std::vector<Local> locals_;  // of each memory: in the job that is put together
    std::vector<std::vector<const Planner::References*>> references_;  // of each call of the plan's order
};

code::Statement Planner::statement_of(const kernels::FlatLoop* loop, const References& references) {
    code::Statement made;
    for (const Reference& one : references) made.accesses.push_back({one.offset, 0, 0, one.written});
    if (!loop) return made;
    const kernels::Expression* const expression = kernels::expression_of(*loop);
    if (expression == nullptr || loop->operands != expression->inputs + 1) return made;
    const std::int64_t item = expression->wide ? 8 : 4;
    for (int k = 0; k < loop->operands; ++k) {
        const auto place = static_cast<std::size_t>(k);
        if (loop->items[k] != item || loop->strides[k] % item != 0 || references[place].offset % item != 0) return made;
        made.accesses[place].stride = loop->strides[k] / item;
    }
    std::copy_n(loop->numbers, 3, made.numbers);
    made.expression = expression;
    made.count = static_cast<int>(std::min<std::int64_t>(loop->count, std::numeric_limits<int>::max()));
    return made;
}

code::Statement Planner::dense_statement_of(const kernels::FlatLoop& loop, const References& references) {
    code::Statement made = statement_of(&loop, references);
    const auto is_loose = [](const code::Access& one) { return one.stride != 1 && (one.stride != 0 || one.written); };
    if (std::ranges::any_of(made.accesses, is_loose)) made.expression = nullptr;
    return made;
}

void Planner::code_later(std::unique_ptr<Planner> planner, Plan& plan) {
    if (!planner->program_.coded || !code::is_wanted()) return;
    std::int64_t calls = Coding::small_calls(plan);
    std::vector<code::Replaceable*> strips;
    if (planner->kinds_.strips) strips = Coding::strips(plan);
    for (const code::Replaceable* one : strips) calls += one->calls();
    if (strips.empty() && !Coding::finds_enough(plan)) return;
    for (Noted& noted : planner->noted_)
        for (Call& call : noted.calls) call.call.reset();  // that don't run
    plan.planner = std::move(planner);
    plan.codes = std::make_unique<code::Codes>(calls, [&plan, strips = std::move(strips)] {
        return Coding(*std::exchange(plan.planner, nullptr), plan).find(strips);
    });
}

std::vector<std::string> code_of(const Program& program) {
    std::vector<std::string> lines;
    for (const auto& slice : program.slices)
        if (slice->plan && slice->plan->codes) std::ranges::move(slice->plan->codes->text(), std::back_inserter(lines));
    if (program.outcome)
        for (const auto& gradient : {program.outcome->gradient, program.outcome->from_head})
            if (gradient) std::ranges::move(gradient->code(), std::back_inserter(lines));
    for (const auto& loop : program.loops) std::ranges::move(code_of(loop->body), std::back_inserter(lines));
    return lines;
}

void Plan::advance_code() {
    if (codes->is_settled()) return;
    codes->advance([&](std::size_t i) -> code::Follow {
        return [&, i](char** pointer, int statement, int access) {
            const Located& of = located[i];
            const Located::Operand& operand =
                of.operands[static_cast<std::size_t>(of.starts[static_cast<std::size_t>(statement)] + access)];
            if (operand.base == Located::kFixed) {
                *pointer = operand.fixed;
                return;
            }
            if (operand.base == Located::kArena) return point_into_arena(pointer, operand.offset);
            bases[static_cast<std::size_t>(operand.base)].point(pointer, operand.offset);
        };
    });
    if (codes->is_settled()) drop_replaced();
}

void Plan::drop_replaced() {
    located = {};
    std::vector<kernels::KernelCall*> replaced;
    for (code::Replaceable* const one : codes->found())
        std::ranges::move(one->take_replaced(), std::back_inserter(replaced));
    std::vector<char**> pointers;
    for (kernels::KernelCall* const call : replaced)
        for (const kernels::Operand& one : call->operands()) pointers.push_back(one.place);
    std::ranges::sort(replaced);
    std::ranges::sort(pointers);
    const auto drop = [&](Base& base) {
        std::erase_if(base.places, [&](const Place& one) { return std::ranges::binary_search(pointers, one.pointer); });
        base.places.shrink_to_fit();
    };
    std::ranges::for_each(bases, drop);
    drop(arena);
    std::erase_if(calls, [&](const auto& call) { return std::ranges::binary_search(replaced, call.get()); });
}

}  // namespace clew
