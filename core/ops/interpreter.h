// Who looks on while operations run, or runs them in another way: a recorder, a counter, forward mode, batching.
//
// Note [Interpreters]
// Each thread has a stack of them. A call enters at the top; whoever handles it may change it, run others in its place,
// or call dispatch() with it, which hands it to the one below; below the last one it is timed (kTiming), marked as
// outside autograd (kInferenceMode), run and recorded. While an interpreter handles a call, the stack of its thread is
// what lies below it, so what it computes itself is not shown to it again; while a kernel runs, the stack is empty.
// Hooks for saved tensors are Python of the user's like any other, so all interpreters see what they compute: handle()
// is entered again before the call that runs the hook is over, whose outputs are there by then.
// A composite operation, a call with out= and a Function are shown as the calls that they are made of, all of them
// through the door again, except to an interpreter that takes them whole.
#pragma once
#include <vector>

#include "core/ops/dispatch.h"

namespace clew {

// What an interpreter is told of although it is no call.
enum class Event : std::uint8_t {
    GradRead,      // of tensors[0]: whether there is a .grad, and which
    PlaceRead,     // of tensors[0]: where in its storage it begins
    Backward,      // from these roots begins
    FunctionMade,  // an autograd.Function gives these; `what` is its node, or null
    Counted,       // the versions of these tensors, without a write
    Seeded,        // a generator got another state; `what` is the generator
    Unkept,        // `what` says (static text) what happens that a second run of the same calls would not do again
};
struct Notice {
    Event event;
    Tensors tensors;
    const void* what = nullptr;
    Tensors inputs{};  // of a backward: whose gradients it is to give
};

class Interpreter {
public:
    Interpreter() = default;
    virtual ~Interpreter() = default;
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;

    virtual void handle(OpCall& call) = 0;
    virtual bool takes_whole(const OpCall&) const { return false; }
    virtual void notice(const Notice&) {}
    // One that looks on only as long as nobody minds: it takes itself off the stack and says true.
    virtual bool gives_way() { return false; }
    // Whether none is on this thread's stack, after those that give way have.
    static bool make_way();
    // Whether one of this thread's handles a call right now: none can be pushed or popped.
    static bool handles_call();
    // How often the stack of this thread has changed.
    static std::uint64_t changes();
    // Whether it has to see what a backward without create_graph computes. If none does, that runs as without them.
    virtual bool sees_backward() const { return true; }
    static void tell(const Notice& notice);  // all of this thread
    static bool any_sees_backward();         // of this thread

    // On this thread, above all others; pop() takes it from wherever it is. Not while one of them handles a call.
    void push();
    void push_beneath(Interpreter& above);
    void pop();

    Interpreter* below() const { return below_; }

    // For a scope in which a call that is under way runs Python of the user's: what that computes is shown to all.
    class ShowToAll {
    public:
        ShowToAll();
        ~ShowToAll();
        ShowToAll(const ShowToAll&) = delete;
        ShowToAll& operator=(const ShowToAll&) = delete;

    private:
        Interpreter* before_;
    };

protected:
    // Runs a call that was taken whole; this interpreter is shown the calls in it.
    void open(OpCall& call);

private:
    Interpreter* below_ = nullptr;
};

// The inputs of a call in place, where one that shares memory with the destination, but not element for element, is
// replaced by a copy; empty if there is none. With a history, where the call is recorded from the copies.
std::vector<Tensor> separate_sources(Tensors inputs, bool with_history = false);
// A copy that no gradient passes through.
Tensor copied(const Tensor& input);

// Calls body(tensor) for each tensor that existed before the call and whose elements it may write.
template <class Body>
void for_each_written(const OpCall& call, const Body& body) {
    if (call.form == Form::InPlace || call.form == Form::Accumulate) body(call.inputs[0]);
    if (call.form == Form::Out)
        for (const Tensor& output : call.outputs) body(output);
    const std::uint64_t writes = call.op.writes ? call.op.written_by(call.attributes) : 0;
    if (writes == 0) return;
    for (std::size_t i = 0; i < call.inputs.size() && i < 64; ++i)
        if ((writes >> i & 1) && call.inputs[i] && !(i == 0 && call.form == Form::InPlace)) body(call.inputs[i]);
}

}  // namespace clew
