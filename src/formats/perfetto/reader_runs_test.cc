// Runs come back from a trace as they were: where each begins and ends, what is in it, whether it
// is whole, and why not. And what becomes of one that a damaged file has lost a part of.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "base/files.h"
#include "formats/perfetto/fields.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/packet.h"
#include "formats/perfetto/profile_text.h"
#include "formats/perfetto/reader.h"
#include "formats/perfetto/slices.h"
#include "formats/perfetto/trace_decoder.h"
#include "formats/perfetto/trace_maker.h"
#include "formats/perfetto/wire.h"
#include "formats/perfetto/writer.h"
#include "formats/sample_profiles.h"

namespace inferprobe::perfetto {
namespace {

using formats::ProfileBuilder;
using profile::Category;
using profile::kNone;
using profile::Loss;
using profile::Profile;
using profile::Recording;
using profile::Run;
using profile::RunMode;
using profile::SliceArgs;
using protozero::pbf_builder;

// Of the slices from the first one on.
profile::Run RunOf(RunMode mode, int64_t start_ns, int64_t dur_ns, uint32_t slice_count) {
  profile::Run run;
  run.mode = mode;
  run.start_ns = start_ns;
  run.dur_ns = dur_ns;
  run.slice_count = slice_count;
  return run;
}

// `step`: slices of each Append; 0: all at once.
std::string WriteRecording(const Recording& recording, profile::LossCounts* losses = nullptr,
                           uint32_t step = 0) {
  const std::string path = fmt::format("{}perfetto_runs_{}.pftrace", testing::TempDir(), getpid());
  auto file = base::AtomicFile::Create(path, base::Overwrite::kForce);
  EXPECT_TRUE(file.has_value());
  const Profile& profile = recording.profile;
  auto writer = Writer::Create(std::move(*file), &profile);
  const auto slices = static_cast<uint32_t>(profile.slices.size());
  uint32_t first = 0;
  for (; step != 0 && first + step < slices; first += step) {
    EXPECT_TRUE(writer->Append(first, step, 0, 0).has_value());
  }
  EXPECT_TRUE(
      writer->Append(first, slices - first, 0, static_cast<uint32_t>(profile.counters.size()))
          .has_value());
  profile::LossCounts all = profile.losses;
  all.Merge(writer->losses());
  EXPECT_TRUE(writer
                  ->Finish(NotesOf(profile, recording.model, recording.engine,
                                   recording.event_cost_ns, recording.iterations, all))
                  .has_value());
  if (losses != nullptr) *losses = all;
  std::string bytes = *base::ReadFile(path);
  unlink(path.c_str());
  return bytes;
}

Recording ReadBytes(std::string_view bytes) {
  auto recording = ReadTraceBytes(bytes, "t.pftrace", {});
  EXPECT_TRUE(recording.has_value()) << recording.error().message;
  return recording ? std::move(*recording) : Recording();
}

std::string LossText(const profile::LossCounts& losses) {
  std::string text;
  for (int i = 0; i < static_cast<int>(Loss::kCount); ++i) {
    const auto loss = static_cast<Loss>(i);
    if (losses.Get(loss) != 0) {
      text += fmt::format("{} {}\n", profile::InfoOf(loss).name, losses.Get(loss));
    }
  }
  return text;
}

// Runs as an ETDump has them: slices in the order of their ends, no slice around them, and no order
// of time between two runs. Or, kTimed, as a recorder has them: one after the other, every second
// one with a slice of its own, which stands behind its members.
class RunMaker {
 public:
  enum class Layout : uint8_t { kEtdump, kTimed };

  explicit RunMaker(uint32_t seed, Layout layout = Layout::kEtdump)
      : random_(seed), timed_(layout == Layout::kTimed), coarse_(!timed_ && seed % 4 == 1) {
    thread_ = build_.AddThread("host", 0, 0);
    ops_ = build_.AddEngineTrack(thread_, "DELEGATE_CALL@1 (engine-reported)");
    npu_ = build_.AddEngineTrack(thread_, "npu");
    build_.profile.tracks[npu_].in_ticks = true;
  }

  Recording Make(int runs) {
    for (int run = 0; run < runs; ++run) AddRun();
    Recording recording;
    recording.profile = std::move(build_.profile);
    return recording;
  }

 private:
  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(std::max<int64_t>(limit, 1)));
  }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  // A coarse clock stands still for most of a run.
  int64_t Step(int64_t limit) { return coarse_ ? (OneIn(4) ? 1 : 0) : 1 + Below(limit); }

  void AddRun() {
    Profile& profile = build_.profile;
    Run run;
    run.mode = RunMode::kProfiled;
    run.first_slice = static_cast<uint32_t>(profile.slices.size());
    if (!timed_ && OneIn(4)) at_ = 1'000;              // the clock starts again
    if (timed_ || OneIn(3)) at_ += 1'000 + Below(50);  // else it follows at once
    run.incomplete = OneIn(4);
    if (run.incomplete && OneIn(2)) run.why = Loss::kEndBeforeStart;
    run.start_ns = at_;
    if (!OneIn(8)) Fill(run);
    const auto filled = static_cast<uint32_t>(profile.slices.size());
    if (timed_ && OneIn(2)) {
      at_ += 1;
      const uint32_t whole =
          build_.Add(thread_, "run", Category::kRun, run.start_ns, at_ - run.start_ns);
      for (uint32_t i = run.first_slice; i < whole; ++i) {
        profile::Slice& slice = profile.slices[i];
        if (slice.parent == kNone && slice.track == thread_) slice.parent = whole;
      }
    }
    run.dur_ns = at_ - run.start_ns;
    if (filled == profile.slices.size() && OneIn(10))
      run.dur_ns += 5;  // what it is timed by is not among its slices
    run.slice_count = static_cast<uint32_t>(profile.slices.size()) - run.first_slice;
    profile.runs.push_back(run);
    if (OneIn(6)) build_.Add(thread_, "init", Category::kLoad, at_, Step(5));  // in no run
  }

  void Fill(const Run& run) {
    Profile& profile = build_.profile;
    std::vector<uint32_t> calls;
    for (int32_t instruction = 0; instruction < 3; ++instruction) {
      at_ += Step(5);
      const int64_t start = at_;
      SliceArgs args{.chain = 0, .instruction = OneIn(9) ? -7 : instruction};
      at_ += Step(40);
      if (instruction != 1) {
        const uint32_t kernel =
            build_.Add(thread_, "kernel", Category::kKernel, start, at_ - start, kNone, &args);
        calls.push_back(build_.Add(thread_, "OPERATOR_CALL", Category::kOperatorCall, start,
                                   at_ - start, kNone, &args));
        if (!OneIn(10)) profile.slices[kernel].parent = calls.back();
        continue;
      }
      std::vector<uint32_t> reported;
      for (int64_t op = 0; op < 3; ++op) {
        SliceArgs op_args = args;
        op_args.delegate_debug_id = static_cast<int32_t>(op);
        if (OneIn(9)) op_args.instruction = -1;
        reported.push_back(build_.Add(OneIn(3) ? npu_ : ops_, "", Category::kDelegateOp,
                                      start + 4 * op, Below(4), kNone, &op_args));
      }
      calls.push_back(build_.Add(thread_, "DELEGATE_CALL", Category::kDelegateCall, start,
                                 at_ - start, kNone, &args));
      for (const uint32_t op : reported) {
        if (!OneIn(8)) profile.slices[op].parent = calls.back();
      }
    }
    if (OneIn(5)) return;  // an older runtime does not say Method::execute
    at_ += Step(5);
    const uint32_t method =
        build_.Add(thread_, "Method::execute", Category::kMethod, run.start_ns, at_ - run.start_ns);
    for (const uint32_t call : calls) {
      if (!OneIn(10)) profile.slices[call].parent = method;
    }
  }

  std::mt19937 random_;
  ProfileBuilder build_;
  bool timed_;
  bool coarse_;
  int64_t at_ = 1'000;
  uint16_t thread_ = 0;
  uint16_t ops_ = 0;
  uint16_t npu_ = 0;
};

TEST(PerfettoRuns, AnyLayoutOfRunsComesBack) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Recording recording = RunMaker(seed).Make(1 + static_cast<int>(seed % 9));
    const Recording read = ReadBytes(WriteRecording(recording));
    EXPECT_TRUE(read.profile.runs_marked);
    ASSERT_EQ(FirstDifference(RunLines(read.profile), RunLines(recording.profile)), "")
        << "seed " << seed;
    ASSERT_EQ(FirstDifference(Lines(read.profile), Lines(recording.profile)), "")
        << "seed " << seed;
    ASSERT_EQ(LossText(read.profile.losses), "") << "seed " << seed;
  }
}

// Where parent and child are of equal times and of two pieces, the file cannot tell which is which.
std::vector<std::string> WithoutParents(std::vector<std::string> lines) {
  for (std::string& line : lines) line.resize(std::min(line.size(), line.find(" < ")));
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Members of a run may stand in the file before the slice that is the run.
TEST(PerfettoRuns, WrittenInPiecesTheyComeBackAsWell) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const Recording recording =
        RunMaker(seed, RunMaker::Layout::kTimed).Make(1 + static_cast<int>(seed % 9));
    const Recording whole = ReadBytes(WriteRecording(recording));
    ASSERT_EQ(FirstDifference(Lines(whole.profile), Lines(recording.profile)), "") << seed;
    const std::vector<std::string> runs = WithoutParents(RunLines(recording.profile));
    for (const uint32_t step : {1U, 2U, 7U, 40U}) {
      const Recording read = ReadBytes(WriteRecording(recording, nullptr, step));
      ASSERT_EQ(FirstDifference(WithoutParents(RunLines(read.profile)), runs), "")
          << "seed " << seed << ", step " << step;
      ASSERT_EQ(LossText(read.profile.losses), "") << "seed " << seed << ", step " << step;
    }
  }
}

TEST(PerfettoRuns, ASliceThatStandsBesideItsTrackKeepsItsParent) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("host", 0, 0);
  const uint32_t method = build.Add(thread, "m", Category::kMethod, 1'000, 100);
  build.Add(thread, "a", Category::kOther, 1'010, 40, method);
  build.Add(thread, "in a by its times", Category::kOther, 1'020, 10, method);
  Recording recording;
  recording.profile = std::move(build.profile);
  EXPECT_EQ(Lines(ReadBytes(WriteRecording(recording)).profile), Lines(recording.profile));
}

// What a reader finds by thread and instruction, and what it must be told.
TEST(PerfettoRuns, ADelegatesOperatorKeepsItsCallAndItsRun) {
  struct Case {
    const char* name;
    int32_t instruction;  // of the operator; its call's is 2
    int64_t start_ns;     // its call's is 1'000
    bool other_thread;    // the track is another thread's
    bool in_ticks;
  };
  constexpr Case kCases[] = {
      {"as its call", 2, 1'010, false, false},
      {"no instruction", -1, 1'010, false, false},
      {"no instruction, in ticks", -1, 77, false, true},
      {"another call's instruction", 3, 1'010, false, false},
      {"no instruction, begun before its call", -1, 990, false, false},
      {"no instruction, begun before all", -1, 10, false, false},
      {"another thread", 2, 1'010, true, false},
      {"another thread, in ticks", 2, 77, true, true},
  };
  for (const Case& it : kCases) {
    for (const bool call_first : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, {}", it.name, call_first ? "behind its call" : "before it"));
      ProfileBuilder build;
      const uint16_t thread = build.AddThread("host", 0, 0);
      const uint16_t other = build.AddThread("other", 0, 0);
      const uint16_t ops = build.AddEngineTrack(it.other_thread ? other : thread, "npu");
      build.profile.tracks[ops].in_ticks = it.in_ticks;
      const SliceArgs op_args{.chain = 0, .instruction = it.instruction, .delegate_debug_id = 7};
      const auto add_op = [&] {
        return build.Add(ops, "conv", Category::kDelegateOp, it.start_ns, 20, kNone, &op_args);
      };
      const auto add_call = [&](int32_t instruction, int64_t start_ns) {
        const SliceArgs args{.chain = 0, .instruction = instruction};
        return build.Add(thread, "DELEGATE_CALL", Category::kDelegateCall, start_ns, 100, kNone,
                         &args);
      };
      uint32_t op = call_first ? 0 : add_op();
      const uint32_t call = add_call(2, 1'000);
      if (call_first) op = add_op();
      add_call(3, 1'200);
      build.profile.slices[op].parent = call;
      profile::Run run;
      run.mode = RunMode::kProfiled;
      run.start_ns = 1'000;
      run.dur_ns = 300;
      run.slice_count = 3;
      build.profile.runs.push_back(run);
      build.Add(other, "beside", Category::kScope, 5'000, 10);
      Recording recording;
      recording.profile = std::move(build.profile);
      const Recording read = ReadBytes(WriteRecording(recording));
      EXPECT_EQ(Lines(read.profile), Lines(recording.profile));
      EXPECT_EQ(RunLines(read.profile), RunLines(recording.profile));
    }
  }
}

// A clock that starts again: in the file, too, no run is drawn inside another one.
TEST(PerfettoRuns, RunsOnTopOfEachOtherStandBesideEachOther) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("host", 0, 0);
  for (uint32_t i = 0; i < 3; ++i) {
    profile::Run run;
    run.mode = RunMode::kProfiled;
    run.start_ns = 1'000;
    run.dur_ns = 100 - i;
    run.first_slice = i;
    run.slice_count = 1;
    build.Add(thread, "Method::execute", Category::kMethod, 1'000, run.dur_ns);
    build.profile.runs.push_back(run);
  }
  Recording recording;
  recording.profile = std::move(build.profile);
  for (const DecodedSlice& slice : DecodeTrace(WriteRecording(recording)).slices) {
    EXPECT_EQ(slice.depth, 0);
  }
}

TEST(PerfettoRuns, ConvertedAgainTheStatisticsStay) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    profile::LossCounts first;
    profile::LossCounts second;
    profile::LossCounts third;
    Recording recording = RunMaker(seed).Make(6);
    const Recording once = ReadBytes(WriteRecording(recording, &first));
    const Recording twice = ReadBytes(WriteRecording(once, &second));
    WriteRecording(twice, &third);
    ASSERT_EQ(LossText(second), LossText(first)) << "seed " << seed;
    ASSERT_EQ(LossText(third), LossText(first)) << "seed " << seed;
    ASSERT_EQ(FirstDifference(Lines(twice.profile), Lines(once.profile)), "") << "seed " << seed;
  }
}

TEST(PerfettoRuns, ForeignTracesConvertedAgainKeepTheirStatistics) {
  for (const char* name : {"android", "hostile", "legacy", "lossy", "sdk"}) {
    const auto foreign = ReadTrace(
        fmt::format("{}/tests/fixtures/perfetto/{}.pftrace", INFERPROBE_SOURCE_DIR, name), {});
    ASSERT_TRUE(foreign.has_value());
    profile::LossCounts first;
    profile::LossCounts second;
    profile::LossCounts third;
    const Recording once = ReadBytes(WriteRecording(*foreign, &first));
    const Recording twice = ReadBytes(WriteRecording(once, &second));
    WriteRecording(twice, &third);
    EXPECT_EQ(LossText(second), LossText(first)) << name;
    EXPECT_EQ(LossText(third), LossText(first)) << name;
  }
}

// A file that is the same but for one packet. Packets are told apart by their framing alone.
std::vector<std::string_view> Packets(std::string_view trace) {
  std::vector<std::string_view> packets;
  while (!trace.empty()) {
    std::string_view rest = trace.substr(1);
    uint64_t size = 0;
    EXPECT_TRUE(TakeVarint(rest, size));
    const size_t whole = trace.size() - rest.size() + size;
    packets.push_back(trace.substr(0, whole));
    trace.remove_prefix(whole);
  }
  return packets;
}

// Five runs known by a mark each, as of an ETDump.
Recording MarkedRuns() {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("host", 0, 0);
  for (int64_t start = 1'000; start < 6'000; start += 1'000) {
    Run run;
    run.mode = RunMode::kProfiled;
    run.first_slice = static_cast<uint32_t>(build.profile.slices.size());
    run.slice_count = 3;
    run.start_ns = start;
    run.dur_ns = 500;
    const uint32_t method = build.Add(thread, "Method::execute", Category::kMethod, start, 500);
    build.Add(thread, "a", Category::kOperatorCall, start + 10, 100, method);
    build.Add(thread, "b", Category::kOperatorCall, start + 110, 100, method);
    build.profile.runs.push_back(run);
  }
  Recording recording;
  recording.profile = std::move(build.profile);
  return recording;
}

RawPacket Parsed(std::string_view packet) {
  packet.remove_prefix(1);
  uint64_t size = 0;
  EXPECT_TRUE(TakeVarint(packet, size));
  RawPacket raw;
  EXPECT_TRUE(ParsePacket(packet, raw));
  return raw;
}
bool IsEvent(std::string_view packet) { return Parsed(packet).event.data() != nullptr; }
// The first of their names take all later ones with them.
bool IsPlainEvent(std::string_view packet) {
  return IsEvent(packet) && Parsed(packet).interned.data() == nullptr;
}
uint32_t SlicesInRuns(const Profile& profile) {
  uint32_t slices = 0;
  for (const Run& run : profile.runs) slices += run.slice_count;
  return slices;
}

// Whichever event is missing, its run is not whole; the others are.
void ExpectEachLossShows(const Recording& recording) {
  const std::string whole = WriteRecording(recording);
  const std::vector<std::string_view> packets = Packets(whole);
  size_t tried = 0;
  for (size_t left_out = 1; left_out + 1 < packets.size(); ++left_out) {
    if (!IsPlainEvent(packets[left_out])) continue;
    std::string bytes;
    for (size_t i = 0; i < packets.size(); ++i) {
      if (i != left_out) bytes += packets[i];
    }
    const Recording read = ReadBytes(bytes);
    ASSERT_EQ(read.profile.runs.size(), recording.profile.runs.size()) << left_out;
    size_t complete = 0;
    for (const auto& run : read.profile.runs) complete += run.incomplete ? 0 : 1;
    if (SlicesInRuns(read.profile) == SlicesInRuns(recording.profile)) continue;  // of no run
    ASSERT_EQ(complete + 1, recording.profile.runs.size()) << left_out;
    ++tried;
  }
  EXPECT_GT(tried, 20u);
}

TEST(PerfettoRuns, ARunThatLostAPacketIsIncomplete) { ExpectEachLossShows(MarkedRuns()); }

TEST(PerfettoRuns, SoIsOneThatWasTimedFromOutside) {
  Recording recording;
  recording.profile = formats::InferenceProfile(5);
  recording.profile.counters.clear();
  ExpectEachLossShows(recording);
}

TEST(PerfettoRuns, ACutFileSaysWhichRunItCut) {
  const std::string whole = WriteRecording(MarkedRuns());
  size_t cut_runs = 0;
  for (size_t length = 300; length < whole.size(); ++length) {
    const Recording read = ReadBytes(std::string_view(whole).substr(0, length));
    size_t incomplete = 0;
    for (const auto& run : read.profile.runs) {
      if (!run.incomplete) continue;
      ++incomplete;
      EXPECT_TRUE(run.why == Loss::kTruncatedFile || run.why == Loss::kUnfinishedSlice ||
                  run.why == Loss::kIncompleteRun);
    }
    ASSERT_LE(incomplete, 1u) << length;
    for (const auto& run : read.profile.runs) {
      ASSERT_TRUE(run.incomplete || run.slice_count == 3) << length;
    }
    cut_runs += incomplete;
  }
  EXPECT_GT(cut_runs, 0u);
}

TEST(PerfettoRuns, ThoseOfWhichNothingIsLeftAreCounted) {
  const std::string whole = WriteRecording(MarkedRuns());
  const std::vector<std::string_view> packets = Packets(whole);
  // The marks and events of three runs, then the notes.
  std::string bytes;
  size_t events = 0;
  for (const std::string_view packet : packets) {
    if (packet == packets.back() || !IsEvent(packet) || ++events <= 3 * 7) bytes += packet;
  }
  const Recording read = ReadBytes(bytes);
  EXPECT_EQ(read.profile.runs.size(), 3u);
  EXPECT_EQ(Lost(read, Loss::kIncompleteRun), 2u);
}

// Traces of older versions: runs on their own slices, without a number of slices; or no run at all.
class OldTrace {
 public:
  OldTrace() {
    trace_.Add([](Packet& packet) {
      pbf_builder<TrackDescriptor> track{packet, TracePacket::kTrackDescriptor};
      track.add_uint64(TrackDescriptor::kUuid, kTrack);
      track.add_string(TrackDescriptor::kDescription,
                       "inferprobe track=0 lane=0 type=thread kind=host_wall pid=1 tid=1 name=0");
    });
    trace_.Add([](Packet& packet) {
      packet.add_uint32(TracePacket::kTrustedPacketSequenceId, 1);
      packet.add_uint32(TracePacket::kSequenceFlags, kIncrementalStateCleared);
      pbf_builder<InternedData> data{packet, TracePacket::kInternedData};
      const auto add = [&](InternedData field, uint64_t iid, const char* text) {
        pbf_builder<InternedEntry> entry{data, field};
        entry.add_uint64(InternedEntry::kIid, iid);
        entry.add_string(InternedEntry::kText, text);
      };
      add(InternedData::kEventCategories, 1, "run");
      add(InternedData::kEventCategories, 2, "method");
      add(InternedData::kDebugAnnotationNames, 1, "run");
      add(InternedData::kDebugAnnotationNames, 2, "mode");
    });
  }
  OldTrace& Begin(uint64_t time, const char* name, uint64_t category, int64_t run = -1) {
    trace_.Add([&](Packet& packet) {
      packet.add_uint64(TracePacket::kTimestamp, time);
      packet.add_uint32(TracePacket::kTrustedPacketSequenceId, 1);
      pbf_builder<TrackEvent> event{packet, TracePacket::kTrackEvent};
      event.add_enum(TrackEvent::kType, kSliceBegin);
      event.add_uint64(TrackEvent::kTrackUuid, kTrack);
      event.add_string(TrackEvent::kName, name);
      if (category != 0) event.add_uint64(TrackEvent::kCategoryIids, category);
      if (run < 0) return;
      {
        pbf_builder<DebugAnnotation> number{event, TrackEvent::kDebugAnnotations};
        number.add_uint64(DebugAnnotation::kNameIid, 1);
        number.add_int64(DebugAnnotation::kIntValue, run);
      }
      pbf_builder<DebugAnnotation> mode{event, TrackEvent::kDebugAnnotations};
      mode.add_uint64(DebugAnnotation::kNameIid, 2);
      mode.add_string(DebugAnnotation::kStringValue, "pair_on");
    });
    return *this;
  }
  OldTrace& End(uint64_t time) {
    trace_.End(time);
    return *this;
  }
  OldTrace& Damage() {
    trace_.Raw("\x0a\x7f");
    return *this;
  }
  [[nodiscard]] Recording Read() const { return trace_.Read(); }

 private:
  TraceMaker trace_;
};

TEST(PerfettoRuns, OldTracesGiveUpTheRunsBesideWhatWasLost) {
  OldTrace trace;
  trace.Begin(100, "run", 1, 0).Begin(110, "a", 0).End(150).End(190);
  trace.Begin(200, "run", 1, 1).Damage().End(250).End(290);  // the begin of its slice
  trace.Begin(300, "run", 1, 2).Begin(310, "a", 0).End(350).End(390);
  trace.Begin(400, "run", 1, 3).Begin(410, "a", 0).End(450).End(490);
  const Recording read = trace.Read();
  std::vector<bool> incomplete;
  for (const auto& run : read.profile.runs) incomplete.push_back(run.incomplete);
  // The next one begins where the damage is.
  EXPECT_EQ(incomplete, (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(read.profile.runs[1].why, Loss::kDamagedPacket);
  EXPECT_EQ(Lost(read, Loss::kUnbalancedEnd), 1u);
  EXPECT_EQ(profile::InfoOf(Loss::kUnbalancedEnd).severity, profile::Severity::kDataLoss);
}

TEST(PerfettoRuns, OldTracesWithoutRunsSayWhichMethodsWereDamaged) {
  OldTrace trace;
  trace.Begin(100, "m", 2).Begin(110, "a", 0).End(150).End(190);
  trace.Begin(200, "m", 2)
      .Begin(210, "a", 0)
      .Damage()
      .Begin(220, "b", 0)
      .End(230)
      .End(240)
      .End(290);
  trace.Begin(300, "m", 2).Begin(310, "a", 0).End(350).End(390);
  const Recording read = trace.Read();
  EXPECT_FALSE(read.profile.runs_marked);
  EXPECT_EQ(read.incomplete_runs, std::vector<int64_t>{200});
}

// Two calls of one instruction, the one around the other: the first's report comes when the second
// has begun and is over.
TEST(PerfettoRuns, AReportKeepsItsCallWhereALaterOneHasBegun) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("host", 0, 0);
  const uint16_t npu = build.AddEngineTrack(thread, "npu");
  const SliceArgs args{.chain = 0, .instruction = 2};
  const uint32_t op = build.Add(npu, "conv", Category::kDelegateOp, 1'500, 20, kNone, &args);
  const uint32_t inner =
      build.Add(thread, "inner", Category::kDelegateCall, 1'100, 100, kNone, &args);
  const uint32_t outer =
      build.Add(thread, "outer", Category::kDelegateCall, 1'000, 900, kNone, &args);
  build.profile.slices[op].parent = outer;
  build.profile.slices[inner].parent = outer;
  build.profile.runs.push_back(RunOf(RunMode::kProfiled, 1'000, 900, 3));
  Recording recording;
  recording.profile = std::move(build.profile);
  const Recording read = ReadBytes(WriteRecording(recording));
  EXPECT_EQ(Lines(read.profile), Lines(recording.profile));
}

// An event that ends before it starts, on a clock that is none of ours.
TEST(PerfettoRuns, NegativeTicksAreLeftOutInAndOut) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("host", 0, 0);
  const uint16_t npu = build.AddEngineTrack(thread, "npu");
  build.profile.tracks[npu].in_ticks = true;
  const uint32_t call = build.Add(thread, "DELEGATE_CALL", Category::kDelegateCall, 1'000, 100);
  build.Add(npu, "conv", Category::kDelegateOp, 100, 50, call);
  build.Add(npu, "pool", Category::kDelegateOp, 160, 40, call);
  build.profile.runs.push_back(RunOf(RunMode::kProfiled, 1'000, 100, 3));
  Recording recording;
  recording.profile = std::move(build.profile);

  // Read: our writer writes none, so the reader is told of one.
  Profile ours;
  {
    TrackPlan plan;
    plan.track_of = {0, 1};
    plan.lane_of = {0, 0};
    plan.stack_of = {0, 1};
    plan.lanes = {{0}, {1}};
    plan.tracks = recording.profile.tracks;
    ours.tracks = plan.tracks;
    Slices slices(&ours);
    SliceEvent event;
    event.time_ns = 1'000;
    slices.Complete(event, 100);
    event.track = 1;
    slices.Ticks(event, 100, -50);
    slices.Ticks(event, 160, 40);
    slices.Assemble(std::move(plan));
  }
  EXPECT_EQ(ours.slices.size(), 2u);
  EXPECT_EQ(ours.losses.Get(Loss::kEndBeforeStart), 1u);
  ExpectSound(ours);

  // Written: as in any other slice that ends before it starts.
  recording.profile.slices[1].dur_ns = -50;
  profile::LossCounts losses;
  const Recording read = ReadBytes(WriteRecording(recording, &losses));
  EXPECT_EQ(losses.Get(Loss::kEndBeforeStart), 1u);
  EXPECT_EQ(read.profile.slices.size(), 2u);
  EXPECT_EQ(Lost(read, Loss::kEndBeforeStart), 1u);
}

TEST(PerfettoRuns, ARunOnAnEnginesTrackIsNone) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("host", 0, 0);
  const uint16_t ops = build.AddEngineTrack(thread, "npu");
  build.Add(ops, "run", Category::kRun, 1'000, 100);
  build.Add(thread, "beside", Category::kScope, 2'000, 100);
  build.profile.runs.push_back(RunOf(RunMode::kPairOn, 1'000, 100, 1));
  Recording recording;
  recording.profile = std::move(build.profile);
  const Recording read = ReadBytes(WriteRecording(recording));
  // Ours says it by a mark; a forged one, in a file, is left out.
  EXPECT_EQ(RunLines(read.profile), RunLines(recording.profile));
  const auto seed =
      ReadTrace(INFERPROBE_SOURCE_DIR "/fuzz/seeds/perfetto/crash-run-on-engine-track", {});
  ASSERT_TRUE(seed.has_value());
  ExpectSound(seed->profile);
  EXPECT_EQ(seed->profile.runs.size(), 0u);
  EXPECT_EQ(seed->profile.slices.size(), 2u);
}

TEST(PerfettoRuns, OfTwoTracesInOneFileTheFirstIsRead) {
  const std::string one = WriteRecording(MarkedRuns());
  const std::string foreign =
      TraceMaker().Named(9'000, "t").Begin(1, "x", 9'000).End(2, 9'000).bytes();
  const Recording read = ReadBytes(one + one);
  EXPECT_EQ(Lines(read.profile), Lines(ReadBytes(one).profile));
  EXPECT_EQ(Lost(read, Loss::kSecondTrace), 1u);
  const auto& packets = read.source.packets;
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_TRUE(packets[0].type.starts_with("bytes of a second trace, from byte "))
      << packets[0].type;
  // Those of other tools may be put together with it.
  for (const std::string& both : {one + foreign, foreign + one}) {
    const Recording mixed = ReadBytes(both);
    EXPECT_EQ(Lost(mixed, Loss::kSecondTrace), 0u);
    EXPECT_EQ(mixed.profile.slices.size(), 16u);
    EXPECT_EQ(mixed.profile.runs.size(), 5u);
  }
}

}  // namespace
}  // namespace inferprobe::perfetto
