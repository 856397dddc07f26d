#include "formats/perfetto/notes.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <type_traits>

#include "formats/perfetto/module_notes.h"

namespace inferprobe::perfetto {
namespace {

using profile::kNone;
using profile::Loss;
using profile::Metric;
using profile::Recording;

// A program of more instructions, or delegates, than this is a damaged note.
constexpr uint32_t kMostEntries = uint32_t{1} << 20;

template <typename Number>
bool Parse(std::string_view text, Number& number) {
  Number parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  number = parsed;
  return true;
}

// What there is some of: a number that is negative, or beyond all measure, is a damaged note.
template <typename Number>
bool ParseAmount(std::string_view text, Number& amount) {
  Number parsed = 0;
  if (!Parse(text, parsed) || !(parsed >= 0)) return false;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!(parsed <= profile::kLargestFigure)) return false;
  }
  amount = parsed;
  return true;
}

template <typename Number>
void ParseMetric(std::string_view text, Metric<Number>& metric) {
  Number number = 0;
  if (ParseAmount(text, number)) metric = number;
}

class NoteWriter {
 public:
  void Add(std::string key, std::string_view value) {
    if (!value.empty()) notes_.emplace_back(std::move(key), std::string(value));
  }
  template <typename Number>
  void AddNumber(std::string key, Number number) {
    notes_.emplace_back(std::move(key), fmt::format("{}", number));
  }
  template <typename Number>
  void AddMetric(std::string key, const Metric<Number>& metric) {
    if (metric) AddNumber(std::move(key), *metric);
  }
  Notes Take() { return std::move(notes_); }

 private:
  Notes notes_;
};

// "instruction 12 name" is the field "name" of the entry 12.
struct EntryKey {
  uint32_t index = 0;
  std::string_view field;
};
bool ParseEntryKey(std::string_view key, std::string_view list, EntryKey& entry) {
  if (!key.starts_with(list)) return false;
  key.remove_prefix(list.size());
  const size_t space = key.find(' ');
  if (space == std::string_view::npos || !Parse(key.substr(0, space), entry.index)) return false;
  entry.field = key.substr(space + 1);
  return entry.index < kMostEntries;
}

template <typename T>
T& At(std::vector<T>& list, uint32_t index, const T& fill = T()) {
  if (list.size() <= index) list.resize(index + size_t{1}, fill);
  return list[index];
}

void ReadEntry(std::string_view key, std::string_view value, Recording* recording) {
  profile::ModelFacts& model = recording->model;
  EntryKey entry;
  if (ParseEntryKey(key, "instruction ", entry)) {
    if (entry.field == "name") At(model.instruction_names, entry.index) = value;
    if (entry.field == "delegate") Parse(value, At(model.instruction_delegates, entry.index, -1));
  } else if (ParseEntryKey(key, "delegate ", entry)) {
    profile::DelegateFacts& delegate = At(model.delegates, entry.index);
    if (entry.field == "id") Parse(value, delegate.id);
    if (entry.field == "backend") delegate.backend = value;
    if (entry.field == "engine_id") delegate.engine_id = value;
    if (entry.field == "blob_bytes") ParseAmount(value, delegate.blob_bytes);
  } else if (key.starts_with("loss ")) {
    uint64_t count = 0;
    const std::optional<Loss> loss = profile::LossNamed(key.substr(5));
    // Moved slices are of the file's tracks. Read, they are one track again; written, they are
    // counted anew.
    if (!loss || *loss == Loss::kOverlapMoved || !Parse(value, count)) return;
    recording->profile.losses.Add(*loss, count);
  }
}

void ReadNote(std::string_view key, std::string_view value, Recording* recording) {
  profile::ModelFacts& model = recording->model;
  profile::EngineFacts& engine = recording->engine;
  profile::ClockFacts& clock = recording->profile.clock;
  uint32_t size = 0;
  if (key == "model") {
    model.path = value;
  } else if (key == "model_format") {
    model.format = value;
  } else if (key == "model_bytes") {
    ParseAmount(value, model.bytes);
  } else if (key == "model_sha256") {
    model.sha256 = value;
  } else if (key == "method") {
    model.method = value;
  } else if (key == "instructions") {
    ParseMetric(value, model.instructions);
  } else if (key == "instruction_names") {
    if (Parse(value, size) && size > 0 && size <= kMostEntries) {
      At(model.instruction_names, size - 1);
    }
  } else if (key == "instruction_delegates") {
    if (Parse(value, size) && size > 0 && size <= kMostEntries) {
      At(model.instruction_delegates, size - 1, -1);
    }
  } else if (key == "engine_name") {
    engine.name = value;
  } else if (key == "engine_title") {
    engine.title = value;
  } else if (key == "engine_version") {
    engine.version = value;
  } else if (key == "threads") {
    ParseMetric(value, engine.threads);
  } else if (key == "clock_source") {
    clock.source = value;
  } else if (key == "clock_tick_ns") {
    ParseAmount(value, clock.tick_ns);
  } else if (key == "clock_read_cost_ps") {
    ParseAmount(value, clock.read_cost_ps);
  } else if (key == "event_cost_ns") {
    ParseMetric(value, recording->event_cost_ns);
  } else if (key == "runs") {
    // Each is marked; of those that are missing nothing was left.
    uint64_t runs = 0;
    if (!Parse(value, runs)) return;
    recording->profile.runs_marked = true;
    const uint64_t there = recording->profile.runs.size();
    if (runs > there && runs - there < kNone) {
      recording->profile.losses.Add(Loss::kIncompleteRun, runs - there);
    }
  } else if (key == "iterations") {
    ParseMetric(value, recording->iterations);
  } else if (key == "process_name") {
    recording->profile.process_name = value;
  } else if (ReadModuleNote(key, value, &model.modules)) {
    return;
  } else {
    ReadEntry(key, value, recording);
  }
}

}  // namespace

Notes NotesOf(const profile::Profile& profile, const profile::ModelFacts& model,
              const profile::EngineFacts& engine, const Metric<double>& event_cost_ns,
              const Metric<int64_t>& iterations, const profile::LossCounts& losses) {
  NoteWriter notes;
  notes.Add("run_id", profile.run_id);
  notes.Add("model", model.path);
  if (!engine.title.empty()) notes.Add("engine", engine.title + " " + engine.version);
  notes.Add("engine_name", engine.name);
  notes.Add("engine_title", engine.title);
  notes.Add("engine_version", engine.version);
  notes.AddMetric("threads", engine.threads);
  notes.Add("model_format", model.format);
  notes.Add("model_sha256", model.sha256);
  if (model.bytes != 0) notes.AddNumber("model_bytes", model.bytes);
  notes.Add("method", model.method);
  notes.Add("process_name", profile.process_name);
  const profile::ClockFacts& clock = profile.clock;
  notes.Add("clock_source", clock.source);
  if (clock.tick_ns != 0) notes.AddNumber("clock_tick_ns", clock.tick_ns);
  if (clock.read_cost_ps != 0) notes.AddNumber("clock_read_cost_ps", clock.read_cost_ps);
  notes.AddMetric("event_cost_ns", event_cost_ns);
  notes.AddMetric("iterations", iterations);
  notes.AddNumber("runs", profile.runs.size());
  notes.AddMetric("instructions", model.instructions);
  if (!model.instruction_names.empty()) {
    notes.AddNumber("instruction_names", model.instruction_names.size());
  }
  for (size_t i = 0; i < model.instruction_names.size(); ++i) {
    notes.Add(fmt::format("instruction {} name", i), model.instruction_names[i]);
  }
  if (!model.instruction_delegates.empty()) {
    notes.AddNumber("instruction_delegates", model.instruction_delegates.size());
  }
  for (size_t i = 0; i < model.instruction_delegates.size(); ++i) {
    const int32_t delegate = model.instruction_delegates[i];
    if (delegate >= 0) notes.AddNumber(fmt::format("instruction {} delegate", i), delegate);
  }
  for (size_t i = 0; i < model.delegates.size(); ++i) {
    const profile::DelegateFacts& delegate = model.delegates[i];
    notes.AddNumber(fmt::format("delegate {} id", i), delegate.id);
    notes.Add(fmt::format("delegate {} backend", i), delegate.backend);
    notes.Add(fmt::format("delegate {} engine_id", i), delegate.engine_id);
    if (delegate.blob_bytes != 0) {
      notes.AddNumber(fmt::format("delegate {} blob_bytes", i), delegate.blob_bytes);
    }
  }
  for (size_t i = 0; i < static_cast<size_t>(Loss::kCount); ++i) {
    const auto loss = static_cast<Loss>(i);
    if (losses.Get(loss) == 0) continue;
    notes.AddNumber(fmt::format("loss {}", profile::InfoOf(loss).name), losses.Get(loss));
  }
  Notes all = notes.Take();
  AddModuleNotes(model.modules, &all);
  return all;
}

void ReadNotes(const Notes& notes, Recording* recording) {
  for (const auto& [key, value] : notes) ReadNote(key, value, recording);
}

}  // namespace inferprobe::perfetto
