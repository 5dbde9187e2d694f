#include "core/program/code/cache.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/base/error.h"
#include "core/base/system.h"

namespace clew::code {
namespace {

constexpr std::size_t kMostFiles = 512;

std::uint64_t mixed(const std::string& text, std::uint64_t state) {
    for (const char c : text) {
        state = (state ^ static_cast<unsigned char>(c)) * 0x9E3779B97F4A7C15u;
        state ^= state >> 29;
    }
    return state;
}

void leave_out_oldest(const std::string& folder) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    std::vector<std::pair<fs::file_time_type, fs::path>> files;
    for (const auto& one : fs::directory_iterator(folder, ignored))
        if (one.path().extension() == ".so") files.emplace_back(one.last_write_time(ignored), one.path());
    if (files.size() <= kMostFiles) return;
    std::ranges::sort(files);
    for (std::size_t i = 0; i < files.size() - kMostFiles / 2; ++i) fs::remove(files[i].second, ignored);
}

}  // namespace

std::string hash_of(const std::string& text) {
    return format("%016llx%016llx", static_cast<unsigned long long>(mixed(text, 1)),
                  static_cast<unsigned long long>(mixed(text, 0x5851F42D4C957F2Du)));
}

std::string home_of_caches() {
    const char* const given = std::getenv("CLEW_CACHE_DIR");
    if (given && *given) return given;
    const std::string home = system::cache_home();
    return home.empty() ? home : home + "/clew";
}

std::string cache_folder(const std::string& home) {
    if (home.empty())
        fail(ErrorKind::Runtime, "no folder for a cache: the environment names no home; set CLEW_CACHE_DIR");
    const std::string folder = home + "/code";
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), failed);
    if (const std::string problem = system::make_private_folder(folder); !problem.empty())
        fail(ErrorKind::Runtime, "%s: %s; set CLEW_CACHE_DIR", folder.c_str(), problem.c_str());
    return folder;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool is_whole(const std::string& path) {
    const std::string all = read_file(path);
    constexpr std::size_t kHash = 32;
    if (all.empty()) return false;
    if (all.size() > kHash && hash_of(all.substr(0, all.size() - kHash)) == all.substr(all.size() - kHash)) return true;
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    return false;
}

void put(const std::string& made, const std::string& path) {
    const std::string all = read_file(made);
    std::ofstream file(made, std::ios::binary | std::ios::app);
    file << hash_of(all);
    file.close();
    std::error_code failed;
    if (!all.empty() && file) std::filesystem::rename(made, path, failed);
    if (all.empty() || !file || failed)
        fail(ErrorKind::Runtime, "%s: can't be written; set CLEW_CACHE_DIR", path.c_str());
    leave_out_oldest(path.substr(0, path.rfind('/')));
}

}  // namespace clew::code
