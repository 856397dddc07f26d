#include "measure/machine/system_text.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace inferprobe::measure {
namespace {

using profile::Metric;
using profile::Missing;
using profile::Status;

Missing Malformed(std::string_view what) {
  return {Status::kUnavailable, fmt::format("{} is not in the expected form", what)};
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Takes the next word off the front of `text`.
std::string_view NextWord(std::string_view& text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  size_t end = 0;
  while (end < text.size() && !IsSpace(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

// Takes the next line, without its newline, off the front of `text`.
std::string_view NextLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// The whole of `text` as a number that is not negative.
template <typename T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || value < 0) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

Metric<int64_t> ParseInteger(std::string_view text) {
  const auto value = Number<int64_t>(Trim(text));
  if (!value) return Malformed("the file");
  return *value;
}

Metric<SchedStat> ParseSchedStat(std::string_view text) {
  const auto running = Number<int64_t>(NextWord(text));
  const auto waiting = Number<int64_t>(NextWord(text));
  const auto slices = Number<int64_t>(NextWord(text));
  if (!running || !waiting || !slices) return Malformed("schedstat");
  return SchedStat{*running, *waiting, *slices};
}

Metric<int64_t> ParsePressureTotalUs(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = NextLine(text);
    if (NextWord(line) != "some") continue;
    constexpr std::string_view kKey = "total=";
    while (!line.empty()) {
      const std::string_view word = NextWord(line);
      if (!word.starts_with(kKey)) continue;
      const auto us = Number<int64_t>(word.substr(kKey.size()));
      if (us) return *us;
    }
  }
  return Malformed("the pressure file");
}

Metric<int64_t> ParseStealTicks(std::string_view text) {
  std::string_view line = NextLine(text);
  if (NextWord(line) != "cpu") return Malformed("/proc/stat");
  // user nice system idle iowait irq softirq steal
  for (int skipped = 0; skipped < 7; ++skipped) {
    if (!Number<int64_t>(NextWord(line))) return Malformed("/proc/stat");
  }
  const auto steal = Number<int64_t>(NextWord(line));
  if (!steal) return Malformed("/proc/stat");
  return *steal;
}

Metric<double> ParseLoadAverage(std::string_view text) {
  const auto value = Number<double>(NextWord(text));
  if (!value || !(*value < 1e9)) return Malformed("/proc/loadavg");
  return *value;
}

Metric<int64_t> ParseThrottledUs(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = NextLine(text);
    const std::string_view key = NextWord(line);
    if (key != "throttled_usec" && key != "throttled_time") continue;
    const auto time = Number<int64_t>(NextWord(line));
    if (!time) return Malformed("cpu.stat");
    return key == "throttled_usec" ? *time : *time / 1000;  // version 1 counts in ns
  }
  return Missing{Status::kUnsupported, "this process's control group has no CPU quota"};
}

Metric<std::string> ParseCpuStatPath(std::string_view text) {
  std::string unified;
  while (!text.empty()) {
    // "4:cpu,cpuacct:/path" (version 1) or "0::/path" (version 2)
    const std::string_view line = NextLine(text);
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string path(line.substr(second + 1));
    if (path == "/") path.clear();
    if (controllers.empty()) {
      unified = fmt::format("/sys/fs/cgroup{}/cpu.stat", path);
    } else if (controllers == "cpu" || controllers == "cpu,cpuacct") {
      return fmt::format("/sys/fs/cgroup/{}{}/cpu.stat", controllers, path);
    }
  }
  if (unified.empty()) return Missing{Status::kUnsupported, "no control group"};
  return unified;
}

std::vector<int> ParseCpuList(std::string_view text) {
  constexpr int kMostCpus = 65536;
  std::vector<int> cpus;
  text = Trim(text);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t dash = part.find('-');
    const auto first = Number<int>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : Number<int>(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMostCpus) return {};
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string_view ValueOfKey(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = NextLine(text);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || Trim(line.substr(0, colon)) != key) continue;
    return Trim(line.substr(colon + 1));
  }
  return {};
}

std::string ParseOsName(std::string_view text) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  while (!text.empty()) {
    std::string_view line = Trim(NextLine(text));
    if (!line.starts_with(kKey)) continue;
    line.remove_prefix(kKey.size());
    if (line.size() >= 2 && (line.front() == '"' || line.front() == '\'') &&
        line.front() == line.back()) {
      line = line.substr(1, line.size() - 2);
    }
    return std::string(line);
  }
  return {};
}

std::string ParseCpuName(std::string_view text) {
  if (const auto name = ValueOfKey(text, "model name"); !name.empty()) return std::string(name);
  const std::string_view implementer = ValueOfKey(text, "CPU implementer");
  const std::string_view part = ValueOfKey(text, "CPU part");
  if (implementer.empty() || part.empty()) return {};
  return fmt::format("Arm implementer {} part {}", implementer, part);
}

int64_t CountProcessors(std::string_view cpuinfo) {
  int64_t count = 0;
  while (!cpuinfo.empty()) {
    const std::string_view line = NextLine(cpuinfo);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && Trim(line.substr(0, colon)) == "processor") ++count;
  }
  return count;
}

}  // namespace inferprobe::measure
