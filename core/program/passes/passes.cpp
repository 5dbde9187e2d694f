#include "core/program/passes/passes.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace clew {
namespace {

constexpr PassInfo kPasses[] = {
    {"reroll_loops", "Iterations that repeat are one step, which holds the body as a program of its own."},
    {"share_transposes", "A matrix that several products transpose is transposed once."},
    {"keep_scores", "Attention keeps its scores for the backward of the same replay."},
    {"eliminate_dead_calls", "A call whose results nobody reads does not run."},
    {"fold_constants", "A call that depends on constants alone runs once."},
    {"keep_derivatives", "An activation leaves its derivative for the backward of the same replay."},
    {"fuse_pairs", "Two calls run as one where a kernel can do both."},
    {"hoist_checks", "Checks of indices run as early as they can, so that more calls follow the last that may fail."},
    {"elide_copies", "A result that is only copied is written where the copy would bring it."},
    {"fuse_strips", "Elementwise calls over long arrays run together, strip by strip."},
    {"fuse_epilogues", "A matrix product adds its bias and runs what follows it block by block."},
    {"hoist_optimizer_steps",
     "The step of an optimizer runs as soon as its gradient is there, while that is in the cache."},
    {"share_results", "A small result that many calls refer to is made in the arena, and copied."},
    {"make_call_tables", "Short elementwise calls that follow one another become one table."},
    {"reuse_buffers", "A call writes over an operand that nobody needs any more."},
};

bool is_pass(std::string_view name) {
    return std::ranges::any_of(kPasses, [&](const PassInfo& one) { return name == one.name; });
}

std::vector<std::string_view> left_out() {
    const char* const value = std::getenv("CLEW_PASSES");
    std::vector<std::string_view> names;
    for (std::string_view rest = value ? value : ""; !rest.empty();) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        const std::string_view word = rest.substr(0, end);
        if (!word.starts_with('-') || !is_pass(word.substr(1)))
            throw Error(ErrorKind::Value, std::string("CLEW_PASSES: expected names of passes, each after a '-', as in "
                                                      "'-fuse_strips,-fold_constants'; got '")
                                              .append(word)
                                              .append("'"));
        names.push_back(word.substr(1));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return names;
}

}  // namespace

std::span<const PassInfo> all_passes() { return kPasses; }

bool is_pass_on(std::string_view name) {
    if (!is_pass(name))
        throw Error(ErrorKind::Runtime, std::string("passes: ").append(name).append(" is not in the list of passes"));
    static const std::vector<std::string_view> names = left_out();
    return std::ranges::find(names, name) == names.end();
}

}  // namespace clew
