#include "core/kernels/isa.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/error.h"

namespace clew::kernels {
namespace {

constexpr Isa kAll[] = {Isa::v2, Isa::v3, Isa::v4};

// A bit for each of these that the build has.
constexpr unsigned kCompiled = 0
#ifdef CLEW_HAS_V2
                               | 1U << static_cast<int>(Isa::v2)
#endif
#ifdef CLEW_HAS_V3
                               | 1U << static_cast<int>(Isa::v3)
#endif
#ifdef CLEW_HAS_V4
                               | 1U << static_cast<int>(Isa::v4)
#endif
    ;

std::string compiled_levels() {
    std::string all;
    for (const Isa isa : kAll)
        if (is_compiled(isa)) all += (all.empty() ? "" : ", ") + std::string(isa_name(isa));
    return all;
}

Isa choose_isa() {
    Isa best = Isa::v2;
    for (const Isa isa : kAll)
        if (is_compiled(isa) && (isa <= best_of_this_cpu() || std::has_single_bit(kCompiled))) best = isa;
    const char* asked = std::getenv("CLEW_ISA");
    if (asked == nullptr || *asked == '\0') return best;
    for (const Isa isa : kAll) {
        if (std::strcmp(asked, isa_name(isa)) != 0) continue;
        if (isa > best_of_this_cpu())
            fail(ErrorKind::Runtime,
                 "CLEW_ISA: expected a level this CPU has (at most %s), got %s; unset it or lower it",
                 isa_name(best_of_this_cpu()), asked);
        if (!is_compiled(isa))
            fail(ErrorKind::Runtime,
                 "CLEW_ISA: expected a level that was compiled (%s), got %s; unset it, or install clew with "
                 "CLEW_LEVELS=all",
                 compiled_levels().c_str(), asked);
        return isa;
    }
    fail(ErrorKind::Runtime, "CLEW_ISA: expected v2, v3 or v4, got '%s'; unset it to choose by CPU", asked);
}

}  // namespace

Isa best_of_this_cpu() {
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return Isa::v4;
    if (__builtin_cpu_supports("x86-64-v3")) return Isa::v3;
#endif
    return Isa::v2;
}

bool is_compiled(Isa isa) { return kCompiled >> static_cast<int>(isa) & 1; }

Isa active_isa() {
    static const Isa chosen = choose_isa();
    return chosen;
}

const char* isa_name(Isa isa) {
    constexpr const char* names[] = {"v2", "v3", "v4"};
    return names[static_cast<int>(isa)];
}

}  // namespace clew::kernels
