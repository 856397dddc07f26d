// The names of call modes, as events carry them.
#pragma once

#include <string_view>

#include "inferprobe/delegate.h"

namespace inferprobe::delegate {

// "" where nobody knows it.
constexpr std::string_view CallModeName(CallMode mode) {
  switch (mode) {
    case CallMode::kUnknown:
      return "";
    case CallMode::kBlocking:
      return "blocking";
    case CallMode::kSynchronized:
      return "synchronized";
    case CallMode::kAsynchronous:
      return "asynchronous";
  }
  return "";
}

}  // namespace inferprobe::delegate
