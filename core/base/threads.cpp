#include "core/base/threads.h"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/floating_mode.h"
#include "core/base/frame.h"
#include "core/base/system.h"

namespace clew {
namespace {

using threads::Call;

// Note [Scheduling of chunks]
// A job's chunks are dealt out in as many stretches as there are threads. Each thread works through one of them, always
// the same, and then helps with the others: so the parts of an array that a thread wrote in one operation are those
// that it reads in the next, from its own cache, and yet nobody waits for a thread that came late or was held up.
constexpr int kMostShares = 32;

struct alignas(64) Share {
    std::atomic<std::int64_t> next;  // the first chunk that nobody has taken
    std::int64_t end;
};

// One parallel_for, on the stack of the thread that called it.
class Job {
public:
    Job(std::int64_t count, std::int64_t grain, std::int64_t chunks, int threads, Call call, const void* body)
        : count_(count),
          grain_(grain),
          call_(call),
          body_(body),
          floating_mode_(floating_mode()),
          shares_(std::min(threads, kMostShares)) {
        const std::int64_t most = chunks / shares_, larger = chunks % shares_;
        std::int64_t begin = 0;
        for (int i = 0; i < shares_; ++i) {
            share_[i].next.store(begin, std::memory_order_relaxed);
            begin += most + (i < larger ? 1 : 0);
            share_[i].end = begin;
        }
    }

    // `thread`: 0 is the caller, whose numbers all compute with.
    void work(int thread) {
        if (thread > 0) set_floating_mode(floating_mode_);
        for (int i = 0; i < shares_; ++i) {
            Share& share = share_[(thread + i) % shares_];
            for (;;) {
                if (share.next.load(std::memory_order_relaxed) >= share.end) break;
                const std::int64_t chunk = share.next.fetch_add(1, std::memory_order_relaxed);
                if (chunk >= share.end || failed_.load(std::memory_order_relaxed)) break;
                run(chunk * grain_);
            }
        }
    }

    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

private:
    void run(std::int64_t begin) {
        try {
            call_(body_, begin, std::min(begin + grain_, count_));
        } catch (...) {
            if (!failed_.exchange(true)) error_ = std::current_exception();
        }
    }

    const std::int64_t count_;
    const std::int64_t grain_;
    const Call call_;
    const void* const body_;
    const std::uint64_t floating_mode_;
    const int shares_;
    std::atomic<bool> failed_{false};
    std::exception_ptr error_{};
    Share share_[kMostShares];
};

// Set in threads that are running a body: a parallel_for in there runs at once, or the pool would wait for itself.
thread_local bool inside_body = false;

// Waking a thread that sleeps takes longer than many an operation. So a worker that has just finished looks out for the
// next job for a while before it goes to sleep, and a caller likewise for its workers. After the first moments it lets
// others run, lest it hold up the very thread that it waits for. Returns whether it came.
template <class Ready>
bool look_out(std::chrono::microseconds patience, const Ready& ready) {
    constexpr int kFirstMoments = 16;
    const auto give_up = std::chrono::steady_clock::now() + patience;
    for (int turn = 0; turn < kFirstMoments || std::chrono::steady_clock::now() < give_up; ++turn) {
        for (int i = 0; i < 64; ++i) {
            if (ready()) return true;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        if (turn >= kFirstMoments) std::this_thread::yield();
    }
    return false;
}
constexpr std::chrono::microseconds kBetweenJobs{200}, kForTheLast{50};

// Note [Tickets]
// A job is offered by setting `tickets_`; a worker is in it once it has taken one. The caller takes back what is left
// when there is nothing more to do, and so knows how many it has to wait for: those have all seen `job_`, the others
// never will. No lock is held while anybody looks out. Before a thread sleeps it says so and looks once more, and
// whoever it waits for writes first and then looks for sleepers (both in one total order), so no wake-up is lost.
class Pool {
public:
    // False when another thread is using the pool.
    bool run(Job& job, int helpers) {
        std::unique_lock user(in_use_, std::try_to_lock);
        if (!user.owns_lock()) return false;
        while (static_cast<int>(workers_.size()) < helpers && start_worker()) keep_from_ = -1;
        keep_workers_from_my_cpu();
        job_ = &job;
        finished_.store(0, std::memory_order_relaxed);
        tickets_.store(helpers);
        if (asleep_.load() > 0) {
            std::lock_guard lock(mutex_);
            calls_ = std::min(helpers, asleep_.load());
            for (int i = calls_; i > 0; --i) wake_.notify_one();
        }
        inside_body = true;
        job.work(0);
        inside_body = false;
        const int joined = helpers - tickets_.exchange(0);
        const auto all_done = [this, joined] { return finished_.load() == joined; };
        if (all_done() || look_out(kForTheLast, all_done)) return true;
        std::unique_lock lock(mutex_);
        waiting_.store(true);
        done_.wait(lock, all_done);
        waiting_.store(false);
        return true;
    }

private:
    bool start_worker() {
        const system::BlockedSignals blocked;
        try {
            workers_.reserve(workers_.size() + 1);
            std::thread worker([this, number = static_cast<int>(workers_.size()) + 1] { serve(number); });
            workers_.push_back(worker.native_handle());
            worker.detach();
        } catch (const std::system_error&) {
            return false;  // no more threads to be had: those there are do the work
        }
        return true;
    }

    // The kernel likes to wake a worker where the caller runs, and leaves it there, waiting, while the other core has
    // nothing to do: a product of 512 x 512 then takes as long with two threads as with one. So workers may run
    // anywhere but there.
    void keep_workers_from_my_cpu() {
#if defined(__linux__)
        const int cpu = sched_getcpu();
        if (cpu < 0 || cpu == keep_from_) return;
        keep_from_ = cpu;
        cpu_set_t allowed;
        if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
        if (CPU_COUNT(&allowed) > 1) CPU_CLR(cpu, &allowed);
        for (const pthread_t worker : workers_) pthread_setaffinity_np(worker, sizeof(allowed), &allowed);
#endif
    }

    void serve(int number) {
        inside_body = true;
        [[maybe_unused]] const DispatchFrame frame;  // that of whoever hands over a job
        const auto wanted = [this] { return tickets_.load() > 0; };
        for (;;) {
            while (take_ticket()) {
                job_->work(number);
                finished_.fetch_add(1);
                if (waiting_.load()) {
                    std::lock_guard lock(mutex_);
                    done_.notify_one();
                }
            }
            if (look_out(kBetweenJobs, wanted)) continue;
            std::unique_lock lock(mutex_);
            asleep_.fetch_add(1);
            // Who wakes too late for one job is in time for the next.
            wake_.wait(lock, [&] { return calls_ > 0 || wanted(); });
            if (calls_ > 0) --calls_;
            asleep_.fetch_sub(1);
        }
    }

    bool take_ticket() {
        int left = tickets_.load();
        while (left > 0)
            if (tickets_.compare_exchange_weak(left, left - 1)) return true;
        return false;
    }

    std::mutex in_use_;
    std::mutex mutex_;  // held to fall asleep and to wake
    std::condition_variable wake_, done_;
    int calls_ = 0;  // of sleepers that have not woken yet; by mutex_
    Job* job_ = nullptr;
    std::vector<std::thread::native_handle_type> workers_;
    int keep_from_ = -1;                        // the CPU that workers keep away from
    alignas(64) std::atomic<int> tickets_{0};   // workers that may still join the job
    alignas(64) std::atomic<int> finished_{0};  // workers that joined it and are through
    std::atomic<int> asleep_{0};
    std::atomic<bool> waiting_{false};
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
        system::at_fork_in_child(make_pool);
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
    CLEW_KERNEL();
    grain = std::max<std::int64_t>(grain, 1);
    if (!inside_body) {
        const std::int64_t chunks = (count + grain - 1) / grain;
        const int threads = static_cast<int>(std::min<std::int64_t>(num_threads(), chunks));
        if (threads > 1) {
            Job job(count, grain, chunks, threads, call, body);
            if (pool().run(job, threads - 1)) return job.rethrow();
        }
    }
    for (std::int64_t begin = 0; begin < count; begin += grain) call(body, begin, std::min(begin + grain, count));
}

}  // namespace clew
