#include "core/program/code/coded.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace clew::code {
namespace {

constexpr std::int64_t kWorthIt = 200'000;  // calls in all that a plan has made: some milliseconds
constexpr std::int64_t kLeastRuns = 8;

std::string wish() {
    const char* const value = std::getenv("CLEW_CODE");
    return value ? value : "";
}

// What memory holds now, and puts it back.
class Saved {
public:
    void add(char* begin, char* end) { parts_.push_back({begin, std::string(begin, end)}); }
    void put_back() const {
        for (const auto& [begin, bytes] : parts_) std::memcpy(begin, bytes.data(), bytes.size());
    }
    // Whether the bits are there, where any NaN is as good as another.
    template <class T>
    bool is_there() const {
        return std::ranges::all_of(parts_, [](const auto& part) {
            const auto& [begin, bytes] = part;
            for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
                const std::size_t left = std::min(sizeof(T), bytes.size() - at);
                if (std::memcmp(begin + at, bytes.data() + at, left) == 0) continue;
                if (left < sizeof(T) || !is_nan<T>(begin + at) || !is_nan<T>(bytes.data() + at)) return false;
            }
            return true;
        });
    }

private:
    template <class T>
    static bool is_nan(const char* place) {
        T value;
        std::memcpy(&value, place, sizeof value);
        return std::isnan(value);
    }
    std::vector<std::pair<char*, std::string>> parts_;
};

void call_one(void* call) { static_cast<const kernels::KernelCall*>(call)->run(); }

}  // namespace

bool is_wanted() { return wish() != "0"; }

Coded::Coded(std::vector<kernels::KernelCall*> calls, std::shared_ptr<Job> job)
    : calls_(std::move(calls)), job_(std::move(job)) {
    for (const Statement& one : job_->statements) {
        wide_ |= one.expression && one.expression->wide;
        for (const Access& access : one.accesses)
            if (access.written) outside_.push_back(job_->memories[static_cast<std::size_t>(access.memory)].outside);
    }
}

std::size_t Coded::bytes() const {
    const auto table = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
    return sizeof(*this) + table(calls_) + table(outside_) + table(table_) + table(repeats_);
}

void Coded::run() const {
    if (state_ == State::Code) [[likely]]
        return run_code();
    state_ == State::First ? compare() : run_calls();
}

void Coded::run_code() const {
    job_->library->function()(reinterpret_cast<void* const*>(table_.data()), repeats_.data(), call_one);
}

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
    run_code();
    state_ = (wide_ ? wanted.is_there<double>() : wanted.is_there<float>()) ? State::Code : State::Differed;
    if (state_ == State::Differed) wanted.put_back();
}

void Coded::install(const Follow& follow) {
    if (!job_->library) return;
    const Text& made = job_->text;
    table_.resize(made.table.size());
    for (std::size_t i = 0; i < made.table.size(); ++i) {
        const auto [statement, access] = made.table[i];
        if (access < 0)
            table_[i] = reinterpret_cast<char*>(calls_[static_cast<std::size_t>(statement)]);
        else
            follow(&table_[i], statement, access);
    }
    repeats_ = made.repeats;
    job_->text = {};
    state_ = State::First;
}

std::string Coded::text() const {
    const std::string which = format("code for %zu calls: ", calls_.size());
    if (state_ == State::Differed) return which + "not used, since it made other bits";
    if (is_done() && !job_->library) return which + "none (" + job_->problem + ")";
    if (state_ == State::Calls) return which + "not there yet";
    const auto loops = std::ranges::count_if(repeats_, [](long n) { return n > 1; });
    return which + format("%d pieces, %d of them loops, ready after %.2f s", static_cast<int>(repeats_.size()),
                          static_cast<int>(loops), job_->seconds);
}

Codes::Codes(std::vector<Coded*> all) : all_(std::move(all)), now_(wish() == "now") {
    for (const Coded* one : all_) calls_ += static_cast<std::int64_t>(one->calls());
}

void Codes::advance(const std::function<Follow(std::size_t)>& follow) {
    if (stage_ == Stage::Counting) {
        if ((++runs_ < kLeastRuns || runs_ * calls_ < kWorthIt) && !now_) return;
        for (const Coded* one : all_) one->ask(now_);
        stage_ = Stage::Asked;
    }
    if (!std::ranges::all_of(all_, [](const Coded* one) { return one->is_done(); })) return;
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->install(follow(i));
    stage_ = Stage::Settled;
}

std::vector<std::string> Codes::text() const {
    std::vector<std::string> lines;
    for (const Coded* one : all_) lines.push_back(one->text());
    return lines;
}

}  // namespace clew::code
