// Compiles C by the system's compiler, in a thread of its own.
//
// Note [Compiled code]
// Nobody waits for a compiler, and nobody needs one. What it made is kept in the user's cache (CLEW_CACHE_DIR, or else
// XDG_CACHE_HOME/clew or ~/.cache/clew), named by a hash of the text, the compiler and its options, and followed by a
// hash of itself; a file that does not fit its hash is made anew. Files get their names when they are whole, so that
// several processes may do the same at once. The folder is the user's alone; one that is not is refused.
//
// CLEW_CC names another compiler than `cc`. One that is called zig (the one in the Python package ziglang) is asked for
// its C compiler.
//
// The environment is read when code is asked for, by who asks: the program may change it while the thread runs.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "core/program/code/writer.h"

namespace clew::code {

using Function = void (*)(void* const* p, const long* n, void (*call)(void*));

class Library {
public:
    explicit Library(void* handle);
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    Function function() const { return function_; }

private:
    void* handle_;
    Function function_;
};

// What the environment names.
struct Tools {
    std::string wanted;    // the compiler's name
    std::string compiler;  // where it is; empty: nowhere
    std::string caches;    // the folder for them; empty: none is named
    static Tools find();
};

struct Job {
    std::vector<Statement> statements;
    std::vector<MemoryUse> memories;
    bool fused = false;  // a product and a sum may be rounded at once
    Tools tools{};       // once it is asked for
    Text (*write)(std::vector<Statement>, const std::vector<MemoryUse>&) = code::write;
    // Once it is done:
    Text text{};
    std::shared_ptr<Library> library{};  // null: `problem` says why
    std::string problem{};
    double seconds = 0;
    std::atomic<bool> done = false;
};

// Where there is no `cc`, and CLEW_CC names none. To be set before anything is compiled.
void set_spare_compiler(std::string path);

void do_now(Job& job);
// In the order in which they were asked for.
void compile_later(std::shared_ptr<Job> job);

}  // namespace clew::code
