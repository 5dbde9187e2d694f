// One pool of threads for all kernels.
//
// Note [Same bits at any thread count]
// parallel_for cuts its range by `grain` alone, never by the number of threads: a chunk is always the same piece of
// work, and threads only decide who runs it when. A kernel whose chunks write to different places, or that keeps one
// partial result for each chunk and joins them in order, therefore gives the same bits with one thread and with
// sixty-four.
#pragma once
#include <cstdint>

namespace clew {

namespace threads {
using Call = void (*)(const void* body, std::int64_t begin, std::int64_t end);
void run(std::int64_t count, std::int64_t grain, Call call, const void* body);
}  // namespace threads

// Calls body(begin, end) for [0, grain), [grain, 2 * grain) ... up to count. The calls may be made at once, on any
// thread; all are done on return, and the first exception is passed on. Runs here and now, chunk after chunk, when one
// thread is set or when called from inside a body. A call that fits one chunk costs a comparison.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
    if (count <= 0) return;
    if (count <= grain) {
        body(std::int64_t{0}, count);
        return;
    }
    const threads::Call call = [](const void* body, std::int64_t begin, std::int64_t end) {
        (*static_cast<const Body*>(body))(begin, end);
    };
    threads::run(count, grain, call, &body);
}

// Threads that a parallel_for may use, the caller's included. At first CLEW_NUM_THREADS, or else the CPUs we may run
// on.
int num_threads();
void set_num_threads(int count);

}  // namespace clew
