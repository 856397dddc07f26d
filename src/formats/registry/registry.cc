#include "formats/registry/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <set>
#include <stdexcept>

#include "analyze/recording.h"
#include "base/files.h"
#include "base/text.h"
#include "formats/etdump/etdump_reader.h"
#include "formats/perfetto/reader.h"
#include "formats/result_json/result_reader.h"
#include "formats/trex/reader.h"
#include "profile/delegate_clock.h"
#include "profile/ring_import.h"
#include "record/block_reader.h"

namespace inferprobe::formats {
namespace {

constexpr size_t kHeadBytes = 1 << 16;

tl::unexpected<Error> UnitIsKnown(const std::string& path, std::string_view what) {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}: {} says its unit itself: no --input-unit applies", path, what),
                   "--input-unit is for ETDumps");
}

Result<Opened> Trace(Result<profile::Recording> recording) {
  if (!recording) return tl::unexpected(std::move(recording).error());
  Opened opened;
  opened.recording = *std::move(recording);
  return opened;
}

Result<Opened> ReadEtdump(const std::string& path, const profile::ReadOptions& options) {
  return Trace(etdump::ReadEtdump(path, options));
}

Result<Opened> ReadPerfetto(const std::string& path, const profile::ReadOptions& options) {
  return Trace(perfetto::ReadTrace(path, options));
}

Result<Opened> ReadRings(const std::string& path, const profile::ReadOptions& options) {
  if (options.input_unit_ns != 0) return UnitIsKnown(path, "a recording of inferprobe's");
  return Trace(profile::ReadMappedFile(path));
}

Result<Opened> ReadResult(const std::string& path, const profile::ReadOptions& options) {
  if (options.input_unit_ns != 0) return UnitIsKnown(path, "a result");
  if (!options.delegate_clocks.empty()) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: a result's times are final: no --delegate-clock applies", path),
        "give it with the trace");
  }
  auto result = result_json::ReadResult(path);
  if (!result) return tl::unexpected(std::move(result).error());
  Opened opened;
  opened.result = *std::move(result);
  return opened;
}

Result<Opened> ReadTrex(const std::string& path, const profile::ReadOptions& options) {
  return Trace(trex::ReadProfile(path, options));
}

tl::unexpected<Error> NoMemoryFor(const std::string& path) {
  return MakeError(ErrorCode::kUnsupported, fmt::format("not enough memory to read {}", path),
                   "close other programs, raise the limit (`ulimit -v`), or open it on a larger "
                   "machine");
}

bool IsEtdump(std::string_view head, uint64_t) { return etdump::LooksLikeEtdump(head); }
bool IsRings(std::string_view head, uint64_t) { return record::LooksLikeBlock(head); }

// Those with a mark at a fixed place come first. A Perfetto trace has none, only a shape.
constexpr Format kFormats[] = {
    {"etdump", "ETDump", {".etdp"}, IsEtdump, ReadEtdump},
    {"rings", "inferprobe recording", {}, IsRings, ReadRings},
    // Before results, whose names end alike.
    {"trex", "TREX profile", {".trex.json"}, trex::LooksLikeProfile, ReadTrex},
    {"json", "inferprobe result", {".json"}, result_json::LooksLikeResult, ReadResult},
    {"perfetto",
     "Perfetto trace",
     {".pftrace", ".perfetto-trace"},
     perfetto::LooksLikeTrace,
     ReadPerfetto},
};

std::string Known();

std::string HintOn(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return "it is compressed: gunzip it first";
  // Identifiers of flatbuffers: a program, and one with its inputs.
  const std::string_view identifier = head.substr(std::min<size_t>(head.size(), 4), 4);
  if (identifier == "ET12" || identifier == "BP08") {
    return "it is an ExecuTorch program, not a recording: `inferprobe perf` runs it";
  }
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (head[first] == '{' || head[first] == '[')) {
    return "it looks like JSON, but neither like a result of inferprobe's, in which schema_version "
           "is among the first keys, nor like a TREX profile, whose layers have timeMs";
  }
  return "known: " + Known();
}

std::string Known() {
  std::string list;
  for (const Format& format : kFormats)
    list += (list.empty() ? "" : ", ") + std::string(format.title);
  return list;
}

Result<Opened> Open(const std::string& path, const profile::ReadOptions& options) {
  auto format = FormatOfFile(path);
  if (!format) return tl::unexpected(format.error());
  auto opened = (*format)->read(path, options);
  if (!opened) return opened;
  if (opened->recording) {
    profile::Profile& profile = opened->recording->profile;
    if (profile.runs.empty()) {
      analyze::FindRuns(&profile);
      const std::vector<int64_t>& incomplete = opened->recording->incomplete_runs;
      const std::set<int64_t> starts(incomplete.begin(), incomplete.end());
      for (profile::Run& run : profile.runs) run.incomplete = starts.count(run.start_ns) != 0;
    }
    // After the runs: what it leaves out makes them incomplete.
    INFERPROBE_RETURN_IF_ERROR(
        profile::ApplyDelegateClocks(options.delegate_clocks, &*opened->recording));
  }
  return opened;
}

}  // namespace

std::span<const Format> Formats() { return kFormats; }

const Format* FormatByName(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name && format.IsWritten()) return &format;
  }
  return nullptr;
}

const Format* FormatBySuffix(std::string_view path) {
  for (const Format& format : kFormats) {
    for (const std::string_view suffix : format.suffixes) {
      if (!suffix.empty() && path.ends_with(suffix)) return &format;
    }
  }
  return nullptr;
}

std::string WritableNames() {
  std::string list;
  for (const Format& format : kFormats) {
    if (format.IsWritten()) list += (list.empty() ? "" : ", ") + std::string(format.name);
  }
  return list;
}

Result<const Format*> FormatOfFile(const std::string& path) {
  INFERPROBE_RETURN_IF_ERROR(base::CheckReadableFile(path));
  auto file = base::MappedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  // A copy: what is looked at more than once must not change.
  const std::string head(file->bytes().substr(0, kHeadBytes));
  INFERPROBE_RETURN_IF_ERROR(file->Whole());
  if (head.empty()) {
    return MakeError(ErrorCode::kMalformed, fmt::format("{}: byte 0: the file is empty", path),
                     "was the program that wrote it killed, or built without a tracer "
                     "(ET_EVENT_TRACER_ENABLED)?");
  }
  for (const Format& format : kFormats) {
    if (format.recognise(head, file->bytes().size())) return &format;
  }
  return MakeError(ErrorCode::kMalformed,
                   fmt::format("{}: byte 0: begins with \"{}\", which is no format that is known",
                               path, base::ShownBytes(std::string_view(head).substr(0, 16))),
                   HintOn(head));
}

Result<Opened> OpenFile(const std::string& path, const profile::ReadOptions& options) {
  // What a file takes is in proportion to its size; too much is all that anything below throws.
  try {
    return Open(path, options);
  } catch (const std::bad_alloc&) {
    return NoMemoryFor(path);
  } catch (const std::length_error&) {
    return NoMemoryFor(path);
  }
}

profile::PerfResult FiguresOf(Opened opened) {
  if (!opened.recording) return *std::move(opened.result);
  profile::PerfResult result = analyze::AnalyzeRecording(*opened.recording);
  result.losses.Add(profile::Loss::kNotInFormat, opened.recording->profile.counters.size());
  return result;
}

}  // namespace inferprobe::formats
