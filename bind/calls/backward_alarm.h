// Calls Python after so many backward passes: who looks at some of them costs nothing at the others.
#pragma once
#include <nanobind/nanobind.h>

#include "bind/calls/backward.h"

namespace clew::bind {

class BackwardAlarm final : public BackwardListener {
public:
    ~BackwardAlarm() override { stop(); }
    // One alarm at a time; it rings once.
    void set(std::int64_t passes, nanobind::object callback);
    void stop();
    void after(const std::vector<Tensor>& roots, const Ref<Release>& release, std::int64_t entered) override;
    std::int64_t left() const { return left_; }

private:
    std::int64_t left_ = 0;
    bool is_on_ = false;
    nanobind::object callback_;
};

void init_backward_alarm(nanobind::module_& m);

}  // namespace clew::bind
