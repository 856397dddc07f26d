// Parsers for the text of /proc, /sys and /etc files. Pure: text in, figure or reason out. Text
// that is not in the form expected gives `unavailable`, never a zero.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/metric.h"

namespace inferprobe::measure {

// A file that holds one number ("2400000\n").
profile::Metric<int64_t> ParseInteger(std::string_view text);

// /proc/PID/schedstat: time on a CPU, time runnable but waiting for one, times scheduled.
struct SchedStat {
  int64_t running_ns = 0;
  int64_t waiting_ns = 0;
  int64_t slices = 0;
};
profile::Metric<SchedStat> ParseSchedStat(std::string_view text);

// /proc/pressure/*: total time of the "some" line.
profile::Metric<int64_t> ParsePressureTotalUs(std::string_view text);

// /proc/stat: the "steal" column of the line over all CPUs, in clock ticks.
profile::Metric<int64_t> ParseStealTicks(std::string_view text);

// /proc/loadavg: over one minute.
profile::Metric<double> ParseLoadAverage(std::string_view text);

// cpu.stat of a control group, version 2 (throttled_usec) or 1 (throttled_time).
profile::Metric<int64_t> ParseThrottledUs(std::string_view text);

// /proc/self/cgroup: the cpu.stat file of this process's group, as a path under /.
profile::Metric<std::string> ParseCpuStatPath(std::string_view text);

// "0-3,8": the numbers; empty when malformed.
std::vector<int> ParseCpuList(std::string_view text);

// The value after `key` and ':' in lines such as "MemTotal:  24 kB"; "" when there is none.
std::string_view ValueOfKey(std::string_view text, std::string_view key);

// /etc/os-release: PRETTY_NAME without its quotes; "" when there is none.
std::string ParseOsName(std::string_view text);

// /proc/cpuinfo: what the CPU calls itself; on Arm its implementer and part; "" when unknown.
std::string ParseCpuName(std::string_view text);
int64_t CountProcessors(std::string_view cpuinfo);

}  // namespace inferprobe::measure
