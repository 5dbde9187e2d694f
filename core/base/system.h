// What the operating system gives, behind one interface: system_posix.cpp and system_windows.cpp are its two sides.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace clew::system {

// Pages of their own, at a multiple of `alignment` (a power of two, at least a page), zeroed. Null: out of memory.
void* map(std::size_t size, std::size_t alignment);
void unmap(void* memory, std::size_t size);
// They may become pages again where they would help: they are large and will be written soon.
void prefer_huge_pages(void* memory, std::size_t size);
// The memory behind an address that stays ours; what stood there is lost.
void discard(void* memory, std::size_t size);

// From the heap, at a multiple of 64. Null: out of memory.
void* heap_take(std::size_t size);
void heap_give(void* memory);

// While it lives, threads that are started here get no signals: those are for the threads of the user.
class BlockedSignals {
public:
    BlockedSignals();
    ~BlockedSignals();
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

private:
    struct State;
    State* state_;
};

// Calls it in every child of a fork. Where nothing forks, never.
void at_fork_in_child(void (*function)());

int process_id();

// The path of a program, looked for in PATH unless `name` is a path. Empty: there is none.
std::string find_program(const std::string& name);
enum class Ended { Well, Badly, Late };
// Waits for the program at words[0], and ends it with all that it started after `patience`. It reads nothing, and
// writes into the file `said`.
Ended run_program(const std::vector<std::string>& words, const std::string& said, std::chrono::seconds patience);

// A shared library. Null: library_error() says why.
void* open_library(const std::string& path);
std::string library_error();
void* symbol(void* library, const char* name);
void close_library(void* library);

// The folder of the user's caches; empty if the environment does not tell.
std::string cache_home();
// Makes the folder, unless it is there, so that nobody else may write to it. Empty, or why not.
std::string make_private_folder(const std::string& path);

}  // namespace clew::system
