// The gradient of a whole graph of a compiled call, recorded once and replayed: Note [Deferred graphs].
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/program/program.h"
#include "core/program/replay/replay.h"
#include "core/program/replay/slice.h"

namespace clew {

class DeferredGraph;

// From where to where a gradient goes: through the root of a graph and all below it, and through the head before it, if
// there is one.
struct GradientPath {
    DeferredGraph& below;
    Node& root;
    Node* head;
};

// One way to go backward through the graph: its gradients as new tensors, or added to sums that are there already.
class RecordedGradient {
public:
    explicit RecordedGradient(bool adds) : adds_(adds) {}
    // `sums` has one place for each edge that leaves the graph. False: nothing is computed.
    bool run(const GradientPath& way, const Tensor& gradient, std::span<Tensor> sums);
    void compile_as(const Program& other);
    const Program* program() const { return program_.get(); }  // null: there will be none

private:
    enum class State : std::uint8_t { Unseen, Recorded, Refused };
    // Where an input lies: in what a slot saved, in the gradient, or in a sum.
    struct Source {
        enum class Kind : std::uint8_t { Slot, Gradient, Sum } kind;
        std::size_t index;
        std::int64_t shift;  // bytes from where a slot begins
    };
    bool record(const GradientPath& way, const Tensor& gradient, std::span<Tensor> sums);
    bool is_plain() const;
    std::optional<Source> source_of(const Tensor& input, const GradientPath& way, const Tensor& gradient,
                                    std::span<const Tensor> sums) const;
    bool find_sources(const GradientPath& way, const Tensor& gradient, std::span<const Tensor> sums);
    bool gives_only_its_own() const;
    bool fits(const GradientPath& way, const Tensor& gradient, std::span<const Tensor> sums) const;
    void replay(const GradientPath& way, const Tensor& gradient, std::span<Tensor> sums);
    const KeptRegister& register_of(std::size_t input) const { return program_->of(program_->inputs[input].reg); }

    const bool adds_;
    State state_ = State::Unseen;
    std::unique_ptr<Program> program_ = std::make_unique<Program>();  // null once it is refused
    std::vector<Source> sources_{};                                   // of each input of the program
    // For each edge, if the gradients are new tensors:
    std::vector<int> given_{};                             // what the program gives; -1: nothing
    std::vector<std::pair<LayoutRef, DType>> expected_{};  // to what it is summed and cast
};

// The second backward pass of a kind of call is recorded, node by node; later ones are replayed, if their gradient is
// of the same kind. What the rules read is what the graph saved and the gradient that arrives.
class GraphGradient {
public:
    // Adds to `sums`, of which some may be null yet. False: nothing is computed; the nodes have to run one by one.
    bool run(const GradientPath& way, const Tensor& gradient, std::span<Tensor> sums);
    void compile_as(const Program& other) { first_.compile_as(other), adding_.compile_as(other); }
    std::int64_t bytes() const;
    std::vector<std::string> code() const;

private:
    bool seen_ = false, running_ = false;
    RecordedGradient first_{false}, adding_{true};
};

}  // namespace clew
