// The machine a result was measured on, as far as an unprivileged process sees it.
#pragma once

#include <vector>

#include "measure/machine/system_file.h"
#include "profile/facts.h"

namespace inferprobe::measure {

// Reads /etc/os-release, /proc and /sys now. What cannot be read is "" or 0 for the plain facts
// (os, kernel, cpu, cpus) and a status for the others.
profile::EnvironmentFacts DescribeEnvironment(const SystemRoot& root = {});

// The CPUs that this process may run on and that are online; empty when that cannot be told.
std::vector<int> AllowedCpus(const SystemRoot& root = {});

}  // namespace inferprobe::measure
