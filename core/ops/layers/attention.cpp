// Scaled dot-product attention of any number of axes and heads: inputs checked and broadcast, the way chosen.
#include "core/ops/layers/attention.h"
#include "core/ops/forward/dual_level.h"

#include <cmath>
#include <limits>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/creation/random.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

constexpr const char* kName = "scaled_dot_product_attention";

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask) {
    if (query.ndim() < 2 || key.ndim() < 2 || value.ndim() < 2)
        fail(ErrorKind::Runtime,
             "%s: Expected query, key, and value to all be at least 2 dimensional, but got query.dim: %d key.dim: %d "
             "and value.dim: %d instead; give (..., length, width)",
             kName, query.ndim(), key.ndim(), value.ndim());
    if (query.dtype() != key.dtype() || query.dtype() != value.dtype())
        fail(ErrorKind::Runtime,
             "%s: Expected query, key, and value to have the same dtype, but got query.dtype: %s key.dtype: %s and "
             "value.dtype: %s instead; cast them",
             kName, dtype_name(query.dtype()), dtype_name(key.dtype()), dtype_name(value.dtype()));
    if (!is_floating(query.dtype()))
        fail(ErrorKind::Runtime, "%s: expected a floating dtype, got %s; cast the inputs first", kName,
             dtype_name(query.dtype()));
    if (mask && mask.dtype() != DType::Bool && mask.dtype() != DType::Float32 && mask.dtype() != query.dtype())
        fail(ErrorKind::Runtime,
             "%s: Expected attn_mask dtype to be bool or float32 or to match query dtype, but got attn_mask.dtype: %s "
             "and "
             "query.dtype: %s instead; cast it",
             kName, dtype_name(mask.dtype()), dtype_name(query.dtype()));
    const auto width = [](const Tensor& x) { return x.size(x.ndim() - 1); };
    const auto length = [](const Tensor& x) { return x.size(x.ndim() - 2); };
    if (width(query) != width(key) || length(key) != length(value))
        fail(ErrorKind::Runtime,
             "%s: expected query and key of one width, key and value of one length, got shapes %s, %s and %s", kName,
             shape_text(query.sizes()).c_str(), shape_text(key.sizes()).c_str(), shape_text(value.sizes()).c_str());
}

// The heads of keys and values stand for several of the query each: (..., H, L, E) becomes (..., K, H / K, L, E).
Tensor in_groups(const Tensor& x, std::int64_t groups) {
    const int axis = x.ndim() - 3;
    Dims sizes(x.sizes());
    sizes[axis] = groups;
    sizes.insert(axis + 1, x.size(axis) / groups);
    return reshape(x, sizes);
}

struct Attention {
    struct Attrs {
        double dropout_p;
        bool is_causal;
        std::optional<double> scale;
        bool enable_gqa;
    };
    static constexpr auto fields = std::tuple{&Attrs::dropout_p, &Attrs::is_causal, &Attrs::scale, &Attrs::enable_gqa};
    static constexpr OpText text{
        .schema =
            "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
            "dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False)",
        .flags = kHidden | kComposite,
        .domain =
            "query=real(a, b, c), key=real(a, b, c), value=real(a, b, c); query=real(1, a, b, c), key=real(1, a, b, "
            "c), value=real(1, a, b, c), is_causal=True",
        .doc =
            "softmax(query @ key.T * scale + attn_mask) @ value in tiles: memory linear in the lengths. A second "
            "derivative is made of plain operations, and its memory is not."};
    static void forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                        const Attrs& attrs, Tensor& out) {
        check_inputs(query, key, value, mask);
        if (!(attrs.dropout_p >= 0 && attrs.dropout_p <= 1))
            fail(ErrorKind::Runtime, "%s: dropout probability has to be between 0 and 1, but got %g", kName,
                 attrs.dropout_p);
        const double width = static_cast<double>(query.size(query.ndim() - 1));
        const AttentionParams how{attrs.is_causal, attrs.scale.value_or(1 / std::sqrt(width))};
        out = attrs.enable_gqa ? grouped(query, key, value, mask, attrs.dropout_p, how)
                               : broadcast(query, key, value, mask, attrs.dropout_p, how);
    }

private:
    // Each head as often as makes so many of them.
    static Tensor repeated(const Tensor& x, std::int64_t heads) {
        const int axis = x.ndim() - 3;
        Dims sizes(x.sizes()), spread(x.sizes());
        spread.insert(axis + 1, heads / x.size(axis));
        sizes[axis] = heads;
        return reshape(expand(unsqueeze(x, axis + 1), spread), sizes);
    }

    static Tensor grouped(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                          double dropout_p, const AttentionParams& how) {
        const auto heads = [](const Tensor& x) { return x.ndim() < 3 ? std::int64_t{0} : x.size(x.ndim() - 3); };
        const std::int64_t groups = heads(key), all = heads(query);
        if (groups == 0 || heads(value) == 0 || all % groups != 0 || all % heads(value) != 0)
            fail(ErrorKind::Runtime,
                 "%s: with enable_gqa, expected key and value with numbers of heads (axis -3) that divide the query's, "
                 "got shapes %s, %s and %s",
                 kName, shape_text(query.sizes()).c_str(), shape_text(key.sizes()).c_str(),
                 shape_text(value.sizes()).c_str());
        if (heads(value) != groups)
            return broadcast(query, repeated(key, all), repeated(value, all), mask, dropout_p, how);
        Tensor mask_in_groups = mask;
        if (mask && mask.ndim() >= 3)
            mask_in_groups =
                mask.size(mask.ndim() - 3) == all ? in_groups(mask, groups) : unsqueeze(mask, mask.ndim() - 3);
        const Tensor out = broadcast(in_groups(query, groups), in_groups(key, groups), in_groups(value, groups),
                                     mask_in_groups, dropout_p, how);
        Dims sizes(out.sizes());
        const int axis = out.ndim() - 4;
        sizes[axis] = all;
        sizes.erase(axis + 1);
        return reshape(out, sizes);
    }

    static Tensor broadcast(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& given,
                            double dropout_p, const AttentionParams& how) {
        const auto leading = [](const Tensor& x) { return x.sizes().first(static_cast<std::size_t>(x.ndim() - 2)); };
        const Dims batch = broadcast_sizes(broadcast_sizes(leading(query), leading(key), kName), leading(value), kName);
        const auto spread = [&](const Tensor& x) {
            if (same_sizes(leading(x), batch)) return x;
            Dims sizes = batch;
            sizes.push_back(x.size(x.ndim() - 2));
            sizes.push_back(x.size(x.ndim() - 1));
            return expand(x, sizes);
        };
        const Tensor q = spread(query), k = spread(key), v = spread(value);
        const Tensor mask = given && given.dtype() != DType::Bool ? cast(given, q.dtype()) : given;
        Dims scores(q.sizes());
        scores[q.ndim() - 1] = k.size(k.ndim() - 2);
        if (mask && !can_expand(mask.sizes(), scores))
            fail(ErrorKind::Runtime, "%s: expected attn_mask to broadcast to %s (..., queries, keys), got shape %s",
                 kName, shape_text(scores).c_str(), shape_text(mask.sizes()).c_str());
        const bool mask_learns = mask && asks_for_derivative(mask);
        if (dropout_p > 0 || mask_learns) {
            const Tensor weights = attention_weights(q, k, mask, how);
            return matmul(dropout_p > 0 ? dropout(weights, dropout_p) : weights, v);
        }
        return flash_attention(q, k, v, mask, how);
    }
};

}  // namespace

Tensor attention_weights(const Tensor& query, const Tensor& key, const Tensor& mask, const AttentionParams& how) {
    constexpr double nothing = -std::numeric_limits<double>::infinity();
    Tensor scores = mul(matmul(query, transpose(key, key.ndim() - 2, key.ndim() - 1)), how.scale);
    const auto hide = [&](const Tensor& seen) { scores = where(seen, scores, number(nothing, DType::Float64)); };
    if (mask && mask.dtype() == DType::Bool)
        hide(mask);
    else if (mask)
        scores = add(scores, mask);
    const int last = scores.ndim() - 1;
    if (how.is_causal) hide(tril(ones(Dims{scores.size(last - 1), scores.size(last)}, DType::Bool), 0));
    if (!mask) return softmax(scores, last);
    const Tensor hidden = compare(kEq, detach(scores), nothing);
    const Tensor seen_keys = sum(cast(logical_not(hidden), DType::Int64), Dims{last}, true);
    const Tensor blind = compare(kEq, seen_keys, 0.0);
    return where(blind, zero(), softmax(where(blind, zero(), scores), last));
}

static const Register<Attention> attention_operations;

}  // namespace clew
