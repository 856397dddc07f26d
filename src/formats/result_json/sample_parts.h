// What the made-up results are made of.
#pragma once

#include <cstdint>

#include "analyze/synthetic_profile.h"
#include "profile/result.h"

namespace inferprobe::result_json::samples {

// A small linear congruential generator (Knuth's MMIX constants): std:: distributions differ
// between standard libraries, and golden files must not.
class Jitter {
 public:
  int64_t UpTo(int64_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(n + 1));
  }

 private:
  uint64_t state_ = 7;
};

// A run in which a delegate and two operators are called.
void ProfiledRun(analyze::SyntheticProfile& made, Jitter& jitter, uint32_t group);
// Model, engine and machine.
profile::PerfResult Facts();
// Fills in what follows from the runs.
void Analyze(const analyze::SyntheticProfile& made, profile::PerfResult& result);

// With the events of the delegate kit, of three delegates.
profile::PerfResult Delegates();

// With parallel regions.
profile::PerfResult Regions();
profile::PerfResult RegionsOfOwnCode();

// With modules of a PyTorch model.
profile::PerfResult Modules();
profile::PerfResult ModulesOnDevice();
profile::PerfResult ManyModules();
profile::PerfResult HostileModules();

// As readers of other programs' files give them.
profile::PerfResult RecordedBlocks();
profile::PerfResult RecordedSlices();
profile::PerfResult Ticks();

}  // namespace inferprobe::result_json::samples
