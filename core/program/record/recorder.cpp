#include "core/program/record/recorder.h"

#include <utility>

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/ops/creation/random.h"
#include "core/ops/functions.h"
#include "core/program/record/weak_bindings.h"

namespace clew {

Handle (*generator_owner)(Generator*) = nullptr;

namespace {

Tensor copied_value(const Tensor& value) {
    const ModeGuard quietly(kNoGrad | kInBackward, true), unseen(kInterpreted | kTiming, false);
    return clone(value);
}

// Reads that hand out the memory itself, or all that is in it.
bool leaves_for_numpy(Read how) { return shares_memory(how) || how == Read::ToList; }

}  // namespace

bool shares_memory(Read how) { return how == Read::Numpy || how == Read::Buffer || how == Read::DataPtr; }

Recorder* Recorder::at_work() { return under_way_; }

Recorder::~Recorder() {
    if (on_) end(false);
}

void Recorder::begin() {
    if (under_way_ && !under_way_->gives_way())
        fail(ErrorKind::NotImplemented,
             "keep_graph: expected no other block to be kept at the same time; blocks in one another, or on two "
             "threads, are not supported yet");
    if (mode(kForwardMode))
        fail(ErrorKind::NotImplemented,
             "keep_graph: expected no dual level to be open; open it within the block that is kept");
    push();
    under_way_ = this;
    on_ = true;
    thread_ = std::this_thread::get_id();
    program_.began = tick();
    for (TensorObject* one = living_tensors; one; one = one->next) {
        one->set(TensorObject::kPreexisting, true);
        if (const std::uint64_t hooks = hooks_of(Tensor(one))) hooks_.emplace(one, hooks);
    }
}

void Recorder::begin_call() {
    begin();
    call_ = true;
}

void Recorder::refuse(std::string text) {
    const Site site = runtime.current_site();
    program_.refusals.push_back({std::move(text), Handle::steal(site.code), site.instruction});
}

void Recorder::refuse_meta(const OpCall& call) {
    refuse(format("%s: a tensor on the device meta has no values that could be computed again", call.op.name));
}

void Recorder::once(std::string text) {
    const Site site = runtime.current_site();
    program_.once.push_back({std::move(text), Handle::steal(site.code), site.instruction});
}

Recorder::Origin Recorder::origin_of(const OpCall& call) {
    const Site site = runtime.current_site();
    Origin origin{Handle::steal(site.code), site.instruction};
    if (origin.code.get() != last_code_.get()) last_code_ = origin.code;
    for (const Tensor& input : call.inputs) {
        origin.inputs.push_back(resolve(input));
        if (input && is_meta(input)) refuse_meta(call);
    }
    return origin;
}

Action Recorder::action_of(const OpCall& call, Origin& origin) const {
    return {.op = &call.op,
            .attributes = {static_cast<const char*>(call.attributes), call.op.attribute_bytes},
            .name = call.name(),
            .code = std::move(origin.code),
            .instruction = origin.instruction,
            .form = call.form,
            .in_backward = mode(kInBackward)};
}

// Behind all others.
Step& Recorder::add_step(Action&& action, Numbers&& inputs) {
    return program_.steps.emplace_back(program_.keep(std::move(action)), std::move(inputs));
}

void Recorder::handle(OpCall& call) {
    if (is_over()) return dispatch(call);
    switch (call.form) {
        case Form::Read:
            return read(call);
        case Form::Rebind:
            return rebind(call);
        case Form::Function:
            ++functions_;
            try {
                open(call);
            } catch (...) {
                --functions_;
                throw;
            }
            --functions_;
            return;
        default:
            try {
                return &call.op == &constant_op ? load_constant(call) : run(call);
            } catch (...) {
                failed_ = true;
                throw;
            }
    }
}

void Recorder::run(OpCall& call) {
    Origin origin = origin_of(call);
    Generator* const generator = call.op.draws && call.details ? call.details->generator : nullptr;
    if (generator && generator != &default_generator()) program_.held.push_back(generator_owner(generator));
    struct Before {
        std::uint32_t version;
        const Node* history;
    };
    Few<Before, 1> before;
    std::vector<NodeRef> histories;  // held, so that an address is no other's
    for_each_written(call, [&](const Tensor& tensor) {
        before.push_back({version_of(*tensor.get()), tensor->grad_fn.get()});
        if (tensor->grad_fn && tensor->has(TensorObject::kPreexisting)) histories.push_back(tensor->grad_fn);
    });
    if (call.form == Form::Functional)
        for (const Tensor& output : call.outputs)
            if (output) refuse(format("%s: writes into a result that is there already", call.op.name));
    dispatch(call);
    if (abandoned_) return;
    const int index = static_cast<int>(program_.steps.size());
    const bool axes_only = call.op.is(kAxesInPlace);
    Action action = action_of(call, origin);
    action.generator = generator;
    if (axes_only) action.kind = StepKind::Nothing;
    Step& step = add_step(std::move(action), std::move(origin.inputs));
    std::size_t i = 0;
    for_each_written(call, [&](const Tensor& tensor) {
        const Before& was = before[i++];
        const int reg = step.inputs[static_cast<std::size_t>(&tensor - call.inputs.data())];
        const bool older = tensor->has(TensorObject::kPreexisting);
        if (older && axes_only)
            refuse(format("%s: changes the shape of a tensor from before the block", call.op.in_place_name.c_str()));
        if (older && tensor->grad_fn.get() != was.history)
            refuse(format("%s: gives a tensor from before the block another history", call.op.in_place_name.c_str()));
        std::uint32_t bump = version_of(*tensor.get()) - was.version;
        // The engine counts it afterwards.
        if (call.form == Form::Accumulate && tensor.get() == grad_read_) bump = 1;
        const int memory = program_.of(reg).memory;
        step.writes.push_back({reg, bump, input_with_counter(memory, counter_of(*tensor.get()))});
        program_.memories[static_cast<std::size_t>(memory)].writers.push_back(index);
    });
    for (const Tensor& output : call.outputs) {
        if (output && is_meta(output)) refuse_meta(call);
        if (call.form == Form::Functional) step.outputs.push_back(define(output, index));
    }
    for (const Tensor& input : call.inputs)
        if (input && input->base)
            note_nodes_of(*input.get(), index);  // a view of what was written got another one just now
    for (const Tensor& output : call.outputs) note_history(output, index);
    if (call.form == Form::InPlace) note_history(call.inputs[0], index);
}

// A value that Python gets: a second run of the block goes the same way if it is the same again.
void Recorder::read(OpCall& call) {
    dispatch(call);
    if (abandoned_) return;
    if (leaves_for_numpy(call.details->read) && (functions_ || mode(kInBackward))) {
        refuse(
            format("%s() hands values to NumPy or Python inside a Function, a hook or a rule; mark the part that "
                   "computes there with @clew.pure, if it depends on its arguments only",
                   call.name()));
        return;
    }
    Origin origin = origin_of(call);
    Action action = action_of(call, origin);
    action.kind = StepKind::Read;
    action.read = call.details->read;
    Step& step = add_step(std::move(action), std::move(origin.inputs));
    step.index = static_cast<int>(program_.reads.size());
    program_.reads.push_back(copied_value(call.inputs[0]));
    program_.followed.push_back(0);
    if (shares_memory(step.action->read)) shared_reads_.push_back(static_cast<int>(program_.steps.size()) - 1);
}

void Recorder::rebind(OpCall& call) {
    if (&call.op != &grad_op) {
        dispatch(call);
        refuse(&call.op == &data_op
                   ? "x.data = ... gives a tensor other memory inside the block; write into it (x.copy_) or do it "
                     "between runs"
                   : "out= of another shape gives a tensor other memory inside the block");
        return;
    }
    const Tensor leaf = call.inputs[0];
    const Site site = runtime.current_site();
    Origin origin{Handle::steal(site.code), site.instruction, {resolve(call.inputs[1])}};
    Action action = action_of(call, origin);
    action.kind = StepKind::Rebind;
    action.name = nullptr;  // name_of() says it
    cells_.insert(leaf.get());
    if (leaf->has(TensorObject::kPreexisting)) resolve(leaf);
    const std::size_t index = program_.leaves.size();
    program_.leaves.push_back({.tensor = leaf});
    set_by_.push_back(-1);
    dispatch(call);
    if (abandoned_) return;
    set_by_[index] = static_cast<int>(program_.steps.size());
    add_step(std::move(action), std::move(origin.inputs)).index = static_cast<int>(index);
}

// Data of Python's: the same each time. Memory that is NumPy's is an input: somebody may write it.
void Recorder::load_constant(OpCall& call) {
    dispatch(call);
    if (abandoned_) return;
    const Tensor& made = call.outputs[0];
    if (made->storage->foreign) {
        resolve(made);
        return;
    }
    const Tensor value = copied_value(made);
    value->set(TensorObject::kPreexisting, true);  // nobody has it but the program
    const int from = add_register(memory_to(value), value, -1);
    program_.constants.emplace_back(from, value);
    Origin origin = origin_of(call);
    Action action = action_of(call, origin);
    action.op = &load_op;
    action.attributes = {};
    Step& step = add_step(std::move(action), {from});
    step.outputs = {define(made, static_cast<int>(program_.steps.size()) - 1)};
}

void Recorder::notice(const Notice& notice) {
    if (is_over()) return;
    switch (notice.event) {
        case Event::GradRead: {
            const Tensor& leaf = notice.tensors[0];
            const Tensor grad = leaf->extras ? leaf->extras->grad : Tensor();
            grad_read_ = grad.get();
            if (!leaf->has(TensorObject::kPreexisting) || leaf->has(TensorObject::kWrappedNumber)) return;
            if (!cells_.insert(leaf.get()).second) return;
            program_.grads.push_back({input_of(leaf), bool(grad)});
            if (!grad || !grad->has(TensorObject::kPreexisting)) return;
            if (inputs_.contains(grad.get()))
                return refuse("reads the .grad of a tensor that the block has used by another name before");
            add_input(leaf, grad, true, memory_to(grad));
            return;
        }
        case Event::PlaceRead: {
            int memory = memory_of(notice.tensors[0]);
            if (memory < 0)
                memory = program_.of(program_.inputs[static_cast<std::size_t>(input_of(notice.tensors[0]))].reg).memory;
            const int input = program_.memories[static_cast<std::size_t>(memory)].input;
            if (input >= 0) program_.placed.push_back(input);
            return;
        }
        case Event::Backward:
            // That they require gradients is a condition, even if none reaches them.
            for (const Tensor& input : notice.inputs)
                if (input->has(TensorObject::kPreexisting)) asked_.push_back(input);
            return note_backward(notice.tensors);
        case Event::FunctionMade: {
            auto* const node = static_cast<Node*>(const_cast<void*>(notice.what));
            for (const Tensor& output : notice.tensors) resolve(output);
            const int step = static_cast<int>(program_.steps.size()) - 1;
            note_node(node, step);
            for (const Tensor& output : notice.tensors) note_history(output, step);
            return;
        }
        case Event::Counted:
            for (const Tensor& tensor : notice.tensors) count(tensor);
            return;
        case Event::Seeded:
            return refuse("sets the state of a random generator inside the block; do it before");
        case Event::Unkept:
            return once(static_cast<const char*>(notice.what));
    }
}

}  // namespace clew
