#include "use_recording.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "analyze/modules.h"
#include "analyze/recording.h"
#include "base/atomic_file.h"
#include "base/files.h"
#include "formats/etdump/etdump_writer.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/reader.h"
#include "formats/perfetto/writer.h"
#include "formats/result_json/result_json.h"
#include "formats/result_json/result_reader.h"
#include "formats/trex/layers_of.h"
#include "report/event_list.h"
#include "report/module_table.h"
#include "report/perf_text.h"

namespace inferprobe::fuzz {
namespace {

constexpr report::Format kFormats[] = {report::Format::kTable, report::Format::kCsv,
                                       report::Format::kMarkdown, report::Format::kJson};

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

// Errors are allowed: a foreign recording may hold what a format cannot.
void Check(const Result<void>& done) {
  if (!done) CheckError(done.error());
}

// The trace that `convert` would write; `losses`: what it would say was lost.
Result<std::string> WritePerfetto(const profile::Recording& recording,
                                  profile::LossCounts* losses) {
  static const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("fuzz_{}.pftrace", getpid())).string();
  const profile::Profile& profile = recording.profile;
  auto file = base::AtomicFile::Create(path, base::Overwrite::kForce);
  if (!file) Fail(file.error().message);
  auto writer = perfetto::Writer::Create(*std::move(file), &profile);
  if (!writer) return tl::unexpected(writer.error());
  INFERPROBE_RETURN_IF_ERROR(writer->Append(0, static_cast<uint32_t>(profile.slices.size()), 0,
                                            static_cast<uint32_t>(profile.counters.size())));
  *losses = profile.losses;
  losses->Merge(writer->losses());
  INFERPROBE_RETURN_IF_ERROR(
      writer->Finish(perfetto::NotesOf(profile, recording.model, recording.engine,
                                       recording.event_cost_ns, recording.iterations, *losses)));
  auto bytes = base::ReadFile(path);
  std::filesystem::remove(path);
  return bytes;
}

std::string RunText(const profile::Run& run) {
  return fmt::format("mode {} process {} group {} start {} dur {} slices {} {} {}",
                     static_cast<int>(run.mode), run.process, run.group, run.start_ns, run.dur_ns,
                     run.slice_count, run.incomplete, profile::InfoOf(run.why).name);
}

std::string RunsText(const profile::Profile& profile) {
  std::string text;
  for (const profile::Run& run : profile.runs) text += RunText(run) + "\n";
  return text;
}

std::string LossText(const profile::LossCounts& losses) {
  std::string text;
  for (int i = 0; i < static_cast<int>(profile::Loss::kCount); ++i) {
    const auto loss = static_cast<profile::Loss>(i);
    if (losses.Get(loss) == 0) continue;
    text += fmt::format("{} {}\n", profile::InfoOf(loss).name, losses.Get(loss));
  }
  return text;
}

// Every figure of every module and operator. Operators that began at one time have no order.
std::string ModulesText(const profile::Recording& recording) {
  auto report = analyze::AnalyzeModules(recording.profile, recording.model);
  if (!report) return "";
  profile::ModuleReport sorted = *report;
  const auto sort = [](std::vector<profile::ModuleOperator>& operators) {
    std::sort(operators.begin(), operators.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  };
  for (profile::ModuleRow& row : sorted.rows) sort(row.operators);
  sort(sorted.outside);
  profile::PerfResult result;
  result.modules = std::move(sorted);
  return result_json::WriteResultJson(result);
}

void ExpectSame(const char* what, const std::string& now, const std::string& before) {
  if (now != before) Fail(fmt::format("{} changed on the way:\n{}\nwas\n{}", what, now, before));
}

// As a trace and back, twice: the same runs, slices and statistics.
void GoThroughPerfetto(const profile::Recording& original) {
  const profile::Recording* recording = &original;
  profile::Recording read[2];
  std::string said[2];
  for (int i = 0; i < 2; ++i) {
    profile::LossCounts losses;
    auto bytes = WritePerfetto(*recording, &losses);
    if (!bytes) return CheckError(bytes.error());
    auto again = perfetto::ReadTraceBytes(*bytes, "written", {});
    if (!again) Fail("what was written is not read: " + again.error().message);
    // More lanes than a file may have tracks: the rest is counted, not there.
    if (again->profile.losses.Get(profile::Loss::kTooLarge) != 0) return;
    read[i] = *std::move(again);
    said[i] = LossText(losses);
    const profile::Profile& now = read[i].profile;
    const profile::Profile& before = recording->profile;
    const uint64_t left_out = losses.Get(profile::Loss::kEndBeforeStart) +
                              losses.Get(profile::Loss::kTimeOutOfRange) -
                              before.losses.Get(profile::Loss::kEndBeforeStart) -
                              before.losses.Get(profile::Loss::kTimeOutOfRange);
    if (left_out != 0) return;
    ExpectSame("slices", std::to_string(now.slices.size()), std::to_string(before.slices.size()));
    ExpectSame("runs", RunsText(now), RunsText(before));
    ExpectSame("allocations", std::to_string(now.allocations.size()),
               std::to_string(before.allocations.size()));
    recording = &read[i];
  }
  ExpectSame("statistics", said[1], said[0]);
  // The first time, NUL in a name becomes \x00.
  ExpectSame("modules", ModulesText(read[1]), ModulesText(read[0]));
  ExpectSame("statistics as read", LossText(read[1].profile.losses),
             LossText(read[0].profile.losses));
}

// The layers that an engine reported, as a profile that reads back as it was written.
void WriteTrex(const profile::Recording& recording, const profile::PerfResult& result) {
  profile::LossCounts losses;
  auto layers = trex::LayersOf(recording, result, &losses);
  if (!layers) return CheckError(layers.error());
  const std::string written = trex::WriteProfile(layers->profile);
  auto again = trex::ParseProfile(written, "written", &losses);
  if (!again) Fail("what was written is not read: " + again.error().message);
  ExpectSame("layers", std::to_string(again->layers.size()),
             std::to_string(layers->profile.layers.size()));
  const std::string metadata = trex::WriteMetadata(layers->metadata);
  auto described = trex::ParseMetadata(metadata, "written");
  if (!described) Fail("what was written is not read: " + described.error().message);
  ExpectSame("metadata", trex::WriteMetadata(*described), metadata);
}

}  // namespace

void CheckError(const Error& error) {
  if (error.message.empty()) Fail("an error without a message");
}

void UseResult(const profile::PerfResult& result) {
  for (const report::Format format : kFormats) {
    if (format == report::Format::kJson) continue;  // WriteResultJson, below
    report::PerfReport(result, format, {});
  }
  report::PerfTextOptions all;
  all.all_rows = true;
  all.color = true;
  all.width = 40;
  report::PerfText(result, all);
  report::ModuleText(result, {.show_events = true});

  const std::string written = result_json::WriteResultJson(result);
  auto again = result_json::ParseResult(written, "written");
  if (!again) Fail("what was written is not read: " + again.error().message);
  if (const std::string rewritten = result_json::WriteResultJson(*again); rewritten != written) {
    Fail("read back, it is not what was written:\n" + written + "\n" + rewritten);
  }
}

void UseRecording(Result<profile::Recording> recording) {
  if (!recording) return CheckError(recording.error());
  if (recording->profile.runs.empty()) analyze::FindRuns(&recording->profile);
  const profile::PerfResult result = analyze::AnalyzeRecording(*recording);
  UseResult(result);
  WriteTrex(*recording, result);
  for (const report::Format format : kFormats) {
    Check(report::WriteEvents(recording->profile, format,
                              [](std::string_view) { return Result<void>(); }));
  }
  GoThroughPerfetto(*recording);
  Check(etdump::WriteEtdump(recording->profile, "/dev/null", base::Overwrite::kForce));
}

}  // namespace inferprobe::fuzz
