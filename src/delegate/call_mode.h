// The names of call modes, as events carry them.
#pragma once

#include <string_view>

#include "inferprobe/delegate.h"
#include "profile/model.h"

namespace inferprobe::delegate {

// The model's own modes, in whose words they are written and read.
constexpr profile::CallMode ModelMode(CallMode mode) {
  return static_cast<profile::CallMode>(mode);
}
static_assert(ModelMode(CallMode::kUnknown) == profile::CallMode::kUnknown);
static_assert(ModelMode(CallMode::kBlocking) == profile::CallMode::kBlocking);
static_assert(ModelMode(CallMode::kSynchronized) == profile::CallMode::kSynchronized);
static_assert(ModelMode(CallMode::kAsynchronous) == profile::CallMode::kAsynchronous);

// "" where nobody knows it.
inline std::string_view CallModeName(CallMode mode) {
  return mode == CallMode::kUnknown ? "" : profile::CallModeName(ModelMode(mode));
}

}  // namespace inferprobe::delegate
