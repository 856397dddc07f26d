#include "formats/registry/registry.h"

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "formats/etdump/etdump_writer.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/writer.h"
#include "formats/result_json/result_json.h"
#include "formats/result_json/result_samples.h"
#include "formats/sample_profiles.h"

namespace inferprobe::formats {
namespace {

using base::Overwrite;
using base::TemporaryFolder;

// One file of each format that can be written, under names that say nothing.
class Registry : public testing::Test {
 protected:
  void SetUp() override {
    const profile::Profile profile = InferenceProfile(3);
    profile::LossCounts losses;
    ASSERT_TRUE(etdump::WriteEtdump(profile, File("1"), Overwrite::kRefuse, &losses));
    auto file = base::AtomicFile::Create(File("2"), Overwrite::kRefuse);
    ASSERT_TRUE(file);
    auto writer = perfetto::Writer::Create(std::move(*file), &profile);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->Append(0, static_cast<uint32_t>(profile.slices.size()), 0, 0));
    ASSERT_TRUE(writer->Finish(perfetto::NotesOf(profile, {}, {}, {}, {}, losses)));
    Write("3", result_json::WriteResultJson(result_json::GetResultSample("typical")));
  }

  std::string File(const std::string& name) const { return folder_.File(name); }
  void Write(const std::string& name, std::string_view bytes) const {
    ASSERT_TRUE(base::WriteFileAtomically(File(name), bytes, Overwrite::kForce));
  }
  std::string FormatOf(const std::string& name) const {
    const auto format = FormatOfFile(File(name));
    return format ? std::string((*format)->name) : format.error().message;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Registry, ContentDecides) {
  EXPECT_EQ(FormatOf("1"), "etdump");
  EXPECT_EQ(FormatOf("2"), "perfetto");
  EXPECT_EQ(FormatOf("3"), "json");
}

TEST_F(Registry, TracesHoldRunsAndResultsFigures) {
  for (const char* trace : {"1", "2"}) {
    auto opened = OpenFile(File(trace), {});
    ASSERT_TRUE(opened) << opened.error().message;
    ASSERT_TRUE(opened->recording);
    EXPECT_EQ(opened->recording->profile.runs.size(), 3U);
    EXPECT_EQ(FiguresOf(*std::move(opened)).profiled_runs, 3U);
  }
  auto opened = OpenFile(File("3"), {});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_FALSE(opened->recording);
  EXPECT_EQ(FiguresOf(*std::move(opened)).latency.count,
            result_json::GetResultSample("typical").latency.count);
}

TEST_F(Registry, OptionsThatAFormatHasNoUseForAreRefused) {
  profile::ReadOptions unit;
  unit.input_unit_ns = 1000;
  EXPECT_TRUE(OpenFile(File("1"), unit));
  for (const char* knows_it : {"2", "3"}) {
    const auto opened = OpenFile(File(knows_it), unit);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(opened.error().hint.find("--input-unit"), std::string::npos);
  }
  profile::ReadOptions clock;
  clock.delegate_clocks = {{"x", 2.0}};
  const auto opened = OpenFile(File("3"), clock);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("no --delegate-clock applies"), std::string::npos);
}

TEST_F(Registry, WhatIsNothingIsSaidWithItsBytesAndAHint) {
  const struct {
    std::string_view bytes;
    std::string_view message;
    std::string_view hint;
  } cases[] = {
      {"", "byte 0: the file is empty", "ET_EVENT_TRACER_ENABLED"},
      {"\x1f\x8b\x08", "begins with", "gunzip it first"},
      {" {\"traceEvents\": []}", "begins with", "looks like JSON"},
      {std::string_view("\x30\0\0\0ET12", 8), "begins with", "`inferprobe perf` runs it"},
      {std::string_view("\x30\0\0\0BP08 and more", 17), "begins with", "an ExecuTorch program"},
      {std::string_view("\x30\0\0\0FT01", 8), "begins with", "known: ETDump"},
      {"hello, world", "begins with \"hello, world\"", "known: ETDump"},
      {"\x7f"
       "ELF\x02\x01\x01",
       "begins with", "known: ETDump"},
  };
  for (const auto& each : cases) {
    Write("x", each.bytes);
    const auto format = FormatOfFile(File("x"));
    ASSERT_FALSE(format) << each.bytes;
    EXPECT_EQ(format.error().code, ErrorCode::kMalformed);
    EXPECT_NE(format.error().message.find(File("x")), std::string::npos);
    EXPECT_NE(format.error().message.find(each.message), std::string::npos)
        << format.error().message;
    EXPECT_NE(format.error().hint.find(each.hint), std::string::npos) << format.error().hint;
  }
}

TEST(Formats, AreFoundByNameAndByEnding) {
  EXPECT_EQ(FormatBySuffix("a/b.etdp")->name, "etdump");
  EXPECT_EQ(FormatBySuffix("b.pftrace")->name, "perfetto");
  EXPECT_EQ(FormatBySuffix("b.pftrace.json")->name, "json");
  EXPECT_EQ(FormatBySuffix("b.ETDP"), nullptr);
  EXPECT_EQ(FormatBySuffix(""), nullptr);
  EXPECT_EQ(FormatByName("perfetto")->suffixes[0], ".pftrace");
  EXPECT_EQ(FormatBySuffix("b.perfetto-trace")->name, "perfetto");
  EXPECT_EQ(FormatByName("rings"), nullptr) << "it cannot be written";
  EXPECT_EQ(WritableNames(), "etdump, trex, json, perfetto");
  EXPECT_EQ(FormatBySuffix("b.trex.json")->name, "trex");
}

}  // namespace
}  // namespace inferprobe::formats
