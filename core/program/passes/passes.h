// The passes over a plan, which can be left out by name: `CLEW_PASSES=-fuse_strips,-fold_constants`.
#pragma once
#include <span>
#include <string_view>

namespace clew {

struct PassInfo {
    const char* name;
    const char* gives;  // a sentence
};

std::span<const PassInfo> all_passes();
// Whether the pass is not left out. The environment is read once.
bool is_pass_on(std::string_view name);

}  // namespace clew
