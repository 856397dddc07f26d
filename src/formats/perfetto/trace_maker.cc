#include "formats/perfetto/trace_maker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "formats/perfetto/reader.h"

namespace inferprobe::perfetto {

using profile::kNone;
using profile::Loss;
using profile::Profile;
using profile::Recording;
using profile::Slice;

Recording TraceMaker::Read() const {
  auto recording = ReadTraceBytes(bytes_, "made.pftrace", {});
  EXPECT_TRUE(recording.has_value()) << recording.error().message;
  return recording ? std::move(*recording) : Recording();
}

Strings Lines(const Recording& recording) {
  const Profile& profile = recording.profile;
  Strings lines;
  for (const Slice& slice : profile.slices) {
    std::string line = fmt::format("{}: {} {}+{}", profile.tracks.at(slice.track).name,
                                   profile.Name(slice), slice.start_ns, slice.dur_ns);
    if (slice.parent != kNone) {
      line += fmt::format(" < {}", profile.Name(profile.slices.at(slice.parent)));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

Strings Counters(const Recording& recording) {
  Strings lines;
  for (const profile::CounterSample& sample : recording.profile.counters) {
    const profile::Track& track = recording.profile.tracks.at(sample.track);
    lines.push_back(
        fmt::format("{} {}: {}@{}", track.name, track.unit, sample.value, sample.time_ns));
  }
  return lines;
}

uint64_t Lost(const Recording& recording, Loss loss) { return recording.profile.losses.Get(loss); }

}  // namespace inferprobe::perfetto
