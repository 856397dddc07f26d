// `convert`: one file format into another.
//
// The rule that people break: what the target has no place for is counted and said, not dropped.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "analyze/recording.h"
#include "base/atomic_file.h"
#include "base/files.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/commands.h"
#include "formats/etdump/etdump_writer.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/writer.h"
#include "formats/registry/registry.h"
#include "formats/result_json/result_json.h"
#include "formats/trex/layers_of.h"
#include "report/lines.h"
#include "report/loss_table.h"

namespace inferprobe::cli {
namespace {

using profile::LossCounts;
using profile::Recording;

Result<const formats::Format*> TargetOf(const ConvertCommand& command) {
  const formats::Format* format =
      command.to.empty() ? formats::FormatBySuffix(command.out) : formats::FormatByName(command.to);
  for (const std::string_view later : {".chrome.json", ".node.json"}) {
    if (!command.to.empty() || !command.out.ends_with(later)) continue;
    return MakeError(ErrorCode::kNotBuiltIn,
                     fmt::format("{}: this version does not write {} files", command.out, later),
                     "for a result, give --to json or another name");
  }
  if (format != nullptr) return format;
  if (!command.to.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("--to {}: there is no such format to write", command.to),
                     "formats: " + formats::WritableNames());
  }
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}: the name's ending says no format", command.out),
                   "name it .etdp, .pftrace, .perfetto-trace or .json, or give --to " +
                       formats::WritableNames());
}

Result<void> CheckFiles(const ConvertCommand& command, base::Overwrite overwrite) {
  if (command.out == "-") {
    return MakeError(ErrorCode::kInvalidArgument, "the output must be a file, not \"-\"",
                     "inferprobe show IN --format json prints a result");
  }
  INFERPROBE_RETURN_IF_ERROR(base::CheckReadableFile(command.in));
  if (base::SameFile(command.in, command.out) ||
      base::SameFile(command.in, command.out + ".partial")) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is what is read: it is not overwritten", command.out),
                     "give the output another name");
  }
  return base::CheckWritable(command.out, overwrite);
}

Result<void> WritePerfetto(const Recording& recording, const std::string& path,
                           base::Overwrite overwrite, LossCounts* losses) {
  auto file = base::AtomicFile::Create(path, overwrite);
  if (!file) return tl::unexpected(file.error());
  const profile::Profile& profile = recording.profile;
  auto writer = perfetto::Writer::Create(std::move(*file), &profile);
  if (!writer) return tl::unexpected(writer.error());
  INFERPROBE_RETURN_IF_ERROR(writer->Append(0, static_cast<uint32_t>(profile.slices.size()), 0,
                                            static_cast<uint32_t>(profile.counters.size())));
  losses->Merge(writer->losses());
  return writer->Finish(perfetto::NotesOf(profile, recording.model, recording.engine,
                                          recording.event_cost_ns, recording.iterations, *losses));
}

// The profile, and beside it what has no place in it. A pipe or a device has nothing beside it.
Result<void> WriteTrex(const Recording& recording, const std::string& path,
                       base::Overwrite overwrite, LossCounts* losses) {
  const std::string beside = trex::MetadataPath(path);
  std::error_code ignored;
  const bool alone =
      path.starts_with("/dev/") ||
      (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored));
  if (!alone) INFERPROBE_RETURN_IF_ERROR(base::CheckWritable(beside, overwrite));
  const profile::PerfResult result = analyze::AnalyzeRecording(recording);
  auto layers = trex::LayersOf(recording, result, losses);
  if (!layers) return tl::unexpected(std::move(layers).error());
  INFERPROBE_RETURN_IF_ERROR(
      base::WriteFileAtomically(path, trex::WriteProfile(layers->profile), overwrite));
  if (alone) return {};
  return base::WriteFileAtomically(beside, trex::WriteMetadata(layers->metadata), overwrite);
}

Result<void> WriteTrace(const formats::Format& target, const Recording& recording,
                        const std::string& path, base::Overwrite overwrite, LossCounts* losses) {
  const std::vector<profile::Run>& runs = recording.profile.runs;
  if (target.name == "etdump" &&
      std::none_of(runs.begin(), runs.end(),
                   [](const profile::Run& run) { return profile::GivesRows(run.mode); })) {
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("{}: holds no profiled run of a model: an ETDump consists of such",
                                 recording.source.path),
                     "--to perfetto keeps all slices");
  }
  if (target.name == "trex") return WriteTrex(recording, path, overwrite, losses);
  if (target.name == "perfetto") return WritePerfetto(recording, path, overwrite, losses);
  return etdump::WriteEtdump(recording.profile, path, overwrite, losses);
}

// Each run that is written says it itself, so that nothing is counted twice by who reads the file.
uint64_t IncompleteRuns(const profile::Profile& profile) {
  return static_cast<uint64_t>(std::count_if(
      profile.runs.begin(), profile.runs.end(),
      [](const profile::Run& run) { return run.incomplete && profile::GivesRows(run.mode); }));
}

// Beside what was written, which may have gone to standard output.
Result<void> PrintSummary(const std::string& text, const std::string& out) {
  if (!base::SameFile(out, "/dev/stdout")) return PrintText(text);
  std::fputs(text.c_str(), stderr);
  return {};
}

}  // namespace

int RunConvertCommand(const ConvertCommand& command) {
  base::TurnWriteSignalsIntoErrors();
  base::RemoveUnfinishedOnInterrupt();
  auto target = TargetOf(command);
  if (!target) return PrintError(target.error());
  const auto overwrite = command.force ? base::Overwrite::kForce : base::Overwrite::kRefuse;
  if (auto checked = CheckFiles(command, overwrite); !checked) return PrintError(checked.error());
  auto opened = OpenFile(command.in, command.read, command.quiet);
  if (!opened) return PrintError(opened.error());

  LossCounts losses;
  std::string what;  // the source holds; what of it has no place in the target, the losses tell
  if ((*target)->name == "json") {
    const profile::PerfResult result = formats::FiguresOf(*std::move(opened));
    auto written =
        base::WriteFileAtomically(command.out, result_json::WriteResultJson(result), overwrite);
    if (!written) return PrintError(written.error());
    losses = result.losses;
    what = report::Counted(result.slices.empty() ? result.ops.size() : result.slices.size(), "row");
  } else if (!opened->recording) {
    return PrintError(
        {ErrorCode::kUnsupported,
         fmt::format("{}: a result holds figures, not the slices that they come from: "
                     "no {} can be made of it",
                     command.in, (*target)->title),
         "convert the trace: inferprobe perf MODEL --trace out.pftrace writes one"});
  } else {
    Recording& recording = *opened->recording;
    losses = recording.profile.losses;
    auto written = WriteTrace(**target, recording, command.out, overwrite, &losses);
    if (!written) return PrintError(written.error());
    losses.Add(profile::Loss::kIncompleteRun, IncompleteRuns(recording.profile));
    what = report::Counted(recording.profile.slices.size(), "slice") + " in " +
           report::Counted(recording.profile.runs.size(), "run");
  }
  if (!command.quiet) {
    auto printed =
        PrintSummary(fmt::format("wrote      {}   of {}: {}\n{}", base::TerminalText(command.out),
                                 base::TerminalText(command.in), what, report::LossTable(losses)),
                     command.out);
    if (!printed) return PrintError(printed.error());
  }
  auto strict = CheckStrict(command.read, losses, command.in);
  return strict ? kGood : PrintError(strict.error());
}

}  // namespace inferprobe::cli
