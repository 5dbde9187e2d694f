"""The fixed parts of a program in C. {name} is its name, with which its files and all that a linker sees begin."""

RESERVED = ("forward", "backward", "step", "run", "error", "tensors")
FUNCTIONS = "in_range|quotient|rest|half"
STATIC = rf"(state|constant|table)_\d+(_scales)?|arena_[a-z]+\d*|shape(_\d+)+|{FUNCTIONS}"
"""Names that a program has for itself. With another name than "program" they begin with it, too."""

HEADER = """\
/* A program kept by clew: {sizes}. */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* The tensors that have names, row by row. They hold what they held when the program was written. */
{tensors}

/* The same as a table, whose last name is NULL. */
#ifndef CLEW_TENSOR
#define CLEW_TENSOR
struct clew_tensor {{
    const char *name;  /* in Python */
    void *address;     /* of the first element */
    const long *shape; /* NULL: it has no axes */
    int rank;
    const char *dtype; /* "float32", ... */
    size_t bytes;
}};
#endif
extern const struct clew_tensor {name}_tensors[{count}];

void {name}_forward(void);  /* all steps before the first backward */
void {name}_backward(void); /* from the first to the last step of a backward */
void {name}_step(void);     /* what comes after: the optimizer's steps */
void {name}_run(void);      /* all three */

/* What went wrong: an index out of range, an integer divided by 0. NULL: nothing. Values are of no use then. */
extern const char *{name}_error;

#ifdef __cplusplus
}}
#endif
#endif
"""

SOURCE = """\
/* A program kept by clew: {sizes}. Comments name operations, and the lines of Python that called them. */
#include "{name}.h"

#include <math.h>

const char *{name}_error = NULL;

/* Tensors that have names */
{named}
{table}

/* What is kept from one run to the next */
{state}

/* Constants */
{constants}

/* Values that live for a part of a run share these. */
{arenas}
{tables}
{helpers}
void {name}_forward(void)
{{
{forward}
}}

void {name}_backward(void)
{{
{backward}
}}

void {name}_step(void)
{{
{step}
}}

void {name}_run(void)
{{
    {name}_forward();
    {name}_backward();
    {name}_step();
}}
"""

INDEX = """
static long in_range(int64_t index, long size, int wraps)
{{
    if (wraps && index < 0) index += size;
    if (index >= 0 && index < size) return (long)index;
    {name}_error = "an index is out of range";
    return 0;
}}
"""

QUOTIENT = """
static int64_t quotient(int64_t a, int64_t b)
{{
    if (b != 0) return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
    {name}_error = "an integer is divided by 0";
    return 0;
}}
"""

HALF = """
static float half(uint16_t bits)
{{
    union {{
        uint32_t bits;
        float value;
    }} made; /* its exponent is too small by 112 */
    made.bits = (uint32_t)(bits & 0x8000u) << 16 | (uint32_t)(bits & 0x7fffu) << 13;
    return made.value * 5.192296858534828e33f;
}}
"""

REST = """
static int64_t rest(int64_t a, int64_t b)
{{
    const int64_t whole = quotient(a, b);
    return b == 0 ? 0 : (int64_t)((uint64_t)a - (uint64_t)whole * (uint64_t)b);
}}
"""

MAIN = """\
/* Runs the program as often as its argument says: {main} 1000. Put new data into its inputs before each run. */
#include <stdio.h>
#include <stdlib.h>

#include "{name}.h"

int main(int argc, char **argv)
{{
    const long runs = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    for (long run = 1; run <= runs; ++run) {{
        {name}_run();
        if ({name}_error != NULL) {{
            fprintf(stderr, "%s\\n", {name}_error);
            return 1;
        }}
        if (run % (runs < 10 ? 1 : runs / 10) != 0) continue;
        printf("run %ld", run);
{prints}\
        printf("\\n");
    }}
    return 0;
}}
"""

MAKEFILE = """\
CFLAGS ?= -O2
FLAGS = -std=c11 -Wall -Wextra -Werror -pedantic

{main}: {main}.o {name}.o
\t$(CC) $(CFLAGS) -o $@ {main}.o {name}.o -lm
\t-size {name}.o

%.o: %.c {name}.h
\t$(CC) $(FLAGS) $(CFLAGS) -c -o $@ $<

clean:
\trm -f {main} {main}.o {name}.o

.PHONY: clean
"""
