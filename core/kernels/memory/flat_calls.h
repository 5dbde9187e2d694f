// Many short elementwise calls, one after the other.
//
// Note [Runs of flat calls]
// Thousands of calls on a few elements each, as an integrator or a recurrence leaves them, spend most of their time in
// bringing the calls themselves into the cache: an object each, and where it lies. In one table a call is its pointers
// and where its loop is, since most calls are of a few loops.
#pragma once
#include <memory>
#include <vector>

#include "core/kernels/memory/flat_loops.h"

namespace clew::kernels {

class FlatCalls final : public KernelCall {
public:
    explicit FlatCalls(std::size_t count) { entries_.reserve(count); }
    // One more, of at most `count`, over at most kFewOperands operands; the loop lives longer. Gives where its pointers
    // are.
    char** add(const FlatLoop* loop, const char* const* data);

    void run() const override;
    Operands operands() override;  // call by call
    std::size_t bytes() const override;
    std::int64_t work() const override { return work_; }
    const FlatCalls* flat_calls() const override { return this; }

    std::size_t size() const { return entries_.size(); }
    const FlatLoop& loop(std::size_t i) const { return *entries_[i].loop; }
    // One of them by itself.
    std::unique_ptr<KernelCall> call(std::size_t i) const { return call_of(entries_[i].loop, entries_[i].data); }

private:
    struct Entry {
        const FlatLoop* loop;
        char* data[kFewOperands];
    };
    std::vector<Entry> entries_;
    std::int64_t work_ = 0;
};

}  // namespace clew::kernels
