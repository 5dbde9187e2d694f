#include "core/program/code/coded.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/kernels/memory/flat_calls.h"

namespace clew::code {
namespace {

constexpr std::int64_t kWorthIt = 60'000;  // calls in all that a plan has made: some milliseconds
constexpr std::int64_t kLeastRuns = 8;

std::string wish() {
    const char* const value = std::getenv("CLEW_CODE");
    return value ? value : "";
}

void call_one(void* call) { static_cast<const kernels::KernelCall*>(call)->run(); }

}  // namespace

std::size_t calls_in(const kernels::KernelCall& call) {
    const kernels::FlatCalls* const several = call.flat_calls();
    return several ? several->size() : 1;
}

bool is_wanted() { return wish() != "0"; }
bool is_told_to_wait() { return wish() == "now"; }

Replaceable::Replaceable(std::shared_ptr<Job> job) : job_(std::move(job)) {
    for (const Statement& one : job_->statements) wide_ |= one.wide().value_or(false);
}

void Replaceable::install(const Follow& follow) {
    if (!job_->library) return;
    take(job_->text, follow);
    repeats_ = job_->text.repeats;
    job_->text = {};
    state_ = State::First;
}

std::string Replaceable::text(bool is_asked_for) const {
    const std::string which = "code for " + name() + ": ";
    if (state_ == State::Differed) return which + "not used: its results differ from those of the calls";
    if (is_done() && !job_->library) return which + "none (" + job_->problem + ")";
    if (!is_asked_for) return which + "compiled once replays have run for some milliseconds";
    if (state_ == State::Calls) return which + "still being compiled";
    const auto loops = std::ranges::count_if(repeats_, [](long n) { return n > 1; });
    return which + format("%d pieces, %d of them loops, ready after %.2f s", static_cast<int>(repeats_.size()),
                          static_cast<int>(loops), job_->seconds);
}

Coded::Coded(std::vector<kernels::KernelCall*> calls, std::shared_ptr<Job> job)
    : Replaceable(std::move(job)), calls_(std::move(calls)) {
    for (const kernels::KernelCall* call : calls_) count_ += static_cast<std::int64_t>(calls_in(*call));
    for (const Statement& one : job_->statements)
        for (const Access& access : one.accesses)
            if (access.written) outside_.push_back(job_->memories[static_cast<std::size_t>(access.memory)].outside);
}

std::size_t Coded::bytes() const {
    const auto table = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
    std::size_t sum = sizeof(*this) + table(calls_) + table(outside_) + table(table_) + table(repeats_) + table(parts_);
    for (const auto& part : parts_) sum += part->bytes();
    return sum;
}

void Coded::run() const {
    if (state_ == State::Code) [[likely]]
        return run_all();
    state_ == State::First ? compare() : run_calls();
}

void Coded::run_all() const { run_code(reinterpret_cast<void* const*>(table_.data()), repeats_.data(), call_one); }

void Coded::compare() const {
    Saved before, wanted;
    const auto save = [&](Saved& saved, bool all) {
        auto outside = outside_.begin();
        for (kernels::KernelCall* const call : calls_)
            for (const kernels::Operand& one : call->operands())
                if (one.written && (*outside++ || all)) saved.add(*one.place - one.before, *one.place + one.after);
    };
    save(before, true);
    run_calls();
    save(wanted, false);
    before.put_back();
    run_all();
    state_ = agrees(wanted) ? State::Code : State::Differed;
    if (state_ == State::Differed) wanted.put_back();
}

void Coded::take(const Text& text, const Follow& follow) {
    std::vector<std::size_t> first;  // statement of each call
    std::size_t statements = 0;
    for (const kernels::KernelCall* one : calls_)
        first.push_back(std::exchange(statements, statements + calls_in(*one)));
    const auto call_of = [&](int statement) -> kernels::KernelCall* {
        const auto index = static_cast<std::size_t>(statement);
        const auto at = static_cast<std::size_t>(std::ranges::upper_bound(first, index) - first.begin() - 1);
        const kernels::FlatCalls* const several = calls_[at]->flat_calls();
        if (several == nullptr) return calls_[at];
        kernels::KernelCall& part = *parts_.emplace_back(several->call(index - first[at]));
        int access = 0;
        for (const kernels::Operand& one : part.operands()) follow(one.place, statement, access++);
        return &part;
    };
    table_.resize(text.table.size());
    for (std::size_t i = 0; i < text.table.size(); ++i) {
        const auto [statement, access] = text.table[i];
        if (access < 0)
            table_[i] = reinterpret_cast<char*>(call_of(statement));
        else
            follow(&table_[i], statement, access);
    }
}

std::vector<kernels::KernelCall*> Coded::take_replaced() {
    if (state_ != State::Code) return {};
    std::vector<kernels::KernelCall*> replaced = std::exchange(calls_, {});
    outside_ = {};
    std::vector<char*> called = table_;
    std::ranges::sort(called);
    std::erase_if(replaced, [&](kernels::KernelCall* call) {
        return std::ranges::binary_search(called, reinterpret_cast<char*>(call));
    });
    return replaced;
}

std::string Coded::name() const { return format("%lld calls", static_cast<long long>(calls())); }

const std::vector<Replaceable*>& Codes::all() {
    if (find_) all_ = std::exchange(find_, nullptr)();
    return all_;
}

void Codes::advance(const std::function<Follow(std::size_t)>& follow) {
    if (stage_ == Stage::Counting) {
        if ((++runs_ < kLeastRuns || runs_ * calls_ < kWorthIt) && !now_) return;
        for (const Replaceable* one : all()) one->ask(now_);
        stage_ = Stage::Asked;
    }
    if (stage_ == Stage::Installed) {
        if (std::ranges::none_of(all_, &Replaceable::is_first)) stage_ = Stage::Settled;
        return;
    }
    if (!std::ranges::all_of(all_, &Replaceable::is_done)) return;
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->install(follow(i));
    stage_ = Stage::Installed;
}

std::vector<std::string> Codes::text() {
    std::vector<std::string> lines;
    for (const Replaceable* one : all()) lines.push_back(one->text(stage_ != Stage::Counting));
    return lines;
}

}  // namespace clew::code
