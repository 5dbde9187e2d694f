#include "core/program/code/coded_strips.h"

#include "core/base/error.h"
#include "core/base/frame.h"

namespace clew::code {

CodedStrips::CodedStrips(std::unique_ptr<kernels::Strips> strips, std::shared_ptr<Job> job)
    : Replaceable(std::move(job)), strips_(std::move(strips)) {
    for (const Statement& one : job_->statements)
        outside_.push_back(job_->memories[static_cast<std::size_t>(one.accesses[0].memory)].outside);
}

std::size_t CodedStrips::bytes() const {
    const auto table = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
    return sizeof(*this) + strips_->bytes() + table(table_) + table(outside_);
}

void CodedStrips::take(const Text& text, const Follow&) { table_ = text.table; }

std::string CodedStrips::name() const { return format("strips of %d calls", strips_->stages()); }

void CodedStrips::run() const {
    CLEW_ASSERT_FRAME();
    if (state_ == State::Code) return strips_->each(false, [&](const Strip& strip) { run_pieces(strip); });
    if (state_ != State::First) return strips_->run();
    strips_->each(true, [&](const Strip& strip) { compare(strip); });
    settle();
}

void CodedStrips::settle() const {
    if (state_ == State::First) state_ = differed_ ? State::Differed : State::Code;
}

void CodedStrips::run_part(std::int64_t begin, std::int64_t end, char* local) const {
    if (state_ != State::Code && state_ != State::First) return strips_->run_part(begin, end, local);
    kernels::Strips::each_of_part(
        begin, end, local, [&](const Strip& strip) { state_ == State::Code ? run_pieces(strip) : compare(strip); });
}

void CodedStrips::run_pieces(const Strip& strip) const {
    void* data[kernels::kMostStages * kernels::kMaxOperands];
    const Entry* entry = table_.data();
    for (std::size_t piece = 0; piece < repeats_.size(); ++piece) {
        if (entry->access < 0) {
            strips_->run_stage((entry++)->statement, strip);
            continue;
        }
        for (long k = 0; k < repeats_[piece]; ++k, ++entry)
            data[k] = strips_->address(entry->statement, entry->access, strip);
        const long numbers[] = {static_cast<long>(strip.end - strip.begin), static_cast<long>(piece)};
        run_code(data, numbers, nullptr);
    }
}

// Runs one strip both ways, and leaves what its stages make.
void CodedStrips::compare(const Strip& strip) const {
    if (differed_) return strips_->run_stages(strip);
    Saved before, wanted;
    const auto save = [&](Saved& saved) {
        for (int stage = 0; stage < strips_->stages(); ++stage) {
            if (!outside_[static_cast<std::size_t>(stage)]) continue;
            const kernels::FlatLoop& loop = strips_->loop(stage);
            char* const begin = strips_->address(stage, 0, strip);
            saved.add(begin, begin + (strip.end - strip.begin - 1) * loop.strides[0] + loop.items[0]);
        }
    };
    save(before);
    strips_->run_stages(strip);
    save(wanted);
    before.put_back();
    run_pieces(strip);
    if (agrees(wanted)) return;
    differed_ = true;
    before.put_back();
    strips_->run_stages(strip);
}

}  // namespace clew::code
