#include "bind/graph/replay_events.h"

#include <algorithm>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>

#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/graph/site_map.h"
#include "bind/watch/values.h"
#include "core/program/loops/loop.h"
#include "core/program/own_operations.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

struct StepsOfLine {
    Handle code;
    std::int32_t instruction;
    std::int64_t count;
};

struct ReplayEvent {
    Handle code;
    std::int32_t instruction;
    std::string name;
    std::int64_t calls = 0, ns = 0;
    std::size_t steps = 0;
    std::vector<StepsOfLine> lines{};  // of its program
};

std::vector<ReplayEvent>& events() {
    static auto* const all = new std::vector<ReplayEvent>;
    return *all;
}

void add_lines(const Program& program, std::int64_t times, std::vector<StepsOfLine>& lines) {
    for (const Step& step : program.steps) {
        if (!step.action->code || step.action->op == &loop_op) continue;
        const auto known = std::ranges::find_if(lines, [&](const StepsOfLine& one) {
            return one.code.get() == step.action->code.get() && one.instruction == step.action->instruction;
        });
        if (known == lines.end())
            lines.push_back({step.action->code, step.action->instruction, times});
        else
            known->count += times;
    }
    for (const auto& loop : program.loops) add_lines(loop->body, times * loop->iterations, lines);
}

nb::list tell() {
    nb::list all;
    for (const ReplayEvent& event : events()) {
        nb::list lines;
        for (const StepsOfLine& one : event.lines)
            lines.append(nb::make_tuple(nb::steal(site_object({one.code.get(), one.instruction})), one.count));
        all.append(nb::make_tuple(event.name, nb::steal(site_object({event.code.get(), event.instruction})),
                                  event.calls, event.ns, event.steps, lines));
    }
    return all;
}

}  // namespace

void note_replay(const Program& program, const char* what, PyObject* function, std::int64_t ns) {
    const Site site = current_site();
    Handle code = Handle::steal(site.code);
    const std::string name = function ? text_of(function, "__qualname__") : std::string(what);
    auto event = std::ranges::find_if(events(), [&](const ReplayEvent& one) {
        return one.code.get() == code.get() && one.instruction == site.instruction && one.name == name;
    });
    if (event == events().end()) event = events().insert(event, ReplayEvent{std::move(code), site.instruction, name});
    ++event->calls;
    event->ns += ns;
    if (program.recorded_steps() <= event->steps) return;
    event->steps = program.recorded_steps();
    event->lines.clear();
    add_lines(program, 1, event->lines);
}

void forget_replays() { const auto gone = std::exchange(events(), {}); }

void init_replay_events(nb::module_& m) {
    m.def("replay_events", tell,
          "Replays since timing(True): (what, line, calls, nanoseconds, steps, [(line, steps)]) for each line that "
          "called them.");
}

}  // namespace clew::bind
