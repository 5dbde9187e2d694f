// A budget for what graphs save: the account of what is held, and what goes when it is too much.
//
// Note [What is dropped]
// Dynamic tensor rematerialization (Kirisame et al. 2020): of the values that nothing but graphs holds, those go first
// whose recomputation costs least for each byte and nanosecond since it was last used. The cost counts neighbours that
// have gone, too, as they would have to be computed with it.
#pragma once
#include "core/base/error.h"
#include "core/budget/value.h"

namespace clew::budget {

struct Report {
    std::int64_t peak = 0;     // of the bytes held, after each operation
    std::int64_t dropped = 0;  // bytes in all
    std::int64_t drops = 0;
    std::int64_t recomputed = 0;  // steps
    std::int64_t recompute_ns = 0;
};

struct Account {
    std::uint32_t references = 1;
    std::int64_t limit = 0;
    std::int64_t now = 0;   // ns: when the last operation began or ended
    std::int64_t held = 0;  // bytes that graphs or the account hold, of values of the block
    Report report{};
    // The same if nothing had been dropped, and the most of it: that is enough, too.
    std::int64_t without_drops = 0, peak_without_drops = 0;
    // In a forward the least is not known before it has ended. So it goes on where the limit does not hold, with as
    // little as can be; this is the most that it took then. 0: the limit holds.
    std::int64_t short_of = 0;
    std::vector<Value*> present{};  // values that have data and a recipe

    // Drops values until `extra` more bytes fit; false if they don't.
    bool make_room(std::int64_t extra);
    void note_peak() { report.peak = std::max(report.peak, held); }
    void note_peak_without_drops() { peak_without_drops = std::max(peak_without_drops, without_drops); }
    // Fails if `least` is more than the limit.
    void check(std::int64_t least, const char* when);
    // The value has data afterwards.
    void restore(Value& value);

private:
    void drop(Value& value);
    Value* cheapest() const;
    void compute(Value& value);
};

// The account can't be kept: `least` is what it takes.
struct Impossible : Error {
    Impossible(std::int64_t least, std::int64_t limit, const char* when);
    std::int64_t least;
};

// The bytes that a backward from these roots needs at one time, at most, if everything that can go has gone.
std::int64_t least_for(const Account& account, Tensors roots);

}  // namespace clew::budget
