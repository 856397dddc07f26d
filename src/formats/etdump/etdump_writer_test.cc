#include "formats/etdump/etdump_writer.h"

#include <etdump_schema_flatcc_generated.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "base/files.h"
#include "base/text.h"
#include "formats/sample_profiles.h"

namespace inferprobe::etdump {
namespace {

using formats::ProfileBuilder;
using profile::Category;
using profile::kNone;
using profile::Profile;
using profile::RunMode;
using profile::SliceArgs;

profile::Run ProfiledRun(uint32_t slices) {
  profile::Run run;
  run.mode = RunMode::kPairOn;
  run.slice_count = slices;
  return run;
}

class EtdumpWriter : public testing::Test {
 protected:
  EtdumpWriter()
      : path_(fmt::format("{}etdump_{}_{}.etdp", testing::TempDir(), getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~EtdumpWriter() override { unlink(path_.c_str()); }

  // The file's root, verified; valid until the next call.
  const ::etdump::ETDump* Write(const Profile& profile) {
    const auto written = WriteEtdump(profile, path_, base::Overwrite::kForce, &losses_);
    EXPECT_TRUE(written.has_value()) << written.error().message;
    auto bytes = base::ReadFile(path_);
    EXPECT_TRUE(bytes.has_value());
    bytes_ = std::move(*bytes);
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size(),
                                   64, 100'000'000);
    EXPECT_TRUE(::etdump::VerifySizePrefixedETDumpBuffer(verifier));
    EXPECT_EQ(bytes_.substr(8, 4), "ED00");
    return ::etdump::GetSizePrefixedETDump(bytes_.data());
  }

  // One event a line: "name chain instruction start..end", delegates' operators as "#id" or
  // "'text'", with "+n" for n bytes of metadata.
  static std::vector<std::string> Lines(const ::etdump::RunData* run) {
    std::vector<std::string> lines;
    for (const ::etdump::Event* each : *run->events()) {
      const ::etdump::ProfileEvent* event = each->profile_event();
      std::string line;
      if (event->name() != nullptr) line += event->name()->str();
      if (event->delegate_debug_id_str() != nullptr) {
        line += fmt::format("'{}'", event->delegate_debug_id_str()->str());
      }
      if (event->delegate_debug_id_int() != -1) {
        line += fmt::format("#{}", event->delegate_debug_id_int());
      }
      line += fmt::format(" {} {} {}..{}", event->chain_index(), event->instruction_id(),
                          event->start_time(), event->end_time());
      if (event->delegate_debug_metadata() != nullptr) {
        line += fmt::format(" +{}", event->delegate_debug_metadata()->size());
      }
      lines.push_back(std::move(line));
    }
    return lines;
  }

  std::string path_;
  std::string bytes_;
  profile::LossCounts losses_;
};

using Texts = std::vector<std::string>;

// As ETDumpGen of ExecuTorch 1.5.1 writes it (see docs/formats/etdump.md).
TEST_F(EtdumpWriter, HasTheShapeOfEtdumpGen) {
  const ::etdump::ETDump* dump = Write(formats::InferenceProfile(3));
  EXPECT_EQ(dump->version(), 0u);
  ASSERT_EQ(dump->run_data()->size(), 4u);
  const auto* load = dump->run_data()->Get(0);
  EXPECT_EQ(load->name()->str(), "Default");
  EXPECT_EQ(load->bundled_input_index(), -1);
  EXPECT_EQ(Lines(load), (Texts{"Method::init -1 0 123451789010..123452589010",
                                "Program::load_method -1 0 123451789000..123452689000"}));
  const auto* first = dump->run_data()->Get(1);
  EXPECT_EQ(first->name()->str(), "Execute");
  EXPECT_EQ(
      Lines(first),
      (Texts{"native_call__to_dim_order_copy.out 0 0 123456791040..123456791660",
             "OPERATOR_CALL 0 0 123456791000..123456791700",
             "'Transpose (ND, X32) #1' 0 1 123456792500..123456792500 +0",
             "'Convolution (NHWC, F32) IGEMM #1' 0 1 123456792500..123456795500 +8",
             "'Transpose (ND, X32) #2' 0 1 123456795500..123456801500 +0",
             "#7 0 1 123456801500..123456803500 +0", "DELEGATE_CALL 0 1 123456792200..123456804200",
             "native_call_mean.out 0 2 123456804240..123456806660",
             "OPERATOR_CALL 0 2 123456804200..123456806700",
             "Method::execute -1 0 123456790500..123456807500"}));
  EXPECT_EQ(Lines(dump->run_data()->Get(3)).size(), 10u);
}

TEST_F(EtdumpWriter, OrderIsThatOfEndsHoweverTheProfileIsSorted) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("t", 1, 1);
  const uint16_t engine = build.AddEngineTrack(thread, "e");
  build.Add(thread, "run", Category::kRun, 0, 100);                   // 0
  build.Add(thread, "execute", Category::kMethod, 1, 90, 0);          // 1
  build.Add(thread, "outer", Category::kOperatorCall, 10, 10, 1);     // 2
  build.Add(thread, "inner", Category::kKernel, 10, 10, 2);           // 3
  build.Add(thread, "delegate", Category::kDelegateCall, 30, 10, 1);  // 4
  build.Add(engine, "op 1", Category::kDelegateOp, 90, 5, 4);         // 5
  build.Add(engine, "op 0", Category::kDelegateOp, 0, 5, 4);          // 6
  build.Add(thread, "a scope", Category::kScope, 20, 5, 1);           // 7
  build.Add(thread, "in the scope", Category::kOther, 21, 1, 7);      // 8
  build.Add(thread, "inside", Category::kOther, 31, 1, 4);            // 9
  build.Add(thread, "zero before", Category::kOther, 10, 0, 1);       // 10
  build.profile.runs.push_back(ProfiledRun(11));
  const Texts lines = Lines(Write(build.profile)->run_data()->Get(0));
  Texts names;
  for (const std::string& line : lines) names.push_back(line.substr(0, line.find(" -1 0 ")));
  EXPECT_EQ(names, (Texts{"zero before", "inner", "outer", "in the scope", "inside", "'op 1'",
                          "'op 0'", "delegate", "execute"}));
}

TEST_F(EtdumpWriter, ADelegatesOperatorsBelongToTheInstructionOfTheirCall) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("t", 1, 1);
  const uint16_t engine = build.AddEngineTrack(thread, "e");
  const SliceArgs at_five{.instruction = 5};
  build.Add(engine, "op", Category::kDelegateOp, 1, 1, 1);
  build.Add(thread, "DELEGATE_CALL", Category::kDelegateCall, 0, 9, kNone, &at_five);
  build.profile.runs.push_back(ProfiledRun(2));
  EXPECT_EQ(Lines(Write(build.profile)->run_data()->Get(0)),
            (Texts{"'op' 0 5 1..2 +0", "DELEGATE_CALL 0 5 0..9"}));
}

TEST_F(EtdumpWriter, OnlyProfiledRunsAreWritten) {
  Profile profile = formats::InferenceProfile(4);
  profile.runs[1].mode = RunMode::kWarmup;
  profile.runs[2].mode = RunMode::kLatency;
  EXPECT_EQ(Write(profile)->run_data()->size(), 3u);
}

TEST_F(EtdumpWriter, ARunThatLostEventsIsWrittenAndSaysSo) {
  Profile profile = formats::InferenceProfile(3);
  profile.runs[1].incomplete = true;
  profile.runs[2].incomplete = true;
  profile.runs[2].why = profile::Loss::kRingDropped;
  const auto* blocks = Write(profile)->run_data();
  ASSERT_EQ(blocks->size(), 4u);  // the first is of the load
  EXPECT_EQ(blocks->Get(1)->name()->str(), "Execute");
  EXPECT_EQ(blocks->Get(2)->name()->str(), "Execute (lost events: incomplete_run)");
  EXPECT_EQ(blocks->Get(3)->name()->str(), "Execute (lost events: ring_dropped)");
  EXPECT_EQ(blocks->Get(2)->events()->size(), blocks->Get(1)->events()->size());
}

// Also with a number, which alone would leave the name behind.
TEST_F(EtdumpWriter, ADelegatesOperatorKeepsAllThatNamesIt) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("t", 1, 1);
  const uint16_t engine = build.AddEngineTrack(thread, "e");
  const profile::StringId text = build.profile.strings.Intern("text");
  const SliceArgs number{.delegate_debug_id = 7};
  const SliceArgs named{.delegate_debug_name = text};
  const SliceArgs both{.delegate_debug_id = 8, .delegate_debug_name = text};
  build.Add(engine, "a", Category::kDelegateOp, 1, 1, 5, &number);
  build.Add(engine, "b", Category::kDelegateOp, 2, 1, 5, &named);
  build.Add(engine, "text", Category::kDelegateOp, 3, 1, 5, &named);
  build.Add(engine, "c", Category::kDelegateOp, 4, 1, 5, &both);
  build.Add(engine, "", Category::kDelegateOp, 5, 1, 5, &number);
  build.Add(thread, "DELEGATE_CALL", Category::kDelegateCall, 0, 9);
  build.profile.runs.push_back(ProfiledRun(6));
  EXPECT_EQ(Lines(Write(build.profile)->run_data()->Get(0)),
            (Texts{"a#7 -1 0 1..2 +0", "b'text' -1 0 2..3 +0", "'text' -1 0 3..4 +0",
                   "c'text'#8 -1 0 4..5 +0", "#7 -1 0 5..6 +0", "DELEGATE_CALL -1 0 0..9"}));
}

TEST_F(EtdumpWriter, MetadataThatEventsShareIsWrittenOnce) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("t", 1, 1);
  const uint16_t engine = build.AddEngineTrack(thread, "e");
  build.profile.metadata.emplace_back(100'000, 'x');
  const SliceArgs args{.metadata = 0};
  for (int i = 0; i < 100; ++i) build.Add(engine, "op", Category::kDelegateOp, i, 1, 100, &args);
  build.Add(thread, "DELEGATE_CALL", Category::kDelegateCall, 0, 200);
  build.profile.runs.push_back(ProfiledRun(101));
  const auto* events = Write(build.profile)->run_data()->Get(0)->events();
  EXPECT_EQ(events->Get(99)->profile_event()->delegate_debug_metadata()->size(), 100'000u);
  EXPECT_LT(bytes_.size(), 120'000u);
}

TEST_F(EtdumpWriter, EachProcessHasItsOwnLoad) {
  ProfileBuilder build;
  const uint16_t one = build.AddThread("main", 1, 1);
  const uint16_t two = build.AddThread("main", 2, 2);
  build.Add(one, "Method::init", Category::kLoad, 10, 5);
  build.Add(two, "Method::init", Category::kLoad, 20, 5);
  build.Add(two, "stray", Category::kOther, 40, 5);
  const auto* dump = Write(build.profile);
  ASSERT_EQ(dump->run_data()->size(), 2u);
  EXPECT_EQ(Lines(dump->run_data()->Get(0)), Texts{"Method::init -1 0 10..15"});
  EXPECT_EQ(Lines(dump->run_data()->Get(1)),
            (Texts{"Method::init -1 0 20..25", "stray -1 0 40..45"}));
}

TEST_F(EtdumpWriter, AnEmptyProfileIsADump) {
  EXPECT_EQ(Write(ProfileBuilder().profile)->run_data()->size(), 0u);
}

TEST_F(EtdumpWriter, NamesAndTimesComeBackExactly) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("t", 1, 1);
  uint32_t count = 0;
  int64_t at = INT64_MAX - 1'000;
  for (const std::string& name : formats::HostileNames()) {
    build.Add(thread, name, Category::kOther, at++, 1);
    ++count;
  }
  build.profile.runs.push_back(ProfiledRun(count));
  const auto* events = Write(build.profile)->run_data()->Get(0)->events();
  ASSERT_EQ(events->size(), formats::HostileNames().size());
  for (uint32_t i = 0; i < events->size(); ++i) {
    const auto* event = events->Get(i)->profile_event();
    EXPECT_EQ(event->name()->str(), base::RepairUtf8(formats::HostileNames()[i]).text);
    EXPECT_EQ(event->start_time(), static_cast<uint64_t>(INT64_MAX - 1'000 + i));
    EXPECT_EQ(event->end_time() - event->start_time(), 1u);
  }
  EXPECT_EQ(losses_.Get(profile::Loss::kInvalidUtf8), 2u);
}

TEST_F(EtdumpWriter, NegativeTimesShiftAll) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("t", 1, 1);
  build.Add(thread, "a", Category::kOther, INT64_MIN, 5);
  build.Add(thread, "b", Category::kOther, INT64_MAX - 7, 7);
  build.Add(thread, "backwards", Category::kOther, 5, -1);
  build.profile.runs.push_back(ProfiledRun(3));
  EXPECT_EQ(Lines(Write(build.profile)->run_data()->Get(0)),
            (Texts{"a -1 0 0..5", "b -1 0 18446744073709551608..18446744073709551615"}));
}

TEST_F(EtdumpWriter, BrokenProfilesLoseNothing) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("t", 1, 1);
  build.Add(thread, "cycle a", Category::kOther, 1, 5, 1);
  build.Add(thread, "cycle b", Category::kOther, 1, 5, 0);
  build.Add(thread, "itself", Category::kOther, 1, 5, 2);
  build.Add(thread, "nobody's", Category::kOther, 1, 5, 999);
  for (uint32_t i = 4; i < 100'000; ++i) {
    build.Add(thread, "deep", Category::kOther, 1, 5, i - 1);
  }
  build.profile.runs.push_back(ProfiledRun(UINT32_MAX));
  EXPECT_EQ(Write(build.profile)->run_data()->Get(0)->events()->size(), 100'000u);
}

TEST_F(EtdumpWriter, WhatDoesNotFitIsAnErrorAndNoFile) {
  const auto written = WriteEtdump(formats::InferenceProfile(3'000), path_,
                                   base::Overwrite::kRefuse, nullptr, 1'000'000);
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(written.error().message.find("1000000 bytes"), std::string::npos);
  EXPECT_FALSE(base::FileExists(path_));
  EXPECT_FALSE(base::FileExists(path_ + ".partial"));
}

TEST_F(EtdumpWriter, FailedWritesAreErrorsAndLeaveNothing) {
  const Profile profile = formats::InferenceProfile(2'000);
  auto* const old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old = {};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit limit = old;
  limit.rlim_cur = 100'000;
  setrlimit(RLIMIT_FSIZE, &limit);
  const auto limited = WriteEtdump(profile, path_, base::Overwrite::kRefuse);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(limited.has_value());
  EXPECT_EQ(limited.error().code, ErrorCode::kIo);
  EXPECT_FALSE(base::FileExists(path_));
  EXPECT_FALSE(base::FileExists(path_ + ".partial"));

  EXPECT_EQ(WriteEtdump(profile, "/no/such/folder/x.etdp", base::Overwrite::kRefuse).error().code,
            ErrorCode::kNotFound);
  if (!base::FileExists("/dev/full")) GTEST_SKIP() << "this machine has no /dev/full";
  EXPECT_EQ(WriteEtdump(profile, "/dev/full", base::Overwrite::kRefuse).error().code,
            ErrorCode::kIo);
}

TEST_F(EtdumpWriter, RefusesToReplace) {
  const Profile profile = formats::InferenceProfile(1);
  ASSERT_TRUE(WriteEtdump(profile, path_, base::Overwrite::kRefuse).has_value());
  EXPECT_EQ(WriteEtdump(profile, path_, base::Overwrite::kRefuse).error().code,
            ErrorCode::kAlreadyExists);
}

}  // namespace
}  // namespace inferprobe::etdump
