#include "core/kernels/frame.h"

#ifdef CLEW_CHECK_DISPATCH

#include <cstdio>
#include <cstdlib>

namespace clew::kernels {
namespace {
thread_local int open = 0;
}

Frame::Frame() { ++open; }
Frame::~Frame() { --open; }

void assert_frame(const char* kernel) {
    if (open > 0) return;
    std::fprintf(stderr, "a kernel ran outside dispatch(): %s\n", kernel);
    std::abort();
}

}  // namespace clew::kernels

#endif
