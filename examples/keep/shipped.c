/* Trains a network on where Python left it: shipped IMAGES LABELS COUNT STEPS. See shipped.py.

   The first quarter of the images is kept for the test, the others are trained on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

enum { PIXELS = 64, CLASSES = 10, BATCH = sizeof program_labels / sizeof program_labels[0] };

static float (*images)[PIXELS];
static int64_t *labels;

static void *read_file(const char *path, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    void *data = malloc(bytes);
    if (file == NULL || data == NULL || fread(data, 1, bytes, file) != bytes) {
        fprintf(stderr, "%s: expected %zu bytes\n", path, bytes);
        exit(1);
    }
    fclose(file);
    return data;
}

static void load(long first, long begin, long end)
{
    for (long i = 0; i < BATCH; ++i) {
        const long from = begin + (first + i) % (end - begin);
        memcpy(program_images + i * PIXELS, images[from], sizeof images[from]);
        program_labels[i] = labels[from];
    }
}

static double accuracy(long end)
{
    long right = 0;
    for (long first = 0; first < end; first += BATCH) {
        load(first, 0, end);
        program_forward(); /* the network alone: nothing is learned */
        for (long i = 0; i < BATCH && first + i < end; ++i) {
            const float *score = program_scores + i * CLASSES;
            long best = 0;
            for (long k = 1; k < CLASSES; ++k)
                if (score[k] > score[best]) best = k;
            right += best == program_labels[i];
        }
    }
    return (double)right / (double)end;
}

int main(int argc, char **argv)
{
    if (argc != 5) return 1;
    const long count = strtol(argv[3], NULL, 10), steps = strtol(argv[4], NULL, 10), test = count / 4;
    images = read_file(argv[1], (size_t)count * sizeof *images);
    labels = read_file(argv[2], (size_t)count * sizeof *labels);
    printf("before: %.4f\n", accuracy(test));
    for (long step = 0; step < steps; ++step) {
        load(step * BATCH, test, count);
        program_run();
        if (program_error != NULL) return fprintf(stderr, "%s\n", program_error), 1;
    }
    printf("after: %.4f\n", accuracy(test));
    free(images);
    free(labels);
    return 0;
}
