// A function that runs eagerly once for each kind of call, and is replayed from then on.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bind/keep/recording.h"

namespace clew::bind {

class CompiledFunction {
public:
    CompiledFunction(nanobind::object function, std::size_t max_variants, bool strict)
        : function(std::move(function)), max_variants_(max_variants), strict_(strict) {}

    nanobind::object call(PyObject* positional, PyObject* named);
    void clear();

    nanobind::object function;
    std::uint64_t hits = 0, misses = 0;
    bool coded = true, fused = false;  // variants from now on
    std::uint64_t to_check = 0, checked_calls = 0;

    std::size_t variants() const { return variants_->size(); }
    std::int64_t bytes() const;
    // (steps, guards, hits, misses, the last miss, nanoseconds: recorded call, recording, planning, replay,
    // arguments, why another variant did not do)
    nanobind::list describe() const;
    nanobind::list code() const;
    nanobind::list reasons() const;  // (text, whether it stays eager)
    int traverse(visitproc visit, void* arg) const;

private:
    // Calls with one key, the values of floats left out, or with all of it.
    struct Path {
        int recordings = 0;  // that were kept
        int failures = 0;    // and that were not
        int raised = 0;      // in a row
        int rest = 0;        // calls until one is recorded again
        bool eager = false;
        std::string reason;
    };
    // Calls that differ in which objects they are given, and in nothing else.
    struct Kind {
        int in_a_row = 0;           // recordings with an object that was not there before
        std::vector<Held> given{};  // weak references, or addresses
    };
    nanobind::object run(PyObject* positional, PyObject* named) const;
    // What stays eager; an error if that is not wanted.
    nanobind::object run_eagerly(const Path& path, PyObject* positional, PyObject* named) const;
    bool is_running(const std::string& key) const;
    bool gives_up();
    const char* meets_new_objects(const CallArguments& arguments, const std::string& kind);
    void drop_missing(const std::string& key);
    void know_by_content(const CallArguments& arguments);
    nanobind::object call_with(const CallArguments& arguments, PyObject* positional, PyObject* named);
    std::shared_ptr<Path> path_of(const std::string& key);
    bool find(const CallArguments& arguments, nanobind::object& result);
    // Runs the function beside a replay; false: no variant fits.
    bool check(const CallArguments& arguments, PyObject* positional, PyObject* named, nanobind::object& result);
    nanobind::object record(const CallArguments& arguments, Path& path, Path& exact, PyObject* positional,
                            PyObject* named);
    void keep(const std::shared_ptr<Variant>& variant);
    std::string line_of_last_miss() const;
    void note_miss(Variant& variant, std::string text, const std::string& values = {});
    void stay_eager(Path& path, std::string reason);
    void warn(const std::string& text) const;
    std::string name() const;

    std::size_t max_variants_;
    bool strict_, said_full_ = false;
    using Variants = std::deque<std::shared_ptr<Variant>>;
    std::shared_ptr<Variants> variants_ = std::make_shared<Variants>();  // the most recently used first
    std::unordered_map<std::string, std::shared_ptr<Path>> paths_;
    std::unordered_map<std::string, Kind> kinds_;
    struct Met {
        nanobind::object type, first;  // a weak reference
    };
    std::vector<Met> met_;  // instances that may go by content
    ByContent by_content_, by_identity_;
    std::size_t misses_in_a_row_ = 0;
    std::size_t debt_ = 0;  // of recordings, which hits pay off
    bool gave_up_ = false;
    std::shared_ptr<bool> lost_ = std::make_shared<bool>(false);  // a variant, with what it read
    std::vector<std::string> said_;
    std::string last_miss_;
    std::string missed_;  // of this call and the variant that was used last
};

bool set_compile_disabled(bool off);  // what it was

}  // namespace clew::bind
