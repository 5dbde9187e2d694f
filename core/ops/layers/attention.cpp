// Scaled dot-product attention: softmax(query @ key.T * scale + mask) @ value, without ever holding all the weights.
#include "core/kernels/layers/attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/creation/random.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

constexpr const char* kName = "scaled_dot_product_attention";

struct AttentionParams {
    bool is_causal;
    double scale;
};

Tensor across(const Tensor& x) { return transpose(x, x.ndim() - 2, x.ndim() - 1); }

// In operations that record themselves: all the weights, (..., queries, keys). A query that sees no key has none.
Tensor attention_weights(const Tensor& query, const Tensor& key, const Tensor& mask, const AttentionParams& how) {
    constexpr double nothing = -std::numeric_limits<double>::infinity();
    Tensor scores = mul(matmul(query, across(key)), how.scale);
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
    const Tensor zero = number(0.0, DType::Float64);
    return where(blind, zero, softmax(where(blind, zero, scores), last));
}

// Where the heads of a tensor (..., rows, width) are: offsets in elements, in row-major order of the leading axes.
std::vector<std::int64_t> places_of(Sizes leading, Sizes strides) {
    std::vector<std::int64_t> places{0};
    for (std::size_t axis = 0; axis < leading.size(); ++axis) {
        std::vector<std::int64_t> finer;
        finer.reserve(places.size() * static_cast<std::size_t>(leading[axis]));
        for (const std::int64_t place : places)
            for (std::int64_t i = 0; i < leading[axis]; ++i) finer.push_back(place + i * strides[axis]);
        places = std::move(finer);
    }
    return places;
}

// A tensor whose rows kernels can read: it may be a view of any kind as long as the elements of a row lie side by side.
class Heads {
public:
    explicit Heads(const Tensor& x) : tensor_(row_contiguous(x) ? x : as_contiguous(x)) {
        const auto axes = static_cast<std::size_t>(tensor_.ndim() - 2);
        places_ = places_of(tensor_.sizes().first(axes), tensor_.strides().first(axes));
    }
    kernels::HeadRows rows() const { return {tensor_.data(), places_.data(), tensor_.stride(tensor_.ndim() - 2)}; }
    std::int64_t count() const { return static_cast<std::int64_t>(places_.size()); }

private:
    static bool row_contiguous(const Tensor& x) { return x.stride(x.ndim() - 1) == 1 || x.size(x.ndim() - 1) <= 1; }
    Tensor tensor_;
    std::vector<std::int64_t> places_;
};

class Mask {
public:
    // Broadcast to (leading..., queries, keys).
    Mask(const Tensor& mask, Sizes sizes) {
        if (!mask) return;
        Dims strides;
        const int missing = static_cast<int>(sizes.size()) - mask.ndim();
        for (int axis = 0; axis < static_cast<int>(sizes.size()); ++axis)
            strides.push_back(axis < missing || mask.size(axis - missing) == 1 ? 0 : mask.stride(axis - missing));
        const std::size_t leading = sizes.size() - 2;
        places_ = places_of(sizes.first(leading), Sizes(strides).first(leading));
        view_ = {mask.data(), mask.dtype() == DType::Bool, places_.data(), strides[strides.size() - 2],
                 strides[strides.size() - 1]};
    }
    Mask(const Mask&) = delete;
    const kernels::AttentionMask& view() const { return view_; }

private:
    std::vector<std::int64_t> places_;
    kernels::AttentionMask view_{};
};

// Everything that forward and backward tell the kernel alike.
struct Call {
    Heads query, key, value, out;
    Dims score_sizes;
    Mask mask;
    kernels::Attention attention;

    Call(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& attn_mask, const Tensor& result,
         const Tensor& log_sum, const AttentionParams& how)
        : query(q), key(k), value(v), out(result), score_sizes(scores_of(q, k)), mask(attn_mask, score_sizes) {
        const int last = q.ndim() - 1;
        attention = {q.dtype(),    query.count(), q.size(last - 1), k.size(last - 1), q.size(last),
                     v.size(last), how.scale,     how.is_causal,    query.rows(),     key.rows(),
                     value.rows(), out.rows(),    mask.view(),      log_sum.data()};
    }
    Call(const Call&) = delete;

private:
    static Dims scores_of(const Tensor& q, const Tensor& k) {
        Dims sizes(q.sizes());
        sizes[q.ndim() - 1] = k.size(k.ndim() - 2);
        return sizes;
    }
};

std::int64_t work_of(const Tensor& query, const Tensor& key) { return query.numel() * key.size(key.ndim() - 2) / 8; }

// Like `like`, in memory too (a transpose that splits heads is undone for free), with rows of another width.
Tensor empty_rows(const Tensor& like, std::int64_t width) {
    if (like.size(like.ndim() - 1) == width && like.stride(like.ndim() - 1) == 1) return empty_like(like, like.dtype());
    Dims sizes(like.sizes());
    sizes[like.ndim() - 1] = width;
    return empty(sizes, like.dtype());
}

// One dtype, the same leading axes. Output 1 is for the gradient.
struct FlashAttention {
    using Attrs = AttentionParams;
    static constexpr auto fields = std::tuple{&Attrs::is_causal, &Attrs::scale};
    static constexpr OpText text{
        .schema =
            "_flash_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, float scale)",
        .node = "ScaledDotProductFlashAttentionForCpuBackward0",
        .flags = kHidden,
        .outputs = "output logsumexp",
        .domain = "unsampled, 'its later results are for its backward alone; scaled_dot_product_attention runs it'"};
    static void forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                        const Attrs& attrs, Tensor& out, Tensor& log_sum) {
        const int last = query.ndim() - 1;
        out = empty_rows(query, value.size(last));
        log_sum = empty(query.sizes().first(static_cast<std::size_t>(last)), query.dtype());
        if (log_sum.numel() == 0) return;
        const Call call(query, key, value, mask, out, log_sum, attrs);
        const WithoutGil released(work_of(query, key));
        kernels::attention(call.attention);
    }

    static constexpr std::uint64_t constants = 0b1000;
    static Saves saves(std::uint64_t, const Attrs&) { return {.inputs = 0b1111, .outputs = 0b11}; }
    static void backward(BackwardCall& call) {
        if (!call.incoming[0]) return;
        if (grad_enabled())
            composed_backward(call);
        else
            run_fused<FlashAttention>(call);
    }

    static void fused_backward(BackwardCall& call) {
        const Tensor query = saved_input(call, 0), key = saved_input(call, 1), value = saved_input(call, 2),
                     out = saved_output(call, 0), log_sum = saved_output(call, 1);
        const int last = query.ndim() - 1;
        const Tensor grads[] = {empty_rows(query, query.size(last)), empty_rows(key, key.size(last)),
                                empty_rows(value, value.size(last))};
        if (log_sum.numel() == 0 || key.size(last - 1) == 0) {
            for (const Tensor& grad : grads) kernels::fill(grad.view(), 0.0);
        } else {
            const Call forward(query, key, value, saved_input(call, 3), out, log_sum, attributes_of<Attrs>(call));
            const Heads incoming(call.incoming[0]), grad_query(grads[0]), grad_key(grads[1]), grad_value(grads[2]);
            const WithoutGil released(work_of(query, key));
            kernels::attention_backward(forward.attention,
                                        {incoming.rows(), grad_query.rows(), grad_key.rows(), grad_value.rows()});
        }
        for (int i = 0; i < 3; ++i)
            if (call.needs(i)) call.results[static_cast<std::size_t>(i)] = grads[i];
    }

private:
    // The same in operations, with all the weights, for derivatives of the derivative.
    static void composed_backward(BackwardCall& call) {
        const Tensor& g = call.incoming[0];
        const Attrs& attrs = attributes_of<Attrs>(call);
        const Tensor query = saved_input(call, 0), key = saved_input(call, 1), value = saved_input(call, 2);
        const Tensor weights = attention_weights(query, key, saved_input(call, 3), attrs);
        if (call.needs(2)) call.results[2] = matmul(across(weights), g);
        if (!call.needs(0) && !call.needs(1)) return;
        const Tensor by_weights = matmul(g, across(value));
        const Tensor center = sum(mul(weights, by_weights), Dims{weights.ndim() - 1}, true);
        const Tensor by_scores = mul(mul(weights, sub(by_weights, center)), attrs.scale);
        if (call.needs(0)) call.results[0] = matmul(by_scores, key);
        if (call.needs(1)) call.results[1] = matmul(across(by_scores), query);
    }
};

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
        const bool mask_learns = mask && grad_enabled() && mask.requires_grad();
        if (dropout_p > 0 || mask_learns) {
            const Tensor weights = attention_weights(q, k, mask, how);
            return matmul(dropout_p > 0 ? dropout(weights, dropout_p) : weights, v);
        }
        return run_many<FlashAttention, 2>(how, q, k, v, mask)[0];
    }
};

}  // namespace

static const Register<FlashAttention, Attention> attention_operations;

}  // namespace clew
