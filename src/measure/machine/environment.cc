#include "measure/machine/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "measure/machine/system_text.h"

namespace inferprobe::measure {
namespace {

using profile::Metric;
using profile::Missing;
using profile::Status;

std::string TextOr(const Metric<std::string>& text, const char* otherwise) {
  return text ? *text : otherwise;
}

std::string WithoutNewline(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::vector<int> OnlineCpus(const SystemRoot& root) {
  return ParseCpuList(TextOr(ReadSystemFile(root, "/sys/devices/system/cpu/online"), ""));
}

// The governor of the CPUs that this process may use: one name, or all different ones.
Metric<std::string> Governor(const SystemRoot& root, const std::vector<int>& cpus) {
  std::string names;
  for (const int cpu : cpus) {
    const auto text = ReadSystemFile(
        root, fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu));
    if (!text) {
      if (text.missing().status == Status::kUnsupported) {
        return Missing{Status::kUnsupported, "no cpufreq in sysfs"};
      }
      return text.missing();
    }
    const std::string name = WithoutNewline(*text);
    if (name.empty()) return Missing{Status::kUnavailable, "the governor has no name"};
    if (names.find(name) != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  if (names.empty()) return Missing{Status::kUnavailable, "no list of CPUs in /proc/self/status"};
  return names;
}

Metric<int64_t> MemoryBytes(const SystemRoot& root) {
  const auto text = ReadSystemFile(root, "/proc/meminfo");
  if (!text) return text.missing();
  std::string_view value = ValueOfKey(*text, "MemTotal");
  constexpr std::string_view kUnit = " kB";
  if (value.ends_with(kUnit)) {
    value.remove_suffix(kUnit.size());
    const auto kilobytes = ParseInteger(value);
    if (kilobytes && *kilobytes < (int64_t{1} << 50)) return *kilobytes * 1024;
  }
  return Missing{Status::kUnavailable, "/proc/meminfo is not in the expected form"};
}

// Intel's hybrid CPUs have a counter unit for each type of core; Arm's tell how fast a core is
// beside the fastest.
std::vector<profile::CoreType> CoreTypes(const SystemRoot& root, const std::vector<int>& online) {
  struct Unit {
    const char* folder;
    const char* name;
  };
  std::vector<profile::CoreType> types;
  for (const Unit unit : {Unit{"cpu_core", "performance"}, Unit{"cpu_atom", "efficient"},
                          Unit{"cpu_lowpower", "low power"}}) {
    const auto text = ReadSystemFile(root, fmt::format("/sys/devices/{}/cpus", unit.folder));
    const std::vector<int> cpus = ParseCpuList(TextOr(text, ""));
    if (!cpus.empty()) types.push_back({unit.name, {cpus.begin(), cpus.end()}});
  }
  if (!types.empty() || online.empty()) return types;
  std::map<int64_t, std::vector<uint32_t>, std::greater<>> by_capacity;
  for (const int cpu : online) {
    const auto text =
        ReadSystemFile(root, fmt::format("/sys/devices/system/cpu/cpu{}/cpu_capacity", cpu));
    const auto capacity =
        text ? ParseInteger(WithoutNewline(*text)) : Metric<int64_t>(text.missing());
    if (!capacity) return {{"all", {online.begin(), online.end()}}};
    by_capacity[*capacity].push_back(static_cast<uint32_t>(cpu));
  }
  for (auto& [capacity, cpus] : by_capacity) {
    const std::string name = by_capacity.size() == 1 ? "all" : fmt::format("capacity {}", capacity);
    types.push_back({name, std::move(cpus)});
  }
  return types;
}

}  // namespace

std::vector<int> AllowedCpus(const SystemRoot& root) {
  const std::string status = TextOr(ReadSystemFile(root, "/proc/self/status"), "");
  std::vector<int> cpus = ParseCpuList(ValueOfKey(status, "Cpus_allowed_list"));
  // In containers the list often names CPUs that the machine could have, but has not.
  const std::vector<int> online = OnlineCpus(root);
  if (!online.empty()) {
    std::erase_if(cpus, [&](int cpu) {
      return std::find(online.begin(), online.end(), cpu) == online.end();
    });
  }
  return cpus;
}

profile::EnvironmentFacts DescribeEnvironment(const SystemRoot& root) {
  profile::EnvironmentFacts facts;
  facts.os = ParseOsName(TextOr(ReadSystemFile(root, "/etc/os-release"), ""));
  facts.kernel = WithoutNewline(TextOr(ReadSystemFile(root, "/proc/sys/kernel/osrelease"), ""));
  const std::string cpuinfo = TextOr(ReadSystemFile(root, "/proc/cpuinfo"), "");
  facts.cpu = ParseCpuName(cpuinfo);

  const std::vector<int> allowed = AllowedCpus(root);
  const auto online = OnlineCpus(root);
  facts.cpus_online =
      online.empty() ? CountProcessors(cpuinfo) : static_cast<int64_t>(online.size());
  facts.cpus = allowed.empty() ? facts.cpus_online : static_cast<int64_t>(allowed.size());

  facts.governor = Governor(root, allowed);
  const auto load = ReadSystemFile(root, "/proc/loadavg");
  facts.load_average = load ? ParseLoadAverage(*load) : Metric<double>(load.missing());
  facts.memory_bytes = MemoryBytes(root);
  facts.core_types = CoreTypes(root, online);
  return facts;
}

}  // namespace inferprobe::measure
