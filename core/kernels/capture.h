// Kernels that can be called again without the operation that called them.
//
// Note [Captured kernels]
// What an operation's forward does besides its kernels (checks, promotion, geometry, new tensors) comes out the same
// each time that the geometry is the same. So somebody who runs one step again and again (core/program) lets its
// kernels be captured once: each leaves a `KernelCall`, which knows its loop, sizes and strides, and whose pointers can
// be set. Whatever else touches values asks kernels_skipped() or need_values() first, as it has to for operations to be
// inferred; while kernels are captured that is noted, and the forward can't do without itself. What such a forward does
// with values is then all in its calls: it reads none to decide anything. A call that finds values wrong (an index out
// of bounds) throws the operation's error itself, and says that it may.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/few.h"
#include "core/base/frame.h"
#include "core/kernels/memory/iterate.h"
#include "core/kernels/memory/plan.h"
#include "core/kernels/view.h"

namespace clew::kernels {

// One of the pointers of a call, and which bytes around it the call may touch.
struct Operand {
    char** place;
    std::int64_t before, after;  // bytes below, and above: [*place - before, *place + after)
    bool written;

    // One more axis, along which the call takes `steps` steps of `stride` bytes.
    void reach(std::int64_t steps, std::int64_t stride) {
        const std::int64_t bytes = steps * stride;
        (bytes < 0 ? before : after) += bytes < 0 ? -bytes : bytes;
    }
};
using Operands = Few<Operand, 3>;

// One loop over operands that lie flat: from each element of an operand it is as far to the next.
struct FlatLoop {
    Loop plain;          // or, if it is null,
    ParamLoop numbered;  // with `numbers`
    Number numbers[3];
    int operands;
    std::int64_t count;
    std::int64_t strides[kMaxOperands], items[kMaxOperands];  // in bytes

    void run(char* const* data, std::int64_t part) const {
        plain ? plain(data, strides, part) : numbered(data, strides, part, numbers);
    }
    Operand operand(int k, char** place) const {
        Operand operand{place, 0, items[k], k == 0};
        operand.reach(count - 1, strides[k]);
        return operand;
    }
};

// What is done to the result of a matrix product block by block, while a block is in the cache. Blocks are of rows and
// columns of the result; it may be on several threads.
class BlockWork {
public:
    virtual ~BlockWork() = default;
    virtual void after(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const = 0;
};
struct ProductShape {
    std::int64_t rows, columns, item;  // bytes of an element
};

// What a copy of elements as they are does.
struct PlainCopy {
    const View *out, *in;
};

// Where a copy brings elements. They are counted from the beginning of what it reads, and of what it writes.
class CopiedTo {
public:
    explicit CopiedTo(const PlainCopy& copy);
    // Of `count` elements side by side: there they lie side by side, too; else nothing.
    std::optional<std::int64_t> operator()(std::int64_t first, std::int64_t count) const;

private:
    struct Axis {
        std::int64_t size, from, to;
    };
    std::vector<Axis> axes_;  // the longest strides first
};
// Whether no element is in both, whose data are `distance` elements apart; false if that is not easily said.
bool lie_apart(const View& one, const View& other, std::int64_t distance);

// Note [Calls as C]
// Who makes code of several calls (core/program/code) spares what it costs to call each, which is most of a small
// product's time. A block has the bits of its kernel: each element takes the same steps in the same order, where
// FMA(a, b, c) is a * b + c as products have it, rounded once if the processor can.
struct CBlock {
    std::string text{};
    bool wide = false;  // on doubles, or else on floats
};

class TransposingProduct;
class AttentionCall;
class FlatCalls;
class FlatLoops;

// What a call may be, for who looks for a few of a kind among thousands.
enum Trait : unsigned {
    kMayFail = 1,
    kAttends = 2,
    kMultiplies = 4,
    kTransposes = 8,
    kCopies = 16,
    kJoins = 32,
    kFewFlat = 64,  // one loop over at most kFewOperands operands, which lie flat, by itself
};
inline constexpr int kFewOperands = 3;

class KernelCall {
public:
    KernelCall() = default;
    virtual ~KernelCall() = default;
    KernelCall(const KernelCall&) = delete;
    KernelCall& operator=(const KernelCall&) = delete;
    virtual void run() const = 0;
    virtual Operands operands() = 0;
    virtual std::size_t bytes() const = 0;  // that it takes itself
    virtual std::int64_t work() const = 0;  // elements, for who asks whether other threads may run meanwhile
    virtual unsigned traits() const { return 0; }
    bool may_fail() const { return traits() & kMayFail; }
    // What it does, if it is one loop over flat operands, in the order of operands().
    virtual const FlatLoop* flat() const { return nullptr; }
    // Its work on all of its operands as C, with `$0` for the address of operand 0, and so on; or empty. Note [Calls as
    // C]
    virtual CBlock block() const { return {}; }
    // Of a product (kMultiplies) whose result, operand 0, lies row by row.
    virtual std::optional<ProductShape> product() const { return std::nullopt; }
    virtual void run_with(const BlockWork&) const {}
    // The product with a row added to each row of its result, in place of what was there; null: it can't. Its operands
    // are as before, and then the row.
    virtual std::unique_ptr<KernelCall> with_row(char*) const { return nullptr; }
    // Of a copy of one row, operand 1, to each of several that lie one behind the other: the elements of a row.
    virtual std::int64_t repeated_row() const { return 0; }
    virtual AttentionCall* attending() { return nullptr; }
    virtual const FlatCalls* flat_calls() const { return nullptr; }
    virtual const TransposingProduct* transposing() const { return nullptr; }
    // One call for `before` and this one, of which the operand at `place` is what `before` writes, and nobody else
    // reads it. Its operands are those of this call but for that one, then those of `before` but for that. Null: there
    // is none.
    virtual std::unique_ptr<KernelCall> joined_with(const KernelCall&, const char* const*) const { return nullptr; }
    virtual std::optional<PlainCopy> plain_copy() const { return std::nullopt; }
    // Lets it write an operand's elements, which begin `start` elements behind what a copy reads, where the copy brings
    // them; the pointer is then to what the copy writes. False: it can't.
    virtual bool write_to(const char* const*, std::int64_t, const CopiedTo&) { return false; }
};

// What one forward left behind, in order.
struct Capture {
    FlatLoops& loops;  // which the calls may refer to
    std::vector<std::unique_ptr<KernelCall>> calls{};
    bool complete = true;
};
extern thread_local constinit Capture* capture_under_way;

// Captures for a scope.
class CaptureScope {
public:
    explicit CaptureScope(Capture& capture);
    ~CaptureScope();
    CaptureScope(const CaptureScope&) = delete;
    CaptureScope& operator=(const CaptureScope&) = delete;
};

// A kernel that others call in turn runs as it is: its caller has been captured. It may run without Python's lock, so
// what all threads share (storage_detour) stays as it is.
class RunScope {
public:
    RunScope() { set(KernelMode::Run, kFlatElements); }
    ~RunScope() { set(KernelMode::Capture, -1); }
    RunScope(const RunScope&) = delete;
    RunScope& operator=(const RunScope&) = delete;

private:
    static void set(KernelMode mode, std::int64_t flat) {
        kernel_mode = mode;
        flat_elements = flat;
    }
};

Operand operand_of(View& view, bool written);
// A call of this loop, on operands that lie at `data`.
std::unique_ptr<KernelCall> call_of(const FlatLoop& loop, char* const* data);

// A view with the sizes and strides that it points to.
class OwnedView {
public:
    explicit OwnedView(const View& view) : view_(view), geometry_(2 * static_cast<std::size_t>(view.ndim)) {
        const auto ndim = static_cast<std::size_t>(view.ndim);
        for (std::size_t axis = 0; axis < ndim; ++axis) {
            geometry_[axis] = view.sizes[axis];
            geometry_[ndim + axis] = view.strides[axis];
        }
        view_.sizes = geometry_.data();
        view_.strides = geometry_.data() + ndim;
    }
    OwnedView(OwnedView&&) = default;  // a vector keeps its place when it is moved
    View& view() { return view_; }
    const View& view() const { return view_; }

private:
    View view_;
    std::vector<std::int64_t> geometry_;
};

template <class T>
struct Owned {
    using type = T;
};
template <>
struct Owned<View> {
    using type = OwnedView;
};

// A call of `Kernel`, a lambda without a state; the first `kWritten` of its views are written. Views without data are
// of operands that are absent. What a kernel takes by pointer it reads anew in each run; the caller keeps it alive.
template <int kWritten, class Kernel, class... Arguments>
class CallOf : public KernelCall {
public:
    explicit CallOf(const Arguments&... arguments) : arguments_(typename Owned<Arguments>::type(arguments)...) {}
    void run() const override {
        std::apply([](const auto&... owned) { Kernel{}(plain(owned)...); }, arguments_);
    }
    Operands operands() override {
        Operands list;
        int count = 0;
        const auto add = [&](auto& owned) {
            if constexpr (std::is_same_v<std::remove_reference_t<decltype(owned)>, OwnedView>) {
                const bool written = count++ < kWritten;
                if (owned.view().data != nullptr) list.push_back(operand_of(owned.view(), written));
            }
        };
        std::apply([&](auto&... owned) { (add(owned), ...); }, arguments_);
        return list;
    }
    std::size_t bytes() const override { return sizeof(*this); }
    std::int64_t work() const override {
        std::int64_t most = 0;
        const auto count = [&](const auto& owned) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(owned)>, OwnedView>)
                most = std::max(most, element_count(owned.view()));
        };
        std::apply([&](const auto&... owned) { (count(owned), ...); }, arguments_);
        return most;
    }

protected:
    template <std::size_t kIndex>
    const auto& argument() const {
        return plain(std::get<kIndex>(arguments_));
    }

private:
    static const View& plain(const OwnedView& owned) { return owned.view(); }
    template <class T>
    static const T& plain(const T& value) {
        return value;
    }
    std::tuple<typename Owned<Arguments>::type...> arguments_;
};

// The same of a kernel that throws when it finds values that it can't take; it may write nothing.
template <int kWritten, class Kernel, class... Arguments>
class CheckingCallOf : public CallOf<kWritten, Kernel, Arguments...> {
public:
    using CallOf<kWritten, Kernel, Arguments...>::CallOf;
    std::size_t bytes() const override { return sizeof(*this); }
    unsigned traits() const override { return kMayFail; }
};

// Whether the kernel is done with: skipped, or captured as a `Call` and run.
template <class Call, class Kernel, class... Arguments>
[[gnu::noinline, gnu::cold]] bool detour_as(Kernel kernel, const Arguments&... arguments) {
    if (skips_kernels()) return true;
    capture_under_way->calls.push_back(std::make_unique<Call>(arguments...));
    const RunScope runs;
    kernel(arguments...);
    return true;
}

template <int kWritten, class Kernel, class... Arguments>
bool detour(Kernel kernel, const Arguments&... arguments) {
    return detour_as<CallOf<kWritten, Kernel, Arguments...>>(kernel, arguments...);
}

template <int kWritten, class Kernel, class... Arguments>
bool detour_checking(Kernel kernel, const Arguments&... arguments) {
    return detour_as<CheckingCallOf<kWritten, Kernel, Arguments...>>(kernel, arguments...);
}

// The first line of a kernel that can be captured; its arguments are the kernel's, of which the first `written` views
// are written.
#define CLEW_CAPTURED_BY(detour, kernel, ...)                        \
    CLEW_ASSERT_FRAME();                                             \
    if (::clew::kernel_mode != ::clew::KernelMode::Run) [[unlikely]] \
        if (::clew::kernels::detour([](const auto&... given) { kernel(given...); }, __VA_ARGS__)) return
#define CLEW_CAPTURED_WRITING(written, kernel, ...) CLEW_CAPTURED_BY(detour<written>, kernel, __VA_ARGS__)
// Of a kernel that may throw because of values.
#define CLEW_CAPTURED_CHECKING(written, kernel, ...) CLEW_CAPTURED_BY(detour_checking<written>, kernel, __VA_ARGS__)
#define CLEW_CAPTURED_KERNEL(kernel, ...) CLEW_CAPTURED_WRITING(1, kernel, __VA_ARGS__)

}  // namespace clew::kernels
