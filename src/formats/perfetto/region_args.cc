#include "formats/perfetto/region_args.h"

#include <limits>

#include "formats/perfetto/packet_out.h"

namespace inferprobe::perfetto {
namespace {

using profile::Region;
using profile::RegionPart;
using protozero::pbf_builder;

void AddUnless(pbf_builder<TrackEvent>& out, Interner& interner, ArgName name, int64_t otherwise,
               int64_t value) {
  if (value != otherwise) AddInt(out, interner.Arg(name), value);
}

void AddStatus(pbf_builder<TrackEvent>& out, Interner& interner, ArgName name, Status status) {
  if (status == Status::kNotRequested) return;
  AddText(out, interner.Arg(name), interner.Word(StatusName(status)));
}

void ReadStatus(std::string_view text, Status& status) {
  for (int i = 0; i <= static_cast<int>(Status::kNotMeasured); ++i) {
    if (text == StatusName(static_cast<Status>(i))) status = static_cast<Status>(i);
  }
}

// Counts are never negative.
template <typename Number>
void ReadCount(int64_t number, Number& count) {
  if (number >= 0 && number <= std::numeric_limits<int32_t>::max()) {
    count = static_cast<Number>(number);
  }
}

void ReadNs(int64_t number, uint64_t& ns) {
  if (number >= 0 && number <= profile::kLatestNs) ns = static_cast<uint64_t>(number);
}

}  // namespace

void WriteRegion(pbf_builder<TrackEvent>& out, const profile::Profile& profile,
                 const Region& region, Interner& interner) {
  const auto add = [&](ArgName name, int64_t value, int64_t otherwise = 0) {
    AddUnless(out, interner, name, otherwise, value);
  };
  const auto add_name = [&](ArgName name, profile::StringId id) {
    if (id != 0) AddText(out, interner.Arg(name), interner.DebugName(profile, id));
  };
  add(ArgName::kRegion, static_cast<int64_t>(region.id));
  add(ArgName::kOuterRegion, static_cast<int64_t>(region.parent));
  add(ArgName::kSession, static_cast<int64_t>(region.session));
  add(ArgName::kSessionRun, static_cast<int64_t>(region.run));
  add(ArgName::kExecutor, region.executor);
  add_name(ArgName::kFile, region.file);
  add(ArgName::kLine, region.line);
  add_name(ArgName::kFunction, region.function);
  add_name(ArgName::kCode, region.code);
  add(ArgName::kIterations, region.iterations);
  add(ArgName::kGrain, region.grain);
  add(ArgName::kRequested, region.requested);
  add(ArgName::kAdmitted, region.admitted);
  add(ArgName::kObserved, region.observed);
  add(ArgName::kParticipantsDropped, region.participants_dropped);
  add(ArgName::kProcessCpuNs, static_cast<int64_t>(region.process_cpu_ns));
  AddStatus(out, interner, ArgName::kProcessCpu, region.process_cpu_status);
  AddStatus(out, interner, ArgName::kParticipants, region.participants_status);
  add(ArgName::kNestedInline, region.nested_inline ? 1 : 0);
  add(ArgName::kFailed, region.failed ? 1 : 0);
}

void WriteRegionPart(pbf_builder<TrackEvent>& out, const RegionPart& part, Interner& interner) {
  const auto add = [&](ArgName name, int64_t value, int64_t otherwise = 0) {
    AddUnless(out, interner, name, otherwise, value);
  };
  add(ArgName::kIterations, static_cast<int64_t>(part.iterations));
  add(ArgName::kChunks, part.chunks);
  add(ArgName::kMigrations, part.migrations);
  add(ArgName::kFirstCpu, part.first_cpu, -1);
  add(ArgName::kLastCpu, part.last_cpu, -1);
  add(ArgName::kCpuNs, static_cast<int64_t>(part.cpu_ns));
  AddStatus(out, interner, ArgName::kCpu, part.cpu_status);
}

bool RegionArgs::Read(ArgName name, int64_t number, std::string_view text, Texts& texts) {
  const auto as_id = static_cast<uint64_t>(number);
  switch (name) {
    case ArgName::kRegion:
      region.id = as_id;
      break;
    case ArgName::kOuterRegion:
      region.parent = as_id;
      break;
    case ArgName::kSession:
      region.session = as_id;
      break;
    case ArgName::kSessionRun:
      region.run = as_id;
      break;
    case ArgName::kExecutor:
      region.executor = static_cast<uint32_t>(number);
      break;
    case ArgName::kFile:
      region.file = texts.Intern(text);
      break;
    case ArgName::kLine:
      region.line = static_cast<uint32_t>(number);
      break;
    case ArgName::kFunction:
      region.function = texts.Intern(text);
      break;
    case ArgName::kCode:
      region.code = texts.Intern(text);
      break;
    case ArgName::kIterations:
      region.iterations = number;
      part.iterations = as_id;
      break;
    case ArgName::kGrain:
      region.grain = number;
      break;
    case ArgName::kRequested:
      ReadCount(number, region.requested);
      break;
    case ArgName::kAdmitted:
      ReadCount(number, region.admitted);
      break;
    case ArgName::kObserved:
      ReadCount(number, region.observed);
      break;
    case ArgName::kParticipantsDropped:
      ReadCount(number, region.participants_dropped);
      break;
    case ArgName::kProcessCpuNs:
      ReadNs(number, region.process_cpu_ns);
      break;
    case ArgName::kProcessCpu:
      ReadStatus(text, region.process_cpu_status);
      break;
    case ArgName::kParticipants:
      ReadStatus(text, region.participants_status);
      break;
    case ArgName::kNestedInline:
      region.nested_inline = number != 0;
      break;
    case ArgName::kFailed:
      region.failed = number != 0;
      break;
    case ArgName::kChunks:
      part.chunks = static_cast<uint32_t>(number);
      break;
    case ArgName::kMigrations:
      part.migrations = static_cast<uint32_t>(number);
      break;
    case ArgName::kFirstCpu:
      ReadCount(number, part.first_cpu);
      break;
    case ArgName::kLastCpu:
      ReadCount(number, part.last_cpu);
      break;
    case ArgName::kCpuNs:
      ReadNs(number, part.cpu_ns);
      break;
    case ArgName::kCpu:
      ReadStatus(text, part.cpu_status);
      break;
    default:
      return false;
  }
  any = true;
  return true;
}

}  // namespace inferprobe::perfetto
