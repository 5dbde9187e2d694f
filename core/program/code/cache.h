// Files that a compiler made, in a folder of the user's.
#pragma once
#include <cstdint>
#include <string>

namespace clew::code {

// 128 bits that tell texts apart; no secret.
std::string hash_of(const std::string& text);

// What the environment names; empty: nothing.
std::string home_of_caches();

// The folder there for code, which is made if it is not there. Fails if it is not the user's alone.
std::string cache_folder(const std::string& home);

// Whether the file is there and whole. One that is not is removed.
bool is_whole(const std::string& path);
// Appends what is_whole() asks for, and gives the file its name.
void put(const std::string& made, const std::string& path);

std::string read_file(const std::string& path);  // empty: it can't be read

}  // namespace clew::code
