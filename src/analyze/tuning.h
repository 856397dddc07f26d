// The judge of `tune`: who wins by the clock, and how sure that is.
//
// A candidate is faster when the whole interval of its ratio to the baseline is below 1. With k
// candidates each interval is at 1 - 0.05 / k, so that all of them hold together at 95 %. Where two
// measurements of the baseline itself differ (A against A, at 99 %), nothing is recommended.
#pragma once

#include "profile/tune_result.h"

namespace inferprobe::analyze {

// A recommendation needs this many rounds at least.
constexpr uint64_t kFewestTuneRounds = 3;

// Fills what is "by the judge". Precondition: there is a baseline.
void JudgeTuning(profile::TuneResult* result);

}  // namespace inferprobe::analyze
