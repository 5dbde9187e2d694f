// Strips of captured calls, which are run stage by stage until there is code for them: Note [Code of strips].
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "core/kernels/memory/strips.h"
#include "core/program/code/coded.h"

namespace clew::code {

class CodedStrips final : public kernels::StripCall, public Replaceable {
public:
    CodedStrips(std::unique_ptr<kernels::Strips> strips, std::shared_ptr<Job> job);

    void run() const override;
    const kernels::Strips& strips() const override { return *strips_; }
    std::int64_t local_bytes() const override { return strips_->local_bytes(); }
    void run_part(std::int64_t begin, std::int64_t end, char* local) const override;
    bool is_first() const override { return Replaceable::is_first(); }
    void settle() const override;
    kernels::Operands operands() override { return strips_->operands(); }
    std::size_t bytes() const override;
    std::int64_t work() const override { return strips_->work(); }
    std::int64_t calls() const override {
        return strips_->stages() * ((strips_->count() + kernels::kStrip - 1) / kernels::kStrip);
    }

private:
    using Strip = kernels::Strips::Strip;
    void take(const Text& text, const Follow& follow) override;
    std::string name() const override;
    void run_pieces(const Strip& strip) const;
    void compare(const Strip& strip) const;

    std::unique_ptr<kernels::Strips> strips_;
    mutable bool differed_ = false;
    std::vector<char> outside_;  // of each stage: what it writes is read afterwards, if only by a sum of this strip
    std::vector<Entry> table_;   // operands of pieces, or stages that run as they are
};

}  // namespace clew::code
