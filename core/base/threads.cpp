#include "core/base/threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "core/base/error.h"

namespace clew {
namespace {

using threads::Call;

// One parallel_for, on the stack of the thread that called it.
struct Job {
    const std::int64_t count;
    const std::int64_t grain;
    const Call call;
    const void* const body;
    std::atomic<std::int64_t> next{0};  // the first element that nobody has taken
    std::atomic<bool> failed{false};
    std::exception_ptr error{};

    void work() {
        for (;;) {
            const std::int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
            if (begin >= count) return;
            try {
                call(body, begin, std::min(begin + grain, count));
            } catch (...) {
                if (!failed.exchange(true)) error = std::current_exception();
                next.store(count, std::memory_order_relaxed);
            }
        }
    }
};

// Set in threads that are running a body: a parallel_for in there runs at once, or the pool would wait for itself.
thread_local bool inside_body = false;

// Waking a thread that sleeps takes about as long as a small product. So a worker that has just finished looks out for
// the next job for some tens of microseconds before it goes to sleep, and a caller likewise for its workers.
template <class Ready>
void look_out(const Ready& ready) {
    for (int i = 0; i < 1000 && !ready(); ++i) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

class Pool {
public:
    // False when another thread is using the pool.
    bool run(Job& job, int helpers) {
        std::unique_lock user(in_use_, std::try_to_lock);
        if (!user.owns_lock()) return false;
        {
            std::lock_guard lock(mutex_);
            job_ = &job;
            tickets_.store(helpers, std::memory_order_relaxed);
            while (workers_ < helpers && start_worker()) ++workers_;
            for (int i = std::min(helpers, asleep_); i > 0; --i) wake_.notify_one();
        }
        inside_body = true;
        job.work();
        inside_body = false;
        {
            std::lock_guard lock(mutex_);
            tickets_.store(0, std::memory_order_relaxed);  // who has not come by now need not
        }
        const auto all_done = [this] { return active_.load(std::memory_order_relaxed) == 0; };
        look_out(all_done);
        std::unique_lock lock(mutex_);
        done_.wait(lock, all_done);
        return true;
    }

private:
    bool start_worker() {
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);  // signals are for the threads of the user
        bool started = true;
        try {
            std::thread([this] { serve(); }).detach();
        } catch (const std::system_error&) {
            started = false;  // no more threads to be had: those there are do the work
        }
        pthread_sigmask(SIG_SETMASK, &old, nullptr);
        return started;
    }

    void serve() {
        inside_body = true;
        const auto wanted = [this] { return tickets_.load(std::memory_order_relaxed) > 0; };
        std::unique_lock lock(mutex_);
        for (;;) {
            ++asleep_;
            wake_.wait(lock, wanted);
            --asleep_;
            while (wanted()) {
                tickets_.fetch_sub(1, std::memory_order_relaxed);
                active_.fetch_add(1, std::memory_order_relaxed);
                Job* job = job_;
                lock.unlock();
                job->work();
                lock.lock();
                if (active_.fetch_sub(1, std::memory_order_relaxed) == 1) done_.notify_one();
                lock.unlock();
                look_out(wanted);
                lock.lock();
            }
        }
    }

    std::mutex in_use_;
    std::mutex mutex_;  // guards all below; the atomics are only looked at without it
    std::condition_variable wake_, done_;
    Job* job_ = nullptr;
    std::atomic<int> tickets_{0};  // workers that may still join the job
    std::atomic<int> active_{0};   // workers that are in it
    int workers_ = 0, asleep_ = 0;
};

// Note [The pool is never destroyed]
// Its workers are detached and sleep on its condition variable until the process ends, so nothing is joined at exit and
// nothing can hang there. A fork copies the pool without its workers, perhaps with a lock held: the child builds a new
// one in its place.
alignas(Pool) unsigned char pool_memory[sizeof(Pool)];

void make_pool() { new (pool_memory) Pool; }

Pool& pool() {
    static const bool made = [] {
        make_pool();
        pthread_atfork(nullptr, nullptr, make_pool);
        return true;
    }();
    (void)made;
    return *std::launder(reinterpret_cast<Pool*>(pool_memory));
}

int cpus_we_may_use() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int threads_at_first() {
    const char* asked = std::getenv("CLEW_NUM_THREADS");
    if (asked == nullptr || *asked == '\0') return cpus_we_may_use();
    char* end = nullptr;
    errno = 0;
    const long count = std::strtol(asked, &end, 10);
    if (*end != '\0' || errno != 0 || count < 1 || count > INT_MAX)
        fail(ErrorKind::Value, "CLEW_NUM_THREADS: expected a whole number of at least 1, got '%s'; correct or unset it",
             asked);
    return static_cast<int>(count);
}

std::atomic<int>& thread_count() {
    static std::atomic<int> count{threads_at_first()};
    return count;
}

}  // namespace

int num_threads() { return thread_count().load(std::memory_order_relaxed); }

void set_num_threads(int count) {
    if (count < 1)
        fail(ErrorKind::Value, "set_num_threads: expected at least 1, got %d; 1 runs everything in the calling thread",
             count);
    thread_count().store(count, std::memory_order_relaxed);
}

void threads::run(std::int64_t count, std::int64_t grain, Call call, const void* body) {
    grain = std::max<std::int64_t>(grain, 1);
    Job job{count, grain, call, body};
    if (!inside_body) {
        const std::int64_t chunks = (count + grain - 1) / grain;
        const int helpers = static_cast<int>(std::min<std::int64_t>(num_threads(), chunks)) - 1;
        if (helpers > 0 && pool().run(job, helpers)) {
            if (job.error) std::rethrow_exception(job.error);
            return;
        }
    }
    for (std::int64_t begin = 0; begin < count; begin += grain) call(body, begin, std::min(begin + grain, count));
}

}  // namespace clew
