// The flags of commands that read files, as text from the command line, made into ReadOptions.
#pragma once

#include <string>
#include <vector>

#include "inferprobe/result.h"
#include "profile/recording.h"

namespace inferprobe::cli {

struct ReadFlags {
  std::string input_unit;                    // "ns", "us", "ms", "s" or nanoseconds as a number
  std::vector<std::string> delegate_clocks;  // "NAME=NS_PER_TICK"
  bool strict = false;
};

Result<profile::ReadOptions> ReadOptionsOf(const ReadFlags& flags);

// With --strict: an error if data was lost, which names what.
Result<void> CheckStrict(const ReadFlags& flags, const profile::LossCounts& losses,
                         const std::string& path);

}  // namespace inferprobe::cli
