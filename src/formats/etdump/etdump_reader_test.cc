#include "formats/etdump/etdump_reader.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "formats/etdump/made_etdump.h"

namespace inferprobe::etdump {
namespace {

using profile::Category;
using profile::kNone;
using profile::Loss;
using profile::Recording;
using profile::Slice;

Result<Recording> Read(std::string_view bytes, const profile::ReadOptions& options = {}) {
  // As a mapped file, and so that a byte too far is seen by the sanitizer.
  auto* copy = static_cast<char*>(std::aligned_alloc(8, (bytes.size() + 8) / 8 * 8));
  std::memcpy(copy, bytes.data(), bytes.size());
  auto recording = ParseEtdump({copy, bytes.size()}, "made.etdp", options);
  std::free(copy);
  return recording;
}

Recording MustRead(const std::vector<MadeBlock>& blocks, const profile::ReadOptions& options = {}) {
  auto recording = Read(MakeEtdump(blocks), options);
  EXPECT_TRUE(recording) << recording.error().message;
  return recording ? *std::move(recording) : Recording();
}

MadeEvent Op(const char* name, uint64_t start, uint64_t end, int32_t instruction) {
  MadeEvent event;
  event.name = name;
  event.start = start;
  event.end = end;
  event.chain = 0;
  event.instruction = instruction;
  return event;
}

MadeEvent Outside(const char* name, uint64_t start, uint64_t end) {
  MadeEvent event = Op(name, start, end, 0);
  event.chain = -1;
  return event;
}

MadeEvent Reported(const char* text, uint64_t start, uint64_t end, int32_t instruction) {
  MadeEvent event = Op(nullptr, start, end, instruction);
  event.id_text = text;
  event.metadata = "";
  return event;
}

// An operator, then a delegate that reports two of its own, all in one run.
MadeBlock TypicalRun(uint64_t at = 1'000'003) {
  return {"Execute",
          {Op("native_call_add.out", at + 15, at + 25, 0), Op("OPERATOR_CALL", at + 10, at + 30, 0),
           Reported("conv", at + 45, at + 65, 1), Reported("pool", at + 65, at + 80, 1),
           Op("DELEGATE_CALL", at + 40, at + 90, 1), Outside("Method::execute", at, at + 100)}};
}

const Slice& Find(const profile::Profile& profile, std::string_view name) {
  static const Slice kMissing;
  for (const Slice& slice : profile.slices) {
    if (profile.Name(slice) == name) return slice;
  }
  ADD_FAILURE() << "no slice " << name;
  return kMissing;
}

std::string_view ParentName(const profile::Profile& profile, const Slice& slice) {
  return slice.parent == kNone ? "" : profile.Name(profile.slices[slice.parent]);
}

// What the delegate kit writes.
MadeEvent Noted(const char* text, uint64_t start, uint64_t end, int32_t instruction,
                const char* note) {
  MadeEvent event = Reported(text, start, end, instruction);
  event.metadata = note;
  return event;
}

constexpr const char* kHostNote = R"({"kind":"host_wall"})";

TEST(EtdumpReader, HostPhasesOfADelegateNestInItsCallAndReportsAreBesideThem) {
  const Recording recording = MustRead(
      {{"Execute",
        {Noted("x.input_binding", 45, 55, 1, kHostNote), Reported("conv", 57, 60, 1),
         Noted("x.delegate", 42, 80, 1, R"({"kind":"host_wall","mode":"blocking"})"),
         Noted("layer", 50, 58, 1, R"({"kind":"engine_reported"})"),
         Noted("x.layer_report", 81, 89, 1, R"({"kind":"host_wall","calls":3,"unit_ns":1000})"),
         Op("DELEGATE_CALL", 40, 90, 1), Outside("Method::execute", 0, 100)}}});
  const profile::Profile& profile = recording.profile;
  const auto expect = [&](const char* name, Category category, const char* parent,
                          profile::Kind kind) {
    const Slice& slice = Find(profile, name);
    EXPECT_EQ(slice.category, category) << name;
    EXPECT_EQ(ParentName(profile, slice), parent) << name;
    EXPECT_EQ(profile.tracks[slice.track].kind, kind) << name;
    EXPECT_FALSE(profile.tracks[slice.track].in_ticks) << name;
  };
  using profile::Kind;
  expect("x.delegate", Category::kOther, "DELEGATE_CALL", Kind::kHostWall);
  expect("x.input_binding", Category::kOther, "x.delegate", Kind::kHostWall);
  expect("x.layer_report", Category::kOther, "DELEGATE_CALL", Kind::kHostWall);
  expect("conv", Category::kDelegateOp, "DELEGATE_CALL", Kind::kEngineReported);
  expect("layer", Category::kDelegateOp, "DELEGATE_CALL", Kind::kEngineReported);
  EXPECT_EQ(profile.metadata[profile.args[Find(profile, "x.input_binding").args].metadata],
            kHostNote);
  EXPECT_EQ(recording.profile.runs.size(), 1U);
  EXPECT_EQ(profile.losses.Get(Loss::kEngineOpsOutsideCall), 0U);
}

TEST(EtdumpReader, DeviceTimesHaveTracksOfTheirOwnAlsoWhereNoCallIsAroundThem) {
  constexpr const char* kCuda = R"({"kind":"device","clock":"cuda event","call":1})";
  MadeEvent late = Noted("x.device", 7, 9, 0, kCuda);
  late.chain = -1;
  const Recording recording =
      MustRead({{"Execute",
                 {Noted("x.device", 900'000, 900'030, 1, kCuda), Op("DELEGATE_CALL", 40, 90, 1),
                  Outside("Method::execute", 0, 100)}},
                {"Default", {late}}});
  const profile::Profile& profile = recording.profile;
  ASSERT_EQ(profile.tracks.size(), 3U);
  EXPECT_EQ(profile.tracks[1].kind, profile::Kind::kDevice);
  EXPECT_EQ(profile.tracks[1].name, "DELEGATE_CALL@1 (device, cuda event)");
  EXPECT_EQ(profile.tracks[2].name, "DELEGATE_CALL (device, cuda event)");
  // What is noted is in nanoseconds, wherever it lies.
  EXPECT_FALSE(profile.tracks[1].in_ticks);
  EXPECT_EQ(profile.losses.Get(Loss::kEngineOpsOutsideCall), 0U);
}

TEST(EtdumpReader, LoadingADelegateIsLoadingOnlyOutsideOfRuns) {
  const Recording recording = MustRead(
      {{"Default",
        {Noted("x.delegate_load", 12, 18, -1, kHostNote), Outside("Method::init", 10, 20)}},
       {"Execute",
        {Noted("y.delegate_load", 42, 48, 0, kHostNote), Op("DELEGATE_CALL", 40, 90, 0),
         Outside("Method::execute", 30, 100)}}});
  const profile::Profile& profile = recording.profile;
  EXPECT_EQ(Find(profile, "x.delegate_load").category, Category::kLoad);
  EXPECT_EQ(ParentName(profile, Find(profile, "x.delegate_load")), "Method::init");
  EXPECT_EQ(Find(profile, "y.delegate_load").category, Category::kOther);
  EXPECT_EQ(ParentName(profile, Find(profile, "y.delegate_load")), "DELEGATE_CALL");
}

TEST(EtdumpReader, AUnitOfTheUsersIsThatOfNotedTimesToo) {
  const Recording recording =
      MustRead({{"Execute",
                 {Noted("x.delegate", 50, 60, 1, kHostNote),
                  Noted("layer", 50, 58, 1, R"({"kind":"engine_reported"})"),
                  Op("DELEGATE_CALL", 40, 90, 1), Outside("Method::execute", 10, 100)}}},
               {.input_unit_ns = 1000, .delegate_clocks = {}});
  EXPECT_EQ(Find(recording.profile, "x.delegate").dur_ns, 10'000);
  EXPECT_EQ(Find(recording.profile, "layer").dur_ns, 8'000);
}

TEST(EtdumpReader, ARunIsATreeOfItsCalls) {
  const Recording recording = MustRead({TypicalRun()});
  const profile::Profile& profile = recording.profile;
  ASSERT_EQ(profile.slices.size(), 6U);
  EXPECT_EQ(ParentName(profile, Find(profile, "native_call_add.out")), "OPERATOR_CALL");
  EXPECT_EQ(ParentName(profile, Find(profile, "OPERATOR_CALL")), "Method::execute");
  EXPECT_EQ(ParentName(profile, Find(profile, "conv")), "DELEGATE_CALL");
  EXPECT_EQ(ParentName(profile, Find(profile, "DELEGATE_CALL")), "Method::execute");
  EXPECT_EQ(Find(profile, "conv").category, Category::kDelegateOp);
  EXPECT_EQ(profile.tracks[Find(profile, "conv").track].kind, profile::Kind::kEngineReported);
  EXPECT_FALSE(profile.tracks[Find(profile, "conv").track].in_ticks);
  EXPECT_EQ(Find(profile, "conv").start_ns, 1'000'048);
  EXPECT_EQ(Find(profile, "conv").dur_ns, 20);
  ASSERT_EQ(profile.runs.size(), 1U);
  EXPECT_EQ(profile.runs[0].mode, profile::RunMode::kProfiled);
  EXPECT_EQ(profile.runs[0].dur_ns, 100);
  EXPECT_EQ(profile.runs[0].slice_count, 6U);
  EXPECT_FALSE(profile.losses.AnyDataLoss());
}

TEST(EtdumpReader, AnEmptyBlockIsListedAndIsNoRun) {
  const Recording recording = MustRead({TypicalRun(), {"Execute", {}}, TypicalRun(2'000'000)});
  ASSERT_EQ(recording.source.blocks.size(), 3U);
  EXPECT_EQ(recording.source.blocks[0].events, 6U);
  EXPECT_EQ(recording.source.blocks[1].events, 0U);
  EXPECT_EQ(recording.profile.runs.size(), 2U);
  EXPECT_EQ(recording.profile.losses.Get(Loss::kEmptyBlock), 1U);
}

TEST(EtdumpReader, BlocksOfOneNameAndSizeAreListedTogether) {
  const Recording recording =
      MustRead({{"Default", {Outside("Method::init", 1, 2)}}, TypicalRun(), TypicalRun(2'000'000)});
  ASSERT_EQ(recording.source.blocks.size(), 2U);
  EXPECT_EQ(recording.source.blocks[1].count, 2U);
  EXPECT_EQ(recording.source.blocks[1].name, "Execute");
}

TEST(EtdumpReader, TimesThatCannotBeAreCountedAndLeftOut) {
  MadeBlock block = TypicalRun();
  block.events.insert(block.events.begin(),
                      {Op("backwards", 1'000'020, 1'000'010, 0), Op("nowhere", 0, 0, 0),
                       Op("beyond", 1, ~uint64_t{0}, 0)});
  const Recording recording = MustRead({block});
  EXPECT_EQ(recording.profile.slices.size(), 6U);
  EXPECT_EQ(recording.profile.losses.Get(Loss::kEndBeforeStart), 1U);
  EXPECT_EQ(recording.profile.losses.Get(Loss::kZeroTimes), 1U);
  EXPECT_EQ(recording.profile.losses.Get(Loss::kTimeOutOfRange), 1U);
  for (const Slice& slice : recording.profile.slices) EXPECT_GE(slice.dur_ns, 0);
}

TEST(EtdumpReader, ARunThatLostAnEventIsNotWhole) {
  MadeBlock lossy = TypicalRun(2'000'000);
  lossy.events[0].end = lossy.events[0].start - 1;
  const Recording recording = MustRead({TypicalRun(), lossy, TypicalRun(3'000'000)});
  ASSERT_EQ(recording.profile.runs.size(), 3U);
  EXPECT_FALSE(recording.profile.runs[0].incomplete);
  EXPECT_TRUE(recording.profile.runs[1].incomplete);
  EXPECT_EQ(recording.profile.runs[1].why, Loss::kEndBeforeStart);
  EXPECT_FALSE(recording.profile.runs[2].incomplete);
}

TEST(EtdumpReader, WhatStandsForALostMethodIsNoRun) {
  MadeBlock lossy = TypicalRun(2'000'000);
  std::swap(lossy.events.back().start, lossy.events.back().end);
  const Recording recording = MustRead({TypicalRun(), lossy});
  EXPECT_EQ(recording.profile.runs.size(), 1U);
}

TEST(EtdumpReader, ADelegatesOwnClockIsNotInTheHostsUnit) {
  profile::ReadOptions options;
  options.input_unit_ns = 1000;
  options.delegate_clocks = {{"DELEGATE_CALL@1", 250}};
  const Recording recording = MustRead({TypicalRun()}, options);
  const Slice& conv = Find(recording.profile, "conv");
  EXPECT_TRUE(recording.profile.tracks[conv.track].in_ticks);
  EXPECT_EQ(conv.dur_ns, 20);  // ticks; ApplyDelegateClocks makes 5 us of them
  EXPECT_EQ(recording.profile.runs[0].dur_ns, 100'000);
}

TEST(EtdumpReader, TicksAreNotInTheHostsUnit) {
  MadeBlock block = TypicalRun();
  block.events[2] = Reported("conv", 7, 307, 1);
  block.events[3] = Reported("pool", 307, 407, 1);
  profile::ReadOptions options;
  options.input_unit_ns = 1000;
  const Recording recording = MustRead({block}, options);
  EXPECT_EQ(Find(recording.profile, "conv").dur_ns, 300);
}

// A tick is in nobody's unit, so that none is too large for one.
TEST(EtdumpReader, TicksAreNotBeyondTheHostsUnit) {
  MadeBlock block = TypicalRun();
  block.events[2] = Reported("conv", 7, uint64_t{1} << 61, 1);
  block.events[3] = Reported("pool", 8, 9, 1);
  profile::ReadOptions options;
  options.input_unit_ns = 1e6;
  options.delegate_clocks = {{"DELEGATE_CALL@1", 1}};  // so that they are ticks
  const Recording recording = MustRead({block}, options);
  EXPECT_EQ(Find(recording.profile, "conv").dur_ns, (int64_t{1} << 61) - 7);
  EXPECT_EQ(recording.profile.losses.Get(Loss::kTimeOutOfRange), 0U);
}

struct InUnit {
  const char* what;
  uint64_t end;
  uint64_t lost;
};

TEST(EtdumpReader, TimesBeyondTheUsersUnitAreLeftOutAndCounted) {
  profile::ReadOptions options;
  options.input_unit_ns = 1e9;
  // 2^62 ns are 4,611,686,018.4 s.
  for (const InUnit& it :
       {InUnit{"the last", 4'611'686'018, 0}, InUnit{"one more", 4'611'686'019, 1}}) {
    MadeBlock block = TypicalRun();
    block.events.insert(block.events.begin(), Op("far", 1'000'010, it.end, 0));
    const Recording host = MustRead({block}, options);
    EXPECT_EQ(host.profile.losses.Get(Loss::kTimeOutOfRange), it.lost) << it.what;
    EXPECT_EQ(host.profile.slices.size(), 7U - it.lost) << it.what;
    EXPECT_EQ(host.profile.runs[0].incomplete, it.lost != 0) << it.what;

    block = TypicalRun();
    block.events[2].end = it.end;  // of a delegate on the host's clock
    const Recording delegate = MustRead({block}, options);
    EXPECT_EQ(delegate.profile.losses.Get(Loss::kTimeOutOfRange), it.lost) << it.what;
    EXPECT_EQ(delegate.profile.slices.size(), 6U - it.lost) << it.what;
    EXPECT_EQ(delegate.profile.runs[0].incomplete, it.lost != 0) << it.what;
    EXPECT_EQ(ParentName(delegate.profile, Find(delegate.profile, "pool")), "DELEGATE_CALL");
    for (const Slice& slice : delegate.profile.slices) {
      EXPECT_LE(slice.start_ns + slice.dur_ns, 4'611'686'018'000'000'000) << it.what;
    }
  }
}

TEST(EtdumpReader, WhatNoCallClaimsIsOnNobodysClock) {
  MadeBlock block = TypicalRun();
  block.events.erase(block.events.begin() + 4);  // the DELEGATE_CALL
  const Recording recording = MustRead({block});
  EXPECT_TRUE(recording.profile.tracks[Find(recording.profile, "conv").track].in_ticks);
}

TEST(EtdumpReader, MoreDelegatesThanTracksShareOneAndAreCounted) {
  MadeBlock block;
  block.name = "Execute";
  for (int32_t i = 0; i < 66'000; ++i) {
    const auto at = static_cast<uint64_t>(10 * i + 10);
    block.events.push_back(Reported("op", at + 2, at + 4, i));
    block.events.push_back(Op("DELEGATE_CALL", at, at + 8, i));
  }
  const Recording recording = MustRead({block});
  EXPECT_GT(recording.profile.losses.Get(Loss::kTooLarge), 0U);
  EXPECT_LE(recording.profile.tracks.size(), 65'535U);
  const Slice& last = recording.profile.slices[recording.profile.slices.size() - 2];
  EXPECT_EQ(recording.profile.tracks[last.track].name.rfind("other delegates", 0), 0U);
}

// What no call claims is not looked at again for each call.
TEST(EtdumpReader, ManyReportsWithoutACallAreLinear) {
  MadeBlock block;
  block.name = "Execute";
  for (uint64_t i = 0; i < 100'000; ++i) block.events.push_back(Reported("op", 1, 2, 1));
  for (uint64_t i = 0; i < 100'000; ++i) {
    block.events.push_back(Op("DELEGATE_CALL", 10 * i + 10, 10 * i + 18, 2));
  }
  EXPECT_EQ(MustRead({block}).profile.losses.Get(Loss::kEngineOpsOutsideCall), 100'000U);
}

TEST(EtdumpReader, AnEventHasExactlyOnePart) {
  MadeBlock block = TypicalRun();
  MadeEvent none = Op("none", 1, 2, 0);
  none.profile = false;
  MadeEvent both = Op("both", 1, 2, 0);
  both.allocation = true;
  MadeEvent allocation = none;
  allocation.allocation = true;
  MadeEvent debug = none;
  debug.debug = true;
  block.events.insert(block.events.begin(), {none, both, allocation, debug});
  const Recording recording = MustRead({block});
  EXPECT_EQ(recording.profile.losses.Get(Loss::kPartsOfEvent), 2U);
  EXPECT_EQ(recording.profile.losses.Get(Loss::kOtherEvents), 2U);
  EXPECT_EQ(recording.profile.slices.size(), 6U);
}

TEST(EtdumpReader, DelegateIdZeroIsAnIdAndMinusOneWithoutANameIsADelegatesToo) {
  MadeBlock block = TypicalRun();
  MadeEvent zero = Reported(nullptr, 1'000'045, 1'000'050, 1);
  zero.id = 0;
  MadeEvent unnamed = Reported(nullptr, 1'000'050, 1'000'060, 1);
  block.events.insert(block.events.begin() + 2, {zero, unnamed});
  const Recording recording = MustRead({block});
  const profile::Profile& profile = recording.profile;
  ASSERT_EQ(profile.slices.size(), 8U);
  const Slice& first = profile.slices[2];
  EXPECT_EQ(first.category, Category::kDelegateOp);
  EXPECT_EQ(profile.args[first.args].delegate_debug_id, 0);
  EXPECT_EQ(ParentName(profile, first), "DELEGATE_CALL");
  const Slice& second = profile.slices[3];
  EXPECT_EQ(second.category, Category::kDelegateOp);
  EXPECT_EQ(profile.args[second.args].delegate_debug_id, -1);
  EXPECT_EQ(profile.Name(second), "");
}

TEST(EtdumpReader, TimesOnAnotherClockAreTicks) {
  std::vector<MadeBlock> blocks;
  for (uint64_t run = 1; run <= 3; ++run) {
    MadeBlock block = TypicalRun(run * 1'000'000);
    block.events[2] = Reported("conv", 7, 307, 1);
    block.events[3] = Reported("pool", 307, 407, 1);
    blocks.push_back(block);
  }
  const Recording recording = MustRead(blocks);
  const Slice& conv = Find(recording.profile, "conv");
  EXPECT_TRUE(recording.profile.tracks[conv.track].in_ticks);
  EXPECT_EQ(conv.start_ns, 7);  // ticks
  EXPECT_EQ(conv.dur_ns, 300);
}

TEST(EtdumpReader, AClockIsJudgedByMostOfItsReports) {
  MadeBlock block = TypicalRun();
  block.events.insert(block.events.begin() + 3, Reported("stray", 1, 2, 1));
  const Recording recording = MustRead({block});
  EXPECT_FALSE(recording.profile.tracks[Find(recording.profile, "conv").track].in_ticks);
}

TEST(EtdumpReader, WhatNoCallClaimsIsOutside) {
  MadeBlock block = TypicalRun();
  block.events.erase(block.events.begin() + 4);  // the DELEGATE_CALL
  const Recording recording = MustRead({block});
  EXPECT_EQ(recording.profile.losses.Get(Loss::kEngineOpsOutsideCall), 2U);
  EXPECT_EQ(Find(recording.profile, "conv").parent, kNone);
}

TEST(EtdumpReader, TwoDelegatesKeepTheirReportsApart) {
  MadeBlock block = TypicalRun();
  block.events.insert(block.events.begin() + 5, {Reported("gemm", 1'000'095, 1'000'096, 2),
                                                 Op("DELEGATE_CALL", 1'000'094, 1'000'097, 2)});
  block.events.insert(block.events.begin() + 2, Reported("early", 1'000'095, 1'000'096, 2));
  const Recording recording = MustRead({block});
  const profile::Profile& profile = recording.profile;
  const Slice& gemm = Find(profile, "gemm");
  EXPECT_EQ(Find(profile, "early").parent, gemm.parent);
  EXPECT_NE(Find(profile, "conv").parent, gemm.parent);
  EXPECT_NE(Find(profile, "conv").track, gemm.track);
}

TEST(EtdumpReader, OneMethodMayCallAnother) {
  const Recording recording =
      MustRead({{"Execute",
                 {Outside("Method::execute", 120, 140), Op("OPERATOR_CALL", 110, 150, 0),
                  Outside("Method::execute", 100, 200), Outside("Method::execute", 300, 400)}}});
  ASSERT_EQ(recording.profile.runs.size(), 2U);
  EXPECT_EQ(recording.profile.runs[0].first_slice, 0U);
  EXPECT_EQ(recording.profile.runs[0].slice_count, 3U);
  EXPECT_EQ(recording.profile.runs[0].dur_ns, 100);
  EXPECT_EQ(recording.profile.runs[1].slice_count, 1U);
}

TEST(EtdumpReader, CallsWithoutAMethodAreARunOfTheirSpan) {
  const Recording recording =
      MustRead({{"Execute", {Op("OPERATOR_CALL", 100, 150, 0), Op("OPERATOR_CALL", 170, 260, 1)}}});
  ASSERT_EQ(recording.profile.runs.size(), 1U);
  EXPECT_EQ(recording.profile.runs[0].start_ns, 100);
  EXPECT_EQ(recording.profile.runs[0].dur_ns, 160);
}

TEST(EtdumpReader, AUnitOfTheUsersIsApplied) {
  profile::ReadOptions options;
  options.input_unit_ns = 1000;
  const Recording recording = MustRead({TypicalRun()}, options);
  const profile::Profile& profile = recording.profile;
  EXPECT_EQ(profile.runs[0].dur_ns, 100'000);
  EXPECT_EQ(Find(profile, "conv").start_ns, 1'000'048'000);
  EXPECT_EQ(Find(profile, "conv").dur_ns, 20'000);
  EXPECT_EQ(profile.clock.tick_ns, 1000);
}

TEST(EtdumpReader, TheClocksTickIsFoundInTheTimes) {
  const Recording coarse =
      MustRead({{"Execute", {Outside("Method::execute", 1'000'000, 3'400'000)}}});
  EXPECT_EQ(coarse.profile.clock.tick_ns, 100'000);
  EXPECT_EQ(MustRead({TypicalRun()}).profile.clock.tick_ns, 0);  // not known
}

TEST(EtdumpReader, BadNamesAreRepairedAndCounted) {
  const Recording recording = MustRead(
      {{"Ex\xFF",
        {Outside("a\xC0z", 1, 2), Outside("a\xC0z", 3, 4), Outside("Method::execute", 1, 9)}}});
  EXPECT_EQ(recording.profile.Name(recording.profile.slices[0]), "a\\xC0z");
  EXPECT_EQ(recording.profile.losses.Get(Loss::kInvalidUtf8), 2U);  // and the block's
  EXPECT_EQ(recording.source.blocks[0].name, "Ex\\xFF");
}

TEST(EtdumpReader, LongNamesAreCutStayTwoAndAreCounted) {
  const std::string whole(1024, 'a');
  const std::string one = whole + "one";
  const std::string two = whole + "two";
  // The 1,024th byte is the first of a character of two.
  const std::string split = std::string(1023, 'b') + "\u00E4 and more";
  const Recording recording = MustRead(
      {{one.c_str(),
        {Outside(whole.c_str(), 1, 2), Outside(one.c_str(), 3, 4), Outside(two.c_str(), 5, 6),
         Outside(one.c_str(), 7, 8), Outside(split.c_str(), 9, 10)}}});
  const profile::Profile& profile = recording.profile;
  const auto name = [&](size_t slice) { return profile.Name(profile.slices[slice]); };
  EXPECT_EQ(name(0), whole);
  EXPECT_EQ(name(1).substr(0, 1041), whole + "… (1027 bytes, ");
  EXPECT_NE(name(1), name(2));
  EXPECT_EQ(name(1), name(3));
  EXPECT_EQ(name(4).substr(0, 1026), std::string(1023, 'b') + "…");
  EXPECT_EQ(profile.losses.Get(Loss::kNameCut), 3U);
  EXPECT_EQ(profile.losses.Get(Loss::kInvalidUtf8), 0U);
  EXPECT_LT(recording.source.blocks[0].name.size(), 120U);
}

// Names that lie in one another: 2,000 events with 16 MB of them, in a file of 100 kB.
TEST(EtdumpReader, NamesThatLieInOneAnotherAreAnError) {
  constexpr uint32_t kEvents = 2000;
  flatbuffers::FlatBufferBuilder builder;
  std::string text(kEvents * sizeof(uint32_t), '\0');
  for (uint32_t at = 0; at < text.size(); at += sizeof(uint32_t)) {
    const auto rest = static_cast<uint32_t>(text.size() - at - sizeof(uint32_t));
    std::memcpy(text.data() + at, &rest, sizeof rest);
  }
  const auto whole = builder.CreateString(text);
  std::vector<flatbuffers::Offset<::etdump::Event>> events;
  for (uint32_t i = 1; i <= kEvents; ++i) {
    // Places are counted from the buffer's end.
    const flatbuffers::Offset<flatbuffers::String> inner(
        whole.o - i * static_cast<uint32_t>(sizeof(uint32_t)));
    events.push_back(::etdump::CreateEvent(
        builder, ::etdump::CreateProfileEvent(builder, inner, 0, 0, -1, 0, 0, i, i + 1)));
  }
  const auto list = builder.CreateVector(events);
  const auto run = ::etdump::CreateRunData(builder, builder.CreateString("Execute"), -1, 0, list);
  const auto runs = builder.CreateVector(&run, 1);
  builder.FinishSizePrefixed(::etdump::CreateETDump(builder, 0, runs),
                             ::etdump::ETDumpIdentifier());
  const auto recording =
      Read({reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()});
  ASSERT_FALSE(recording);
  EXPECT_NE(recording.error().message.find("this text lies in others"), std::string::npos)
      << recording.error().message;
}

TEST(EtdumpReader, MetadataIsKeptOnceWhereverItLies) {
  const std::string text(1000, 'm');
  MadeBlock block = TypicalRun();
  block.events[2].metadata = text.c_str();
  block.events[3].metadata = text.c_str();
  const Recording recording = MustRead({block, block});
  ASSERT_EQ(recording.profile.metadata.size(), 1U);
  EXPECT_EQ(recording.profile.metadata[0], text);
  const Slice& pool = Find(recording.profile, "pool");
  EXPECT_EQ(recording.profile.args[pool.args].metadata, 0U);
}

TEST(EtdumpReader, AFileWithoutEventsSaysSo) {
  EXPECT_EQ(MustRead({}).profile.losses.Get(Loss::kNoEvents), 1U);
  EXPECT_EQ(MustRead({{"Execute", {}}}).profile.losses.Get(Loss::kNoEvents), 1U);
}

TEST(EtdumpReader, APlainFlatbufferIsReadToo) {
  auto recording = Read(MakeEtdump({TypicalRun()}, 0, false));
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->profile.runs.size(), 1U);
}

struct Broken {
  const char* what;
  std::string bytes;
  const char* message;
};

std::string Changed(std::string bytes, size_t at, std::string_view by) {
  bytes.replace(at, by.size(), by);
  return bytes;
}

TEST(EtdumpReader, ErrorsNameTheFileAndTheByte) {
  const std::string good = MakeEtdump({TypicalRun()});
  const Broken cases[] = {
      {"empty", "", "made.etdp: byte 0: the file is empty"},
      {"head cut", good.substr(0, 7), "made.etdp: byte 7: the file ends; the head"},
      {"identifier", Changed(good, 8, "PK\x03\x04"), "made.etdp: byte 8: \"PK\\x03\\x04\" where"},
      {"cut", good.substr(0, good.size() - 9), ": the file ends; by its head it has"},
      {"followed", good + "more", ": 4 bytes follow the end of the ETDump"},
      {"root", Changed(good, 4, {"\xFF\xFF\xFF\x7F", 4}),
       "made.etdp: byte 4: an offset that leads"},
      {"version", MakeEtdump({TypicalRun()}, 3), "an ETDump of version 3; only 0 is known"},
  };
  for (const Broken& it : cases) {
    auto recording = Read(it.bytes);
    ASSERT_FALSE(recording) << it.what;
    EXPECT_NE(recording.error().message.find(it.message), std::string::npos)
        << it.what << ": " << recording.error().message;
    EXPECT_EQ(recording.error().message.rfind("made.etdp: byte ", 0), 0U) << it.what;
    EXPECT_FALSE(recording.error().hint.empty()) << it.what;
  }
}

TEST(EtdumpReader, CutAtEveryLengthIsAnError) {
  const std::string good = MakeEtdump({TypicalRun(), TypicalRun(2'000'000)});
  for (size_t length = 0; length < good.size(); ++length) {
    auto recording = Read(good.substr(0, length));
    ASSERT_FALSE(recording) << length;
    EXPECT_NE(recording.error().message.find("byte "), std::string::npos);
    // Also with a size that agrees.
    if (length < 12) continue;
    std::string agreeing = good.substr(0, length);
    const auto size = static_cast<uint32_t>(length - 4);
    std::memcpy(agreeing.data(), &size, sizeof size);
    const auto read = Read(agreeing);
    if (!read) {
      EXPECT_NE(read.error().message.find("byte "), std::string::npos);
    } else {  // what was cut off was padding at most
      EXPECT_LE(good.size() - length, 8U) << length;
    }
  }
}

TEST(EtdumpReader, FlippedBytesNeverCrash) {
  const MadeBlock kit = {
      "Execute",
      {Noted("x.input_binding", 45, 55, 1, kHostNote),
       Noted("x.delegate", 42, 80, 1, R"({"kind":"host_wall","mode":"blocking","call":1})"),
       Noted("layer", 50, 58, 1, R"({"kind":"engine_reported"})"),
       Noted("x.device", 900, 930, 1, R"({"kind":"device","clock":"cuda event","call":1})"),
       Op("DELEGATE_CALL", 40, 90, 1), Outside("Method::execute", 0, 100)}};
  const std::string good = MakeEtdump({TypicalRun(), {"Execute", {}}, TypicalRun(2'000'000), kit});
  std::mt19937 random(20);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = good;
    for (uint32_t flips = 1 + random() % 4; flips > 0; --flips) {
      char& byte = bytes[random() % bytes.size()];
      byte = static_cast<char>(byte ^ 1 << random() % 8);
    }
    auto recording = Read(bytes);
    if (!recording) {
      EXPECT_EQ(recording.error().message.rfind("made.etdp: byte ", 0), 0U);
      continue;
    }
    EXPECT_LE(recording->profile.slices.size(), bytes.size() / 16);
    for (const Slice& slice : recording->profile.slices) EXPECT_GE(slice.dur_ns, 0);
  }
}

// A list of events that all blocks share: a small file that claims a million events.
TEST(EtdumpReader, SharedEventsCannotMakeAFileLarger) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("e");
  const auto event = ::etdump::CreateEvent(
      builder, ::etdump::CreateProfileEvent(builder, name, 0, 0, -1, 0, 0, 1, 2));
  const auto events =
      builder.CreateVector(std::vector<flatbuffers::Offset<::etdump::Event>>(1000, event));
  const auto run = ::etdump::CreateRunData(builder, name, -1, 0, events);
  const auto runs =
      builder.CreateVector(std::vector<flatbuffers::Offset<::etdump::RunData>>(1000, run));
  builder.FinishSizePrefixed(::etdump::CreateETDump(builder, 0, runs),
                             ::etdump::ETDumpIdentifier());
  auto recording =
      Read({reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()});
  ASSERT_FALSE(recording);
  EXPECT_NE(recording.error().message.find("more than the file can hold"), std::string::npos)
      << recording.error().message;
}

TEST(EtdumpReader, IsRecognisedByItsIdentifier) {
  const std::string good = MakeEtdump({TypicalRun()});
  EXPECT_TRUE(LooksLikeEtdump(good));
  EXPECT_TRUE(LooksLikeEtdump(MakeEtdump({}, 0, false)));
  for (const std::string_view other : {"", "ED00", "{\"schema_version\": 1}", "IPPRING1........"}) {
    EXPECT_FALSE(LooksLikeEtdump(other)) << other;
  }
}

}  // namespace
}  // namespace inferprobe::etdump
