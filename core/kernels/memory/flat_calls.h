// Many short elementwise calls, one after the other.
//
// Note [Runs of flat calls]
// Thousands of calls on a few elements each, as an integrator or a recurrence leaves them, spend most of their time in
// bringing the calls themselves into the cache: an object each, and where it lies. In one table a call is its pointers
// and where its loop is, since most calls are of a few loops.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "core/kernels/capture.h"

namespace clew::kernels {

class FlatCalls final : public KernelCall {
public:
    static constexpr int kMost = 3;  // operands of a call
    explicit FlatCalls(std::size_t count) { entries_.reserve(count); }
    // One more, of at most `count`. Gives where its pointers are.
    char** add(const FlatLoop& loop, const char* const* data);

    void run() const override;
    Operands operands() override;  // call by call
    std::size_t bytes() const override;
    std::int64_t work() const override;
    const FlatCalls* flat_calls() const override { return this; }

    std::size_t size() const { return entries_.size(); }
    const FlatLoop& loop(std::size_t i) const { return *entries_[i].loop; }
    // One of them by itself.
    std::unique_ptr<KernelCall> call(std::size_t i) const { return call_of(loop(i), entries_[i].data); }

private:
    struct Entry {
        const FlatLoop* loop;  // of `loops_`
        char* data[kMost];
    };
    const FlatLoop* known(const FlatLoop& loop);

    std::vector<Entry> entries_;
    std::deque<FlatLoop> loops_;
};

}  // namespace clew::kernels
