// Compiled by tools/other_targets.py; not run, for want of a machine.
#ifdef _WIN32
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
// Kept apart: they need what windows.h declares.
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/base/system.h"

namespace clew::system {

// A region is given back as a whole, so it can't be trimmed: where there is room for a larger one, there is room for it
// at a multiple of `alignment`, unless another thread is quicker.
void* map(std::size_t size, std::size_t alignment) {
    for (int attempt = 0; attempt < 16; ++attempt) {
        void* const room = VirtualAlloc(nullptr, size + alignment, MEM_RESERVE, PAGE_NOACCESS);
        if (room == nullptr) return nullptr;
        const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(room) + alignment - 1) & ~(alignment - 1);
        VirtualFree(room, 0, MEM_RELEASE);
        void* const memory =
            VirtualAlloc(reinterpret_cast<void*>(begin), size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        if (memory != nullptr) return memory;
    }
    return nullptr;
}
void unmap(void* memory, std::size_t) { VirtualFree(memory, 0, MEM_RELEASE); }

void prefer_huge_pages(void*, std::size_t) {}  // large pages need a right that users have not
void discard(void* memory, std::size_t size) { VirtualAlloc(memory, size, MEM_RESET, PAGE_READWRITE); }

void* heap_take(std::size_t size) { return _aligned_malloc(size, 64); }
void heap_give(void* memory) { _aligned_free(memory); }

struct BlockedSignals::State {};
BlockedSignals::BlockedSignals() : state_(nullptr) {}
BlockedSignals::~BlockedSignals() {}

void at_fork_in_child(void (*)()) {}

int process_id() { return static_cast<int>(GetCurrentProcessId()); }

std::string find_program(const std::string& name) {
    char path[MAX_PATH];
    const DWORD size = SearchPathA(nullptr, name.c_str(), ".exe", MAX_PATH, path, nullptr);
    return size > 0 && size < MAX_PATH ? std::string(path, size) : "";
}

namespace {

// As the runtime library of what is started takes it apart again.
std::string quoted(const std::string& word) {
    std::string result = "\"";
    std::size_t slashes = 0;
    for (const char c : word) {
        if (c == '"') result.append(slashes + 1, '\\');
        slashes = c == '\\' ? slashes + 1 : 0;
        result += c;
    }
    return result.append(slashes, '\\') + "\"";
}

}  // namespace

Ended run_program(const std::vector<std::string>& words, const std::string& said, std::chrono::seconds patience) {
    std::string command;
    for (const std::string& word : words) command += quoted(word) + " ";
    SECURITY_ATTRIBUTES inherited{sizeof(SECURITY_ATTRIBUTES), nullptr, TRUE};
    const HANDLE in = CreateFileA("NUL", GENERIC_READ, FILE_SHARE_READ, &inherited, OPEN_EXISTING, 0, nullptr);
    const HANDLE out = CreateFileA(said.c_str(), GENERIC_WRITE, FILE_SHARE_READ, &inherited, CREATE_ALWAYS,
                                   FILE_ATTRIBUTE_NORMAL, nullptr);
    const HANDLE job = CreateJobObjectA(nullptr, nullptr);  // so that what it starts ends with it
    STARTUPINFOA start{};
    start.cb = sizeof(start);
    start.dwFlags = STARTF_USESTDHANDLES;
    start.hStdInput = in;
    start.hStdOutput = start.hStdError = out;
    PROCESS_INFORMATION child{};
    Ended ended = Ended::Badly;
    if (CreateProcessA(words[0].c_str(), command.data(), nullptr, nullptr, TRUE, CREATE_NO_WINDOW | CREATE_SUSPENDED,
                       nullptr, nullptr, &start, &child)) {
        AssignProcessToJobObject(job, child.hProcess);
        ResumeThread(child.hThread);
        const auto milliseconds = std::chrono::milliseconds(patience).count();
        if (WaitForSingleObject(child.hProcess, static_cast<DWORD>(milliseconds)) == WAIT_TIMEOUT) {
            TerminateJobObject(job, 1);
            ended = Ended::Late;
        } else {
            DWORD code = 1;
            if (GetExitCodeProcess(child.hProcess, &code) && code == 0) ended = Ended::Well;
        }
        CloseHandle(child.hThread);
        CloseHandle(child.hProcess);
    }
    for (const HANDLE one : {in, out, job}) CloseHandle(one);
    return ended;
}

void* open_library(const std::string& path) { return LoadLibraryA(path.c_str()); }
std::string library_error() { return std::system_category().message(static_cast<int>(GetLastError())); }
void* symbol(void* library, const char* name) {
    return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}
void close_library(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

std::string cache_home() {
    const char* const home = std::getenv("LOCALAPPDATA");
    return home ? home : "";
}

// What lies below a user's profile is the user's alone already.
std::string make_private_folder(const std::string& path) {
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    return failed ? "can't be made (" + failed.message() + ")" : "";
}

}  // namespace clew::system
#endif
