// How calls are cut into chunks, so that what repeats itself comes out as the same chunk.
#pragma once
#include <vector>

#include "core/program/code/writer.h"

namespace clew::code {

struct Chunk {
    int begin, end;  // statements
};

// Where statements on elements would be too many, they are made calls.
std::vector<Chunk> chunks_of(std::vector<Statement>& statements);

struct Span {
    int first = -1, last = -1;  // chunks that touch a memory
};
std::vector<Span> spans_of(const std::vector<Statement>& statements, const std::vector<Chunk>& chunks,
                           std::size_t memories);

}  // namespace clew::code
