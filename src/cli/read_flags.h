// What the commands that read files have in common: their flags, and opening a file.
#pragma once

#include <string>
#include <vector>

#include "formats/registry/registry.h"
#include "inferprobe/result.h"
#include "profile/recording.h"

namespace inferprobe::cli {

struct ReadFlags {
  std::string input_unit;                    // "ns", "us", "ms", "s" or nanoseconds as a number
  std::vector<std::string> delegate_clocks;  // "NAME=NS_PER_TICK"
  bool strict = false;
};

// Says on a terminal that it reads, if that takes long and is not to be `quiet`.
Result<formats::Opened> OpenFile(const std::string& path, const ReadFlags& flags, bool quiet);

// With --strict: an error if data was lost, which names what.
Result<void> CheckStrict(const ReadFlags& flags, const profile::LossCounts& losses,
                         const std::string& path);

}  // namespace inferprobe::cli
