// What `clew xray` notes of each backward: from which line it was called, the times since the one before, its graph.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bind/calls/backward.h"
#include "bind/graph/graph_copy.h"
#include "bind/graph/site_map.h"
#include "bind/graph/step_probe.h"
#include "core/ops/signature.h"

namespace clew::bind {

// Python is called only for what the core cannot do: to find the names of leaves that are new, and to describe graphs
// that hold Python objects.
class BackwardLog final : public BackwardListener {
public:
    // `at`: None, or the (file, line) whose graphs alone are described. `ask(line's number, roots, release, is_whole)`
    // is called when there are leaves without a name (it may then give them numbers), when the graph could not be
    // copied (not is_whole), and always if `draws`, when whole graphs are copied too, with times of operations.
    BackwardLog(nanobind::object ask, std::size_t limit, nanobind::object at, bool draws);
    ~BackwardLog() override;
    BackwardLog(const BackwardLog&) = delete;
    BackwardLog& operator=(const BackwardLog&) = delete;

    void start();
    void stop();
    void after(const std::vector<Tensor>& roots, const Ref<Release>& release, std::int64_t entered) override;

    void give_number(nanobind::handle leaf, std::int64_t number) { numbers_.add(leaf.ptr(), number); }
    std::int64_t number_of(nanobind::handle leaf) const;
    void ask_no_more_for_names() { asks_for_names_ = false; }
    // How many backward passes that line has called.
    std::int64_t count(const std::string& file, int line) const;
    // One dict for each line that called a backward, in the order of the first.
    nanobind::list lines() const;
    std::int64_t last() const { return last_; }  // the number of the line that called the last; -1: none

private:
    static constexpr std::size_t kMostSteps = 10'000;  // of one line
    static constexpr int kMostProbes = 4;
    static constexpr std::int64_t kLongest = 100'000'000;  // nanoseconds of a step that is recorded, too
    static constexpr std::size_t kMostKinds = 64;
    static constexpr std::size_t kMostDrawn = 250'000;  // nodes: src/clew/graph/pictures/draw.py
    struct Mark {
        std::int64_t at = 0;
        Timings timings{};
        CallSignature calls{};
    };
    struct Step {
        std::int64_t wall, recording, forward_kernels, backward, operations;
    };
    struct Line {
        std::string file;
        int number;
        Handle code;
        bool is_described;
        std::int64_t count = 0;
        Mark mark{};
        Step first{};
        std::vector<Step> steps{};  // a ring when it is full
        std::size_t oldest = 0;
        std::unordered_map<std::uint64_t, std::int64_t> kinds{};  // of steps: how often each came
        bool probed = false;
        std::int64_t kept = 0;  // nanoseconds of a replay, if one was measured
        GraphCopy copy{};
        GraphCopy whole{};  // of the last backward, if it is to be drawn
    };

    static Step between(const Mark& before, const Mark& after);
    std::size_t line_of(const Site& site);
    void note_step(Line& line, const Mark& now, const std::vector<Tensor>& roots);
    bool ends_probe(Line& line, const Mark& now);
    void drop_probe();
    void probe(Line& line, std::uint64_t kind);

    nanobind::object ask_;
    std::size_t limit_;
    std::string file_{};
    int at_line_ = -1;  // -1: all are described
    bool draws_, asks_for_names_ = true, is_on_ = false;
    std::vector<OperationTime> times_{};  // since the last backward
    unsigned long thread_ = 0;
    Mark start_{};
    LeafNumbers numbers_{};
    std::vector<std::unique_ptr<Line>> lines_{};
    SiteMap<std::size_t> called_{};
    std::int64_t last_ = -1;
    int probes_ = 0;
    Line* probed_ = nullptr;
    std::unique_ptr<StepProbe> probe_{};  // under way, of that line
};

void init_backward_log(nanobind::module_& m);

}  // namespace clew::bind
