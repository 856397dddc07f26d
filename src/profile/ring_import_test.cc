#include "profile/ring_import.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "inferprobe/recorder.h"
#include "inferprobe/scope.h"
#include "record/ring_writer.h"

namespace inferprobe::profile {
namespace {

using record::Cell;
using record::CellType;
using record::InternName;
using record::PackInfo;

Result<record::BlockReader> ReaderOf(const Recorder& recorder) {
  return record::BlockReader::Open(
      {static_cast<const std::byte*>(recorder.memory()), recorder.memory_bytes()}, "test",
      record::BlockReader::Access::kConsume);
}

// A recorder, the calling thread's ring and an importer of it. Cells get round times: the tick `t`
// is given in ns after the clock's anchor.
class RingImport : public testing::Test {
 protected:
  explicit RingImport(const RecorderOptions& options = {.events_per_thread = 1024,
                                                        .max_threads = 4})
      : recorder_(*Recorder::Start(options)), ring_(record::AttachThread()) {
    importer_.Attach(*ReaderOf(recorder_));
  }

  static uint64_t Ticks(int64_t ns) {
    return Clock().anchor_ticks +
           static_cast<uint64_t>(std::llround(static_cast<double>(ns) / Clock().ns_per_tick));
  }
  static Cell Made(CellType type, const char* name, int64_t start, int64_t end, uint32_t id,
                   uint32_t parent, uint32_t info24 = 0) {
    return {Ticks(start), Ticks(end), InternName(name), id, parent, PackInfo(type, info24)};
  }
  void Put(const Cell& cell) { ASSERT_TRUE(record::Publish(ring_, cell)); }

  [[nodiscard]] const Slice& SliceNamed(std::string_view name) const {
    for (const Slice& slice : profile_.slices) {
      if (profile_.Name(slice) == name) return slice;
    }
    static const Slice none;
    ADD_FAILURE() << "no slice " << name;
    return none;
  }
  [[nodiscard]] std::string ParentOf(std::string_view name) const {
    const Slice& slice = SliceNamed(name);
    return slice.parent == kNone ? "" : std::string(profile_.Name(profile_.slices[slice.parent]));
  }
  [[nodiscard]] uint64_t Lost(Loss loss) const { return profile_.losses.Get(loss); }

  Recorder recorder_;
  record::ThreadRing* ring_;
  Profile profile_;
  RingImporter importer_{&profile_, 3};
};

TEST_F(RingImport, ScopesOfAThread) {
  {
    INFERPROBE_SCOPE("outer");
    {
      INFERPROBE_SCOPE("inner");
    }
  }
  const DrainedRange range = importer_.Drain();
  EXPECT_EQ(range.first_slice, 0U);
  EXPECT_EQ(range.slice_count, 2U);
  EXPECT_EQ(ParentOf("inner"), "outer");
  EXPECT_EQ(ParentOf("outer"), "");
  ASSERT_EQ(profile_.tracks.size(), 1U);
  EXPECT_EQ(profile_.tracks[0].type, TrackType::kThread);
  EXPECT_EQ(profile_.tracks[0].pid, getpid());
  EXPECT_EQ(profile_.tracks[0].tid, gettid());
  EXPECT_FALSE(profile_.tracks[0].name.empty());
  EXPECT_EQ(profile_.slices[0].args, kNone);
  EXPECT_EQ(profile_.clock.source, Clock().tsc ? "tsc" : "clock_gettime");
  EXPECT_GT(profile_.clock.read_cost_ps, 0);
  EXPECT_EQ(profile_.run_id.size(), 32U);
  EXPECT_FALSE(profile_.process_name.empty());

  EXPECT_EQ(importer_.Drain().slice_count, 0U);  // nothing twice
}

TEST_F(RingImport, AParentThatEndsInALaterDrain) {
  {
    INFERPROBE_SCOPE("outer");
    {
      INFERPROBE_SCOPE("first");
    }
    importer_.Drain();
    EXPECT_EQ(ParentOf("first"), "");
    {
      INFERPROBE_SCOPE("second");
    }
    importer_.Drain();
  }
  importer_.Drain();
  EXPECT_EQ(ParentOf("first"), "outer");
  EXPECT_EQ(ParentOf("second"), "outer");
}

// The cells of an event with metadata, as tracers publish them.
class NotedEvents : public RingImport {
 protected:
  void PutNoted(const Cell& cell, std::string_view note) {
    Put(cell);
    Put({~uint64_t{0}, 0, 0, record::kNoInstruction, static_cast<uint32_t>(note.size()),
         PackInfo(CellType::kExtension, 0)});
    for (size_t at = 0; at < note.size(); at += 28) {
      Cell bytes{0, 0, 0, 0, 0, PackInfo(CellType::kBytes, 0)};
      std::memcpy(&bytes, note.data() + at, std::min<size_t>(28, note.size() - at));
      Put(bytes);
    }
  }
  // An engine's times are nanoseconds already.
  static Cell Logged(const char* name, uint64_t start, uint64_t end, uint32_t id, uint32_t parent) {
    return {start, end, InternName(name), id, parent, PackInfo(CellType::kDelegateOp, 2)};
  }
  [[nodiscard]] const Track& TrackOf(std::string_view name) const {
    return profile_.tracks[SliceNamed(name).track];
  }
};

TEST_F(NotedEvents, StandOnTracksOfTheirKind) {
  PutNoted(Made(CellType::kOther, "x.enqueue_host", 320, 330, 4, 3), R"({"kind":"host_wall"})");
  PutNoted(Made(CellType::kOther, "x.delegate", 310, 340, 3, 2),
           R"({"kind":"host_wall","mode":"asynchronous"})");
  PutNoted(Logged("layer", 5, 9, 5, 2), R"({"kind":"engine_reported"})");
  PutNoted(Logged("x.device", 5, 9, 6, 2), R"({"kind":"device","clock":"cuda event","call":1})");
  Put(Logged("plain", 5, 9, 7, 2));
  Put(Made(CellType::kDelegateCall, "DELEGATE_CALL", 305, 350, 2, 1, 2));
  Put(Made(CellType::kRun, "", 300, 400, 1, 0, static_cast<uint32_t>(RunMode::kPairOn)));
  PutNoted(Logged("y.device", 5, 9, 8, 0), R"({"kind":"device","clock":"cuda event","call":2})");
  importer_.Drain();

  EXPECT_EQ(TrackOf("x.delegate").kind, Kind::kHostWall);
  EXPECT_EQ(SliceNamed("x.delegate").category, Category::kOther);
  EXPECT_EQ(ParentOf("x.enqueue_host"), "x.delegate");
  EXPECT_EQ(ParentOf("x.delegate"), "DELEGATE_CALL");
  EXPECT_EQ(TrackOf("layer").kind, Kind::kEngineReported);
  EXPECT_EQ(SliceNamed("layer").track, SliceNamed("plain").track);
  EXPECT_EQ(TrackOf("x.device").kind, Kind::kDevice);
  EXPECT_EQ(TrackOf("x.device").name, "delegate at instruction 2 (device, cuda event)");
  EXPECT_EQ(SliceNamed("y.device").track, SliceNamed("x.device").track);
  // A device's time may come when its call is over.
  EXPECT_EQ(Lost(Loss::kEngineOpsOutsideCall), 0U);
}

// What a delegate says of itself inside the kit's event of the whole call: the call's, as what it
// says behind that.
TEST_F(NotedEvents, WhatIsReportedInTheWholeCallIsOfTheInstructionsCall) {
  Put(Logged("its own", 5, 9, 4, 3));
  PutNoted(Made(CellType::kOther, "x.delegate", 310, 340, 3, 2), R"({"kind":"host_wall"})");
  PutNoted(Logged("layer", 9, 12, 5, 2), R"({"kind":"engine_reported"})");
  Put(Made(CellType::kDelegateCall, "DELEGATE_CALL", 305, 350, 2, 0, 2));
  importer_.Drain();
  EXPECT_EQ(ParentOf("its own"), "DELEGATE_CALL");
  EXPECT_EQ(ParentOf("layer"), "DELEGATE_CALL");
  EXPECT_EQ(ParentOf("x.delegate"), "DELEGATE_CALL");
}

TEST_F(NotedEvents, HostTimeOnAnEnginesTrackIsNoneOfIts) {
  PutNoted(Logged("odd", 5, 9, 5, 0), R"({"kind":"host_wall"})");
  importer_.Drain();
  EXPECT_EQ(TrackOf("odd").kind, Kind::kEngineReported);
}

TEST_F(NotedEvents, LoadingADelegateIsLoadingUntilARunIsAroundIt) {
  PutNoted(Made(CellType::kOther, "x.delegate_load", 100, 110, 1, 0), R"({"kind":"host_wall"})");
  Put(Made(CellType::kOther, "z.delegate_load", 120, 130, 2, 0));  // of nobody's kit
  PutNoted(Made(CellType::kOther, "y.delegate_load", 310, 320, 4, 3), R"({"kind":"host_wall"})");
  Put(Made(CellType::kRun, "", 300, 400, 3, 0, static_cast<uint32_t>(RunMode::kPairOn)));
  importer_.Drain();
  EXPECT_EQ(SliceNamed("x.delegate_load").category, Category::kLoad);
  EXPECT_EQ(SliceNamed("y.delegate_load").category, Category::kOther);
  EXPECT_EQ(SliceNamed("z.delegate_load").category, Category::kOther);
}

TEST_F(RingImport, ARunAndWhatLiesInIt) {
  Put(Made(CellType::kLoad, "load", 0, 90, 1, 0));
  // A run without profiling, then one with.
  Put(Made(CellType::kRun, "", 100, 200, 2, 0, static_cast<uint32_t>(RunMode::kLatency)));
  Put({1234, (uint64_t{5} << 32) | 6, 0, 7, 8, PackInfo(CellType::kRunFacts, 0)});
  Put(Made(CellType::kKernel, "kernel", 320, 330, 6, 5, 2));
  Put(Made(CellType::kOperatorCall, "operator", 315, 340, 5, 4, 2));
  Put(Made(CellType::kMethod, "method", 310, 350, 4, 3));
  Put(Made(CellType::kRun, "", 300, 400, 3, 0, static_cast<uint32_t>(RunMode::kPairOn)));
  Put({99, 0, 0, 0, 0, PackInfo(CellType::kRunFacts, 0)});
  const DrainedRange range = importer_.Drain();

  EXPECT_EQ(range.run_count, 2U);
  ASSERT_EQ(profile_.runs.size(), 2U);
  const profile::Run& plain = profile_.runs[0];
  const profile::Run& profiled = profile_.runs[1];
  EXPECT_EQ(plain.mode, RunMode::kLatency);
  EXPECT_EQ(plain.process, 3);
  EXPECT_NEAR(static_cast<double>(plain.dur_ns), 100, 1);
  EXPECT_EQ(plain.first_slice, 1U);
  EXPECT_EQ(plain.slice_count, 1U);
  EXPECT_EQ(plain.disturbance.run_queue_delay_ns, 1234);
  EXPECT_EQ(plain.disturbance.involuntary_switches, 5U);
  EXPECT_EQ(plain.disturbance.voluntary_switches, 6U);
  EXPECT_EQ(plain.disturbance.minor_faults, 7U);
  EXPECT_EQ(plain.disturbance.major_faults, 8U);
  EXPECT_EQ(profiled.mode, RunMode::kPairOn);
  EXPECT_EQ(profiled.first_slice, 2U);
  EXPECT_EQ(profiled.slice_count, 4U);
  EXPECT_EQ(profiled.disturbance.run_queue_delay_ns, 99);
  EXPECT_EQ(profile_.Name(profile_.slices[5]), "run");
  EXPECT_EQ(profile_.slices[5].category, Category::kRun);
  EXPECT_EQ(ParentOf("method"), "run");
  EXPECT_EQ(ParentOf("kernel"), "operator");
  EXPECT_EQ(ParentOf("load"), "");
  EXPECT_EQ(profile_.args[SliceNamed("operator").args].instruction, 2);
  EXPECT_EQ(profile_.args[SliceNamed("kernel").args].instruction, 2);
  EXPECT_EQ(SliceNamed("method").args, kNone);
}

TEST_F(RingImport, ARunsModeStandsBelowItsGroup) {
  constexpr uint32_t kLargestGroup = record::kInfoMask >> 4;
  const auto info = [](RunMode mode, uint32_t group) {
    return static_cast<uint32_t>(mode) | group << 4;
  };
  Put(Made(CellType::kRun, "", 100, 200, 1, 0, info(RunMode::kPairOn, 0)));
  Put(Made(CellType::kRun, "", 300, 400, 2, 0, info(RunMode::kLatency, 7)));
  Put(Made(CellType::kRun, "", 500, 600, 3, 0, info(RunMode::kPairOn, kLargestGroup)));
  importer_.Drain();
  ASSERT_EQ(profile_.runs.size(), 3U);
  EXPECT_EQ(profile_.runs[0].mode, RunMode::kPairOn);
  EXPECT_EQ(profile_.runs[0].group, 0U);
  EXPECT_EQ(profile_.runs[1].mode, RunMode::kLatency);
  EXPECT_EQ(profile_.runs[1].group, 7U);
  EXPECT_EQ(profile_.runs[2].mode, RunMode::kPairOn);
  EXPECT_EQ(profile_.runs[2].group, kLargestGroup);
  EXPECT_EQ(Lost(Loss::kDamagedRecord), 0U);
}

TEST_F(RingImport, ARunOfNoModeIsCountedWhateverItsGroup) {
  constexpr uint32_t kFirstUnknown = static_cast<uint32_t>(RunMode::kProfiled) + 1;
  for (const uint32_t group : {0U, 9U}) {
    Put(Made(CellType::kRun, "", 100, 200, 1, 0, kFirstUnknown | group << 4));
    Put(Made(CellType::kRun, "", 300, 400, 2, 0, 0xF | group << 4));
  }
  importer_.Drain();
  EXPECT_EQ(profile_.runs.size(), 0U);
  EXPECT_EQ(Lost(Loss::kDamagedRecord), 4U);
}

TEST_F(RingImport, ARunInAScope) {
  Put(Made(CellType::kRun, "run", 20, 30, 2, 1, 0));
  Put(Made(CellType::kScope, "program", 10, 40, 1, 0));
  importer_.Drain();
  EXPECT_EQ(ParentOf("run"), "program");
  EXPECT_EQ(profile_.runs[0].slice_count, 1U);
}

TEST_F(RingImport, RunsDoNotTakeOtherThreadsSlices) {
  // The fixture's ring is read first: its slice lies just before those of the run.
  Put(Made(CellType::kScope, "elsewhere", 320, 330, 1, 0));
  std::thread([] {
    record::ThreadRing* ring = record::AttachThread();
    record::Publish(ring, Made(CellType::kKernel, "kernel", 320, 330, 2, 1));
    record::Publish(ring, Made(CellType::kRun, "", 300, 400, 1, 0));
  }).join();
  importer_.Drain();
  ASSERT_EQ(profile_.runs.size(), 1U);
  const profile::Run& run = profile_.runs[0];
  EXPECT_EQ(run.slice_count, 2U);
  for (uint32_t i = 0; i < run.slice_count; ++i) {
    EXPECT_NE(profile_.Name(profile_.slices[run.first_slice + i]), "elsewhere");
  }
  EXPECT_EQ(profile_.tracks.size(), 2U);
}

TEST_F(RingImport, WhatADelegateReportedStandsOnATrackOfItsOwn) {
  const auto extension = [](int32_t debug_id, int32_t chain, const char* debug_name,
                            uint32_t instruction, uint32_t metadata_bytes) {
    return Cell{static_cast<uint32_t>(debug_id) | uint64_t{static_cast<uint32_t>(chain)} << 32,
                0,
                InternName(debug_name),
                instruction,
                metadata_bytes,
                PackInfo(CellType::kExtension, 0)};
  };
  const std::string metadata = "thirty bytes of metadata, here";
  Cell bytes[2] = {{0, 0, 0, 0, 0, PackInfo(CellType::kBytes, 0)},
                   {0, 0, 0, 0, 0, PackInfo(CellType::kBytes, 0)}};
  std::memcpy(&bytes[0], metadata.data(), 28);
  std::memcpy(&bytes[1], metadata.data() + 28, 2);

  // Times are the engine's, in ns, and may lie outside the call.
  Put({5000, 6000, InternName("conv"), 0, 1, PackInfo(CellType::kDelegateOp, 4)});
  for (int twice = 0; twice < 2; ++twice) {
    const std::array<Cell, 4> group{
        Cell{6000, 7000, InternName("relu"), 0, 1, PackInfo(CellType::kDelegateOp, 0)},
        extension(-1, 2, "relu_fused", 4, 30), bytes[0], bytes[1]};
    ASSERT_TRUE(record::PublishGroup(ring_, group));
  }
  Put(Made(CellType::kDelegateCall, "call", 100, 200, 1, 0, 4));
  Put({7000, 8000, InternName("stray"), 0, 0,
       PackInfo(CellType::kDelegateOp, record::kNoInstruction)});
  importer_.Drain();

  ASSERT_EQ(profile_.tracks.size(), 3U);
  const Track& track = profile_.tracks[1];
  EXPECT_EQ(track.type, TrackType::kEngine);
  EXPECT_EQ(track.kind, Kind::kEngineReported);
  EXPECT_EQ(track.name, "delegate at instruction 4 (engine-reported)");
  EXPECT_EQ(track.parent, 0U);
  const Slice& conv = SliceNamed("conv");
  EXPECT_EQ(conv.track, 1);
  EXPECT_EQ(conv.category, Category::kDelegateOp);
  EXPECT_EQ(conv.start_ns, 5000);
  EXPECT_EQ(conv.dur_ns, 1000);
  EXPECT_EQ(ParentOf("conv"), "call");
  EXPECT_EQ(profile_.args[conv.args].instruction, 4);
  EXPECT_EQ(profile_.args[conv.args].metadata, kNone);
  const Slice& relu = SliceNamed("relu");
  EXPECT_EQ(relu.track, 1);
  EXPECT_EQ(ParentOf("relu"), "call");
  const SliceArgs& args = profile_.args[relu.args];
  EXPECT_EQ(args.instruction, 4);
  EXPECT_EQ(args.chain, 2);
  EXPECT_EQ(args.delegate_debug_id, -1);
  EXPECT_EQ(profile_.strings.Get(args.delegate_debug_name), "relu_fused");
  ASSERT_EQ(profile_.metadata.size(), 1U);  // the same twice
  EXPECT_EQ(profile_.metadata[args.metadata], metadata);
  EXPECT_EQ(profile_.tracks[2].name, "delegate outside any instruction (engine-reported)");
  EXPECT_EQ(Lost(Loss::kEngineOpsOutsideCall), 1U);
  EXPECT_EQ(Lost(Loss::kDamagedRecord), 0U);
}

TEST_F(RingImport, TheEngineNamesItsTracks) {
  RingImporter importer(&profile_, 0, [](int32_t instruction) {
    return "XnnpackBackend " + std::to_string(instruction);
  });
  importer.Attach(*ReaderOf(recorder_));
  Put({5000, 6000, InternName("conv"), 0, 1, PackInfo(CellType::kDelegateOp, 4)});
  importer.Drain();
  EXPECT_EQ(profile_.tracks.at(1).name, "XnnpackBackend 4");
}

TEST_F(RingImport, TimesThatCannotBeAreLeftOutAndCounted) {
  Put(Made(CellType::kKernel, "backwards", 200, 100, 1, 0));
  Put({0, 0, InternName("zero"), 2, 0, PackInfo(CellType::kKernel, 0)});
  Put({7000, 6000, InternName("engine backwards"), 0, 1, PackInfo(CellType::kDelegateOp, 4)});
  Put({0, 0, InternName("engine zero"), 0, 1, PackInfo(CellType::kDelegateOp, 4)});
  Put(Made(CellType::kKernel, "empty", 100, 100, 3, 0));
  importer_.Drain();
  EXPECT_EQ(profile_.slices.size(), 1U);
  EXPECT_EQ(SliceNamed("empty").dur_ns, 0);
  EXPECT_EQ(Lost(Loss::kEndBeforeStart), 2U);
  EXPECT_EQ(Lost(Loss::kZeroTimes), 2U);
}

TEST_F(RingImport, FactsOfARunThatWasLeftOutGoToNoOther) {
  Put(Made(CellType::kRun, "", 100, 200, 1, 0));
  Put(Made(CellType::kRun, "", 400, 300, 2, 0));
  Put({99, 0, 0, 0, 0, PackInfo(CellType::kRunFacts, 0)});
  importer_.Drain();
  EXPECT_EQ(profile_.runs.at(0).disturbance.run_queue_delay_ns, 0);
  EXPECT_EQ(Lost(Loss::kUnbalancedEnd), 1U);
}

TEST_F(RingImport, CellsThatNoRecorderWritesAreCounted) {
  Put({1, 2, 0, 0, 0, 0});
  Put({1, 2, 0, 0, 0, 0xEE000000});
  Put({1, 2, 0, 0, 0, PackInfo(CellType::kBytes, 0)});
  Put({1, 2, 0, 0, 0, PackInfo(CellType::kLoss, 0xFFFF)});
  Put(Made(CellType::kRun, "mode 77", 1, 2, 1, 0, 77));
  importer_.Drain();
  EXPECT_EQ(Lost(Loss::kDamagedRecord), 5U);
  EXPECT_EQ(profile_.runs.size(), 0U);
}

TEST_F(RingImport, LossesThatTheEngineCounted) {
  Put({17, 0, 0, 0, 0, PackInfo(CellType::kLoss, static_cast<uint32_t>(Loss::kMetadataCut))});
  importer_.Drain();
  EXPECT_EQ(Lost(Loss::kMetadataCut), 17U);
}

TEST_F(RingImport, MetadataThatIsMissingItsEnd) {
  Put({6000, 7000, InternName("relu"), 0, 1, PackInfo(CellType::kDelegateOp, 0)});
  Put({0, 0, 0, 4, 1000, PackInfo(CellType::kExtension, 0)});
  importer_.Drain();
  EXPECT_EQ(Lost(Loss::kMetadataCut), 1U);
  EXPECT_EQ(profile_.slices.size(), 1U);
}

TEST_F(RingImport, NamesOfBadUtf8AreRepairedAndCountedOnce) {
  for (uint32_t id = 1; id <= 3; ++id) {
    Put({Ticks(1), Ticks(2), InternName("bad \xFF name"), id, 0, PackInfo(CellType::kKernel, 0)});
  }
  importer_.Drain();
  EXPECT_EQ(profile_.Name(profile_.slices.at(0)), "bad \\xFF name");
  EXPECT_EQ(Lost(Loss::kInvalidUtf8), 1U);
}

TEST_F(RingImport, Counters) {
  INFERPROBE_COUNTER("depth", 1);
  INFERPROBE_COUNTER("depth", 2.5);
  INFERPROBE_COUNTER("other", -1);
  const DrainedRange range = importer_.Drain();
  EXPECT_EQ(range.counter_count, 3U);
  ASSERT_EQ(profile_.counters.size(), 3U);
  EXPECT_EQ(profile_.counters[1].value, 2.5);
  EXPECT_EQ(profile_.counters[0].track, profile_.counters[1].track);
  const Track& track = profile_.tracks[profile_.counters[2].track];
  EXPECT_EQ(track.type, TrackType::kCounter);
  EXPECT_EQ(track.name, "other");
}

TEST_F(RingImport, ARingOfANewThreadIsANewTrack) {
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      INFERPROBE_SCOPE("outer");
      INFERPROBE_SCOPE("inner");
    }).join();
    importer_.Drain();
  }
  EXPECT_EQ(profile_.tracks.size(), 3U);
  EXPECT_EQ(profile_.slices.size(), 6U);
  EXPECT_EQ(profile_.slices[5].track, 2);
  EXPECT_EQ(profile_.slices[4].parent, 5U);
}

class FullRingImport : public RingImport {
 protected:
  FullRingImport()
      : RingImport({.events_per_thread = 4, .max_threads = 1, .name_bytes = 1 << 20}) {}
};

TEST_F(FullRingImport, DropsAreCountedAsTheyCome) {
  const auto scopes = [](int n) {
    for (int i = 0; i < n; ++i) {
      INFERPROBE_SCOPE("one");
    }
  };
  scopes(7);
  importer_.Drain();
  EXPECT_EQ(Lost(Loss::kRingDropped), 3U);
  scopes(6);
  std::thread(scopes, 2).join();
  importer_.Drain();
  EXPECT_EQ(Lost(Loss::kRingDropped), 5U);
  EXPECT_EQ(Lost(Loss::kNoRing), 2U);
  EXPECT_EQ(profile_.slices.size(), 8U);
}

TEST_F(FullRingImport, ChildrenOfADroppedSliceGoToTheNextOneOutside) {
  {
    INFERPROBE_SCOPE("outer");
    {
      INFERPROBE_SCOPE("dropped");
      for (int i = 0; i < 4; ++i) {
        INFERPROBE_SCOPE("child");
      }
    }
    importer_.Drain();
  }
  importer_.Drain();
  EXPECT_EQ(Lost(Loss::kRingDropped), 1U);
  EXPECT_EQ(ParentOf("child"), "outer");
}

TEST_F(FullRingImport, ALostNameIsShownAsLost) {
  const std::string huge(size_t{1} << 20, 'y');
  Put({Ticks(1), Ticks(2), InternName(huge), 1, 0, PackInfo(CellType::kKernel, 0)});
  importer_.Drain();
  EXPECT_EQ(profile_.Name(profile_.slices.at(0)), "(name lost)");
  EXPECT_GE(Lost(Loss::kNameTableFull), 1U);
}

// Random trees, drained at random moments: the importer's tree is the one that was recorded. With a
// ring too small for it, the nearest ancestor that was recorded is the parent.
class RandomTrees : public testing::TestWithParam<std::tuple<int, uint32_t>> {};

TEST_P(RandomTrees, AreTheTruth) {
  const auto [seed, capacity] = GetParam();
  Recorder recorder = *Recorder::Start({.events_per_thread = capacity, .max_threads = 1});
  record::ThreadRing* ring = record::AttachThread();
  Profile profile;
  RingImporter importer(&profile, 0);
  importer.Attach(*ReaderOf(recorder));

  struct Truth {
    uint32_t parent;
    bool published;
  };
  std::map<uint32_t, Truth> truth;  // by ring id
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::vector<std::pair<record::OpenedSlice, uint64_t>> open;
  uint64_t drops = 0;
  for (int step = 0; step < 4000; ++step) {
    const auto choice = static_cast<uint32_t>(random() % 100);
    if (choice < 48 && open.size() < 30) {
      open.emplace_back(record::OpenSlice(ring), NowTicks());
    } else if (choice < 97 && !open.empty()) {
      const auto [slice, start] = open.back();
      open.pop_back();
      record::CloseSlice(ring, slice);
      const bool published =
          record::Publish(ring, {start, NowTicks(), InternName("s" + std::to_string(slice.id)),
                                 slice.id, slice.parent, record::kScopeInfo});
      truth[slice.id] = {slice.parent, published};
      drops += published ? 0 : 1;
    } else if (choice >= 97) {
      importer.Drain();
    }
  }
  importer.Drain();  // with some still open: their children have no parent yet

  size_t published = 0;
  for (const auto& [id, one] : truth) published += one.published ? 1 : 0;
  ASSERT_EQ(profile.slices.size(), published);
  EXPECT_EQ(profile.losses.Get(Loss::kRingDropped), drops);
  if (capacity < 100) {
    EXPECT_GT(drops, 0U);
  }
  for (const Slice& slice : profile.slices) {
    const auto id = static_cast<uint32_t>(std::stoul(std::string(profile.Name(slice).substr(1))));
    uint32_t ancestor = truth.at(id).parent;
    while (ancestor != 0 && truth.contains(ancestor) && !truth[ancestor].published) {
      ancestor = truth[ancestor].parent;
    }
    const std::string expected =
        ancestor == 0 || !truth.contains(ancestor) ? "" : "s" + std::to_string(ancestor);
    const std::string found =
        slice.parent == kNone ? "" : std::string(profile.Name(profile.slices[slice.parent]));
    ASSERT_EQ(found, expected) << "slice s" << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTrees,
                         testing::Combine(testing::Range(0, 10), testing::Values(4096U, 16U)));

TEST(HostileBlock, EveryFlippedByteIsSurvived) {
  size_t bytes = 0;
  std::byte* copy = nullptr;
  {
    Recorder recorder = *Recorder::Start(
        {.events_per_thread = 16, .max_threads = 2, .name_bytes = 1024, .process_name = "x"});
    record::ThreadRing* ring = record::AttachThread();
    {
      INFERPROBE_SCOPE("scope");
    }
    INFERPROBE_COUNTER("counter", 1);
    record::Publish(ring, {6000, 7000, InternName("op"), 0, 1, PackInfo(CellType::kDelegateOp, 0)});
    record::Publish(ring, {1, 0, 0, 4, 28, PackInfo(CellType::kExtension, 0)});
    record::Publish(ring, {1, 2, 3, 4, 5, PackInfo(CellType::kBytes, 0)});
    const uint64_t now = NowTicks();
    const auto now_ns = static_cast<uint64_t>(Clock().ToNs(now));
    record::Publish(ring, {now, now + 9000, 0, 2, 1, PackInfo(CellType::kModuleCall, 3)});
    record::Publish(ring, {now_ns + 1, now_ns + 900, 0, 77, 0, PackInfo(CellType::kOperator, 0)});
    record::Publish(ring, {now_ns + 2, 64, 0, 77, 0, PackInfo(CellType::kAllocation, 0)});
    record::Publish(ring, {now_ns + 3, now_ns + 90, 0, 1, 1, PackInfo(CellType::kDeviceWork, 0)});
    record::Publish(ring, {now, now + 9999, 0, 1, 0, PackInfo(CellType::kRun, 5)});
    record::Publish(ring, {1, 2, 0, 3, 4, PackInfo(CellType::kRunFacts, 0)});
    bytes = recorder.memory_bytes();
    copy = static_cast<std::byte*>(operator new(bytes, std::align_val_t{64}));
    std::memcpy(copy, recorder.memory(), bytes);
  }
  for (size_t at = 0; at < bytes; ++at) {
    for (const auto bits : {std::byte{0xFF}, std::byte{0x01}, std::byte{0x40}}) {
      copy[at] ^= bits;
      auto reader =
          record::BlockReader::Open({copy, bytes}, "x", record::BlockReader::Access::kReadOnly);
      if (reader) {
        Profile profile;
        RingImporter importer(&profile, 0);
        importer.Attach(*std::move(reader));
        importer.Drain();
        for (const Slice& slice : profile.slices) {
          ASSERT_LT(slice.track, profile.tracks.size());
          ASSERT_GE(slice.dur_ns, 0);
          ASSERT_TRUE(slice.parent == kNone || slice.parent < profile.slices.size());
        }
        for (const Allocation& allocation : profile.allocations) {
          ASSERT_TRUE(allocation.slice == kNone || allocation.slice < profile.slices.size());
        }
      }
      copy[at] ^= bits;
    }
  }
  operator delete(copy, std::align_val_t{64});
}

TEST(ReadMappedFile, OfAKilledProcess) {
  const std::string path = testing::TempDir() + "inferprobe_import.ring";
  std::filesystem::remove(path);
  int done[2];
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto recorder = Recorder::Start({.file = path, .events_per_thread = 64, .max_threads = 1});
    INFERPROBE_SCOPE("never ends");
    for (int i = 0; i < 5; ++i) {
      INFERPROBE_SCOPE("ended");
    }
    if (write(done[1], "x", 1) == 1) pause();
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(read(done[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);

  const Result<Recording> recording = ReadMappedFile(path);
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->profile.slices.size(), 5U);
  EXPECT_EQ(recording->profile.tracks.at(0).pid, child);
  EXPECT_EQ(recording->source.bytes, std::filesystem::file_size(path));
  std::filesystem::remove(path);
}

TEST(ReadMappedFile, ErrorsNameTheFile) {
  const std::string path = testing::TempDir() + "inferprobe_not_a.ring";
  EXPECT_NE(ReadMappedFile("/nonexistent.ring").error().message.find("/nonexistent"),
            std::string::npos);
  std::ofstream(path) << "not a ring";
  const Result<Recording> imported = ReadMappedFile(path);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().code, ErrorCode::kMalformed);
  EXPECT_NE(imported.error().message.find(path + ": byte 10: ends inside the header"),
            std::string::npos)
      << imported.error().message;
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace inferprobe::profile
