// Views that name sizes or all axes, and axes that are changed in place.
#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/ops/batching/rules.h"
#include "core/ops/functions.h"

namespace clew::batching {
namespace {

// The batch before the sizes that the sample is to have.
bool with_size(const Call& call) {
    if (call.count() != 1) return false;
    AttributeCopy attributes(call.op(), call.call.attributes);
    if (!attributes.has("size")) return false;  // view(dtype)
    Dims size = attributes.get("size").dims;
    size.insert(0, call.by.size);
    // -1 stands for what the others leave, which is not to be told if there are no elements.
    if (call.values[0].numel() == 0 && std::ranges::find(size, -1) != size.end()) return false;
    attributes.set("size", size);
    call.run({call.values[0]}, attributes.data());
    return true;
}

bool expanded_to(const Call& call) {
    AttributeCopy attributes(call.op(), call.call.attributes);
    Dims size = attributes.get("size").dims;
    if (size.size() < call.rank(0)) return false;
    const Tensor value = at_rank(call.values[0], size.size());
    size.insert(0, call.by.size);
    attributes.set("size", size);
    call.run({value}, attributes.data());
    return true;
}

bool repeated(const Call& call) {
    AttributeCopy attributes(call.op(), call.call.attributes);
    Dims repeats = attributes.get("repeats").dims;
    if (repeats.size() < call.rank(0)) return false;
    const Tensor value = at_rank(call.values[0], repeats.size());
    repeats.insert(0, 1);
    attributes.set("repeats", repeats);
    call.run({value}, attributes.data());
    return true;
}

bool permuted(const Call& call) {
    AttributeCopy attributes(call.op(), call.call.attributes);
    Dims axes = attributes.get("dims").dims;
    const int rank = call.rank(0);
    if (axes.size() != rank) return false;
    for (std::int64_t& axis : axes) {
        if (axis < -rank || axis >= rank) return false;
        axis = axis < 0 ? axis : axis + 1;
    }
    axes.insert(0, 0);
    attributes.set("dims", axes);
    call.run({call.values[0]}, attributes.data());
    return true;
}

bool transposed(const Call& call) {
    if (call.rank(0) > 2) return false;
    call.give(0, call.rank(0) == 2 ? transpose(call.values[0], 1, 2) : view_alias(call.values[0]));
    return true;
}

// Of all axes with one element, except the batch.
bool squeezed(const Call& call) {
    Dims sizes;
    for (const std::int64_t size : call.call.inputs[0].sizes())
        if (size != 1) sizes.push_back(size);
    sizes.insert(0, call.by.size);
    call.give(0, view(call.values[0], sizes));
    return true;
}

// Offsets of the elements of a geometry, sorted.
std::vector<std::int64_t> offsets_of(const Dims& sizes, const Dims& strides) {
    std::vector<std::int64_t> found{0};
    for (int axis = 0; axis < sizes.size(); ++axis) {
        std::vector<std::int64_t> next;
        next.reserve(found.size() * static_cast<std::size_t>(sizes[axis]));
        for (const std::int64_t from : found)
            for (std::int64_t i = 0; i < sizes[axis]; ++i) next.push_back(from + i * strides[axis]);
        found = std::move(next);
    }
    std::sort(found.begin(), found.end());
    return found;
}

// Fails where a sample's part has elements of other samples that are not its own: the samples lie interleaved, or one
// after the other with the part reaching over the end.
void need_own_elements(const Tensor& values, const Dims& size, const Dims& stride, std::int64_t offset) {
    const std::int64_t samples = values.sizes()[0], step = values.stride(0);
    if (samples < 2 || step == 0) return;
    Dims own_sizes(values.sizes()), own_strides(values.strides());
    own_sizes.erase(0);
    own_strides.erase(0);
    const auto last_of = [](const Dims& sizes, const Dims& steps) {
        std::int64_t last = 0;
        for (int axis = 0; axis < sizes.size(); ++axis) last += (sizes[axis] - 1) * steps[axis];
        return last;
    };
    const bool has_none = std::ranges::find(size, 0) != size.end();
    if (values.numel() == 0 || has_none) return;
    const std::int64_t last = last_of(own_sizes, own_strides);
    if (step > last && offset >= 0 && offset + last_of(size, stride) <= last) return;
    const std::vector<std::int64_t> own = offsets_of(own_sizes, own_strides);
    const auto is_own = [&](std::int64_t place) { return std::binary_search(own.begin(), own.end(), place); };
    for (const std::int64_t from : offsets_of(size, stride)) {
        const std::int64_t place = offset + from;
        if (is_own(place)) continue;
        for (std::int64_t other = 1 - samples; other < samples; ++other)
            if (other != 0 && is_own(place - other * step))
                fail(ErrorKind::Runtime,
                     "as_strided: under vmap, expected a part of each sample's own elements, got one that has elements "
                     "of other samples (strides %s of samples that lie %lld elements apart); give vmap the samples "
                     "along the first axis of a contiguous tensor, or index instead",
                     shape_text(stride).c_str(), static_cast<long long>(step));
    }
}

bool strided(const Call& call) {
    AttributeCopy attributes(call.op(), call.call.attributes);
    Dims size = attributes.get("size").dims, stride = attributes.get("stride").dims;
    need_own_elements(call.values[0], size, stride, attributes.get("offset").integer);
    size.insert(0, call.by.size);
    stride.insert(0, call.values[0].stride(0));
    attributes.set("size", size);
    attributes.set("stride", stride);
    call.run({call.values[0]}, attributes.data());
    return true;
}

}  // namespace

Rule view_rule(BatchBy batching) {
    switch (batching) {
        case BatchBy::Size:
            return with_size;
        case BatchBy::Expand:
            return expanded_to;
        case BatchBy::Repeat:
            return repeated;
        case BatchBy::Permute:
            return permuted;
        case BatchBy::MatrixTranspose:
            return transposed;
        case BatchBy::Squeeze:
            return squeezed;
        case BatchBy::Strided:
            return strided;
        default:
            return nullptr;
    }
}

bool by_rule(const Call& call) {
    if (call.call.form != Form::Functional) return false;
    const BatchBy batching = call.op().text.batching;
    for (const auto rule_for : {product_rule, view_rule, layer_rule})
        if (const Rule rule = rule_for(batching)) return rule(call);
    return false;
}

const OpDef& out_of_place(const OpDef& op) {
    const std::string name(op.schema.name, 0, op.schema.name.size() - 1);
    for (const OpDef* other : all_operations())
        if (other->schema.name == name && other->schema.overload == op.schema.overload) return *other;
    fail(ErrorKind::NotImplemented, "vmap: %s is not supported; call %s instead", op.in_place_name.c_str(),
         name.c_str());
}

}  // namespace clew::batching
