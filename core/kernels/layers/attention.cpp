#include "core/kernels/layers/attention.h"

#include <algorithm>
#include <limits>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/layers/attention_call.h"
#include "core/kernels/layers/attention_rows.h"
#include "core/kernels/matrix/panels.h"
#include "core/kernels/memory/scratch.h"

// Note [Attention in tiles]
// Forward, one task takes up to kTaskRows queries of a head and all its keys, kKeyBlock of them at a time: their keys
// and values are packed once (Note [Panels]) and used for every tile of kTileRows queries. A query's maximum and sum
// run along, and what it has gathered so far is scaled when the maximum rises.
//
// Backward, one task takes a head and a part of its keys, and recomputes the weights from the scores and their log-sum.
// Queries go some at a time; where they see no later keys, few, since all of them see as many keys as the last one
// does. Heads with many keys are cut in parts where heads are few; each part then has a gradient of the queries of its
// own, and they are added up in order. Both ways of cutting depend on sizes alone: Note [Same bits at any thread
// count].

namespace clew::kernels {
namespace {

using Index = std::int64_t;

constexpr Index kTaskRows = 256, kTileRows = kMostWeighed, kKeyBlock = 256;
constexpr Index kGradientRows = 64, kCausalRows = 16;

Index pieces(Index count, Index piece) { return (count + piece - 1) / piece; }

template <class T>
void add_mask(const Attention& call, Index head, Index query, Index first_key, Index keys, T* scores) {
    const AttentionMask& mask = call.mask;
    if (mask.data == nullptr) return;
    const Index offset = mask.places[head] + query * mask.row + first_key * mask.column;
    const Index size = mask.is_bool ? 1 : static_cast<Index>(sizeof(T));
    attention_loops().of<T>().add_mask(scores, static_cast<const char*>(mask.data) + offset * size, mask.is_bool,
                                       mask.column, keys);
}

template <class T>
void forward_task(const Attention& call, Index head, Index begin, Index end) {
    const auto& panel = panels().of<T>();
    const auto& loops = attention_loops().of<T>();
    const Index block = std::min(call.keys, kKeyBlock), tile_row = padded_row(block);
    const Index key_size = packed_size<T>(call.width, block), value_size = packed_size<T>(block, call.value_width);
    const Scratch memory(static_cast<std::size_t>(key_size + value_size + kTileRows * tile_row) * sizeof(T));
    T* const packed_keys = memory.as<T>();
    T* const packed_values = packed_keys + key_size;
    T* const scores = packed_values + value_size;
    T largest[kTaskRows];
    double sums[kTaskRows];
    std::fill_n(largest, end - begin, -std::numeric_limits<T>::infinity());
    std::fill_n(sums, end - begin, 0.0);
    for (Index key = 0; key < call.keys && visible(call, end - 1, key, 1) > 0; key += block) {
        const Index keys = std::min(block, call.keys - key);
        panel.pack(call.width, keys, transposed(matrix_of<T>(call.key, head, key)), packed_keys);
        panel.pack(keys, call.value_width, matrix_of<T>(call.value, head, key), packed_values);
        for (Index query = begin; query < end; query += kTileRows) {
            const Index rows = std::min(kTileRows, end - query);
            const Index seen = visible(call, query + rows - 1, key, keys);
            if (seen == 0) continue;
            panel.multiply(rows, seen, call.width, matrix_of<T>(call.query, head, query), {packed_keys, call.width},
                           scores, tile_row, static_cast<T>(call.scale), false);
            Index counts[kTileRows];
            for (Index i = 0; i < rows; ++i) {
                T* row = scores + i * tile_row;
                counts[i] = visible(call, query + i, key, seen);
                add_mask(call, head, query + i, key, counts[i], row);
                if (call.scores) std::copy_n(row, counts[i], scores_of<T>(call, head, query + i));
            }
            T factors[kTileRows];
            loops.weigh({scores, tile_row, padded_row(seen), rows, counts}, largest + (query - begin),
                        sums + (query - begin), factors);
            for (Index i = 0; key > 0 && i < rows; ++i)
                if (factors[i] != T(1)) loops.scale(row_of<T>(call.out, head, query + i), call.value_width, factors[i]);
            panel.multiply(rows, call.value_width, seen, {scores, tile_row, 1}, {packed_values, keys},
                           row_of<T>(call.out, head, query), call.out.row, T(1), key > 0);
        }
    }
    T logs[kTaskRows];
    loops.logs(sums, logs, end - begin);
    for (Index query = begin; query < end; ++query) {
        const T top = largest[query - begin];
        const double sum = sums[query - begin];
        T* out = row_of<T>(call.out, head, query);
        T& log_sum = static_cast<T*>(call.log_sum)[head * call.queries + query];
        if (sum == 0) {  // of what is seen, the largest counts one
            std::fill_n(out, call.value_width, T(0));
            log_sum = std::numeric_limits<T>::infinity();
        } else {
            loops.scale(out, call.value_width, static_cast<T>(1 / sum));
            log_sum = top + logs[query - begin];
        }
    }
}

template <class T>
void forward(const Attention& call) {
    const Index tasks = pieces(call.queries, kTaskRows);
    const Index work = call.queries * call.keys * (call.width + call.value_width) / tasks;
    parallel_for(call.heads * tasks, std::max<Index>(1, (1 << 17) / (work + 1)), [&](Index begin, Index end) {
        for (Index task = begin; task < end; ++task) {
            const Index first = task % tasks * kTaskRows;
            forward_task<T>(call, task / tasks, first, std::min(first + kTaskRows, call.queries));
        }
    });
}

// Where the gradient of a head's queries goes.
template <class T>
struct QueryGradient {
    T* data;
    Index row;
    bool cleared;  // begun with zeros: add to it always
};

template <class T>
class BackwardTask {
public:
    BackwardTask(const Attention& call, const AttentionGradients& gradients, Index head, const T* centers)
        : call_(call),
          gradients_(gradients),
          head_(head),
          centers_(centers),
          block_(std::min(call.keys, kKeyBlock)),
          tile_row_(padded_row(block_)),
          key_size_(packed_size<T>(call.width, block_)),
          value_size_(packed_size<T>(call.value_width, block_)),
          row_size_(packed_size<T>(block_, call.width)),
          query_size_(packed_size<T>(kGradientRows, call.width)),
          grad_size_(packed_size<T>(kGradientRows, call.value_width)),
          memory_(static_cast<std::size_t>(key_size_ + value_size_ + row_size_ + query_size_ + grad_size_ +
                                           2 * kGradientRows * tile_row_) *
                  sizeof(T)) {}

    void run(Index first_key, Index last_key, const QueryGradient<T>& grad_query) {
        for (Index key = first_key; key < last_key; key += block_)
            run_block(key, std::min(block_, last_key - key), grad_query, key > first_key || grad_query.cleared);
    }

private:
    void run_block(Index key, Index keys, const QueryGradient<T>& grad_query, bool add_to_query) {
        T* const keys_across = memory_.as<T>();
        T* const values_across = keys_across + key_size_;
        T* const key_rows = values_across + value_size_;
        T* const query_rows = key_rows + row_size_;
        T* const grad_rows = query_rows + query_size_;
        T* weights = grad_rows + grad_size_;
        T* const grads = weights + kGradientRows * tile_row_;
        const auto scale = static_cast<T>(call_.scale);
        const auto key_matrix = matrix_of<T>(call_.key, head_, key);
        if (!call_.scores) panel_.pack(call_.width, keys, transposed(key_matrix), keys_across);
        panel_.pack(call_.value_width, keys, transposed(matrix_of<T>(call_.value, head_, key)), values_across);
        panel_.pack(keys, call_.width, key_matrix, key_rows);
        T* const grad_key = row_of<T>(gradients_.grad_key, head_, key);
        T* const grad_value = row_of<T>(gradients_.grad_value, head_, key);
        bool begun = false;  // the gradients of these keys and values
        const Index at_once = call_.causal ? kCausalRows : kGradientRows;
        const Index first = call_.causal ? key / at_once * at_once : 0;
        for (Index query = first; query < call_.queries; query += at_once) {
            const Index rows = std::min(at_once, call_.queries - query);
            const Index seen = visible(call_, query + rows - 1, key, keys);
            if (seen == 0) continue;
            const auto queries = matrix_of<T>(call_.query, head_, query);
            const auto incoming = matrix_of<T>(gradients_.grad, head_, query);
            if (call_.scores)
                weights = scores_of<T>(call_, head_, query);
            else
                panel_.multiply(rows, seen, call_.width, queries, {keys_across, call_.width}, weights, tile_row_, scale,
                                false);
            panel_.multiply(rows, seen, call_.value_width, incoming, {values_across, call_.value_width}, grads,
                            tile_row_, T(1), false);
            for (Index i = 0; i < rows; ++i) {
                const Index count = visible(call_, query + i, key, seen), length = padded_row(seen);
                T* const row = weights + i * tile_row_;
                if (!call_.scores) add_mask(call_, head_, query + i, key, count, row);
                loops_.weights(row, count, length, log_sums()[query + i]);
                // What lies beyond `seen` in a row of gradients was never written, but counts as zero times itself.
                std::fill(grads + i * tile_row_ + seen, grads + i * tile_row_ + length, T(0));
                loops_.score_gradients(grads + i * tile_row_, row, length, centers_[query + i], scale);
            }
            panel_.pack(rows, call_.width, queries, query_rows);
            panel_.pack(rows, call_.value_width, incoming, grad_rows);
            if (!begun && seen < keys) clear(grad_key, grad_value, seen, keys);
            panel_.multiply(seen, call_.value_width, rows, {weights, 1, tile_row_}, {grad_rows, rows}, grad_value,
                            gradients_.grad_value.row, T(1), begun);
            panel_.multiply(seen, call_.width, rows, {grads, 1, tile_row_}, {query_rows, rows}, grad_key,
                            gradients_.grad_key.row, T(1), begun);
            panel_.multiply(rows, call_.width, seen, {grads, tile_row_, 1}, {key_rows, keys},
                            grad_query.data + query * grad_query.row, grad_query.row, T(1), add_to_query);
            begun = true;
        }
        if (!begun) clear(grad_key, grad_value, 0, keys);
    }

    void clear(T* grad_key, T* grad_value, Index begin, Index end) const {
        for (Index i = begin; i < end; ++i) {
            std::fill_n(grad_key + i * gradients_.grad_key.row, call_.width, T(0));
            std::fill_n(grad_value + i * gradients_.grad_value.row, call_.value_width, T(0));
        }
    }
    const T* log_sums() const { return static_cast<const T*>(call_.log_sum) + head_ * call_.queries; }

    const Attention& call_;
    const AttentionGradients& gradients_;
    const Index head_;
    const T* const centers_;  // of the head: the sum of out * grad for each query
    const Index block_, tile_row_, key_size_, value_size_, row_size_, query_size_, grad_size_;
    const Scratch memory_;
    const PanelLoops<T>& panel_ = panels().of<T>();
    const AttentionLoops<T>& loops_ = attention_loops().of<T>();
};

template <class T>
void backward(const Attention& call, const AttentionGradients& gradients) {
    const auto& loops = attention_loops().of<T>();
    const Index heads = call.heads, queries = call.queries;
    const Index blocks = pieces(call.keys, kKeyBlock);
    const Index parts = heads >= 8 ? 1 : std::clamp<Index>(8 / heads, 1, std::min<Index>(blocks, 4));
    const Index part_keys = pieces(blocks, parts) * kKeyBlock;
    const Index head_size = queries * call.width;
    const Scratch memory(static_cast<std::size_t>(heads * queries + (parts > 1 ? parts * heads * head_size : 0)) *
                         sizeof(T));
    T* const centers = memory.as<T>();
    T* const partial = centers + heads * queries;
    const Index work = queries * call.keys * (call.width + call.value_width) / parts;
    const Index grain = std::max<Index>(1, (1 << 16) / (work + 1));
    parallel_for(heads, std::max<Index>(1, (1 << 15) / (queries * call.value_width + 1)), [&](Index begin, Index end) {
        for (Index head = begin; head < end; ++head)
            for (Index i = 0; i < queries; ++i)
                centers[head * queries + i] =
                    loops.dot(row_of<T>(call.out, head, i), row_of<T>(gradients.grad, head, i), call.value_width);
    });
    parallel_for(heads * parts, grain, [&](Index begin, Index end) {
        for (Index task = begin; task < end; ++task) {
            const Index head = task / parts, part = task % parts;
            QueryGradient<T> into{row_of<T>(gradients.grad_query, head, 0), gradients.grad_query.row, false};
            if (parts > 1) {
                into = {partial + task * head_size, call.width, true};
                std::fill_n(into.data, head_size, T(0));
            }
            BackwardTask<T>(call, gradients, head, centers + head * queries)
                .run(part * part_keys, std::min((part + 1) * part_keys, call.keys), into);
        }
    });
    if (parts == 1) return;
    parallel_for(heads * queries, std::max<Index>(1, (1 << 14) / (call.width + 1)), [&](Index begin, Index end) {
        for (Index row = begin; row < end; ++row) {
            const Index head = row / queries, i = row % queries;
            T* const out = row_of<T>(gradients.grad_query, head, i);
            const T* from = partial + head * parts * head_size + i * call.width;
            std::copy_n(from, call.width, out);
            for (Index part = 1; part < parts; ++part) loops.add(out, from + part * head_size, call.width);
        }
    });
}

}  // namespace

void attention(const Attention& call) {
    CLEW_ASSERT_FRAME();
    if (kernel_mode != KernelMode::Run) [[unlikely]]
        if (detour_as<AttentionCall>([](const Attention& one) { attention(one); }, call)) return;
    if (call.dtype == DType::Float32)
        forward<float>(call);
    else
        forward<double>(call);
}

std::int64_t kept_scores(const Attention& call) {
    return call.keys <= kKeyBlock ? call.heads * call.queries * padded_row(call.keys) : 0;
}

void attention_backward(const Attention& call, const AttentionGradients& gradients) {
    CLEW_ASSERT_FRAME();
    if (kernel_mode != KernelMode::Run) [[unlikely]]
        if (detour_as<AttentionCall>([](const auto&... given) { attention_backward(given...); }, call, gradients))
            return;
    if (call.dtype == DType::Float32)
        backward<float>(call, gradients);
    else
        backward<double>(call, gradients);
}

}  // namespace clew::kernels
