#include "use_recording.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "analyze/recording.h"
#include "base/atomic_file.h"
#include "formats/etdump/etdump_writer.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/writer.h"
#include "formats/result_json/result_json.h"
#include "formats/result_json/result_reader.h"
#include "report/event_list.h"
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

Result<void> WritePerfetto(const profile::Recording& recording) {
  const profile::Profile& profile = recording.profile;
  auto file = base::AtomicFile::Create("/dev/null", base::Overwrite::kForce);
  if (!file) Fail(file.error().message);
  auto writer = perfetto::Writer::Create(*std::move(file), &profile);
  if (!writer) return tl::unexpected(writer.error());
  INFERPROBE_RETURN_IF_ERROR(writer->Append(0, static_cast<uint32_t>(profile.slices.size()), 0,
                                            static_cast<uint32_t>(profile.counters.size())));
  return writer->Finish(perfetto::NotesOf(profile, recording.model, recording.engine,
                                          recording.event_cost_ns, recording.iterations,
                                          writer->losses()));
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
  UseResult(analyze::AnalyzeRecording(*recording));
  for (const report::Format format : kFormats) {
    Check(report::WriteEvents(recording->profile, format,
                              [](std::string_view) { return Result<void>(); }));
  }
  Check(WritePerfetto(*recording));
  Check(etdump::WriteEtdump(recording->profile, "/dev/null", base::Overwrite::kForce));
}

}  // namespace inferprobe::fuzz
