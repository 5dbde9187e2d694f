// How one call on batched tensors becomes a call on their values. A rule gives false, and has done nothing, where it
// does not fit.
#pragma once
#include <string_view>

#include "core/ops/batching/batching.h"

namespace clew::batching {

struct Call {
    OpCall& call;
    const Batching& by;
    std::vector<Tensor> values;  // of inputs that are batched; others as they are, or null
    std::vector<bool> is_batched;

    Call(OpCall& call, const Batching& by);
    const OpDef& op() const { return call.op; }
    std::size_t count() const { return values.size(); }
    bool has(std::size_t i) const { return i < values.size() && values[i]; }
    bool batched(std::size_t i) const { return i < is_batched.size() && is_batched[i]; }
    bool any() const;
    bool alike() const;  // all inputs that are batched: Note [Samples that are alike]
    int rank(std::size_t i) const { return call.inputs[i].ndim(); }  // of a sample
    int highest_rank() const;
    // The value, or as many references to the tensor as there are samples.
    Tensor expanded(std::size_t i) const;

    void give(std::size_t output, const Tensor& value) const { call.outputs[output] = make_batched(value, by.batch); }
    // The operation itself, in the form of the call, on values.
    void run(std::vector<Tensor> inputs, const void* attributes) const;
    // Another one, with as many results.
    void run_as(const OpDef& op, std::vector<Tensor> inputs, const void* attributes) const;
};

// Attributes of a call that are changed by name.
class AttributeCopy {
public:
    AttributeCopy(const OpDef& op, const void* attributes);
    explicit AttributeCopy(const OpDef& op);  // the defaults
    const void* data() const { return bytes_.empty() ? nullptr : bytes_.data(); }
    bool has(std::string_view name) const { return field(name) >= 0; }
    Value get(std::string_view name) const;
    void set(std::string_view name, const Value& value);
    void set(std::string_view name, std::int64_t value);
    void set(std::string_view name, const Dims& value);

private:
    int field(std::string_view name) const;
    const OpDef& op_;
    std::vector<char> bytes_;
};

// Axes of one element between the batch and those of the sample, until it has `rank`.
Tensor at_rank(const Tensor& value, int rank);
Tensor reshaped_sample(const Tensor& value, Sizes sizes);  // the batch, then `sizes`
Tensor flattened_sample(const Tensor& value);

bool elementwise(const Call& call);
bool by_leading_axes(const Call& call);
bool along_axes(const Call& call);
bool of_everything(const Call& call);                       // a reduction without axes
bool by_rule(const Call& call);                             // products, views, layers: BatchBy
void by_loop(const Call& call, bool same_numbers = false);  // drawn, for each sample
void draw(const Call& call);

using Rule = bool (*)(const Call&);
Rule product_rule(BatchBy batching);
Rule view_rule(BatchBy batching);
Rule layer_rule(BatchBy batching);

// The operation that gives as a view what this one does to its input in place: transpose of transpose_.
const OpDef& out_of_place(const OpDef& op);

}  // namespace clew::batching
