#include "core/program/code/compiler.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/system.h"
#include "core/kernels/isa.h"
#include "core/program/code/cache.h"

namespace clew::code {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{30};
constexpr const char* kVersion = "1";  // of what the text means to us

// Where it is, and which one: a newer one makes other code.
struct Compiler {
    std::string path, identity;
    // Clang, with names of its own for processors. It would make a C library first, of which we need nothing.
    bool is_zig() const { return fs::path(path).stem() == "zig"; }
    std::vector<std::string> words(const Text& text) const;
};

// Where few elements lie side by side, they would be packed into vectors and unpacked again.
std::vector<std::string> Compiler::words(const Text& text) const {
    std::vector<std::string> list = {path};
    if (is_zig()) list.insert(list.end(), {"cc", "-nostdlib"});
    list.insert(list.end(), {"-shared", "-fPIC", "-w", "-fno-math-errno", "-x", "c"});
    list.push_back(text.fused ? "-ffp-contract=fast" : "-ffp-contract=off");
    list.push_back(text.vectors || text.loops ? "-O3" : "-O2");
    if (!text.vectors && !text.side_by_side) list.push_back("-fno-tree-slp-vectorize");
    if (text.vectors || text.loops) list.push_back("-fno-trapping-math");  // comparisons in vectors, as in our kernels
#ifdef __x86_64__
    list.push_back(std::string(is_zig() ? "-march=x86_64_" : "-march=x86-64-") +
                   kernels::isa_name(kernels::active_isa()));
    if ((text.vectors || text.loops) && kernels::active_isa() == kernels::Isa::v4)
        list.push_back("-mprefer-vector-width=512");
#endif
    return list;
}

std::string& spare() {
    static auto* const path = new std::string;
    return *path;
}

Compiler identify(const Tools& tools) {
    if (tools.compiler.empty())
        fail(ErrorKind::Runtime,
             "no C compiler: '%s' was not found; install one or the Python package ziglang, or name it in CLEW_CC",
             tools.wanted.c_str());
    std::error_code ignored;
    const long long size = static_cast<long long>(fs::file_size(tools.compiler, ignored));
    const long long time = fs::last_write_time(tools.compiler, ignored).time_since_epoch().count();
    return {tools.compiler, format("%s %lld %lld", tools.compiler.c_str(), size, time)};
}

std::string first_line(const std::string& text) { return text.substr(0, std::min(text.find('\n'), std::size_t{200})); }

void make(const Text& text, const Compiler& compiler, const std::string& path) {
    static std::atomic<int> made = 0;
    const std::string base = path + format(".%d.%d", system::process_id(), made++);
    struct Files {
        std::string text, library, said;
        ~Files() {
            std::error_code ignored;
            for (const std::string& one : {text, library, said}) fs::remove(one, ignored);
        }
    } const files{base + ".c", base + ".tmp", base + ".txt"};
    std::ofstream(files.text) << text.source;
    std::vector<std::string> words = compiler.words(text);
    for (const std::string& word : {std::string("-o"), files.library, files.text}) words.push_back(word);
    const system::Ended ended = system::run_program(words, files.said, kPatience);
    if (ended == system::Ended::Late)
        fail(ErrorKind::Runtime, "%s: took longer than %d s", words[0].c_str(), static_cast<int>(kPatience.count()));
    if (ended != system::Ended::Well)
        fail(ErrorKind::Runtime, "%s: failed: %s", compiler.path.c_str(), first_line(read_file(files.said)).c_str());
    put(files.library, path);
}

std::shared_ptr<Library> load(const std::string& path) {
    void* const handle = system::open_library(path);
    if (handle == nullptr) {
        const std::string why = system::library_error();
        std::error_code ignored;
        fs::remove(path, ignored);
        fail(ErrorKind::Runtime, "%s", why.c_str());
    }
    return std::make_shared<Library>(handle);
}

// The text as a library, from the cache or compiled. Fails with an Error.
std::shared_ptr<Library> compile(const Text& text, const Tools& tools) {
    static auto* const loaded = new std::unordered_map<std::string, std::weak_ptr<Library>>;
    static auto* const mutex = new std::mutex;
    const std::lock_guard lock(*mutex);
    const Compiler compiler = identify(tools);
    std::string all = kVersion + compiler.identity + text.source;
    for (const std::string& word : compiler.words(text)) all += word;
    const std::string path = cache_folder(tools.caches) + "/" + hash_of(all) + ".so";
    std::erase_if(*loaded, [](const auto& one) { return one.second.expired(); });
    if (const auto known = (*loaded)[path].lock()) return known;
    if (!is_whole(path)) make(text, compiler, path);
    const std::shared_ptr<Library> library = load(path);
    (*loaded)[path] = library;
    return library;
}

// Never destroyed: the thread may outlive what is destroyed at the end of the process.
struct Queue {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<std::shared_ptr<Job>> jobs;
    std::atomic<int> owner = 0;  // whose thread it is; 0: there is none
};
Queue& queue() {
    static Queue* const one = new Queue;
    return *one;
}

void work() {
    Queue& all = queue();
    while (true) {
        std::unique_lock lock(all.mutex);
        all.filled.wait(lock, [&] { return !all.jobs.empty(); });
        const std::shared_ptr<Job> job = std::move(all.jobs.front());
        all.jobs.pop_front();
        lock.unlock();
        if (job.use_count() > 1) do_now(*job);  // or else its program is gone
    }
}

}  // namespace

Library::Library(void* handle) : handle_(handle), function_(reinterpret_cast<Function>(system::symbol(handle, "run"))) {
    if (function_ == nullptr) fail(ErrorKind::Runtime, "what the compiler made has no function");
}
Library::~Library() { system::close_library(handle_); }

void set_spare_compiler(std::string path) { spare() = std::move(path); }

Tools Tools::find() {
    const char* const named = std::getenv("CLEW_CC");
    const bool is_named = named && *named;
    const std::string wanted = is_named ? named : "cc";
    std::string path = system::find_program(wanted);
    if (path.empty() && !is_named && !spare().empty()) path = system::find_program(spare());
    return {wanted, std::move(path), home_of_caches()};
}

void do_now(Job& job) {
    const auto begin = Clock::now();
    try {
        job.text = job.write(std::move(job.statements), job.memories);
        job.text.fused = job.fused;
        job.library = compile(job.text, job.tools);
    } catch (const std::exception& error) {
        job.problem = error.what();
    }
    job.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    job.done.store(true, std::memory_order_release);
}

void compile_later(std::shared_ptr<Job> job) {
    Queue& all = queue();
    if (all.owner && all.owner != system::process_id())
        return;  // forked since: the thread is not there, the lock may be held
    const std::lock_guard lock(all.mutex);
    all.jobs.push_back(std::move(job));
    all.filled.notify_one();
    if (all.owner) return;
    try {
        std::thread(work).detach();
        all.owner = system::process_id();
    } catch (const std::system_error&) {  // no more threads are to be had: no code
        all.jobs.clear();
    }
}

}  // namespace clew::code
