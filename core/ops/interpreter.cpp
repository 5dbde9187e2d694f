#include "core/ops/interpreter.h"

#include "core/autograd/ledger.h"
#include "core/base/error.h"
#include "core/base/frame.h"
#include "core/ops/batching/batched.h"
#include "core/ops/creation/random.h"
#include "core/ops/meta.h"
#include "core/ops/recording.h"
#include "core/ops/signature.h"

namespace clew {

CallSignature call_signature;

namespace {

// `top` is below `uppermost` while calls are handled: so many right now, one inside the other.
thread_local constinit Interpreter* top __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local constinit Interpreter* uppermost __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local constinit int calls_handled __attribute__((tls_model("initial-exec"))) = 0;
thread_local constinit std::uint64_t stack_changes = 0;

void set_top(Interpreter* interpreter) {
    top = interpreter;
    mode_word = interpreter ? mode_word | kInterpreted : mode_word & ~std::uint32_t{kInterpreted};
}

// For a scope, the stack begins at `below`.
class StackGuard {
public:
    explicit StackGuard(Interpreter* below) : before_(top) {
        if (calls_handled++ == 0) uppermost = before_;
        set_top(below);
    }
    ~StackGuard() {
        set_top(before_);
        --calls_handled;
    }
    StackGuard(const StackGuard&) = delete;
    StackGuard& operator=(const StackGuard&) = delete;

private:
    Interpreter* before_;
};

void need_no_call(const char* what) {
    if (calls_handled)
        fail(ErrorKind::Runtime, "Interpreter.%s: expected no interpreter to be handling a call; do it outside", what);
}

bool is_made_of_calls(const OpCall& call) {
    return call.form == Form::Out || call.form == Form::Function ||
           (call.form == Form::Functional && call.op.is(kComposite));
}

void run_timed(OpCall& call) {
    const std::int64_t start = now_ns();
    {
        const ModeGuard guard(kTiming, false);
        [[maybe_unused]] const DispatchFrame frame;
        run_forward(call);
    }
    const std::int64_t middle = now_ns();
    record_call(call);
    timings.forward_kernels += middle - start;
    timings.recording += now_ns() - middle;
    ++timings.operations;
    if (operation_times && !call.outputs.empty() && call.outputs[0] && call.outputs[0]->grad_fn)
        note_operation_time({call.outputs[0]->grad_fn->sequence, middle - start});
}

// Which operation, on what; not with which values.
[[gnu::cold]] void note_in_signature(const OpCall& call) {
    std::uint64_t hash = reinterpret_cast<std::uintptr_t>(&call.op) ^ static_cast<std::uint64_t>(call.form);
    const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0xBF58476D1CE4E5B9 + (hash >> 29); };
    for (const Tensor& input : call.inputs) {
        mix(input ? static_cast<std::uint64_t>(input.dtype()) + 2 : 1);
        if (!input) continue;
        mix(input.requires_grad());
        for (const std::int64_t size : input.sizes()) mix(static_cast<std::uint64_t>(size));
    }
    call_signature.add(hash);
}

// Below the last interpreter.
void run_lowest(OpCall& call) {
    if ((process_mode & kUnbackedLives) != 0) refuse_batched(call);
    if (mode(kTiming)) note_in_signature(call);
    const DeviceScope scope(call);
    if (call.form != Form::Functional || is_made_of_calls(call)) return run_directly(call);
    mode(kTiming) ? run_timed(call) : run_directly(call);
    if (mode(kInferenceMode))
        for (const Tensor& output : call.outputs)
            if (output) output->set(TensorObject::kInference, true);
}

// What a call in place copies before it writes is copied where interpreters see it.
void show_copies(OpCall& call, std::vector<Tensor>& sources, Tensor& before, CallDetails& details) {
    sources = separate_sources(call.inputs, true);
    if (!sources.empty()) call.inputs = sources;
    InPlaceRecord record(call);
    record.choose_saves();
    if (!record.reads_before()) return;
    before = copied(call.inputs[0]);
    details.before = &before;
}

}  // namespace

void Interpreter::push() {
    need_no_call("push");
    ++stack_changes;
    below_ = clew::top;
    set_top(this);
}

void Interpreter::push_beneath(Interpreter& above) {
    need_no_call("push");
    below_ = above.below_;
    above.below_ = this;
}

bool Interpreter::make_way() {
    for (const Interpreter* last = nullptr; clew::top && clew::top != last;) {
        last = clew::top;
        if (!clew::top->gives_way()) break;
    }
    return !mode(kInterpreted);
}

bool Interpreter::handles_call() { return calls_handled != 0; }

std::uint64_t Interpreter::changes() { return stack_changes; }

void Interpreter::tell(const Notice& notice) {
    for (Interpreter* one = clew::top; one; one = one->below_) one->notice(notice);
}

bool Interpreter::any_sees_backward() {
    for (const Interpreter* one = clew::top; one; one = one->below_)
        if (one->sees_backward()) return true;
    return false;
}

void Interpreter::open(OpCall& call) {
    const StackGuard guard(this);
    run_directly(call);
}

void Interpreter::pop() {
    need_no_call("pop");
    ++stack_changes;
    if (clew::top == this) return set_top(below_);
    Interpreter* above = clew::top;
    while (above && above->below_ != this) above = above->below_;
    if (above) above->below_ = below_;
}

Interpreter::ShowToAll::ShowToAll() : before_(clew::top) {
    if (calls_handled) set_top(uppermost);
}
Interpreter::ShowToAll::~ShowToAll() { set_top(before_); }

void interpret(OpCall& call) {
    Interpreter* const handling = top;
    if (handling == nullptr) return run_lowest(call);
    if (is_made_of_calls(call) && !handling->takes_whole(call)) {
        const DeviceScope scope(call);
        return run_directly(call);
    }
    const bool enters = calls_handled == 0;  // who hands a call on may look at it again; who enters with one doesn't
    if (enters && call.form != Form::InPlace && !call.op.draws) {  // they have no more details than there are
        const StackGuard guard(handling->below());
        return handling->handle(call);
    }
    OpCall shown = call;
    if (call.form != Form::InPlace && !call.op.draws) {
        const StackGuard guard(handling->below());
        return handling->handle(shown);
    }
    CallDetails details = call.details ? *call.details : CallDetails{};
    shown.details = &details;
    std::vector<Tensor> sources;
    Tensor before;
    if (call.form == Form::InPlace && details.before == nullptr) show_copies(shown, sources, before, details);
    if (call.op.draws && details.generator == nullptr) details.generator = &current_generator();
    const StackGuard guard(handling->below());
    handling->handle(shown);
}

}  // namespace clew
