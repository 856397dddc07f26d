// What the reader makes of a dump, the writer turns into a dump that reads the same.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>

#include "base/temporary_folder.h"
#include "formats/etdump/etdump_reader.h"
#include "formats/etdump/etdump_writer.h"
#include "formats/etdump/made_etdump.h"

namespace inferprobe::etdump {
namespace {

using profile::Recording;
using profile::Slice;

// Everything that a reader of the file could tell apart, in the file's order.
std::vector<std::string> Described(const Recording& recording) {
  const profile::Profile& profile = recording.profile;
  std::vector<std::string> lines;
  for (const Slice& slice : profile.slices) {
    const profile::SliceArgs args =
        slice.args < profile.args.size() ? profile.args[slice.args] : profile::SliceArgs();
    const bool nested = slice.parent < profile.slices.size();
    lines.push_back(
        std::string(CategoryName(slice.category)) + " '" + std::string(profile.Name(slice)) + "' " +
        std::to_string(slice.start_ns) + "+" + std::to_string(slice.dur_ns) + " chain " +
        std::to_string(args.chain) + " at " + std::to_string(args.instruction) + " id " +
        std::to_string(args.delegate_debug_id) + " '" +
        std::string(profile.strings.Get(args.delegate_debug_name)) + "' metadata '" +
        (args.metadata < profile.metadata.size() ? profile.metadata[args.metadata] : "") + "' in " +
        (nested ? std::string(profile.Name(profile.slices[slice.parent])) : "nothing") +
        (profile.tracks[slice.track].in_ticks ? " ticks" : ""));
  }
  for (const profile::Run& run : profile.runs) {
    lines.push_back("run of " + std::to_string(run.slice_count) + " slices, " +
                    std::to_string(run.dur_ns));
  }
  return lines;
}

// A run as ETDumpGen would record it, with anything that can vary.
MadeBlock RandomRun(std::mt19937& random, uint64_t at, bool other_clock) {
  static const char* const kNames[] = {"conv", "add \"quoted\"", "\n\t", "\xC3\xA9t\xC3\xA9", ""};
  MadeBlock block;
  block.name = "Execute";
  uint64_t now = at;
  const auto step = [&] { return now += 1 + random() % 1000; };
  const uint64_t begin = now;
  const auto instructions = static_cast<int32_t>(1 + random() % 6);
  for (int32_t i = 0; i < instructions; ++i) {
    MadeEvent call;
    call.chain = 0;
    call.instruction = i;
    call.start = step();
    if (random() % 2 == 0) {
      MadeEvent kernel = call;
      kernel.name = "native_call_x.out";
      kernel.start = step();
      kernel.end = step();
      block.events.push_back(kernel);
      call.name = "OPERATOR_CALL";
    } else {
      for (uint64_t k = random() % 4; k > 0; --k) {
        MadeEvent op = call;
        op.metadata = random() % 2 == 0 ? "" : "bytes";
        op.start = other_clock ? random() % 100 : step();
        op.end = other_clock ? op.start + 1 + random() % 50 : step();
        if (random() % 3 == 0) {
          op.id = static_cast<int32_t>(random() % 3);
        } else {
          op.id_text = kNames[random() % 5];
        }
        block.events.push_back(op);
      }
      call.name = "DELEGATE_CALL";
    }
    call.end = step();
    block.events.push_back(call);
  }
  MadeEvent method;
  method.name = "Method::execute";
  method.start = begin;
  method.end = step();
  block.events.push_back(method);
  return block;
}

TEST(EtdumpRoundTrip, WhatTheDelegateKitNotedStaysAsItWas) {
  const auto noted = [](const char* text, uint64_t start, uint64_t end, const char* note) {
    MadeEvent event;
    event.id_text = text;
    event.start = start;
    event.end = end;
    event.chain = 0;
    event.instruction = 3;
    event.metadata = note;
    return event;
  };
  MadeEvent call = noted(nullptr, 100, 900, nullptr);
  call.name = "DELEGATE_CALL";
  MadeEvent method;
  method.name = "Method::execute";
  method.start = 50;
  method.end = 1000;
  MadeEvent load = noted("x.delegate_load", 10, 40, R"({"kind":"host_wall"})");
  load.chain = -1;
  load.instruction = 0;
  const std::vector<MadeBlock> blocks = {
      {"Default", {load}},
      {"Execute",
       {noted("x.enqueue_host", 120, 200, R"({"kind":"host_wall"})"),
        noted("x.delegate", 110, 400, R"({"kind":"host_wall","mode":"asynchronous","call":1})"),
        noted("conv", 130, 180, R"({"kind":"engine_reported","type":"C"})"),
        noted("x.device", 5000, 5600, R"({"kind":"device","clock":"cuda event","call":1})"), call,
        method}}};
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/kit.etdp";
  const auto first = ParseEtdump(MakeEtdump(blocks), "made", {});
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(WriteEtdump(first->profile, path, base::Overwrite::kRefuse));
  const auto second = ReadEtdump(path, {});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(Described(*first), Described(*second));
  EXPECT_EQ(first->profile.slices.size(), 7U);
}

TEST(EtdumpRoundTrip, WhatWasReadIsWrittenAndReadsTheSame) {
  std::mt19937 random(7);
  const base::TemporaryFolder folder;
  for (int round = 0; round < 100; ++round) {
    std::vector<MadeBlock> blocks;
    if (round % 2 == 0) {
      MadeEvent load;
      load.name = "Method::init";
      load.start = 5;
      load.end = 999;
      blocks.push_back({"Default", {load}});
    }
    const uint64_t at = round % 3 == 0 ? 1'234'567'890'123'456'789 : 1'000'000;
    for (uint64_t run = 0; run < 1 + random() % 3; ++run) {
      blocks.push_back(RandomRun(random, at + run * 1'000'000, round % 5 == 0));
    }
    auto first = ParseEtdump(MakeEtdump(blocks), "first", {});
    ASSERT_TRUE(first) << first.error().message;
    const std::string path = folder.path() + "/out.etdp";
    const Result<void> written = WriteEtdump(first->profile, path, base::Overwrite::kForce);
    ASSERT_TRUE(written) << written.error().message;
    auto second = ReadEtdump(path, {});
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(Described(*first), Described(*second)) << "round " << round;
  }
}

// Two runs, the first without its operator: as the file that lost it, so the one made of it.
TEST(EtdumpRoundTrip, ARunThatIsNotWholeStaysOne) {
  const auto block = [](uint64_t at, uint64_t end_of_call) {
    return MadeBlock{"Execute",
                     {{.name = "OPERATOR_CALL", .start = at + 10, .end = end_of_call, .chain = 0},
                      {.name = "OPERATOR_CALL", .start = at + 60, .end = at + 70, .chain = 0},
                      {.name = "Method::execute", .start = at, .end = at + 100}}};
  };
  const auto lossy = ParseEtdump(MakeEtdump({block(1000, 1), block(2000, 2050)}), "lossy", {});
  ASSERT_TRUE(lossy) << lossy.error().message;
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/out.etdp";
  ASSERT_TRUE(WriteEtdump(lossy->profile, path, base::Overwrite::kForce));
  const auto read = ReadEtdump(path, {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(Described(*lossy), Described(*read));
  for (const Recording* each : {&*lossy, &*read}) {
    ASSERT_EQ(each->profile.runs.size(), 2U);
    EXPECT_TRUE(each->profile.runs[0].incomplete);
    EXPECT_EQ(each->profile.runs[0].why, profile::Loss::kEndBeforeStart);
    EXPECT_FALSE(each->profile.runs[1].incomplete);
    EXPECT_EQ(each->profile.losses.Get(profile::Loss::kIncompleteRun), 0U);  // runs are counted
  }
}

// Names that say a loss, and what they say.
TEST(EtdumpRoundTrip, TheNameOfABlockMaySayWhatItsRunsLost) {
  struct Case {
    const char* name;
    std::optional<profile::Loss> lost;
  };
  const MadeEvent method = {.name = "Method::execute", .start = 1, .end = 9};
  const MadeEvent later = {.name = "Method::execute", .start = 11, .end = 19};
  const MadeEvent call = {.name = "OPERATOR_CALL", .start = 2, .end = 3, .chain = 0};
  for (const Case& each : std::initializer_list<Case>{
           {"Execute", std::nullopt},
           {"", std::nullopt},
           {"Execute (lost events", std::nullopt},
           {"Execute (lost events: ring_dropped", std::nullopt},
           {"Execute (lost events: ring_dropped)", profile::Loss::kRingDropped},
           {"Execute (lost events: )", profile::Loss::kIncompleteRun},
           {"Execute (lost events: of a later version)", profile::Loss::kIncompleteRun}}) {
    const auto read = ParseEtdump(MakeEtdump({{each.name, {call, method}},
                                              {each.name, {method, later}},
                                              {each.name, {call}},
                                              {"Execute", {method}}}),
                                  "named", {});
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->profile.runs.size(), 5U) << each.name;
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(read->profile.runs[i].incomplete, each.lost.has_value()) << each.name << i;
      EXPECT_EQ(read->profile.runs[i].why, each.lost.value_or(profile::Loss::kIncompleteRun));
    }
    EXPECT_FALSE(read->profile.runs[4].incomplete) << each.name;
    // Where nothing is left of a run, its loss still is.
    const auto bare = ParseEtdump(MakeEtdump({{each.name, {}}}), "bare", {});
    ASSERT_TRUE(bare) << bare.error().message;
    EXPECT_EQ(bare->profile.losses.Get(profile::Loss::kIncompleteRun), each.lost ? 1U : 0U);
  }
}

TEST(EtdumpRoundTrip, WhatAnEtdumpHasNoPlaceForIsCounted) {
  profile::Profile profile;
  profile.tracks.resize(1);
  profile.slices = {
      {.start_ns = 1, .dur_ns = 2, .category = profile::Category::kScope},
      {.start_ns = 5, .dur_ns = 9, .category = profile::Category::kMethod},
  };
  profile::Run run;
  run.mode = profile::RunMode::kProfiled;
  run.slice_count = 2;
  profile.runs.push_back(run);
  const base::TemporaryFolder folder;
  profile::LossCounts losses;
  ASSERT_TRUE(WriteEtdump(profile, folder.path() + "/out.etdp", base::Overwrite::kRefuse, &losses));
  EXPECT_EQ(losses.Get(profile::Loss::kNotInFormat), 1U);
}

}  // namespace
}  // namespace inferprobe::etdump
