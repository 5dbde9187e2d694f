#include "core/program/results/graph_gradient.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/autograd/engine.h"
#include "core/autograd/leaf.h"
#include "core/program/record/recorder.h"
#include "core/program/replay/guards.h"
#include "core/program/results/deferred_graph.h"
#include "core/program/results/outcome.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

std::int64_t begin_of(const SavedSlot& slot) { return slot.offset * static_cast<std::int64_t>(item_size(slot.dtype)); }

void run_nodes(const GradientPath& way, const Tensor& gradient, std::span<Tensor> leaving) {
    Tensor arriving = gradient;
    if (way.head) {
        Tensor shown = gradient;
        BackwardCall call{way.head, {&shown, 1}, {&arriving, 1}, 1};
        arriving = Tensor();
        call_rule(call);
        fit_gradient(arriving, *way.root.outputs()[0].layout, way.root.output_dtypes()[0], way.head->kind->node_name,
                     0);
    }
    way.below.run_nodes(way.root, {&arriving, 1}, leaving, {});
}

}  // namespace

bool GraphGradient::run(const GradientPath& way, const Tensor& gradient, std::span<Tensor> sums) {
    if (running_ || !gradient || gradient->has(TensorObject::kWrappedNumber) || gradient->has(TensorObject::kSubclass))
        return false;
    if (!std::exchange(seen_, true)) return false;
    struct Running {
        bool& flag;
        explicit Running(bool& flag) : flag(flag) { flag = true; }
        ~Running() { flag = false; }
    } const running(running_);
    const bool adds = std::ranges::all_of(sums, [](const Tensor& one) { return one && is_unshared(one); });
    if (adds && adding_.run(way, gradient, sums)) return true;
    std::vector<Tensor> gradients(sums.size());
    if (!first_.run(way, gradient, gradients)) return false;
    DeferredGraph::add(gradients, sums);
    return true;
}

std::int64_t GraphGradient::bytes() const {
    std::int64_t sum = 0;
    for (const RecordedGradient* const one : {&first_, &adding_})
        if (one->program()) sum += bytes_of(*one->program());
    return sum;
}

std::vector<std::string> GraphGradient::code() const {
    std::vector<std::string> lines;
    for (const RecordedGradient* const one : {&first_, &adding_})
        if (one->program()) std::ranges::move(code_of(*one->program()), std::back_inserter(lines));
    return lines;
}

void RecordedGradient::compile_as(const Program& other) {
    if (!program_) return;
    program_->coded = other.coded;
    program_->fused = other.fused;
}

bool RecordedGradient::run(const GradientPath& way, const Tensor& gradient, std::span<Tensor> sums) {
    if (state_ == State::Unseen) return record(way, gradient, sums);
    if (state_ == State::Refused) program_.reset();
    if (!program_ || !fits(way, gradient, sums)) return false;
    replay(way, gradient, sums);
    return true;
}

bool RecordedGradient::record(const GradientPath& way, const Tensor& gradient, std::span<Tensor> sums) {
    // Their registers would be one memory's.
    for (std::size_t i = 0; i < way.below.slots_in_all(way.root); ++i)
        if (way.below.slot(way.root, i).held_storage() == gradient->storage.get()) return false;
    state_ = State::Refused;
    if (Recorder::at_work()) return false;
    std::vector<Tensor> gradients(sums.size()), given, arguments{gradient};
    Recorder recorder(*program_);
    recorder.begin();
    run_nodes(way, gradient, gradients);
    way.below.fit(gradients);
    for (std::size_t i = 0; i < sums.size() && !adds_; ++i) {
        const auto [layout, dtype] = way.below.expected(i);
        expected_.emplace_back(LayoutRef(layout), dtype);
    }
    bool alike = true;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const Tensor& one = gradients[i];
        given_.push_back(one && !adds_ ? static_cast<int>(given.size()) : -1);
        if (one && !adds_) given.push_back(one);
        if (!one || !adds_) continue;
        alike = alike && one.dtype() == sums[i].dtype() && lie_alike(one.layout(), sums[i].layout());
        if (alike) engine_ops.add_in_place(sums[i], one), gradients[i] = Tensor();
    }
    if (adds_) arguments.insert(arguments.end(), sums.begin(), sums.end());
    recorder.end_call(alike, given, arguments, {}, {});
    if (alike && is_plain() && find_sources(way, gradient, sums) && gives_only_its_own()) state_ = State::Recorded;
    for (Input& input : program_->inputs) input.tensor = Tensor();
    arguments.clear();
    if (adds_)
        DeferredGraph::add(gradients, sums);
    else
        std::ranges::move(gradients, sums.begin());
    return true;
}

// Nothing but kernels on what it is given, and results of its own.
bool RecordedGradient::is_plain() const {
    if (!program_->finished || !program_->outcome || !program_->reads.empty() || !program_->grads.empty() ||
        !program_->leaves.empty() || !program_->once.empty() || !program_->held.empty() ||
        !program_->outcome->nodes.empty())
        return false;
    const auto writes_input = [&](const KeptWrite& one) { return program_->memory_of(one.reg).input >= 0; };
    for (const Step& step : program_->steps)
        if (step.action->generator || (!adds_ && std::ranges::any_of(step.writes, writes_input))) return false;
    return std::ranges::none_of(program_->inputs, [](const Input& one) { return one.grad_of; });
}

std::optional<RecordedGradient::Source> RecordedGradient::source_of(const Tensor& input, const GradientPath& way,
                                                                    const Tensor& gradient,
                                                                    std::span<const Tensor> sums) const {
    if (input.same(gradient)) return Source{Source::Kind::Gradient, 0, 0};
    for (std::size_t i = 0; i < sums.size() && adds_; ++i)
        if (input.same(sums[i])) return Source{Source::Kind::Sum, i, 0};
    for (std::size_t i = 0; i < way.below.slots_in_all(way.root); ++i) {
        const SavedSlot& slot = way.below.slot(way.root, i);
        if (slot.held_storage() == input->storage.get())
            return Source{Source::Kind::Slot, i, byte_offset(input) - begin_of(slot)};
    }
    return {};
}

bool RecordedGradient::find_sources(const GradientPath& way, const Tensor& gradient, std::span<const Tensor> sums) {
    // A number may be another one in each call.
    for (std::size_t i = 0; i < way.below.slots_in_all(way.root); ++i)
        if (way.below.slot(way.root, i).wrapped_number) return false;
    for (const Input& input : program_->inputs) {
        const std::optional<Source> source = source_of(input.tensor, way, gradient, sums);
        if (!source) return false;
        sources_.push_back(*source);
    }
    const auto writes_another = [&](const KeptWrite& one) {
        const int input = program_->memory_of(one.reg).input;
        return input >= 0 && sources_[static_cast<std::size_t>(input)].kind != Source::Kind::Sum;
    };
    return std::ranges::none_of(program_->steps,
                                [&](const Step& step) { return std::ranges::any_of(step.writes, writes_another); });
}

// What is given is the gradient itself, or lies in memory that the run makes.
bool RecordedGradient::gives_only_its_own() const {
    const auto is_gradient = [&](int input) {
        return sources_[static_cast<std::size_t>(input)].kind == Source::Kind::Gradient;
    };
    return std::ranges::all_of(program_->outcome->results, [&](const ResultOutline& one) {
        if (one.input >= 0) return is_gradient(one.input) && !one.base_of_input;
        const int input = program_->memory_of(one.reg).input;
        return input < 0 || is_gradient(input);
    });
}

bool RecordedGradient::fits(const GradientPath& way, const Tensor& gradient, std::span<const Tensor> sums) const {
    for (std::size_t i = 0; i < expected_.size(); ++i) {
        const auto [layout, dtype] = way.below.expected(i);
        const auto& [before, dtype_before] = expected_[i];
        if (dtype != dtype_before ||
            (layout != before.get() && !(layout && before && same_sizes(layout->shape(), before->shape()))))
            return false;
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        const Source& source = sources_[i];
        if (source.kind == Source::Kind::Gradient && !same_geometry(gradient, register_of(i))) return false;
        if (source.kind == Source::Kind::Sum && !same_geometry(sums[source.index], register_of(i))) return false;
    }
    return true;
}

void RecordedGradient::replay(const GradientPath& way, const Tensor& gradient, std::span<Tensor> sums) {
    constexpr std::size_t kFew = 16;
    InputPlace few[kFew];
    std::vector<InputPlace> many;
    std::span<InputPlace> places(few, sources_.size());
    if (sources_.size() > kFew) places = (many.resize(sources_.size()), many);
    const auto place_of = [](const Tensor& tensor) { return InputPlace{tensor->storage.get(), byte_offset(tensor)}; };
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        const Source& source = sources_[i];
        if (source.kind == Source::Kind::Slot) {
            const SavedSlot& slot = way.below.slot(way.root, source.index);
            places[i] = {const_cast<Storage*>(slot.held_storage()), begin_of(slot) + source.shift};
        } else {
            places[i] = place_of(source.kind == Source::Kind::Sum ? sums[source.index] : gradient);
        }
    }
    if (replay_bare(*program_, places)) return;
    struct Bound {
        std::vector<Input>& inputs;
        ~Bound() {
            for (Input& input : inputs) input.tensor = Tensor();
        }
    } const bound{program_->inputs};
    for (std::size_t i = 0; i < sources_.size(); ++i)
        if (const Source& source = sources_[i]; source.kind != Source::Kind::Slot)
            program_->inputs[i].tensor = source.kind == Source::Kind::Sum ? sums[source.index] : gradient;
    std::vector<Tensor> given = replay_at(*program_, places);
    for (std::size_t i = 0; i < sums.size(); ++i)
        if (given_[i] >= 0)
            sums[i] = given[static_cast<std::size_t>(program_->outcome->given[static_cast<std::size_t>(given_[i])])];
}

}  // namespace clew
