#include "report/event_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace inferprobe::report {
namespace {

using nlohmann::json;
using profile::Category;
using profile::Kind;
using profile::kNone;
using profile::Profile;

profile::Track Named(const char* name) {
  profile::Track track;
  track.name = name;
  return track;
}

// A thread and an engine's track in ticks; a run of two slices.
Profile Recorded() {
  Profile profile;
  profile.tracks = {Named("main"), Named("engine")};
  profile.tracks[1].type = profile::TrackType::kEngine;
  profile.tracks[1].kind = Kind::kEngineReported;
  profile.tracks[1].in_ticks = true;
  const auto add = [&](uint16_t track, const char* name, int64_t start, int64_t dur,
                       uint32_t parent, Category category) {
    profile.slices.push_back({start, dur, profile.strings.Intern(name), parent, track, category});
  };
  add(0, "later", 500, 10, kNone, Category::kScope);
  add(0, "run", 100, 50, kNone, Category::kRun);
  add(0, "call", 110, 20, 1, Category::kDelegateCall);
  add(1, "", 7, 3, 2, Category::kDelegateOp);
  profile.slices[3].args = profile.AddArgs({.delegate_debug_id = 4, .delegate_debug_name = 0});
  profile.slices[2].args = profile.AddArgs({.instruction = 9});
  profile::Run run;
  run.first_slice = 1;
  run.slice_count = 3;
  profile.runs = {run};
  return profile;
}

struct Written {
  std::string text;
  size_t pieces = 0;
};

Written Write(const Profile& profile, Format format) {
  Written written;
  const auto said = WriteEvents(profile, format, [&](std::string_view text) -> Result<void> {
    written.text += text;
    ++written.pieces;
    return {};
  });
  EXPECT_TRUE(said);
  return written;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TEST(EventList, IsInOrderOfTimeWithTicksAtWhatEnclosesThem) {
  const json rows = json::parse(Write(Recorded(), Format::kJson).text);
  ASSERT_EQ(rows.size(), 4U);
  std::vector<std::string> names;
  for (const json& row : rows) names.push_back(row["name"].get<std::string>());
  EXPECT_EQ(names, (std::vector<std::string>{"run", "call", "id 4", "later"}));
}

TEST(EventList, TicksAreNoNanosecondsAndTheOtherWayRound) {
  const json rows = json::parse(Write(Recorded(), Format::kJson).text);
  const json& call = rows[1];
  EXPECT_EQ(call["start_ns"], 110);
  EXPECT_EQ(call["dur_ns"], 20);
  EXPECT_EQ(call["instruction"], 9);
  EXPECT_EQ(call["start_ticks"]["status"], "unavailable");
  const json& op = rows[2];
  EXPECT_EQ(op["start_ticks"], 7);
  EXPECT_EQ(op["dur_ticks"], 3);
  EXPECT_EQ(op["start_ns"]["status"], "unavailable");
  EXPECT_EQ(op["parent"], 2);
  EXPECT_EQ(op["kind"], "engine_reported");
}

TEST(EventList, SaysWhichRunASliceIsIn) {
  const json rows = json::parse(Write(Recorded(), Format::kJson).text);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(rows[i]["run"], 0);
  EXPECT_EQ(rows[3]["run"]["status"], "unavailable");
}

TEST(EventList, TickColumnsAreThereOnlyWhereThereAreTicks) {
  Profile profile = Recorded();
  profile.tracks[1].in_ticks = false;
  for (const Format format : {Format::kTable, Format::kCsv, Format::kMarkdown}) {
    EXPECT_EQ(Write(profile, format).text.find("ticks"), std::string::npos);
    EXPECT_NE(Write(Recorded(), format).text.find("ticks"), std::string::npos);
  }
}

TEST(EventList, OfNothingHasAHeadAndIsValid) {
  EXPECT_EQ(json::parse(Write({}, Format::kJson).text), json::array());
  EXPECT_EQ(Lines(Write({}, Format::kCsv).text).size(), 1U);
}

// Ten thousand rows come in three pieces, of which nobody can see the seams.
TEST(EventList, PiecesFitTogether) {
  Profile profile;
  profile.tracks = {Named("main")};
  for (int64_t i = 0; i < 10'000; ++i) {
    profile.slices.push_back({i * 1'000'000'000, i, profile.strings.Intern("op"), kNone, 0});
  }
  for (const Format format : {Format::kTable, Format::kCsv, Format::kMarkdown, Format::kJson}) {
    const Written written = Write(profile, format);
    EXPECT_GE(written.pieces, 3U);
    if (format == Format::kJson) {
      EXPECT_EQ(json::parse(written.text).size(), 10'000U);
      continue;
    }
    const std::vector<std::string> lines = Lines(written.text);
    EXPECT_EQ(lines.size(), 10'001U + (format == Format::kMarkdown ? 1 : 0));
    if (format != Format::kTable) continue;
    const size_t name = lines[0].find("name");
    for (size_t i = 1; i < lines.size(); ++i) ASSERT_EQ(lines[i].substr(name), "op") << lines[i];
  }
}

TEST(EventList, StopsAtTheFirstErrorOfTheWriter) {
  size_t calls = 0;
  const auto said = WriteEvents(Recorded(), Format::kTable, [&](std::string_view) -> Result<void> {
    ++calls;
    return MakeError(ErrorCode::kIo, "full");
  });
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().message, "full");
  EXPECT_EQ(calls, 1U);
}

}  // namespace
}  // namespace inferprobe::report
