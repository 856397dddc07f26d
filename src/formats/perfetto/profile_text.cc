#include "formats/perfetto/profile_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace inferprobe::perfetto {

using profile::Category;
using profile::kNone;
using profile::Profile;
using profile::Run;
using profile::Slice;
using profile::SliceArgs;
using profile::Track;

namespace {

// A text as the writer may put it into a file.
std::string Written(std::string_view text) {
  std::string repaired = base::RepairUtf8(text).text;
  for (size_t at = 0; (at = repaired.find('\0', at)) != std::string::npos; at += 4) {
    repaired.replace(at, 1, "\\x00");
  }
  return repaired;
}

std::string TrackText(const Profile& profile, uint32_t index) {
  const Track& track = profile.tracks.at(index);
  const std::string parent =
      track.parent == kNone ? "" : Written(profile.tracks.at(track.parent).name);
  return fmt::format("{}/{}/{}/{}/{}/{}/{}/{}", Written(track.name), static_cast<int>(track.type),
                     static_cast<int>(track.kind), track.pid, track.tid, Written(track.unit),
                     parent, track.in_ticks);
}

std::string SliceText(const Profile& profile, uint32_t index) {
  const Slice& slice = profile.slices.at(index);
  SliceArgs args;
  if (slice.args != kNone) args = profile.args.at(slice.args);
  return fmt::format("{}|{}|{}|{}|{}|{} {} {} {} {} {} {}", TrackText(profile, slice.track),
                     static_cast<int>(slice.category), Written(profile.Name(slice)), slice.start_ns,
                     slice.dur_ns, args.chain, args.instruction, args.delegate_debug_id,
                     Written(profile.strings.Get(args.delegate_debug_name)),
                     args.metadata == kNone ? "none" : profile.metadata.at(args.metadata),
                     args.module, args.raised);
}

std::string SliceAndParentText(const Profile& profile, uint32_t index) {
  const uint32_t parent = profile.slices.at(index).parent;
  return SliceText(profile, index) + " < " + (parent == kNone ? "" : SliceText(profile, parent));
}

std::vector<std::string> Lines(const Profile& profile, uint32_t first, uint32_t count) {
  std::vector<std::string> lines;
  for (uint32_t i = first; i < first + count; ++i) {
    lines.push_back(SliceAndParentText(profile, i));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace

std::vector<std::string> Lines(const Profile& profile) {
  std::vector<std::string> lines = Lines(profile, 0, static_cast<uint32_t>(profile.slices.size()));
  for (const profile::CounterSample& sample : profile.counters) {
    lines.push_back(fmt::format("counter {} {} {}", TrackText(profile, sample.track),
                                sample.time_ns, sample.value));
  }
  for (const profile::Allocation& each : profile.allocations) {
    lines.push_back(fmt::format("allocation {} {} {} in {}", each.time_ns, each.bytes,
                                each.device ? "device" : "host",
                                each.slice == kNone ? "" : SliceText(profile, each.slice)));
  }
  for (std::string& line : RunLines(profile)) lines.push_back(std::move(line));
  lines.push_back(fmt::format("{} {} {} {}", profile.run_id, Written(profile.process_name),
                              profile.clock.boottime_minus_monotonic_ns,
                              profile.clock.realtime_minus_monotonic_ns));
  return lines;
}

std::string FirstDifference(const std::vector<std::string>& read,
                            const std::vector<std::string>& expected) {
  for (size_t i = 0; i < std::max(read.size(), expected.size()); ++i) {
    const std::string left = i < read.size() ? read[i] : "nothing";
    const std::string right = i < expected.size() ? expected[i] : "nothing";
    if (left != right) return fmt::format("line {}: read {}\nexpected {}", i, left, right);
  }
  return "";
}

std::vector<std::string> RunLines(const Profile& profile) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < profile.runs.size(); ++i) {
    const Run& run = profile.runs[i];
    lines.push_back(fmt::format("run {} {} {} {} {} {} {} {} {}", i, static_cast<int>(run.mode),
                                run.process, run.incomplete, profile::InfoOf(run.why).name,
                                run.group, run.start_ns, run.dur_ns, run.slice_count));
    for (const std::string& line : Lines(profile, run.first_slice, run.slice_count)) {
      lines.push_back(fmt::format("run {}: {}", i, line));
    }
  }
  return lines;
}

void ExpectSound(const Profile& profile) {
  for (uint32_t i = 0; i < profile.slices.size(); ++i) {
    const Slice& slice = profile.slices[i];
    ASSERT_LT(slice.track, profile.tracks.size());
    ASSERT_LT(slice.name, profile.strings.size());
    if (slice.parent != kNone) {
      ASSERT_LT(slice.parent, i);
    }
    if (slice.args != kNone) {
      ASSERT_LT(slice.args, profile.args.size());
    }
    if (!profile.tracks[slice.track].in_ticks) {
      ASSERT_GE(slice.dur_ns, 0);
    }
    ASSERT_EQ(slice.flags, 0);
  }
  for (const Run& run : profile.runs) {
    ASSERT_LE(uint64_t{run.first_slice} + run.slice_count, profile.slices.size());
    if (run.incomplete) continue;  // may be all that is left of it
    ASSERT_GT(run.slice_count, 0u);
    ASSERT_EQ(profile.slices[run.first_slice].category, Category::kRun);
  }
  for (const profile::Allocation& each : profile.allocations) {
    if (each.slice != kNone) {
      ASSERT_LT(each.slice, profile.slices.size());
    }
  }
  for (const profile::CounterSample& sample : profile.counters) {
    ASSERT_LT(sample.track, profile.tracks.size());
  }
  for (const Track& track : profile.tracks) {
    if (track.parent != kNone) {
      ASSERT_LT(track.parent, profile.tracks.size());
    }
  }
}

}  // namespace inferprobe::perfetto
