// Runs of captured calls that are called one by one until there is code for them.
//
// Note [Code takes over]
// When a plan has run for a while its calls are handed to the compiler's thread (Note [Compiled code]). A later replay
// finds that it is done, and from then on calls the function. The first time it runs both, on the same data, and
// compares all that is read afterwards; code that makes other bits is not called again.
//
// Then the calls that it stands for are gone, and nothing moves their pointers any more.
//
// Of a NaN that meets another one, arithmetic hands on either: which one is up to the compiler, of loops as of code. So
// a NaN of code may have another sign or payload than eager's.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/kernels/capture.h"
#include "core/program/code/compiler.h"
#include "core/program/code/saved.h"

namespace clew::code {

// Not if CLEW_CODE is 0. If it is `now`, the first replay by a plan waits for the compiler, for tests.
bool is_wanted();
bool is_told_to_wait();

// How many it makes itself: Note [Runs of flat calls].
std::size_t calls_in(const kernels::KernelCall& call);

// Lets `pointer` follow memory: operand `access` of call `statement`.
using Follow = std::function<void(char** pointer, int statement, int access)>;

// What code may take over.
class Replaceable {
public:
    explicit Replaceable(std::shared_ptr<Job> job);
    virtual ~Replaceable() = default;
    virtual std::int64_t calls() const = 0;  // that are made in one run
    void ask(bool now) const {
        job_->tools = Tools::find();
        now ? do_now(*job_) : compile_later(job_);
    }
    bool is_first() const { return state_ == State::First; }
    // Where code finds its operands.
    virtual std::span<char*> table() { return {}; }
    // That it stands for, and does not call itself; once.
    virtual std::vector<kernels::KernelCall*> take_replaced() { return {}; }
    bool is_done() const { return job_->done.load(std::memory_order_acquire); }
    // Once it is done.
    void install(const Follow& follow);
    std::string text(bool is_asked_for) const;  // how it stands

protected:
    enum class State { Calls, First, Code, Differed };
    virtual void take(const Text& text, const Follow& follow) = 0;
    virtual std::string name() const = 0;
    void run_code(void* const* p, const long* n, void (*call)(void*)) const { job_->library->function()(p, n, call); }
    bool agrees(const Saved& wanted) const {
        const double bound = job_->fused ? kRounding : 0;
        return wide_ ? wanted.is_there<double>(bound * 0x1p-52) : wanted.is_there<float>(bound * 0x1p-23);
    }
    // Of fused code, in units of the last place of the largest number: what is far off is another formula.
    static constexpr double kRounding = 1 << 16;

    std::shared_ptr<Job> job_;
    bool wide_ = false;  // statements are on doubles
    std::vector<long> repeats_;
    mutable State state_ = State::Calls;
};

class Coded final : public kernels::KernelCall, public Replaceable {
public:
    Coded(std::vector<kernels::KernelCall*> calls, std::shared_ptr<Job> job);

    void run() const override;
    kernels::Operands operands() override { return {}; }
    std::size_t bytes() const override;
    std::int64_t work() const override { return 0; }
    std::int64_t calls() const override { return count_; }
    std::span<char*> table() override { return table_; }
    std::vector<kernels::KernelCall*> take_replaced() override;

private:
    void take(const Text& text, const Follow& follow) override;
    std::string name() const override;
    void run_calls() const {
        for (const kernels::KernelCall* call : calls_) call->run();
    }
    void run_all() const;
    void compare() const;

    std::vector<kernels::KernelCall*> calls_;
    std::int64_t count_ = 0;
    std::vector<char> outside_;  // of each operand that is written, call by call: somebody reads it afterwards
    std::vector<char*> table_;
    std::vector<std::unique_ptr<kernels::KernelCall>> parts_;  // of runs of flat calls, which code calls one by one
};

// All of one plan. They are found only once code is worth it: a plan that runs a few times does not pay for that.
class Codes {
public:
    using Find = std::function<std::vector<Replaceable*>()>;
    Codes(std::int64_t calls, Find find) : find_(std::move(find)), calls_(calls) {}
    // Before a replay. `follow` is asked for each of them.
    void advance(const std::function<Follow(std::size_t)>& follow);
    bool is_settled() const { return stage_ == Stage::Settled; }  // code has been tried where there is some
    const std::vector<Replaceable*>& found() const { return all_; }
    std::vector<std::string> text();

private:
    enum class Stage { Counting, Asked, Installed, Settled };
    const std::vector<Replaceable*>& all();

    Find find_;
    std::vector<Replaceable*> all_{};
    std::int64_t calls_;  // of one run
    std::int64_t runs_ = 0;
    bool now_ = is_told_to_wait();
    Stage stage_ = Stage::Counting;
};

}  // namespace clew::code
