// Calls of modules, operators, work on a device and allocations come back from a trace as they
// were.
#include "analyze/modules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "formats/perfetto/module_notes.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/profile_text.h"
#include "formats/perfetto/reader.h"
#include "formats/perfetto/writer.h"
#include "formats/result_json/result_json.h"
#include "formats/sample_profiles.h"

namespace inferprobe::perfetto {
namespace {

using formats::kSampleStartNs;
using formats::ProfileBuilder;
using profile::Category;
using profile::kNone;
using profile::Loss;
using profile::Metric;
using profile::Module;
using profile::ModuleFacts;
using profile::Profile;
using profile::Recording;
using profile::SliceArgs;
using profile::Status;

using Strings = std::vector<std::string>;

std::string Written(const Profile& profile, const ModuleFacts& facts, bool with_notes = true) {
  const std::string path =
      fmt::format("{}perfetto_modules_{}.pftrace", testing::TempDir(), getpid());
  auto file = base::AtomicFile::Create(path, base::Overwrite::kForce);
  EXPECT_TRUE(file.has_value());
  auto writer = Writer::Create(std::move(*file), &profile);
  EXPECT_TRUE(writer->Append(0, static_cast<uint32_t>(profile.slices.size()), 0, 0).has_value());
  profile::ModelFacts model;
  model.modules = facts;
  const Notes notes = with_notes ? NotesOf(profile, model, {}, {}, {}, profile.losses) : Notes{};
  EXPECT_TRUE(writer->Finish(notes).has_value());
  std::string bytes = *base::ReadFile(path);
  unlink(path.c_str());
  return bytes;
}

Recording Read(const std::string& bytes) {
  auto recording = ReadTraceBytes(bytes, "t.pftrace", {});
  EXPECT_TRUE(recording.has_value()) << recording.error().message;
  return recording ? std::move(*recording) : Recording();
}

template <typename T>
std::string TextOf(const Metric<T>& metric) {
  if (metric) return fmt::format("{}", *metric);
  return fmt::format("{}: {}", StatusName(metric.missing().status), metric.missing().hint);
}

Strings TextOf(const ModuleFacts& facts) {
  Strings lines;
  for (const Module& each : facts.tree) {
    lines.push_back(fmt::format("{} ({}) {} in {} {} {} {}", each.path, fmt::join(each.also, ";"),
                                each.class_name, each.parent, each.parameters, each.chosen,
                                each.not_covered));
  }
  for (const auto& each : facts.not_covered) {
    lines.push_back(fmt::format("{}: {}", each.what, each.why));
  }
  lines.push_back(TextOf(facts.operators));
  lines.push_back(TextOf(facts.memory));
  lines.push_back(TextOf(facts.device));
  lines.push_back(TextOf(facts.clock_error_ns));
  lines.push_back(std::to_string(facts.seen_thread));
  return lines;
}

Module MadeModule(std::string path, std::string class_name, uint32_t parent = kNone) {
  Module module;
  module.path = std::move(path);
  module.class_name = std::move(class_name);
  module.parent = parent;
  return module;
}

ModuleFacts MadeFacts() {
  ModuleFacts facts;
  facts.tree = {MadeModule("", "Net"), MadeModule("up", "Linear", 0),
                MadeModule("down", "Sequential", 0), MadeModule("down.0", "", 2)};
  facts.tree[1].also = {"alias", "down.1"};
  facts.tree[1].parameters = std::numeric_limits<uint64_t>::max();
  facts.tree[2].chosen = false;
  facts.tree[3].not_covered = "traced: it has no forward\nof Python";
  facts.operators = true;
  facts.memory = {Status::kNotRequested, "memory=True"};
  facts.device = {Status::kUnavailable, ""};
  facts.clock_error_ns = 310.25;
  facts.seen_thread = 501;
  facts.not_covered = {{"thread 7", "why"}, {"", ""}};
  return facts;
}

// Threads of module calls, with operators in them and in nothing, and a device that overlaps; times
// are drawn from so few values that starts and ends coincide all the time.
class RandomModules {
 public:
  explicit RandomModules(uint32_t seed) : random_(seed) {
    for (int thread = 0; thread < 2; ++thread) {
      const uint16_t track = build_.AddThread(fmt::format("thread {}", thread), 77, 500 + thread);
      // In a run, its slices stand together, and not by time among those of the other thread.
      const bool in_runs = thread == 0 && seed % 2 == 0;
      for (int64_t part = 0; part < 2; ++part) {
        const int64_t start_ns = kSampleStartNs + part * 60;
        if (in_runs) BeginRun(track, start_ns, 60);
        EXPECT_LE(Fill(track, run_, start_ns, start_ns + 60, 0), start_ns + 60);
        if (in_runs) EndRun();
      }
    }
    const uint16_t device = build_.AddEngineTrack(0, "stream 7");
    build_.profile.tracks[device].kind = profile::Kind::kDevice;
    const auto hosts = static_cast<uint32_t>(build_.profile.slices.size());
    for (uint32_t i = 0; i < hosts; ++i) {
      const profile::Slice slice = build_.profile.slices[i];
      if (slice.category == Category::kRun) continue;
      if (UpTo(3) == 0) {
        build_.Add(device, fmt::format("kernel {}", i), Category::kDeviceWork,
                   slice.start_ns + UpTo(20), UpTo(9), UpTo(5) == 0 ? kNone : i);
      }
      for (int64_t n = UpTo(2); n > 0; --n) {
        build_.profile.allocations.push_back({.time_ns = slice.start_ns + UpTo(slice.dur_ns),
                                              .bytes = UpTo(2000) - 1000,
                                              .slice = UpTo(9) == 0 ? kNone : i,
                                              .device = UpTo(3) == 0});
      }
    }
    std::stable_sort(build_.profile.allocations.begin(), build_.profile.allocations.end(),
                     [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  }

  const Profile& profile() const { return build_.profile; }

 private:
  void BeginRun(uint16_t track, int64_t start_ns, int64_t dur_ns) {
    profile::Run run;
    run.mode = profile::RunMode::kProfiled;
    run.disturbance.run_queue_delay_ns = -1;
    run.start_ns = start_ns;
    run.dur_ns = dur_ns;
    run.first_slice = static_cast<uint32_t>(build_.profile.slices.size());
    build_.profile.runs.push_back(run);
    run_ = build_.Add(track, "run", Category::kRun, start_ns, dur_ns);
  }
  void EndRun() {
    profile::Run& run = build_.profile.runs.back();
    run.slice_count = static_cast<uint32_t>(build_.profile.slices.size()) - run.first_slice;
    run_ = kNone;
  }

  int64_t UpTo(int64_t most) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(most + 1));
  }

  // Slices one after another in [at, end]; returns where the last ended.
  int64_t Fill(uint16_t track, uint32_t parent, int64_t at, int64_t end, int depth) {
    for (int64_t n = UpTo(3) + (depth == 0 ? 4 : 0); n > 0; --n) {
      at = std::min(at + UpTo(1), end);
      const bool module = UpTo(1) == 0;
      SliceArgs args;
      args.module = static_cast<uint32_t>(UpTo(3));
      args.raised = UpTo(4) == 0;
      const uint32_t slice = build_.Add(
          track, fmt::format("{} {}", module ? "module" : "aten::op", build_.profile.slices.size()),
          module ? Category::kModuleCall : Category::kOperator, at, 0, parent,
          module ? &args : nullptr);
      const int64_t most = std::min(at + UpTo(14 - 2 * std::min(depth, 6)), end);
      const int64_t inner = depth < 6 ? Fill(track, slice, at, most, depth + 1) : at;
      const int64_t dur_ns = std::max(inner, at) - at + (UpTo(1) == 0 ? 0 : most - inner);
      build_.profile.slices[slice].dur_ns = dur_ns;
      at += dur_ns;
    }
    return at;
  }

  std::mt19937_64 random_;
  ProfileBuilder build_;
  uint32_t run_ = kNone;
};

TEST(PerfettoModules, ComeBackAsTheyWere) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const RandomModules made(seed);
    const Recording read = Read(Written(made.profile(), MadeFacts()));
    ExpectSound(read.profile);
    ASSERT_EQ(FirstDifference(Lines(read.profile), Lines(made.profile())), "") << seed;
    ASSERT_EQ(TextOf(read.model.modules), TextOf(MadeFacts()));
    ASSERT_FALSE(read.profile.losses.AnyDataLoss());
    ASSERT_TRUE(read.profile.counters.empty());
  }
}

// Every figure of every module and operator. Operators that began at one time have no order.
std::string Analyzed(const Profile& profile, const ModuleFacts& facts) {
  profile::ModelFacts model;
  model.modules = facts;
  auto report = analyze::AnalyzeModules(profile, model);
  EXPECT_TRUE(report);
  profile::ModuleReport sorted = *report;
  const auto sort = [](std::vector<profile::ModuleOperator>& operators) {
    std::sort(operators.begin(), operators.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  };
  for (profile::ModuleRow& row : sorted.rows) sort(row.operators);
  sort(sorted.outside);
  profile::PerfResult result;
  result.modules = std::move(sorted);
  return result_json::WriteResultJson(result);
}

TEST(PerfettoModules, TheAnalysisOfWhatComesBackIsThatOfTheMeasurement) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const RandomModules made(seed);
    ModuleFacts facts = MadeFacts();
    if (seed % 4 < 2) facts.memory = facts.device = true;
    const Recording read = Read(Written(made.profile(), facts));
    EXPECT_EQ(Analyzed(read.profile, read.model.modules), Analyzed(made.profile(), facts)) << seed;
  }
}

TEST(PerfettoModules, WhatIsWrittenAgainIsTheSame) {
  const RandomModules made(7);
  const Recording once = Read(Written(made.profile(), MadeFacts()));
  const std::string again = Written(once.profile, once.model.modules);
  const Recording twice = Read(again);
  EXPECT_EQ(FirstDifference(Lines(twice.profile), Lines(once.profile)), "");
  EXPECT_EQ(Written(twice.profile, twice.model.modules), again);
}

TEST(PerfettoModules, ATreeOfManyModules) {
  ModuleFacts facts;
  for (uint32_t i = 0; i < 10'000; ++i) {
    facts.tree.push_back(MadeModule(fmt::format("layers.{}", i), "Block", i == 0 ? kNone : i - 1));
  }
  EXPECT_EQ(TextOf(Read(Written(RandomModules(1).profile(), facts)).model.modules), TextOf(facts));
}

TEST(PerfettoModules, BytesOfAnySize) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("main", 77, 501);
  const uint32_t op = build.Add(thread, "aten::empty", Category::kOperator, kSampleStartNs, 100);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const int64_t bytes : {kMost, kMost, kLeast, int64_t{0}, int64_t{-1}}) {
    build.profile.allocations.push_back({kSampleStartNs + 1, bytes, op, bytes == 0});
  }
  const Recording read = Read(Written(build.profile, MadeFacts()));
  EXPECT_EQ(FirstDifference(Lines(read.profile), Lines(build.profile)), "");
}

TEST(PerfettoModules, AllocationsOfLaterSlicesComeWithThem) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("main", 77, 501);
  for (uint32_t i = 0; i < 3; ++i) {
    const int64_t start_ns = kSampleStartNs + 100 * i;
    build.Add(thread, fmt::format("op {}", i), Category::kOperator, start_ns, 50);
    build.profile.allocations.push_back({start_ns + 10, 64 + i, i, false});
  }
  const std::string path = fmt::format("{}modules_{}.pftrace", testing::TempDir(), getpid());
  auto writer =
      Writer::Create(*base::AtomicFile::Create(path, base::Overwrite::kForce), &build.profile);
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(writer->Append(i, 1, 0, 0));
  ASSERT_TRUE(writer->Finish({{"x", "y"}}));
  const Recording read = Read(*base::ReadFile(path));
  unlink(path.c_str());
  EXPECT_EQ(FirstDifference(Lines(read.profile), Lines(build.profile)), "");
}

TEST(PerfettoModules, CallsThatNobodyDescribesAreOfNoModule) {
  const RandomModules made(3);
  ModuleFacts facts = MadeFacts();
  facts.tree.resize(2);
  const Recording read = Read(Written(made.profile(), facts));
  uint64_t calls = 0;
  for (const profile::Slice& slice : read.profile.slices) {
    if (slice.category != Category::kModuleCall) continue;
    const uint32_t module = read.profile.args[slice.args].module;
    EXPECT_TRUE(module == kNone || module < 2);
    calls += module == kNone ? 1 : 0;
  }
  EXPECT_GT(calls, 0U);
  EXPECT_GT(read.profile.losses.Get(Loss::kLostState), 0U);
  // Of a file that was cut before its notes, that is said already.
  const Recording cut = Read(Written(made.profile(), facts, false));
  EXPECT_EQ(cut.profile.losses.Get(Loss::kLostState), 0U);
  EXPECT_EQ(cut.profile.losses.Get(Loss::kTruncatedFile), 1U);
}

// An allocation is in what was running on its thread, whatever a file says.
TEST(PerfettoModules, AllocationsAreInSlicesOfTheirTime) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("main", 77, 501);
  const uint32_t outer = build.Add(thread, "outer", Category::kModuleCall, kSampleStartNs, 100);
  const uint32_t inner =
      build.Add(thread, "inner", Category::kOperator, kSampleStartNs + 10, 10, outer);
  const uint32_t scope =
      build.Add(thread, "scope", Category::kScope, kSampleStartNs + 30, 10, outer);
  build.profile.allocations = {{kSampleStartNs + 25, 1, inner, false},
                               {kSampleStartNs + 35, 2, scope, false},
                               {kSampleStartNs + 200, 3, outer, false}};
  const Recording read = Read(Written(build.profile, {}));
  ASSERT_EQ(read.profile.allocations.size(), 3U);
  EXPECT_EQ(read.profile.allocations[0].slice, outer);
  EXPECT_EQ(read.profile.allocations[1].slice, outer);
  EXPECT_EQ(read.profile.allocations[2].slice, kNone);
}

struct NoteCase {
  const char* name;
  Notes notes;
  Strings tree;  // what is left of it
};

TEST(PerfettoModules, OddNotesChangeNothing) {
  const std::vector<NoteCase> cases = {
      {"a module before its turn", {{"module 1 class", "B"}, {"module 0 class", "A"}}, {"A"}},
      {"far beyond", {{"module 0 class", "A"}, {"module 4000000000 class", "B"}}, {"A"}},
      {"no number", {{"module x class", "B"}, {"module  class", "B"}, {"module ", "B"}}, {}},
      {"a field of none", {{"module 0 path", "p"}}, {}},
      {"a parent behind it",
       {{"module 0 class", "A"}, {"module 1 class", "B"}, {"module 0 parent", "1"}},
       {"A", "B"}},
      {"itself as parent", {{"module 0 class", "A"}, {"module 0 parent", "0"}}, {"A"}},
      {"a class twice", {{"module 0 class", "A"}, {"module 0 class", "B"}}, {"B"}},
      {"a negative size", {{"module 0 class", "A"}, {"module 0 parameters", "-1"}}, {"A"}},
  };
  for (const NoteCase& each : cases) {
    ModuleFacts facts;
    for (const auto& [key, value] : each.notes) {
      EXPECT_TRUE(ReadModuleNote(key, value, &facts)) << key;
    }
    Strings tree;
    for (const Module& module : facts.tree) {
      tree.push_back(module.class_name);
      EXPECT_EQ(module.parent, kNone) << each.name;
      EXPECT_EQ(module.parameters, 0U) << each.name;
    }
    EXPECT_EQ(tree, each.tree) << each.name;
  }
  ModuleFacts facts;
  for (const char* value : {"valid", "never", "nan", "inf", "-1", "1e31"}) {
    EXPECT_TRUE(ReadModuleNote("modules_clock_error_ns", value, &facts));
    EXPECT_FALSE(facts.clock_error_ns) << value;
    EXPECT_TRUE(ReadModuleNote("modules_memory", value, &facts));
    EXPECT_FALSE(facts.memory) << value;
  }
  for (const char* value : {"", "-1", "x", "99999999999999999999", "7 "}) {
    EXPECT_TRUE(ReadModuleNote("modules_thread", value, &facts));
    EXPECT_EQ(facts.seen_thread, ModuleFacts::kAllThreads) << value;
  }
  EXPECT_FALSE(ReadModuleNote("model", "x", &facts));
}

TEST(PerfettoModules, FlippedBytesNeverCrash) {
  std::mt19937_64 random(20260401);  // NOLINT(cert-msc51-cpp): the same each time
  const std::string bytes = Written(RandomModules(11).profile(), MadeFacts());
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = bytes;
    for (uint64_t flip = 0; flip < 1 + random() % 3; ++flip) {
      char& byte = damaged[random() % damaged.size()];
      byte = static_cast<char>(static_cast<unsigned char>(byte) ^ 1U << (random() % 8));
    }
    if (auto recording = ReadTraceBytes(damaged, "t.pftrace", {})) {
      ExpectSound(recording->profile);
      for (const SliceArgs& args : recording->profile.args) {
        EXPECT_TRUE(args.module == kNone || args.module < recording->model.modules.tree.size());
      }
    }
  }
}

}  // namespace
}  // namespace inferprobe::perfetto
