#ifndef _WIN32
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/base/system.h"

extern char** environ;

namespace clew::system {

void* map(std::size_t size, std::size_t alignment) {
    const std::size_t room = size + alignment;
    void* raw = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    char* const begin = static_cast<char*>(raw);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) & (alignment - 1);
    if (before > 0) ::munmap(begin, before);
    if (before < alignment) ::munmap(begin + before + size, alignment - before);
    return begin + before;
}
void unmap(void* memory, std::size_t size) { ::munmap(memory, size); }

void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) {
#ifdef MADV_HUGEPAGE
    ::madvise(memory, size, MADV_HUGEPAGE);
#endif
}
void discard(void* memory, std::size_t size) { ::madvise(memory, size, MADV_DONTNEED); }

void* heap_take(std::size_t size) { return std::aligned_alloc(64, size); }
void heap_give(void* memory) { std::free(memory); }

struct BlockedSignals::State {
    sigset_t before;
};
BlockedSignals::BlockedSignals() : state_(new State) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &state_->before);
}
BlockedSignals::~BlockedSignals() {
    pthread_sigmask(SIG_SETMASK, &state_->before, nullptr);
    delete state_;
}

void at_fork_in_child(void (*function)()) { pthread_atfork(nullptr, nullptr, function); }

int process_id() { return static_cast<int>(getpid()); }

std::string find_program(const std::string& name) {
    std::string folders = name.find('/') == std::string::npos && std::getenv("PATH") ? std::getenv("PATH") : "";
    for (std::size_t begin = 0; begin <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', begin), folders.size());
        const std::string path = folders.empty() ? name : folders.substr(begin, end - begin) + "/" + name;
        struct stat found{};
        if (stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && access(path.c_str(), X_OK) == 0) return path;
        begin = end + 1;
    }
    return "";
}

Ended run_program(const std::vector<std::string>& words, const std::string& said, std::chrono::seconds patience) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // so that what it starts ends with it
    pid_t child = 0;
    const int failed = posix_spawn(&child, arguments[0], &files, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failed) return Ended::Badly;
    const auto end = std::chrono::steady_clock::now() + patience;
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(child, &status, WNOHANG)) == 0;) {
        if (std::chrono::steady_clock::now() > end) {
            kill(-child, SIGKILL);
            waitpid(child, &status, 0);
            return Ended::Late;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Ended::Well : Ended::Badly;
}

void* open_library(const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }
std::string library_error() { return dlerror(); }
void* symbol(void* library, const char* name) { return dlsym(library, name); }
void close_library(void* library) { dlclose(library); }

std::string cache_home() {
    const char* home = std::getenv("XDG_CACHE_HOME");
    if (home && *home) return home;
    home = std::getenv("HOME");
    return home && *home ? std::string(home) + "/.cache" : "";
}

std::string make_private_folder(const std::string& path) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        return "can't be made (" + std::string(std::strerror(errno)) + ")";
    struct stat found{};
    if (lstat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != geteuid() ||
        (found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "expected a folder that you own and nobody else may write to";
    return "";
}

}  // namespace clew::system
#endif
