"""The fixed parts of a program in C."""

EXAMPLES = ("main.c", "Makefile")  # to be edited
RESERVED = ("forward", "backward", "step", "run", "error")

HEADER = """\
/* A program kept by clew: {sizes}. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* The tensors that have names, row by row. They hold what they held when the program was written. */
{tensors}

void program_forward(void);  /* all steps before the first backward */
void program_backward(void); /* from the first to the last step of a backward */
void program_step(void);     /* what comes after: the optimizer's steps */
void program_run(void);      /* all three */

/* What went wrong: an index out of range, an integer divided by 0. NULL: nothing. Values are of no use then. */
extern const char *program_error;

#ifdef __cplusplus
}}
#endif
#endif
"""

SOURCE = """\
/* A program kept by clew: {sizes}. Comments name operations, and the lines of Python that called them. */
#include "program.h"

#include <math.h>
#include <stddef.h>

const char *program_error = NULL;

/* Tensors that have names */
{named}

/* What is kept from one run to the next */
{state}

/* Constants */
{constants}

/* Values that live for a part of a run share these. */
{arenas}
{helpers}
void program_forward(void)
{{
{forward}
}}

void program_backward(void)
{{
{backward}
}}

void program_step(void)
{{
{step}
}}

void program_run(void)
{{
    program_forward();
    program_backward();
    program_step();
}}
"""

INDEX = """
static long in_range(int64_t index, long size, int wraps)
{
    if (wraps && index < 0) index += size;
    if (index >= 0 && index < size) return (long)index;
    program_error = "an index is out of range";
    return 0;
}
"""

QUOTIENT = """
static int64_t quotient(int64_t a, int64_t b)
{
    if (b != 0) return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
    program_error = "an integer is divided by 0";
    return 0;
}
"""

REST = """
static int64_t rest(int64_t a, int64_t b)
{
    const int64_t whole = quotient(a, b);
    return b == 0 ? 0 : (int64_t)((uint64_t)a - (uint64_t)whole * (uint64_t)b);
}
"""

FAILED = """\
        if (program_error != NULL) {
            fprintf(stderr, "%s\\n", program_error);
            return 1;
        }
"""

MAIN = """\
/* Runs the program as often as its argument says: main 1000. Put new data into its inputs before each run. */
#include <stdio.h>
#include <stdlib.h>

#include "program.h"

int main(int argc, char **argv)
{{
    const long runs = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    for (long run = 1; run <= runs; ++run) {{
        program_run();
{failed}\
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

main: main.o program.o
\t$(CC) $(CFLAGS) -o $@ main.o program.o -lm
\t-size program.o

%.o: %.c program.h
\t$(CC) $(FLAGS) $(CFLAGS) -c -o $@ $<

clean:
\trm -f main main.o program.o

.PHONY: clean
"""
