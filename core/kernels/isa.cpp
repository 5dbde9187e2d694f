#include "core/kernels/isa.h"

#include <cstdlib>
#include <cstring>

#include "core/base/error.h"

namespace clew::kernels {
namespace {

Isa best_of_this_cpu() {
#ifdef CLEW_ONE_ISA
    return Isa::CLEW_ONE_ISA;
#elif defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return Isa::v4;
    if (__builtin_cpu_supports("x86-64-v3")) return Isa::v3;
#endif
    return Isa::v2;
}

Isa choose_isa() {
    const Isa best = best_of_this_cpu();
    const char* asked = std::getenv("CLEW_ISA");
    if (asked == nullptr || *asked == '\0') return best;
    for (Isa isa : {Isa::v2, Isa::v3, Isa::v4}) {
        if (std::strcmp(asked, isa_name(isa)) != 0) continue;
        if (isa > best)
            fail(ErrorKind::Runtime,
                 "CLEW_ISA: expected a level this CPU has (at most %s), got %s; unset it or lower it", isa_name(best),
                 asked);
        return isa;
    }
    fail(ErrorKind::Runtime, "CLEW_ISA: expected v2, v3 or v4, got '%s'; unset it to choose by CPU", asked);
}

}  // namespace

Isa active_isa() {
    static const Isa chosen = choose_isa();
    return chosen;
}

const char* isa_name(Isa isa) {
    constexpr const char* names[] = {"v2", "v3", "v4"};
    return names[static_cast<int>(isa)];
}

}  // namespace clew::kernels
