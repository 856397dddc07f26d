// What can be measured on this machine with this build, and why the rest cannot: one row an engine,
// delegate, clock, counter, hook.
#pragma once

#include <string>
#include <vector>

#include "profile/metric.h"

namespace inferprobe::measure {

struct DoctorRow {
  std::string group;  // "engine", "delegate", "clock", "disturbance", "counter", "hook"
  std::string name;
  profile::Metric<std::string> state;  // what it is, or why it is not there and what to do
};

// Engines are asked in processes of their own (`program worker`), so that a broken one is a row.
std::vector<DoctorRow> Examine(const std::string& program);

}  // namespace inferprobe::measure
