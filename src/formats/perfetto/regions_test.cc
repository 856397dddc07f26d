// Parallel regions come back from a trace as they were, with their operator and their parts.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/files.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/reader.h"
#include "formats/perfetto/writer.h"
#include "formats/sample_profiles.h"

namespace inferprobe::perfetto {
namespace {

using formats::kSampleStartNs;
using formats::ProfileBuilder;
using profile::Category;
using profile::kNone;
using profile::Profile;
using profile::Recording;
using profile::Region;
using profile::RegionPart;
using profile::Slice;
using profile::SliceArgs;
using profile::Track;
using profile::TrackType;

std::string Written(const Profile& profile) {
  const std::string path =
      fmt::format("{}perfetto_regions_{}.pftrace", testing::TempDir(), getpid());
  auto file = base::AtomicFile::Create(path, base::Overwrite::kForce);
  EXPECT_TRUE(file.has_value());
  auto writer = Writer::Create(std::move(*file), &profile);
  EXPECT_TRUE(writer->Append(0, static_cast<uint32_t>(profile.slices.size()), 0, 0).has_value());
  EXPECT_TRUE(writer->Finish(NotesOf(profile, {}, {}, 20.0, {}, profile.losses)).has_value());
  std::string bytes = *base::ReadFile(path);
  unlink(path.c_str());
  return bytes;
}

Recording Read(const Profile& profile) {
  auto recording = ReadTraceBytes(Written(profile), "t.pftrace", {});
  EXPECT_TRUE(recording.has_value()) << recording.error().message;
  return std::move(*recording);
}

std::string TextOf(const Profile& profile, const Region& region) {
  return fmt::format(
      "id {} in {} session {} run {} executor {} {}:{} {} code {} {}/{} threads "
      "{} {} {} -{} cpu {} {} {} {}{}",
      region.id, region.parent, region.session, region.run, region.executor,
      profile.strings.Get(region.file), region.line, profile.strings.Get(region.function),
      profile.strings.Get(region.code), region.iterations, region.grain, region.requested,
      region.admitted, region.observed, region.participants_dropped, region.process_cpu_ns,
      StatusName(region.process_cpu_status), StatusName(region.participants_status),
      region.nested_inline ? " nested" : "", region.failed ? " failed" : "");
}

std::string TextOf(const RegionPart& part) {
  return fmt::format("{} in {} chunks, {} migrations {}>{} cpu {} {}", part.iterations, part.chunks,
                     part.migrations, part.first_cpu, part.last_cpu, part.cpu_ns,
                     StatusName(part.cpu_status));
}

// A line for each region and part, by start.
std::vector<std::string> RegionsText(const Profile& profile) {
  std::vector<std::string> lines;
  for (uint32_t i = 0; i < profile.slices.size(); ++i) {
    const Slice& slice = profile.slices[i];
    if (slice.category != Category::kRegion && slice.category != Category::kRegionPart) continue;
    const Track& track = profile.tracks[slice.track];
    std::string line = fmt::format("{} +{} {} on {} of {} {}", slice.start_ns - kSampleStartNs,
                                   slice.dur_ns, profile.Name(slice), track.name, track.tid,
                                   track.parent == kNone ? "-" : profile.tracks[track.parent].name);
    line += slice.parent == kNone
                ? " in nothing"
                : fmt::format(" in {}", profile.Name(profile.slices[slice.parent]));
    for (size_t run = 0; run < profile.runs.size(); ++run) {
      const profile::Run& it = profile.runs[run];
      if (i >= it.first_slice && i < it.first_slice + it.slice_count) {
        line += fmt::format(" run {}", run);
      }
    }
    if (slice.args == kNone) {
      lines.push_back(line + " without facts");
      continue;
    }
    const SliceArgs& args = profile.args[slice.args];
    line += fmt::format(" instruction {}", args.instruction);
    if (args.region != kNone) line += " " + TextOf(profile, profile.regions[args.region]);
    if (args.region_part != kNone) {
      const RegionPart& part = profile.region_parts[args.region_part];
      line += " " + TextOf(part) + fmt::format(" of {}", profile.regions[part.region].id);
    }
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Two runs, in each a kernel with two loops, in the first of which another one runs inline.
class Made {
 public:
  Made() {
    thread_ = build_.AddThread("main", 77, 501);
    regions_ = AddTrack("parallel regions", TrackType::kRegions, 501, thread_);
    for (const int64_t tid : {501, 502}) {
      parts_.push_back(AddTrack(fmt::format("thread {} in parallel regions", tid),
                                TrackType::kParticipant, tid, kNone));
    }
    for (int64_t run = 0; run < 2; ++run) AddRun(kSampleStartNs + run * 10'000);
  }

  ProfileBuilder& build() { return build_; }
  Profile& profile() { return build_.profile; }

  uint32_t AddRegion(int64_t start_ns, int64_t dur_ns, uint32_t in, int threads,
                     bool nested = false) {
    Profile& profile = build_.profile;
    Region region;
    region.id = ++last_id_;
    region.parent = nested ? last_id_ - 1 : 0;
    region.session = 3;
    region.run = 9;
    region.executor = nested ? 4 : 0;
    region.file = nested ? profile.strings.Intern("a b.cc") : 0;
    region.function = nested ? profile.strings.Intern("void F(int)") : 0;
    region.line = nested ? 12 : 0;
    region.code = nested ? 0 : profile.strings.Intern("libx.so+0x12");
    region.iterations = 100 + static_cast<int64_t>(last_id_);
    region.grain = nested ? 1 : 16;
    region.requested = 4;
    region.admitted = 2;
    region.observed = threads;
    region.participants_dropped = nested ? 1 : 0;
    region.process_cpu_ns = nested ? 0 : 1234;
    region.process_cpu_status = nested ? Status::kBelowResolution : Status::kValid;
    region.participants_status = threads > 0 ? Status::kValid : Status::kNotRequested;
    region.nested_inline = nested;
    region.failed = nested;
    SliceArgs args;
    args.instruction = 5;
    args.region = static_cast<uint32_t>(profile.regions.size());
    profile.regions.push_back(region);
    const uint32_t slice = build_.Add(regions_, nested ? "inner" : "2d", Category::kRegion,
                                      start_ns, dur_ns, in, &args);
    for (int i = 0; i < threads; ++i) AddPart(i, slice, args.region, start_ns + i, dur_ns - 2 * i);
    return slice;
  }

 private:
  uint16_t AddTrack(std::string name, TrackType type, int64_t tid, uint32_t parent) {
    Track track;
    track.name = std::move(name);
    track.type = type;
    track.pid = 77;
    track.tid = tid;
    track.parent = parent;
    build_.profile.tracks.push_back(std::move(track));
    return static_cast<uint16_t>(build_.profile.tracks.size() - 1);
  }

  void AddPart(int thread, uint32_t in, uint32_t region, int64_t start_ns, int64_t dur_ns) {
    RegionPart part;
    part.region = region;
    part.iterations = thread == 0 ? 0 : 50;
    part.chunks = 7;
    part.migrations = static_cast<uint32_t>(thread);
    part.first_cpu = thread - 1;
    part.last_cpu = 3;
    part.cpu_ns = thread == 0 ? 0 : 99;
    part.cpu_status = thread == 0 ? Status::kNotRequested : Status::kValid;
    SliceArgs args;
    args.region_part = static_cast<uint32_t>(build_.profile.region_parts.size());
    build_.profile.region_parts.push_back(part);
    build_.Add(parts_[static_cast<size_t>(thread)], "2d", Category::kRegionPart, start_ns, dur_ns,
               in, &args);
  }

  void AddRun(int64_t start_ns) {
    const auto first = static_cast<uint32_t>(build_.profile.slices.size());
    SliceArgs args;
    args.instruction = 5;
    const uint32_t kernel = build_.Add(thread_, "native_call_mm", Category::kKernel,
                                       start_ns + 1000, 5000, kNone, &args);
    AddRegion(start_ns + 1000, 2000, kernel, 2);  // starts with its kernel
    AddRegion(start_ns + 1200, 100, kNone, 0, /*nested=*/true);
    AddRegion(start_ns + 4000, 1000, kernel, 1);
    const uint32_t own = build_.Add(thread_, "run", Category::kRun, start_ns, 8000);
    build_.profile.slices[kernel].parent = own;
    profile::Run run;
    run.mode = profile::RunMode::kPairOn;
    run.start_ns = start_ns;
    run.dur_ns = 8000;
    run.first_slice = first;
    run.slice_count = own + 1 - first;
    build_.profile.runs.push_back(run);
  }

  ProfileBuilder build_;
  uint16_t thread_ = 0;
  uint16_t regions_ = 0;
  std::vector<uint16_t> parts_;
  uint64_t last_id_ = 0;
};

TEST(Regions, ComeBackAsTheyWere) {
  Made made;
  const std::vector<std::string> lines = RegionsText(made.profile());
  ASSERT_EQ(lines.size(), 12U);
  const Recording back = Read(made.profile());
  EXPECT_EQ(RegionsText(back.profile), lines);
  EXPECT_EQ(back.profile.regions.size(), made.profile().regions.size());
  EXPECT_EQ(back.profile.region_parts.size(), made.profile().region_parts.size());
  ASSERT_EQ(back.profile.runs.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back.profile.runs[i].slice_count, made.profile().runs[i].slice_count);
    EXPECT_FALSE(back.profile.runs[i].incomplete);
  }
  // And twice.
  EXPECT_EQ(RegionsText(Read(back.profile).profile), lines);
}

TEST(Regions, APartWhoseRegionIsGoneHasNoFacts) {
  Made made;
  Profile& profile = made.profile();
  for (Slice& slice : profile.slices) {
    if (slice.category == Category::kRegion) slice.dur_ns = -1;  // is not written
  }
  const Recording back = Read(profile);
  size_t parts = 0;
  for (const Slice& slice : back.profile.slices) {
    EXPECT_NE(slice.category, Category::kRegion);
    if (slice.category != Category::kRegionPart) continue;
    ++parts;
    EXPECT_EQ(slice.args, kNone);
    EXPECT_EQ(slice.parent, kNone);
  }
  EXPECT_EQ(parts, 6U);
}

TEST(Regions, AreReadWhereOurWriterPutsThemOnly) {
  Made made;
  Profile& profile = made.profile();
  for (Track& track : profile.tracks) {
    if (track.type == TrackType::kRegions) track.type = TrackType::kThread;
  }
  const Recording back = Read(profile);
  EXPECT_TRUE(back.profile.regions.empty());
  for (const SliceArgs& args : back.profile.args) EXPECT_EQ(args.region, kNone);
}

TEST(Regions, ARegionInARegionIsNoCircle) {
  Made made;
  Profile& profile = made.profile();
  // As only a damaged file has it: each in the other.
  std::vector<uint32_t> regions;
  for (uint32_t i = 0; i < profile.slices.size(); ++i) {
    if (profile.slices[i].category == Category::kRegion) regions.push_back(i);
  }
  profile.slices[regions[0]].parent = regions[2];
  profile.slices[regions[2]].parent = regions[0];
  const Recording back = Read(profile);
  for (const Slice& slice : back.profile.slices) {
    if (slice.category != Category::kRegion || slice.parent == kNone) continue;
    EXPECT_EQ(back.profile.slices[slice.parent].category, Category::kKernel);
  }
}

}  // namespace
}  // namespace inferprobe::perfetto
