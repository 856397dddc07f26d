// Profiles made by hand for the tests of the trace writers, and for tests/e2e/trace_samples.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/model.h"

namespace inferprobe::formats {

class ProfileBuilder {
 public:
  ProfileBuilder();

  uint16_t AddThread(std::string name, int64_t pid, int64_t tid);
  uint16_t AddEngineTrack(uint16_t thread, std::string name);
  uint16_t AddCounterTrack(std::string name, std::string unit, int64_t pid);
  // Returns the slice's index.
  uint32_t Add(uint16_t track, std::string_view name, profile::Category category, int64_t start_ns,
               int64_t dur_ns, uint32_t parent = profile::kNone,
               const profile::SliceArgs* args = nullptr);

  profile::Profile profile;
};

constexpr int64_t kSampleStartNs = 123'456'789'000;

// A load and `runs` profiled inferences of a small ExecuTorch program, as an engine records them:
// kernels in operator calls, a delegate call with operators that the delegate reported, a counter.
// Slices stand in order of their end, as rings hold them. `step_ns` is from run to run.
profile::Profile InferenceProfile(uint32_t runs, int64_t step_ns = 1'000'000);

// Trees of slices on several threads. Times are drawn from so few values that starts and ends
// coincide all the time, and slices without length abound. The slices' names are unique.
profile::Profile RandomTrees(uint32_t seed);

// Texts that have broken writers of traces.
std::vector<std::string> HostileNames();

}  // namespace inferprobe::formats
