#include "formats/perfetto/writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/files.h"
#include "base/text.h"
#include "formats/perfetto/fields.h"
#include "formats/perfetto/trace_decoder.h"
#include "formats/sample_profiles.h"

namespace inferprobe::perfetto {
namespace {

using formats::ProfileBuilder;
using profile::Category;
using profile::kNone;
using profile::Loss;
using profile::Profile;
using profile::Slice;
using profile::SliceArgs;

// A call every 1.1 s, and in each an operator; all operators share metadata and a name of so many
// bytes each.
Profile SharedTexts(uint32_t calls, size_t text_bytes) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("host", 1, 1);
  const uint16_t ops = build.AddEngineTrack(thread, "npu");
  build.profile.metadata.emplace_back(text_bytes, 'm');
  const std::string name(text_bytes, 'n');
  for (uint32_t i = 0; i < calls; ++i) {
    const int64_t start_ns = 1'000 + int64_t{i} * 1'100'000'000;
    const SliceArgs args{.instruction = 0};
    SliceArgs op_args = args;
    op_args.metadata = 0;
    const uint32_t call =
        build.Add(thread, "CALL", Category::kDelegateCall, start_ns, 100, kNone, &args);
    build.Add(ops, name, Category::kDelegateOp, start_ns + 10, 20, call, &op_args);
  }
  return std::move(build.profile);
}

class PerfettoWriter : public testing::Test {
 protected:
  PerfettoWriter()
      : path_(fmt::format("{}perfetto_{}_{}.pftrace", testing::TempDir(), getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~PerfettoWriter() override {
    unlink(path_.c_str());
    unlink(Partial().c_str());
  }
  std::string Partial() const { return path_ + ".partial"; }

  Writer Open(const Profile& profile) {
    auto file = base::AtomicFile::Create(path_, base::Overwrite::kForce);
    EXPECT_TRUE(file.has_value());
    auto writer = Writer::Create(std::move(*file), &profile);
    EXPECT_TRUE(writer.has_value());
    return std::move(*writer);
  }
  // All slices and counters in calls of `step` slices (0: one call), then Finish.
  DecodedTrace Write(const Profile& profile, uint32_t step = 0) {
    Writer writer = Open(profile);
    const auto slices = static_cast<uint32_t>(profile.slices.size());
    if (step == 0) step = std::max(slices, 1u);
    uint32_t counters = static_cast<uint32_t>(profile.counters.size());
    for (uint32_t first = 0; first == 0 || first < slices; first += step) {
      const auto appended =
          writer.Append(first, std::min(step, slices - first), 0, first == 0 ? counters : 0);
      EXPECT_TRUE(appended.has_value()) << appended.error().message;
    }
    const auto finished = writer.Finish({{"run_id", profile.run_id}});
    EXPECT_TRUE(finished.has_value()) << finished.error().message;
    losses_ = writer.losses();
    return Decoded(path_);
  }
  DecodedTrace Decoded(const std::string& path) {
    const auto bytes = base::ReadFile(path);
    EXPECT_TRUE(bytes.has_value());
    DecodedTrace trace = DecodeTrace(*bytes);
    EXPECT_EQ(trace.errors, std::vector<std::string>());
    return trace;
  }

  std::string path_;
  profile::LossCounts losses_;
};

// Numbers are forgotten every second, but no text is written so often that the file is made of it.
TEST_F(PerfettoWriter, LargeTextsThatAreSharedAreWrittenSeldom) {
  constexpr size_t kTextBytes = 20'000;
  constexpr uint64_t kBytesOfACall = 400;  // with its operator and their texts, without the large
  uint64_t bytes[2] = {};
  for (const uint32_t calls : {500U, 1'000U}) {
    const Profile profile = SharedTexts(calls, kTextBytes);
    const DecodedTrace trace = Write(profile);
    ASSERT_EQ(trace.slices.size(), 2 * calls);
    for (const DecodedSlice& slice : trace.slices) {
      if (slice.category != "delegate_op") continue;
      ASSERT_EQ(slice.name.size(), kTextBytes);
      ASSERT_EQ(slice.args.at("metadata").size(), 2 * kTextBytes);
    }
    bytes[calls / 500 - 1] = std::filesystem::file_size(path_);
  }
  EXPECT_LT(bytes[0], 3 * kTextBytes + 500 * kBytesOfACall);
  EXPECT_LT(bytes[1] - bytes[0], 3 * kTextBytes + 500 * kBytesOfACall);
  // Small ones are there every second.
  EXPECT_GE(Write(SharedTexts(50, 10)).epochs.size(), 49u);
}

// "track name|name|start|dur|depth|parent's name", sorted: what a trace should show.
std::vector<std::string> Lines(const DecodedTrace& trace) {
  std::vector<std::string> lines;
  for (const DecodedSlice& slice : trace.slices) {
    lines.push_back(
        fmt::format("{}|{}|{}|{}|{}|{}", trace.tracks.at(slice.track).name, slice.name,
                    slice.start_ns, slice.dur_ns, slice.depth,
                    slice.parent < 0 ? "" : trace.slices[static_cast<size_t>(slice.parent)].name));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> Lines(const Profile& profile) {
  std::vector<std::string> lines;
  for (const Slice& slice : profile.slices) {
    int depth = 0;
    std::string parent;
    for (uint32_t at = slice.parent; at != kNone; at = profile.slices[at].parent) {
      if (profile.slices[at].track != slice.track) break;
      if (depth++ == 0) parent = profile.Name(profile.slices[at]);
    }
    std::string track = profile.tracks[slice.track].name;
    if (profile.tracks[slice.track].type == profile::TrackType::kEngine) {
      track += " (engine-reported, start times not measured)";
    }
    lines.push_back(fmt::format("{}|{}|{}|{}|{}|{}", track, profile.Name(slice), slice.start_ns,
                                slice.dur_ns, depth, parent));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST_F(PerfettoWriter, WritesExactlyTheSlicesOfAnInference) {
  const Profile profile = formats::InferenceProfile(20);
  const DecodedTrace trace = Write(profile);
  EXPECT_EQ(Lines(trace), Lines(profile));
  EXPECT_EQ(trace.uuid_high, 0x0011223344556677u);
  EXPECT_EQ(trace.uuid_low, 0x8899aabbccddeeffu);
  ASSERT_EQ(trace.counters.size(), 20u);
  EXPECT_EQ(trace.counters[3].value, 43.5);
  EXPECT_EQ(trace.counters[3].time_ns, profile.counters[3].time_ns);
  const DecodedTrack& heat = trace.tracks.at(trace.counters[0].track);
  EXPECT_EQ(heat.name, "temperature");
  EXPECT_EQ(heat.unit, "degC");
  EXPECT_TRUE(trace.tracks.at(heat.parent).is_process);
  EXPECT_EQ(trace.tracks.at(heat.parent).pid, 4242);
  EXPECT_EQ(trace.tracks.at(heat.parent).name, "inferprobe worker");
}

TEST_F(PerfettoWriter, SaysWhatItKnowsOfASlice) {
  const DecodedTrace trace = Write(formats::InferenceProfile(2));
  using Args = std::map<std::string, std::string>;
  std::map<std::string, DecodedSlice> last;
  for (const DecodedSlice& slice : trace.slices) last[slice.name] = slice;
  EXPECT_EQ(last["inferprobe.run"].args,
            (Args{{"run", "1"}, {"mode", "pair_on"}, {"slices", "13"}}));
  EXPECT_EQ(last["inferprobe.run"].category, profile::CategoryName(Category::kRun));
  EXPECT_EQ(last["native_call_mean.out"].args, (Args{{"chain", "0"}, {"instruction", "2"}}));
  EXPECT_EQ(last["native_call_mean.out"].category, profile::CategoryName(Category::kKernel));
  EXPECT_EQ(last["Method::execute"].args, Args());
  EXPECT_EQ(last["Convolution (NHWC, F32) IGEMM #1"].args,
            (Args{{"chain", "0"},
                  {"instruction", "1"},
                  {"delegate_debug_name", "Convolution (NHWC, F32) IGEMM #1"},
                  {"metadata", "0001ff2074696c65"},
                  {"kind", "engine_reported"}}));
  EXPECT_EQ(last[""].args, (Args{{"chain", "0"},
                                 {"instruction", "1"},
                                 {"delegate_debug_id", "7"},
                                 {"kind", "engine_reported"}}));
  ASSERT_EQ(trace.instants.size(), 1u);
  EXPECT_EQ(trace.tracks.at(trace.instants[0].track).name, "inferprobe");
  EXPECT_EQ(trace.instants[0].args, (Args{{"run_id", "00112233445566778899aabbccddeeff"}}));
}

TEST_F(PerfettoWriter, StartsOverEverySecondAndSaysTheClocks) {
  const DecodedTrace trace = Write(formats::InferenceProfile(50, 100'000'000));
  ASSERT_GE(trace.epochs.size(), 5u);
  for (size_t i = 1; i < trace.epochs.size(); ++i) {
    EXPECT_LE(trace.epochs[i] - trace.epochs[i - 1], 1'100'000'000);
  }
  const auto monotonic = trace.first_clocks.at(ClockId::kMonotonic);
  EXPECT_EQ(trace.first_clocks.at(ClockId::kBoottime) - monotonic, 5'000'000'000u);
  EXPECT_EQ(trace.first_clocks.at(ClockId::kRealtime) - monotonic, 1'700'000'000'000'000'000u);
}

TEST_F(PerfettoWriter, TakesAtMost24BytesAnEvent) {
  const Profile profile = formats::InferenceProfile(2'000);
  const DecodedTrace trace = Write(profile);
  const auto bytes = base::ReadFile(path_);
  EXPECT_EQ(trace.events, profile.slices.size() * 2);
  const double each = static_cast<double>(bytes->size()) / static_cast<double>(trace.events);
  EXPECT_LE(each, 24.0);
  RecordProperty("bytes_per_event", std::to_string(each));
}

TEST_F(PerfettoWriter, RandomTreesComeBackExactly) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Profile profile = formats::RandomTrees(seed);
    const DecodedTrace trace = Write(profile);
    ASSERT_EQ(Lines(trace), Lines(profile)) << "seed " << seed;
    ASSERT_EQ(losses_.Get(Loss::kOverlapMoved), 0u) << "seed " << seed;
  }
}

// In pieces, some parents come late, and some of those tie with what is already written: these may
// move to another track, counted. Never is a slice lost or bent.
TEST_F(PerfettoWriter, RandomTreesInPiecesKeepEverySlice) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Profile profile = formats::RandomTrees(seed);
    const DecodedTrace trace = Write(profile, 1 + seed % 17);
    std::vector<std::string> expected;
    for (const Slice& slice : profile.slices) {
      expected.push_back(
          fmt::format("{} {} {}", profile.Name(slice), slice.start_ns, slice.dur_ns));
    }
    std::vector<std::string> found;
    for (const DecodedSlice& slice : trace.slices) {
      found.push_back(fmt::format("{} {} {}", slice.name, slice.start_ns, slice.dur_ns));
    }
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, expected) << "seed " << seed;
  }
}

TEST_F(PerfettoWriter, AnythingAtAllKeepsEverySliceAndItsTimes) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 engine(seed);
    const auto random = [&] { return static_cast<uint32_t>(engine()); };
    ProfileBuilder build;
    const uint16_t track = build.AddThread("t", 1, 1);
    for (uint32_t i = 0; i < 60; ++i) {
      build.Add(track, fmt::format("n{}", i), Category::kScope, random() % 40, random() % 12,
                random() % 3 == 0 ? kNone : random() % 60);
    }
    const DecodedTrace trace = Write(build.profile, 1 + random() % 60);
    ASSERT_EQ(trace.slices.size(), 60u);
    for (const DecodedSlice& slice : trace.slices) {
      const Slice& truth = build.profile.slices[std::stoul(slice.name.substr(1))];
      ASSERT_EQ(slice.start_ns, truth.start_ns) << "seed " << seed << " " << slice.name;
      ASSERT_EQ(slice.dur_ns, truth.dur_ns) << "seed " << seed << " " << slice.name;
    }
  }
}

TEST_F(PerfettoWriter, AScopeAroundDrainedRunsEnclosesThem) {
  ProfileBuilder build;
  const uint16_t track = build.AddThread("t", 1, 1);
  for (int64_t i = 0; i < 5; ++i) build.Add(track, "run", Category::kRun, 100 + i * 10, 9);
  build.Add(track, "session", Category::kScope, 90, 100);
  const DecodedTrace trace = Write(build.profile, 2);
  ASSERT_EQ(trace.slices.size(), 6u);
  EXPECT_EQ(trace.slices[0].name, "session");
  EXPECT_EQ(trace.slices[5].depth, 1);
  EXPECT_EQ(losses_.Get(Loss::kOverlapMoved), 0u);
}

TEST_F(PerfettoWriter, HostileNamesSurvive) {
  ProfileBuilder build;
  const uint16_t track = build.AddThread("thread \"\n\xFF", 1, 1);
  int64_t at = 0;
  for (int round = 0; round < 2; ++round) {
    for (const std::string& name : formats::HostileNames()) {
      build.Add(track, name, Category::kScope, at, 5);
      at += 200'000'000;  // over several epochs
    }
  }
  const DecodedTrace trace = Write(build.profile);
  ASSERT_EQ(trace.slices.size(), build.profile.slices.size());
  for (size_t i = 0; i < trace.slices.size(); ++i) {
    std::string name(build.profile.Name(build.profile.slices[i]));
    if (name.starts_with("nul")) name = "nul \\x00 inside";
    EXPECT_EQ(trace.slices[i].name, base::RepairUtf8(name).text);
  }
  EXPECT_EQ(trace.tracks.at(trace.slices[0].track).name, "thread \"\n\\xFF");
  EXPECT_EQ(losses_.Get(Loss::kInvalidUtf8), 4u);  // each text once, however often it is written
}

TEST_F(PerfettoWriter, TimesOf19DigitsStand) {
  ProfileBuilder build;
  const uint16_t track = build.AddThread("t", 1, 1);
  const uint16_t counter = build.AddCounterTrack("c", "", 1);
  build.Add(track, "normal", Category::kScope, 1'000, 10);
  build.Add(track, "epoch", Category::kScope, 1'764'000'000'123'456'789, 1'000);
  build.Add(track, "huge", Category::kScope, 9'223'372'036'854'775'000, 807);
  build.Add(track, "long", Category::kScope, 0, INT64_MAX);
  build.Add(track, "before", Category::kScope, -1'000, 10);
  build.profile.counters.push_back({-1, 1.0, counter});
  build.profile.counters.push_back({INT64_MAX, 2.0, counter});
  const DecodedTrace trace = Write(build.profile);
  ASSERT_EQ(trace.slices.size(), 4u);
  EXPECT_EQ(trace.slices[0].name, "long");
  EXPECT_EQ(trace.slices[0].dur_ns, INT64_MAX);
  EXPECT_EQ(trace.slices[3].start_ns, 9'223'372'036'854'775'000);
  ASSERT_EQ(trace.counters.size(), 1u);
  EXPECT_EQ(losses_.Get(Loss::kTimeOutOfRange), 2u);
}

TEST_F(PerfettoWriter, ThreadNumbersGivenOutAgainAreTwoTracks) {
  ProfileBuilder build;
  const uint16_t first = build.AddThread("first", 1, 7);
  const uint16_t second = build.AddThread("second", 1, 7);
  const uint16_t unknown = build.AddThread("unknown", 0, 0);
  build.Add(first, "a", Category::kScope, 0, 5);
  build.Add(second, "b", Category::kScope, 3, 5);
  build.Add(unknown, "c", Category::kScope, 3, 5);
  const DecodedTrace trace = Write(build.profile);
  EXPECT_EQ(trace.tracks.at(trace.slices[0].track).tid, 7);
  EXPECT_EQ(trace.tracks.at(trace.slices[1].track).tid, 0);
  EXPECT_EQ(trace.tracks.at(trace.slices[1].track).name, "second");
  EXPECT_EQ(trace.tracks.at(trace.slices[2].track).parent, 0u);
}

TEST_F(PerfettoWriter, OverlapsStandOnATrackBeside) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("t", 1, 1);
  const uint16_t engine = build.AddEngineTrack(thread, "npu (engine-reported)");
  build.Add(engine, "a", Category::kDelegateOp, 0, 5);
  build.Add(engine, "b", Category::kDelegateOp, 3, 5);
  const DecodedTrace trace = Write(build.profile);
  EXPECT_EQ(Lines(trace), (std::vector<std::string>{"npu (engine-reported) (overlap)|b|3|5|0|",
                                                    "npu (engine-reported)|a|0|5|0|"}));
  EXPECT_EQ(losses_.Get(Loss::kOverlapMoved), 1u);
}

TEST_F(PerfettoWriter, AfterEachAppendThePartialFileHoldsEverything) {
  const Profile profile = formats::InferenceProfile(30);
  Writer writer = Open(profile);
  for (uint32_t run = 0; run < 30; ++run) {
    const profile::Run& entry = profile.runs[run];
    ASSERT_TRUE(writer.Append(entry.first_slice, entry.slice_count, run, 1).has_value());
    const DecodedTrace trace = Decoded(Partial());
    ASSERT_EQ(trace.slices.size(), (run + 1) * entry.slice_count);
    ASSERT_EQ(trace.counters.size(), run + 1);
  }
  EXPECT_FALSE(base::FileExists(path_));
  writer.Abandon();
  EXPECT_TRUE(base::FileExists(Partial()));
  EXPECT_FALSE(base::FileExists(path_));
}

TEST_F(PerfettoWriter, AnEmptyProfileIsATrace) {
  ProfileBuilder build;
  const DecodedTrace trace = Write(build.profile);
  EXPECT_EQ(trace.slices.size(), 0u);
  EXPECT_EQ(trace.instants.size(), 1u);
}

TEST_F(PerfettoWriter, ARunIdThatIsNoneLeavesTheUuidOut) {
  ProfileBuilder build;
  build.profile.run_id = "not 32 hexadecimal digits at all";
  EXPECT_EQ(Write(build.profile).uuid_high, 0u);
}

TEST_F(PerfettoWriter, RefusesWhatTheProfileDoesNotHold) {
  const Profile profile = formats::InferenceProfile(1);
  {
    Writer writer = Open(profile);
    const auto slices = static_cast<uint32_t>(profile.slices.size());
    EXPECT_EQ(writer.Append(0, slices + 1, 0, 0).error().code, ErrorCode::kInternal);
    EXPECT_EQ(writer.Append(UINT32_MAX, UINT32_MAX, 0, 0).error().code, ErrorCode::kInternal);
    EXPECT_EQ(writer.Append(0, 0, 1, 1).error().code, ErrorCode::kInternal);
  }  // its file is its own as long as it lives
  ProfileBuilder build;
  build.Add(3, "no such track", Category::kScope, 0, 1);
  Writer other = Open(build.profile);
  EXPECT_EQ(other.Append(0, 1, 0, 0).error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace inferprobe::perfetto
