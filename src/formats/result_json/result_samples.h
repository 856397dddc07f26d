// Made-up results for tests: a typical one and one for each odd situation. The same on every
// machine and at every call.
#pragma once

#include <string>
#include <vector>

#include "profile/result.h"

namespace inferprobe::result_json {

struct ResultSample {
  std::string name;
  profile::PerfResult result;
};

// "typical", "everything_missing", "one_sample", "hostile_names", "crash", "extremes",
// "many_rows"; as read from files of other programs: "recorded_blocks", "recorded_slices", "ticks";
// "rounded"; with parallel regions: "regions", "regions_of_own_code"; with
// modules: "modules", "modules_on_device", "many_modules", "hostile_modules".
std::vector<ResultSample> ResultSamples();
const profile::PerfResult& GetResultSample(const std::string& name);

}  // namespace inferprobe::result_json
