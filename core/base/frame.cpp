#include "core/base/frame.h"

#ifdef CLEW_CHECK_DISPATCH

#include "core/base/error.h"

namespace clew {
namespace {
thread_local int open = 0;
}

DispatchFrame::DispatchFrame() { ++open; }
DispatchFrame::~DispatchFrame() { --open; }

void assert_frame(const char* kernel) {
    if (open == 0) fail(ErrorKind::Runtime, "a kernel ran outside dispatch(): %s", kernel);
}

}  // namespace clew

#endif
