// What we wrote comes back: the writer's traces through the reader, and what is left of them when
// they are cut or flipped.

#include "formats/perfetto/reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "base/files.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/profile_text.h"
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

class PerfettoReader : public testing::Test {
 protected:
  PerfettoReader()
      : path_(fmt::format("{}perfetto_reader_{}_{}.pftrace", testing::TempDir(), getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~PerfettoReader() override { unlink(path_.c_str()); }

  // Each run's slices in an Append of their own, if `piecewise`.
  std::string Write(const Profile& profile, const Notes& notes = {}, bool piecewise = false) {
    auto file = base::AtomicFile::Create(path_, base::Overwrite::kForce);
    EXPECT_TRUE(file.has_value());
    auto writer = Writer::Create(std::move(*file), &profile);
    EXPECT_TRUE(writer.has_value());
    const auto slices = static_cast<uint32_t>(profile.slices.size());
    uint32_t at = 0;
    for (size_t run = 0; piecewise && run < profile.runs.size(); ++run) {
      const uint32_t end = profile.runs[run].first_slice + profile.runs[run].slice_count;
      EXPECT_TRUE(writer->Append(at, end - at, 0, 0).has_value());
      at = end;
    }
    EXPECT_TRUE(writer->Append(at, slices - at, 0, static_cast<uint32_t>(profile.counters.size()))
                    .has_value());
    EXPECT_TRUE(writer->Finish(notes).has_value());
    writer_losses_ = writer->losses();
    return *base::ReadFile(path_);
  }

  static Notes NotesFor(const Profile& profile) { return NotesOf(profile, {}, {}, {}, {}, {}); }

  static Recording Read(std::string_view bytes) {
    auto recording = ReadTraceBytes(bytes, "t.pftrace", {});
    EXPECT_TRUE(recording.has_value()) << recording.error().message;
    return recording ? std::move(*recording) : Recording();
  }

  std::string path_;
  profile::LossCounts writer_losses_;
};

// Everything that the model can hold of a measurement, drawn at random.
class ProfileMaker {
 public:
  explicit ProfileMaker(uint32_t seed) : random_(seed) {
    if (seed % 3 == 0) at_ = 7'300'000'000'000'000'000;
    names_ = formats::HostileNames();
    for (int i = 0; i < 20; ++i) names_.push_back(fmt::format("name {}", i));
  }

  Profile Make() {
    main_ = build_.AddThread(Name(), 500, 501);
    ops_ = build_.AddEngineTrack(main_, "XnnpackBackend #0");
    npu_ = build_.AddEngineTrack(main_, Name());
    build_.profile.tracks[npu_].in_ticks = true;
    const uint16_t beside = build_.AddThread(Name(), 500, Below(2) == 0 ? 502 : 501);
    const uint16_t unknown = build_.AddThread(Name(), 0, 0);
    const uint16_t heat = build_.AddCounterTrack(Name(), Name(), 500);
    build_.profile.process_name = Name();
    for (uint32_t run = 0; run < 12; ++run) {
      AddRun(static_cast<RunMode>(run % 10), run);
      build_.profile.counters.push_back({at_, static_cast<double>(Below(1000)) / 8, heat});
      if (Below(3) == 0) AddTree(main_, kNone, at_ + 10, at_ + 90, 0);
      at_ += 100;
    }
    for (int64_t tree = 0; tree < 5; ++tree) {
      AddTree(beside, kNone, at_ + tree * 1000, at_ + tree * 1000 + Below(1000), 0);
      AddTree(unknown, kNone, at_ + tree * 1000, at_ + tree * 1000 + Below(1000), 0);
    }
    uint32_t parent = kNone;
    for (int64_t depth = 0; depth < 200; ++depth) {
      parent = build_.Add(beside, Name(), Category::kScope, at_ + 6'000 + depth / 2, 400 - depth,
                          parent);
    }
    return std::move(build_.profile);
  }

 private:
  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(std::max<int64_t>(limit, 1)));
  }
  const std::string& Name() {
    return names_[static_cast<size_t>(Below(static_cast<int64_t>(names_.size())))];
  }

  void AddTree(uint16_t track, uint32_t parent, int64_t start, int64_t end, int depth) {
    SliceArgs args;
    if (Below(4) == 0) args.instruction = static_cast<int32_t>(Below(40));
    if (Below(4) == 0) args.chain = static_cast<int32_t>(Below(3));
    const bool some = args != SliceArgs{};
    const uint32_t own = build_.Add(track, Name(), Category::kScope, start, end - start, parent,
                                    some ? &args : nullptr);
    int64_t at = start;
    for (int64_t child = Below(4); child > 0 && depth < 5; --child) {
      const int64_t from = at + Below(std::min<int64_t>(end - at, 40) + 1);
      const int64_t to = from + Below(end - from + 1);
      AddTree(track, own, from, to, depth + 1);
      at = to;
    }
  }

  void AddOps(uint32_t call, int32_t instruction, int64_t start, int64_t end) {
    int64_t at = start - Below(30);
    for (int64_t op = 0; op < Below(4); ++op) {
      SliceArgs args{.chain = 0, .instruction = instruction};
      args.delegate_debug_id = Below(2) == 0 ? static_cast<int32_t>(Below(100)) : -1;
      args.delegate_debug_name = build_.profile.strings.Intern(Name());
      if (Below(3) == 0) {
        args.metadata = static_cast<uint32_t>(build_.profile.metadata.size());
        build_.profile.metadata.push_back(fmt::format("m{}\xFF", args.metadata) + '\0');
      }
      const int64_t length = Below(end - start + 20);
      build_.Add(ops_, Name(), Category::kDelegateOp, at, length, call, &args);
      at += length;
      if (Below(2) == 0) {
        build_.Add(npu_, Name(), Category::kDelegateOp, static_cast<int64_t>(random_()) - 1'000'000,
                   Below(10), call, &args);
      }
    }
  }

  void AddRun(RunMode mode, uint32_t index) {
    Profile& profile = build_.profile;
    Run run;
    run.mode = mode;
    run.group = static_cast<uint32_t>(Below(3));
    run.process = static_cast<uint16_t>(index / 6);
    run.incomplete = Below(5) == 0;
    run.start_ns = at_;
    run.dur_ns = 1'000;
    run.first_slice = static_cast<uint32_t>(profile.slices.size());
    const uint32_t whole = build_.Add(main_, "inferprobe.run", Category::kRun, at_, 1'000);
    build_.Add(main_, Name(), Category::kSetInputs, at_, 50, whole);
    const uint32_t method = build_.Add(main_, Name(), Category::kMethod, at_ + 50, 950, whole);
    int64_t at = at_ + 50;
    for (int32_t instruction = 0; instruction < 4; ++instruction) {
      const SliceArgs args{.chain = 0, .instruction = instruction};
      const int64_t length = 10 + Below(200);
      if (Below(2) == 0) {
        const uint32_t call =
            build_.Add(main_, Name(), Category::kOperatorCall, at, length, method, &args);
        build_.Add(main_, Name(), Category::kKernel, at + Below(5), length - 5, call, &args);
      } else {
        const uint32_t call =
            build_.Add(main_, Name(), Category::kDelegateCall, at, length, method, &args);
        AddOps(call, instruction, at, at + length);
      }
      at += length;
    }
    if (Below(3) == 0) {  // reported outside any call
      const SliceArgs args{.instruction = static_cast<int32_t>(Below(4))};
      build_.Add(ops_, Name(), Category::kDelegateOp, at_ + 990, 5, kNone, &args);
    }
    if (Below(3) == 0) {  // two that overlap without nesting
      build_.Add(main_, Name(), Category::kOther, at_ + 900, 40, method);
      const uint32_t over = build_.Add(main_, Name(), Category::kOther, at_ + 920, 60, method);
      build_.Add(main_, Name(), Category::kOther, at_ + 950, 10, over);
    }
    run.slice_count = static_cast<uint32_t>(profile.slices.size()) - run.first_slice;
    profile.runs.push_back(run);
    at_ += 1'000;
  }

  std::mt19937 random_;
  ProfileBuilder build_;
  std::vector<std::string> names_;
  int64_t at_ = formats::kSampleStartNs;
  uint16_t main_ = 0;
  uint16_t ops_ = 0;
  uint16_t npu_ = 0;
};

TEST_F(PerfettoReader, AnInferenceComesBack) {
  const Profile profile = formats::InferenceProfile(20);
  const Recording read = Read(Write(profile, NotesFor(profile)));
  ExpectSound(read.profile);
  EXPECT_EQ(Lines(read.profile), Lines(profile));
  EXPECT_EQ(read.source.format, "perfetto");
  EXPECT_FALSE(read.profile.losses.AnyDataLoss());
  EXPECT_EQ(read.profile.losses.Get(Loss::kOtherPackets), 0u);
}

TEST_F(PerfettoReader, WhateverIsWrittenComesBack) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Profile profile = ProfileMaker(seed).Make();
    const Recording read = Read(Write(profile, NotesFor(profile), seed % 2 == 1));
    ExpectSound(read.profile);
    ASSERT_EQ(FirstDifference(Lines(read.profile), Lines(profile)), "") << "seed " << seed;
    ASSERT_FALSE(read.profile.losses.AnyDataLoss());
  }
}

TEST_F(PerfettoReader, RandomTreesComeBackExactly) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Profile profile = formats::RandomTrees(seed);
    const Recording read = Read(Write(profile));
    ExpectSound(read.profile);
    ASSERT_EQ(Lines(read.profile), Lines(profile)) << "seed " << seed;
  }
}

TEST_F(PerfettoReader, FactsComeBackFromTheNotes) {
  const Profile profile = formats::InferenceProfile(2);
  Recording facts;
  facts.model.path = "models/a \"b\".pte";
  facts.model.format = "executorch";
  facts.model.method = "forward";
  facts.model.bytes = 12345;
  facts.model.sha256 = "ab12";
  facts.model.instructions = int64_t{5};
  facts.model.instruction_names = {"", "aten::add.out", "", "x\ny", ""};
  facts.model.instruction_delegates = {-1, -1, 1, 0, -1};
  facts.model.delegates = {{0, "XnnpackBackend", 100, "id 0"}, {1, "Npu", 0, ""}};
  facts.engine.name = "executorch";
  facts.engine.title = "ExecuTorch";
  facts.engine.version = "1.5.1";
  facts.engine.threads = int64_t{4};
  Profile with_clock = formats::InferenceProfile(2);
  with_clock.clock.tick_ns = 0.3333333333333333;
  with_clock.clock.read_cost_ps = 9123;
  profile::LossCounts losses;
  losses.Add(Loss::kRingDropped, 7);
  losses.Add(Loss::kInvalidUtf8, 2);
  const Recording read =
      Read(Write(profile, NotesOf(with_clock, facts.model, facts.engine, 18.25, 40, losses)));
  EXPECT_EQ(read.model.path, facts.model.path);
  EXPECT_EQ(read.model.format, facts.model.format);
  EXPECT_EQ(read.model.method, facts.model.method);
  EXPECT_EQ(read.model.bytes, facts.model.bytes);
  EXPECT_EQ(read.model.sha256, facts.model.sha256);
  EXPECT_EQ(*read.model.instructions, 5);
  EXPECT_EQ(read.model.instruction_names, facts.model.instruction_names);
  EXPECT_EQ(read.model.instruction_delegates, facts.model.instruction_delegates);
  ASSERT_EQ(read.model.delegates.size(), 2u);
  EXPECT_EQ(read.model.delegates[0].backend, "XnnpackBackend");
  EXPECT_EQ(read.model.delegates[0].blob_bytes, 100u);
  EXPECT_EQ(read.model.delegates[0].engine_id, "id 0");
  EXPECT_EQ(read.model.delegates[1].id, 1u);
  EXPECT_EQ(read.engine.name, "executorch");
  EXPECT_EQ(read.engine.title, "ExecuTorch");
  EXPECT_EQ(read.engine.version, "1.5.1");
  EXPECT_EQ(*read.engine.threads, 4);
  EXPECT_EQ(read.profile.clock.source, "tsc");
  EXPECT_EQ(read.profile.clock.tick_ns, 0.3333333333333333);
  EXPECT_EQ(read.profile.clock.read_cost_ps, 9123);
  EXPECT_EQ(*read.event_cost_ns, 18.25);
  EXPECT_EQ(read.profile.losses.Get(Loss::kRingDropped), 7u);
  EXPECT_EQ(read.profile.losses.Get(Loss::kInvalidUtf8), 2u);
  // Written again, the same notes.
  EXPECT_EQ(
      NotesOf(read.profile, read.model, read.engine, read.event_cost_ns, read.iterations, losses),
      NotesOf(with_clock, facts.model, facts.engine, 18.25, 40, losses));
}

TEST_F(PerfettoReader, WithoutNotesNothingIsInvented) {
  const Recording read = Read(Write(formats::InferenceProfile(1)));
  EXPECT_FALSE(read.event_cost_ns.has_value());
  EXPECT_FALSE(read.model.instructions.has_value());
  EXPECT_EQ(read.model.path, "");
  EXPECT_EQ(read.profile.clock.source, "");
  EXPECT_EQ(read.profile.runs.at(0).disturbance.run_queue_delay_ns, -1);
}

TEST_F(PerfettoReader, DamagedNotesAreLeftAlone) {
  const Notes notes = {{"instruction 4000000000 name", "x"},
                       {"instruction -1 name", "x"},
                       {"instruction_names", "99999999999"},
                       {"delegate 1000000000 id", "1"},
                       {"loss no_such", "5"},
                       {"loss ring_dropped", "many"},
                       {"clock_tick_ns", ""},
                       {"clock_tick_ns", "inf"},
                       {"clock_tick_ns", "nan"},
                       {"clock_tick_ns", "-0.4"},
                       {"event_cost_ns", "1e300"},
                       {"iterations", "-1"},
                       {"threads", "18446744073709551615"},
                       {"model_bytes", "-5"},
                       {"", ""},
                       {"instruction 3", "x"},
                       {"instruction 2 delegate", "no"}};
  Recording recording;
  ReadNotes(notes, &recording);
  EXPECT_EQ(recording.model.instruction_names.size(), 0u);
  EXPECT_EQ(recording.model.delegates.size(), 0u);
  EXPECT_EQ(recording.profile.losses.Get(Loss::kRingDropped), 0u);
  EXPECT_EQ(recording.profile.clock.tick_ns, 0);
  EXPECT_FALSE(recording.event_cost_ns.has_value());
  EXPECT_FALSE(recording.iterations.has_value());
  EXPECT_FALSE(recording.engine.threads.has_value());
  EXPECT_EQ(recording.model.bytes, 0);
}

// One flipped bit in an interned name would put all that has it elsewhere: into the latency, or
// into other rows.
TEST_F(PerfettoReader, AModeOrCategoryThatCannotBeReadIsALoss) {
  const Profile recorded = formats::InferenceProfile(3);
  const std::string whole = Write(recorded, NotesFor(recorded));
  const std::string mode = RunModeName(recorded.runs.at(0).mode);
  for (const std::string& name : {mode, std::string(CategoryName(Category::kRun)),
                                  std::string(CategoryName(Category::kOperatorCall))}) {
    const std::string interned = std::string("\x12") + static_cast<char>(name.size()) + name;
    std::string damaged = whole;
    const size_t at = damaged.find(interned);
    ASSERT_NE(at, std::string::npos) << name;
    damaged[at + 2] ^= 1;
    const Recording read = Read(damaged);
    EXPECT_GT(read.profile.losses.Get(Loss::kLostState), 0U) << name;
    EXPECT_TRUE(read.profile.losses.AnyDataLoss());
    for (const profile::Run& run : read.profile.runs) {
      EXPECT_TRUE(run.incomplete) << name;
      EXPECT_NE(run.mode, RunMode::kLatency) << name;
    }
  }
}

TEST_F(PerfettoReader, ATraceOfOursWithoutItsNotesHasLostItsEnd) {
  const Profile recorded = formats::InferenceProfile(3);
  EXPECT_EQ(Read(Write(recorded)).profile.losses.Get(Loss::kTruncatedFile), 1U);
  EXPECT_EQ(Read(Write(recorded, NotesFor(recorded))).profile.losses.Get(Loss::kTruncatedFile), 0U);
}

TEST_F(PerfettoReader, TicksAreNoTimes) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("main", 1, 1);
  const uint16_t npu = build.AddEngineTrack(thread, "npu");
  build.profile.tracks[npu].in_ticks = true;
  const SliceArgs args{.instruction = 3};
  const uint32_t call =
      build.Add(thread, "DELEGATE_CALL", Category::kDelegateCall, 5'000, 100, kNone, &args);
  build.Add(npu, "conv", Category::kDelegateOp, 88'000'000, 1'000'000, call, &args);
  const std::string bytes = Write(build.profile);
  EXPECT_NE(bytes.find("npu (ticks of an unknown clock, no times)"), std::string::npos);
  const Recording read = Read(bytes);
  EXPECT_EQ(Lines(read.profile), Lines(build.profile));
}

TEST_F(PerfettoReader, ATraceOfAKilledProcessHasEverythingThatWasDrained) {
  const Profile profile = formats::InferenceProfile(10);
  auto file = base::AtomicFile::Create(path_, base::Overwrite::kForce);
  auto writer = Writer::Create(std::move(*file), &profile);
  const uint32_t half = profile.runs[5].first_slice;
  ASSERT_TRUE(writer->Append(0, half, 0, 5).has_value());
  writer->Abandon();
  const auto read = ReadTrace(path_ + ".partial", {});
  unlink((path_ + ".partial").c_str());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->profile.slices.size(), half);
  EXPECT_EQ(read->profile.runs.size(), 5u);
  EXPECT_EQ(read->profile.counters.size(), 5u);
  // Nobody knows what else it would have recorded.
  EXPECT_EQ(read->profile.losses.Get(Loss::kTruncatedFile), 1u);
}

TEST_F(PerfettoReader, CutAnywhereKeepsWhatCameBefore) {
  const std::string whole = Write(formats::InferenceProfile(2));
  size_t slices = 0;
  size_t errors = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto read = ReadTraceBytes(std::string_view(whole).substr(0, length), "cut", {});
    if (!read) {
      ++errors;
      ASSERT_LT(length, 40u);  // not even its first packet
      EXPECT_NE(read.error().message.find("cut"), std::string::npos);
      EXPECT_NE(read.error().message.find("byte 0"), std::string::npos);
      continue;
    }
    ExpectSound(read->profile);
    ASSERT_GE(read->profile.slices.size(), slices) << length;
    slices = read->profile.slices.size();
    ASSERT_LE(read->profile.losses.Get(Loss::kTruncatedFile), 1u);
    ASSERT_EQ(read->profile.losses.Get(Loss::kDamagedPacket), 0u);
    ASSERT_EQ(read->profile.losses.Get(Loss::kUnbalancedEnd), 0u);
  }
  EXPECT_GT(errors, 0u);
  EXPECT_EQ(slices, formats::InferenceProfile(2).slices.size());
}

TEST_F(PerfettoReader, FlippedBytesNeverBreakIt) {
  const std::string whole = Write(formats::InferenceProfile(3));
  const size_t slices = formats::InferenceProfile(3).slices.size();
  std::mt19937 random(7);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bad = whole;
    bad[at] = static_cast<char>(random());
    const auto read = ReadTraceBytes(bad, "bad", {});
    if (!read) continue;
    ExpectSound(read->profile);
    ASSERT_LE(read->profile.slices.size(), slices);
  }
}

TEST_F(PerfettoReader, ForeignTracesCutAndFlipped) {
  std::mt19937 random(11);
  for (const char* name : {"android", "hostile", "legacy", "lossy", "sdk"}) {
    const auto whole = base::ReadFile(
        fmt::format("{}/tests/fixtures/perfetto/{}.pftrace", INFERPROBE_SOURCE_DIR, name));
    ASSERT_TRUE(whole.has_value()) << whole.error().message;
    for (size_t at = 0; at <= whole->size(); ++at) {
      std::string bad = *whole;
      if (at < bad.size()) bad[at] = static_cast<char>(random());
      for (const std::string_view bytes :
           {std::string_view(bad), std::string_view(*whole).substr(0, at)}) {
        if (const auto read = ReadTraceBytes(bytes, name, {})) ExpectSound(read->profile);
      }
    }
  }
}

TEST_F(PerfettoReader, TellsTracesFromOtherFiles) {
  const std::string trace = Write(formats::InferenceProfile(1));
  for (const size_t head : {size_t{40}, size_t{200}, trace.size()}) {
    EXPECT_TRUE(LooksLikeTrace(std::string_view(trace).substr(0, head), trace.size())) << head;
  }
  const auto no = [](std::string_view head) { return !LooksLikeTrace(head, head.size()); };
  EXPECT_TRUE(no(""));
  EXPECT_TRUE(no("\n"));
  EXPECT_TRUE(no("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"));
  EXPECT_TRUE(no("\nHello, this is text that starts with a new line, as a trace does.\n"));
  EXPECT_TRUE(no("{\"traceEvents\": []}"));
  EXPECT_TRUE(no("IPPRING1\x01\x02"));
  EXPECT_TRUE(no(std::string(4096, '\0')));
  EXPECT_TRUE(no(std::string_view("\x0c\0\0\0ED00\0\0\0\0", 12)));
  EXPECT_TRUE(no("\x1f\x8b\x08\x08"));
  EXPECT_TRUE(no(std::string_view("\x0a\0\x0a\0\x0a\0", 6)));
  // Each way of ending a line in front of all that a text can start with.
  for (int a = 32; a < 127; ++a) {
    for (int b = 32; b < 127; ++b) {
      std::string text = "\n0123456789 is a text, and not too short for what it says";
      text[1] = static_cast<char>(a);
      text[2] = static_cast<char>(b);
      EXPECT_TRUE(no(text)) << text;
    }
  }
  std::mt19937 random(1);
  size_t taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string noise(64, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    noise[0] = '\n';
    if (!no(noise)) ++taken;
  }
  EXPECT_LT(taken, 100u);  // of those that start as a trace must: one in 256 does
}

TEST_F(PerfettoReader, ErrorsNameTheFile) {
  const auto absent = ReadTrace("/nonexistent/a.pftrace", {});
  ASSERT_FALSE(absent.has_value());
  EXPECT_NE(absent.error().message.find("/nonexistent/a.pftrace"), std::string::npos);
  const auto empty = ReadTraceBytes("", "empty.pftrace", {});
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().code, ErrorCode::kMalformed);
  EXPECT_NE(empty.error().message.find("empty.pftrace is empty"), std::string::npos);
  profile::ReadOptions options;
  options.input_unit_ns = 1000;
  const auto unit = ReadTraceBytes(Write(formats::InferenceProfile(1)), "u.pftrace", options);
  ASSERT_FALSE(unit.has_value());
  EXPECT_EQ(unit.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(unit.error().hint.find("--input-unit"), std::string::npos);
}

}  // namespace
}  // namespace inferprobe::perfetto
