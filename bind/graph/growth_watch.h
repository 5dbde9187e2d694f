// What the growth watch does at every backward: count iterations, and decide when to look. The look is Python's.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "bind/calls/backward.h"
#include "bind/graph/site_map.h"

namespace clew::bind {

// Where each iteration of the user's loop ended, in the engine's count of events (nodes made, backward passes run).
// What a month of them leaves is bounded: of old ends every second one is forgotten when there are too many, so that
// neighbours among long gone iterations count as one.
class Iterations {
public:
    // One ended now. False if nothing was made since the last end: a graph was only run again.
    bool end(std::uint64_t serial);
    // The number of the iteration in which the node with this sequence number was made.
    std::int64_t of(std::uint64_t sequence) const;
    std::int64_t latest() const { return remembered() - 1; }  // the number of the one that ended last
    std::int64_t remembered() const { return static_cast<std::int64_t>(ends_.size()); }

private:
    static constexpr std::size_t kMostEnds = 1 << 16;
    std::vector<std::uint64_t> ends_{};
};

// Decides after each iteration, from the number of living nodes alone, whether to look: rarely while nothing grows,
// and never for more than a few percent of the time.
class LookSchedule {
public:
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

    // `clock`: None, or what gives seconds. `always`: after each iteration a look is due.
    LookSchedule(nanobind::object clock, bool always);

    // Counts an iteration, at whose end so many nodes are alive.
    bool is_due(std::int64_t nodes_alive);
    // Notes a look. `wait`: in how many iterations to look again, because a line is suspicious.
    void looked(double seconds, std::int64_t wait);
    // In how many iterations a line may hold `most`, which `held` so many at the last look; kNever: not soon.
    std::int64_t wait(std::int64_t holds, std::int64_t held, std::int64_t most) const;
    std::int64_t looks() const { return looks_; }

private:
    // A look is taken only while all of them together took less than `share` of the time since the start. The first few
    // do not count, so that short programs are looked at, too.
    struct Reason {
        double share;
        int free;
    };

    double now() const;
    void end_block();
    Reason* reason(std::int64_t nodes_alive);

    nanobind::object clock_;
    bool always_;
    double started_;
    double counted_ = 0;  // seconds, those of free looks left out
    std::int64_t looks_ = 0, iteration_ = 0, last_ = 0, follow_up_ = kNever;
    std::int64_t low_ = kNever, low_before_ = kNever, explained_ = 0;
    int rises_ = 0;
    Reason routine_{0.01, 2}, rising_{0.03, 6}, suspicion_{0.06, 6};
    Reason* reason_ = &routine_;
};

class GrowthListener final : public BackwardListener {
public:
    GrowthListener(nanobind::object clock, bool always) : schedule_(std::move(clock), always) {}
    ~GrowthListener() override { stop(); }
    GrowthListener(const GrowthListener&) = delete;
    GrowthListener& operator=(const GrowthListener&) = delete;

    // `look(roots, release)` is called when a look is due. `records(newest, file, line)` is asked now and then whether
    // what that line of the user's calls is autograd.grad with create_graph; `newest` is the sequence of its youngest
    // root. Both are kept until stop().
    void start(nanobind::object look, nanobind::object records);
    void stop();
    void after(const std::vector<Tensor>& roots, const Ref<Release>& release, std::int64_t entered) override;

    Iterations& iterations() { return iterations_; }
    LookSchedule& schedule() { return schedule_; }

private:
    static constexpr std::int64_t kAskAgain = 8;  // calls of one line
    struct Caller {
        bool records = false;
        std::int64_t calls = 0;
    };

    bool ends_an_iteration(const std::vector<Tensor>& roots, const Ref<Release>& release);
    bool is_inner_step(std::uint64_t newest);

    nanobind::object look_{}, records_{};
    Iterations iterations_{};
    LookSchedule schedule_;
    SiteMap<Caller> callers_{};
    bool is_on_ = false;
};

void init_growth_watch(nanobind::module_& m);

}  // namespace clew::bind
