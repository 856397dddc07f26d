#include "formats/perfetto/module_notes.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <string>
#include <utility>

namespace inferprobe::perfetto {
namespace {

using profile::Metric;
using profile::Module;
using profile::ModuleFacts;
using profile::Status;

constexpr std::string_view kModule = "module ";
constexpr std::string_view kNotCovered = "not_covered ";
constexpr std::string_view kRecorded = "recorded";
constexpr std::string_view kHint = "_hint";

template <typename Number>
bool Parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// A value or a status; the hint has a note of its own.
template <typename T>
void AddMetric(const std::string& key, const Metric<T>& metric, std::string value, Notes* notes) {
  if (metric) {
    notes->emplace_back(key, std::move(value));
    return;
  }
  notes->emplace_back(key, StatusName(metric.missing().status));
  if (!metric.missing().hint.empty()) {
    notes->emplace_back(key + std::string(kHint), metric.missing().hint);
  }
}

template <typename T>
void ReadMissing(std::string_view text, bool is_hint, Metric<T>* metric) {
  if (*metric) return;
  profile::Missing missing = metric->missing();
  if (is_hint) {
    missing.hint = text;
  } else {
    for (int i = 0; i <= static_cast<int>(Status::kNotMeasured); ++i) {
      const auto status = static_cast<Status>(i);
      if (status != Status::kValid && text == StatusName(status)) missing = {status, ""};
    }
  }
  *metric = missing;
}

void ReadRecorded(std::string_view text, bool is_hint, Metric<bool>* metric) {
  if (!is_hint && text == kRecorded) {
    *metric = true;
  } else {
    ReadMissing(text, is_hint, metric);
  }
}

void ReadError(std::string_view text, bool is_hint, Metric<double>* metric) {
  double ns = 0;
  if (!is_hint && Parse(text, ns)) {
    if (ns >= 0 && ns <= profile::kLargestFigure) *metric = ns;
  } else {
    ReadMissing(text, is_hint, metric);
  }
}

// "12 path" is the field "path" of the entry 12 of a list: one that is there, or the next one,
// where the field is the one that begins an entry.
template <typename T>
T* EntryOf(std::string_view key, std::string_view first, std::vector<T>* list,
           std::string_view* field) {
  const size_t space = key.find(' ');
  size_t index = 0;
  if (space == std::string_view::npos || !Parse(key.substr(0, space), index)) return nullptr;
  *field = key.substr(space + 1);
  if (index == list->size() && *field == first) return &list->emplace_back();
  return index < list->size() ? &(*list)[index] : nullptr;
}

void ReadModule(std::string_view key, std::string_view value, ModuleFacts* facts) {
  std::string_view field;
  Module* module = EntryOf(key, "class", &facts->tree, &field);
  if (module == nullptr) return;
  if (field == "class") module->class_name = value;
  if (field == "path") module->path = value;
  if (field == "also") module->also.emplace_back(value);
  if (field == "parameters") Parse(value, module->parameters);
  if (field == "not_covered") module->not_covered = value;
  if (field == "chosen") module->chosen = value != "0";
  uint32_t parent = 0;
  const auto index = static_cast<size_t>(module - facts->tree.data());
  if (field == "parent" && Parse(value, parent) && parent < index) module->parent = parent;
}

void AddModule(const Module& module, size_t index, Notes* notes) {
  const auto add = [&](std::string_view field, std::string_view value) {
    notes->emplace_back(fmt::format("{}{} {}", kModule, index, field), value);
  };
  add("class", module.class_name);  // always: it begins the entry
  if (module.parent < index) add("parent", std::to_string(module.parent));
  if (!module.path.empty()) add("path", module.path);
  for (const std::string& path : module.also) add("also", path);
  if (module.parameters != 0) add("parameters", std::to_string(module.parameters));
  if (!module.chosen) add("chosen", "0");
  if (!module.not_covered.empty()) add("not_covered", module.not_covered);
}

}  // namespace

void AddModuleNotes(const ModuleFacts& facts, Notes* notes) {
  if (facts.tree.empty()) return;
  for (size_t i = 0; i < facts.tree.size(); ++i) AddModule(facts.tree[i], i, notes);
  const std::string recorded(kRecorded);
  AddMetric("modules_operators", facts.operators, recorded, notes);
  AddMetric("modules_memory", facts.memory, recorded, notes);
  AddMetric("modules_device", facts.device, recorded, notes);
  if (facts.seen_thread != ModuleFacts::kAllThreads) {
    notes->emplace_back("modules_thread", std::to_string(facts.seen_thread));
  }
  AddMetric("modules_clock_error_ns", facts.clock_error_ns,
            facts.clock_error_ns ? fmt::format("{}", *facts.clock_error_ns) : "", notes);
  for (size_t i = 0; i < facts.not_covered.size(); ++i) {
    const std::string entry = fmt::format("{}{} ", kNotCovered, i);
    notes->emplace_back(entry + "what", facts.not_covered[i].what);
    notes->emplace_back(entry + "why", facts.not_covered[i].why);
  }
}

bool ReadModuleNote(std::string_view key, std::string_view value, ModuleFacts* facts) {
  if (key.starts_with(kModule)) {
    ReadModule(key.substr(kModule.size()), value, facts);
    return true;
  }
  if (key.starts_with(kNotCovered)) {
    std::string_view field;
    profile::NotCovered* entry =
        EntryOf(key.substr(kNotCovered.size()), "what", &facts->not_covered, &field);
    if (entry != nullptr && field == "what") entry->what = value;
    if (entry != nullptr && field == "why") entry->why = value;
    return true;
  }
  if (key == "modules_thread") {
    int64_t thread = 0;
    if (Parse(value, thread) && thread >= 0) facts->seen_thread = thread;
    return true;
  }
  const bool is_hint = key.ends_with(kHint);
  const std::string_view name = is_hint ? key.substr(0, key.size() - kHint.size()) : key;
  if (name == "modules_operators") {
    ReadRecorded(value, is_hint, &facts->operators);
  } else if (name == "modules_memory") {
    ReadRecorded(value, is_hint, &facts->memory);
  } else if (name == "modules_device") {
    ReadRecorded(value, is_hint, &facts->device);
  } else if (name == "modules_clock_error_ns") {
    ReadError(value, is_hint, &facts->clock_error_ns);
  } else {
    return false;
  }
  return true;
}

}  // namespace inferprobe::perfetto
