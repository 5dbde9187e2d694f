// Attention, captured: Note [Captured kernels].
#pragma once
#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "core/kernels/capture.h"
#include "core/kernels/layers/attention.h"

namespace clew::kernels {

class AttentionCall final : public KernelCall {
public:
    explicit AttentionCall(const Attention& call) : call_(call) {
        for (HeadRows* const rows : {&call_.query, &call_.key, &call_.value, &call_.out}) own(rows->places);
        if (call_.mask.data != nullptr) own(call_.mask.places);
    }
    AttentionCall(const Attention& call, const AttentionGradients& gradients) : AttentionCall(call) {
        AttentionGradients& mine = gradients_.emplace(gradients);
        for (HeadRows* const rows : {&mine.grad, &mine.grad_query, &mine.grad_key, &mine.grad_value}) own(rows->places);
    }

    void run() const override { gradients_ ? attention_backward(call_, *gradients_) : attention(call_); }
    Operands operands() override {
        const Index queries = call_.queries, keys = call_.keys, width = call_.width, value_width = call_.value_width;
        Operands list{reach(call_.query, queries, width, false), reach(call_.key, keys, width, false),
                      reach(call_.value, keys, value_width, false),
                      reach(call_.out, queries, value_width, !gradients_)};
        const Index all = call_.heads * queries * size_of(call_.dtype);
        list.push_back({reinterpret_cast<char**>(&call_.log_sum), 0, all, !gradients_});
        if (AttentionMask& mask = call_.mask; mask.data != nullptr)
            list.push_back(reach(mask.data, mask.places, size_of(mask.is_bool ? DType::Bool : call_.dtype), queries,
                                 mask.row, keys, mask.column, false));
        if (gradients_) {
            list.push_back(reach(gradients_->grad, queries, value_width, false));
            list.push_back(reach(gradients_->grad_query, queries, width, true));
            list.push_back(reach(gradients_->grad_key, keys, width, true));
            list.push_back(reach(gradients_->grad_value, keys, value_width, true));
        }
        if (call_.scores == nullptr) return list;
        char** const scores = reinterpret_cast<char**>(&call_.scores);
        if (gradients_) list.push_back({scores, 0, bytes_of_scores(), false});
        list.push_back({scores, 0, bytes_of_scores(), true});
        return list;
    }
    bool write_to(const char* const* place, std::int64_t start, const CopiedTo& moved) override {
        if (!gradients_) return false;
        for (HeadRows* const rows : {&gradients_->grad_query, &gradients_->grad_key, &gradients_->grad_value})
            if (place_of(rows->data) == place)
                return move(*rows, rows == &gradients_->grad_query ? call_.queries : call_.keys,
                            rows == &gradients_->grad_value ? call_.value_width : call_.width, start, moved);
        return false;
    }
    AttentionCall* attending() override { return this; }
    unsigned traits() const override { return kAttends; }
    bool is_backward() const { return gradients_.has_value(); }
    // 0: they can't be kept.
    std::int64_t bytes_of_scores() const { return kept_scores(call_) * size_of(call_.dtype); }
    void keep_scores(char* at) { call_.scores = at; }
    // Whether their scores are the same where queries, keys and masks are.
    bool scores_as(const AttentionCall& other) const {
        const Attention &a = call_, &b = other.call_;
        const auto all = [](const Attention& one) {
            return std::tuple(one.dtype, one.heads, one.queries, one.keys, one.width, one.scale, one.causal,
                              one.query.row, one.key.row, one.mask.data != nullptr);
        };
        const auto lie_as = [&](const Index* one, const Index* two) { return std::equal(one, one + a.heads, two); };
        return all(a) == all(b) && lie_as(a.query.places, b.query.places) && lie_as(a.key.places, b.key.places) &&
               (a.mask.data == nullptr || (std::tuple(a.mask.is_bool, a.mask.row, a.mask.column) ==
                                               std::tuple(b.mask.is_bool, b.mask.row, b.mask.column) &&
                                           lie_as(a.mask.places, b.mask.places)));
    }
    std::size_t bytes() const override {
        return sizeof(*this) + places_.size() * static_cast<std::size_t>(call_.heads) * sizeof(Index);
    }
    std::int64_t work() const override { return call_.heads * call_.queries * call_.keys; }

private:
    using Index = std::int64_t;
    static Index size_of(DType dtype) { return static_cast<Index>(item_size(dtype)); }
    // The caller's go with its call.
    void own(const Index*& places) { places = places_.emplace_back(places, places + call_.heads).data(); }

    bool move(HeadRows& rows, Index count, Index width, Index start, const CopiedTo& moved) {
        std::vector<Index> places;
        Index step = 0;  // from row to row
        for (Index head = 0; head < call_.heads; ++head)
            for (Index i = 0; i < count; ++i) {
                const std::optional<Index> at = moved(start + rows.places[head] + i * rows.row, width);
                if (!at) return false;
                if (i == 0) places.push_back(*at);
                if (head == 0 && i == 1) step = *at - places[0];
                if (*at != places.back() + i * step) return false;
            }
        rows.row = step;
        own(rows.places = places.data());
        return true;
    }

    template <class Data>
    static char** place_of(Data*& data) {
        return const_cast<char**>(reinterpret_cast<const char* const*>(&data));
    }
    Operand reach(HeadRows& rows, Index count, Index width, bool written) const {
        return reach(rows.data, rows.places, size_of(call_.dtype), count, rows.row, width, 1, written);
    }
    template <class Data>
    Operand reach(Data*& data, const Index* places, Index size, Index rows, Index row, Index columns, Index column,
                  bool written) const {
        Operand operand{place_of(data), 0, 0, written};
        if (call_.heads == 0 || rows == 0 || columns == 0) return operand;
        const auto [least, most] = std::minmax_element(places, places + call_.heads);
        operand = {operand.place, std::max<Index>(0, -*least * size), std::max<Index>(0, *most * size) + size, written};
        operand.reach(rows - 1, row * size);
        operand.reach(columns - 1, column * size);
        return operand;
    }

    Attention call_;
    std::optional<AttentionGradients> gradients_;
    std::vector<std::vector<Index>> places_;
};

}  // namespace clew::kernels
