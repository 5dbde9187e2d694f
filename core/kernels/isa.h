// Kernels are compiled once per instruction set and chosen when the module is loaded.
//
// Note [Kernel families]
// A family `f` is a header f.h with a plain struct `FTable` of function pointers and a file f.isa.cpp that the build
// compiles once for each level (CLEW_ISA = v2, v3, v4). Everything in f.isa.cpp lives in an unnamed namespace, includes
// no STL and calls no inline function shared with other files: the linker keeps one copy of such a function, and the
// baseline might get the AVX-512 one. The file ends with CLEW_EXPORT_TABLE(FTable, f, {...}); the header declares it
// with CLEW_DECLARE_TABLE(FTable, f), after which `f()` is the table of the chosen level.
#pragma once

namespace clew::kernels {

enum class Isa { v2, v3, v4 };

// Chosen once: the best that this CPU has and the build compiled, or what CLEW_ISA (v2, v3, v4) asks for.
Isa active_isa();
Isa best_of_this_cpu();
bool is_compiled(Isa);
const char* isa_name(Isa);

template <class Table>
const Table& choose(const Table& v2, const Table& v3, const Table& v4) {
    switch (active_isa()) {
        case Isa::v4:
            return v4;
        case Isa::v3:
            return v3;
        default:
            return v2;
    }
}

}  // namespace clew::kernels

#define CLEW_JOIN_(a, b) a##_##b
#define CLEW_JOIN(a, b) CLEW_JOIN_(a, b)

// The build defines CLEW_HAS_V2 and so on for each level that it compiles, and CLEW_ONE_ISA where there is only one.
#ifdef CLEW_HAS_V3
#define CLEW_V3_OR_V2(family) family##_v3
#else
#define CLEW_V3_OR_V2(family) family##_v2  // never chosen
#endif
#ifdef CLEW_HAS_V4
#define CLEW_V4_OR_V2(family) family##_v4
#else
#define CLEW_V4_OR_V2(family) family##_v2
#endif

#ifdef CLEW_ONE_ISA
#define CLEW_DECLARE_TABLE(Table, family)               \
    extern const Table CLEW_JOIN(family, CLEW_ONE_ISA); \
    inline const Table& family() { return CLEW_JOIN(family, CLEW_ONE_ISA); }
#else
#define CLEW_DECLARE_TABLE(Table, family)                                                               \
    extern const Table family##_v2, family##_v3, family##_v4;                                           \
    inline const Table& family() {                                                                      \
        static const Table& chosen = choose(family##_v2, CLEW_V3_OR_V2(family), CLEW_V4_OR_V2(family)); \
        return chosen;                                                                                  \
    }
#endif
#define CLEW_EXPORT_TABLE(Table, family, ...)       \
    extern const Table CLEW_JOIN(family, CLEW_ISA); \
    const Table CLEW_JOIN(family, CLEW_ISA) = __VA_ARGS__
