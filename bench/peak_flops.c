/* Multiplications and additions at full speed: nothing but independent fused multiply-adds in registers. */
#if defined(__AVX512F__)
#define WIDTH 16
#else
#define WIDTH 8
#endif
#define CHAINS 12 /* latency times the units that multiply, at least */

typedef float lanes __attribute__((vector_size(4 * WIDTH)));

/* Floating point operations of one turn. */
long flops_of_a_turn(void) { return 2L * WIDTH * CHAINS; }

float turns(long count) {
    lanes sums[CHAINS], factor, addend, total;
    for (int lane = 0; lane < WIDTH; ++lane) factor[lane] = 0.999f, addend[lane] = 0.001f;
    for (int chain = 0; chain < CHAINS; ++chain) sums[chain] = addend * (float)chain;
    for (; count > 0; --count)
#pragma GCC unroll 12
        for (int chain = 0; chain < CHAINS; ++chain) sums[chain] = sums[chain] * factor + addend;
    total = sums[0];
    for (int chain = 1; chain < CHAINS; ++chain) total += sums[chain];
    return total[0];
}
