#include "core/ops/batching/batching.h"

#include <algorithm>
#include <memory>
#include <string>

#include "core/autograd/saved.h"
#include "core/base/error.h"
#include "core/ops/batching/rules.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

std::int64_t last_batch = 0;
thread_local std::int64_t refused = 0;

std::vector<std::unique_ptr<Batching>>& batches() {
    thread_local std::vector<std::unique_ptr<Batching>> all;
    return all;
}

[[noreturn]] void fail_read(const OpCall& call) {
    switch (call.details->read) {
        case Read::Bool:
        case Read::Float:
        case Read::Int:
        case Read::Index:
            fail(ErrorKind::Runtime,
                 "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow (%s). We "
                 "don't support that yet; use where() to choose, or other operations on tensors",
                 call.name());
        case Read::Numpy:
        case Read::Buffer:
        case Read::ToList:
        case Read::DataPtr:
            fail(ErrorKind::Runtime,
                 "vmap: It looks like you're calling .%s() on a Tensor. We don't support vmap over that, since the "
                 "Tensor stands for a batch of samples; use operations on tensors instead",
                 call.name());
        default:
            fail(ErrorKind::Runtime,
                 "vmap: It looks like you're calling .item() on a Tensor (%s). We don't support vmap over calling "
                 ".item() on a Tensor, please try to rewrite what you're doing with other operations.",
                 call.name());
    }
}

const char* name_of(const OpCall& call) {
    if (call.name()) return call.name();
    return call.form == Form::InPlace ? call.op.in_place_name.c_str() : call.op.name;
}

// " at train.py:5 in main".
std::string here() {
    const Site site = runtime.current_site();
    if (site.code == nullptr) return {};
    std::string text = " at " + saved_hooks.site_text(site.code, site.instruction);
    runtime.release(site.code);
    return text;
}

// What a user can change who wrote `name` in another way: an assignment to a part is a copy_, a layer has its
// statistics.
std::string advice_for(const std::string& name) {
    if (name == "native_batch_norm")
        return "The running statistics of a batch norm are of all samples. To do: take eval(), "
               "track_running_stats=False, or group normalization";
    if (name == "copy_")
        return "An assignment to a part (x[i] = y) is a copy_, too. To do: make what is written from what is batched "
               "(y.new_zeros(...), zeros_like), or put the parts together by cat or stack";
    return "Please try to use out-of-place operators instead of " + name +
           "; or make what is written from what is batched (zeros_like, clone)";
}

// What is written must have a place for each sample.
void check_written(const OpCall& call, const batching::Call& seen, std::int64_t batch) {
    for_each_written(call, [&](const Tensor& written) {
        if (is_batched_by(written, batch)) return;
        refused += seen.alike();
        const char* name = name_of(call);
        fail(ErrorKind::Runtime,
             "vmap: %s(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
             "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
             "over in a vmap%s. %s.",
             name, here().c_str(), advice_for(name).c_str());
    });
}

bool depends_on_values(const batching::Call& call) {
    if (!call.op().is(kSizedByValues)) return false;
    if (call.op().text.batching != BatchBy::Index) {
        const auto& arguments = call.op().schema.arguments;
        const auto mask = std::ranges::find(arguments, "mask", &Argument::name);
        return mask == arguments.end() || call.batched(static_cast<std::size_t>(mask - arguments.begin()));
    }
    for (std::size_t i = 1; i < call.count(); ++i)  // only masks have as many results as they like
        if (call.batched(i) && (call.values[i].dtype() == DType::Bool || call.values[i].dtype() == DType::UInt8))
            return true;
    return false;
}

// The one sample that all others are like, for whoever reads its values.
void read_sample(OpCall& call) {
    const Read how = call.details->read;
    const bool has_reader = how != Read::Buffer && how != Read::DataPtr && how != Read::Other && !call.outputs.empty();
    if (!batched(call.inputs[0]).alike || !has_reader) fail_read(call);
    const Tensor sample = select(batched(call.inputs[0]).value, 0, 0);
    call.outputs[0] = sample;
    OpCall inner{call.op, Tensors(&sample, 1), nullptr, {}, Form::Read, call.details};
    if (is_batched(sample)) inner.outputs = call.outputs;
    dispatch(inner);
}

void run_batched(const batching::Call& call) {
    using namespace batching;
    if (depends_on_values(call) && call.alike()) return by_loop(call);
    if (depends_on_values(call))
        fail(ErrorKind::Runtime,
             "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over %s, "
             "whose result has another size for each sample",
             call.op().name);
    if (by_rule(call) || elementwise(call) || by_leading_axes(call) || along_axes(call) || of_everything(call)) return;
    by_loop(call);
}

}  // namespace

Batching::Batching(std::int64_t size, Randomness randomness)
    : batch(++last_batch), size(size), randomness(randomness) {}

bool Batching::takes_whole(const OpCall& call) const {
    return call.form == Form::Functional && call.op.text.batching != BatchBy::Class;
}

void Batching::handle(OpCall& call) {
    const batching::Call seen(call, *this);
    if (call.op.draws) {
        batching::draw(seen);
        return note_alike(call, false);
    }
    if (!seen.any()) return dispatch(call);
    switch (call.form) {
        case Form::Read:
            return read_sample(call);
        case Form::Rebind:
            fail(ErrorKind::NotImplemented, "vmap: %s of a tensor that stands for a batch can't be set; use copy_()",
                 call.name());
        case Form::Accumulate:
            fail(ErrorKind::NotImplemented, "vmap: gradients of a batch can't be added to one tensor");
        default:
            check_written(call, seen, batch);
            call.op.is(kAxesInPlace) ? change_axes(call) : run_batched(seen);
            note_alike(call, seen.alike());
    }
}

void Batching::note_alike(const OpCall& call, bool alike) const {
    for (const Tensor& output : call.outputs)
        if (is_batched_by(output, batch)) set_alike(output, alike);
    if (alike) return;
    for_each_written(call, [&](const Tensor& written) {
        if (is_batched_by(written, batch)) set_alike(written, false);
    });
}

// The tensor stands for what the operation would give as a view.
void Batching::change_axes(const OpCall& call) {
    Tensor output;
    OpCall view{batching::out_of_place(call.op), call.inputs, call.attributes, std::span<Tensor>(&output, 1)};
    view.op.is(kComposite) ? open(view) : handle(view);
    set_batched(call.inputs[0], batched(output).value);
}

std::int64_t begin_batch(std::int64_t size, Batching::Randomness randomness) {
    auto made = std::make_unique<Batching>(size, randomness);
    made->push();
    batches().push_back(std::move(made));
    return batches().back()->batch;
}

void end_batch(std::int64_t batch) {
    if (batches().empty() || batches().back()->batch != batch)
        fail(ErrorKind::Runtime, "vmap: expected the batch that began last to end first");
    batches().back()->pop();
    batches().pop_back();
}

std::int64_t refused_writes() { return refused; }

const std::vector<const Batching*>& active_batches() {
    thread_local std::vector<const Batching*> active;
    active.clear();
    for (const auto& one : batches()) active.push_back(one.get());
    return active;
}

}  // namespace clew
