// Attention in tiles, without ever holding all the weights.
#include <vector>

#include "core/autograd/mode.h"
#include "core/kernels/layers/attention.h"
#include "core/ops/creation/random.h"
#include "core/ops/differentiates.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/layers/attention.h"
#include "core/ops/operands.h"

namespace clew {
namespace {

Tensor across(const Tensor& x) { return transpose(x, x.ndim() - 2, x.ndim() - 1); }
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

std::int64_t attention_work(const Tensor& query, const Tensor& key) {
    return query.numel() * key.size(key.ndim() - 2) / 8;
}

// Like `like`, in memory too (a transpose that splits heads is undone for free), with rows of another width.
Tensor empty_rows(const Tensor& like, std::int64_t width) {
    if (like.size(like.ndim() - 1) == width && like.stride(like.ndim() - 1) == 1) return empty_like(like, like.dtype());
    Dims sizes(like.sizes());
    sizes[like.ndim() - 1] = width;
    return empty(sizes, like.dtype());
}

bool fit(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask) {
    const int last = query.ndim() - 1;
    if (last < 1 || key.ndim() != last + 1 || value.ndim() != last + 1) return false;
    for (int i = 0; i < last - 1; ++i)
        if (key.size(i) != query.size(i) || value.size(i) != query.size(i)) return false;
    if (key.size(last) != query.size(last) || value.size(last - 1) != key.size(last - 1)) return false;
    Dims scores(query.sizes());
    scores[last] = key.size(last - 1);
    return all_floating(query.dtype(), {&key, &value}) &&
           (!mask ||
            (can_expand(mask.sizes(), scores) && (mask.dtype() == DType::Bool || mask.dtype() == query.dtype())));
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
        need_fit("attention", fit(query, key, value, mask));
        out = empty_rows(query, value.size(last));
        log_sum = empty(query.sizes().first(static_cast<std::size_t>(last)), query.dtype());
        if (log_sum.numel() == 0) return;
        const Call call(query, key, value, mask, out, log_sum, attrs);
        const WithoutGil released(attention_work(query, key));
        kernels::attention(call.attention);
    }

    static constexpr std::uint64_t constants = 0b1000;
    static Saves saves(std::uint64_t, const Attrs&) { return {.inputs = 0b1111, .outputs = 0b11}; }
    static void backward(BackwardCall& call) {
        if (!call.incoming[0]) return;
        if (differentiates())
            composed_backward(call);
        else
            run_fused<FlashAttention>(call);
    }

    static void fused_backward(BackwardCall& call) {
        const Tensor query = saved_input(call, 0), key = saved_input(call, 1), value = saved_input(call, 2),
                     out = saved_output(call, 0), log_sum = saved_output(call, 1);
        need_fit("attention", query && key && value && fit(query, key, value, saved_input(call, 3)));
        const int last = query.ndim() - 1;
        Dims sizes(query.sizes());
        sizes[last] = value.size(last);
        const Tensor& g = call.incoming[0];
        need_fit("attention", out && g && is_like(g, out) && out.dtype() == query.dtype() &&
                                  same_sizes(out.sizes(), sizes) && log_sum &&
                                  is_packed(log_sum, query.dtype(), log_sum.numel()) &&
                                  same_sizes(log_sum.sizes(), query.sizes().first(static_cast<std::size_t>(last))));
        const Tensor grads[] = {empty_rows(query, query.size(last)), empty_rows(key, key.size(last)),
                                empty_rows(value, value.size(last))};
        if (log_sum.numel() == 0 || key.size(last - 1) == 0) {
            for (const Tensor& grad : grads) kernels::fill(grad.view(), 0.0);
        } else {
            const Call forward(query, key, value, saved_input(call, 3), out, log_sum, attributes_of<Attrs>(call));
            const Heads incoming(call.incoming[0]), grad_query(grads[0]), grad_key(grads[1]), grad_value(grads[2]);
            const WithoutGil released(attention_work(query, key));
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

}  // namespace

Tensor flash_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                       const AttentionParams& how) {
    return run_many<FlashAttention, 2>(how, query, key, value, mask)[0];
}

static const Register<FlashAttention> flash_attention_operations;

}  // namespace clew
