#include "profile/sum_note.h"

#include <gtest/gtest.h>

namespace inferprobe::profile {
namespace {

TEST(SumNote, ComesBackAsItWas) {
  SumNote note;
  note.kind = Kind::kEngineMeanSinceCompile;
  note.calls = 3;
  note.total_ns = 6'000'000;
  note.median_ns = 1.5;
  note.type = "Conv\"";
  note.exec = std::string(1000, '\x01');  // cut, and six bytes each when escaped
  const auto read = ParseSumNote(WriteSumNote(note));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, note.kind);
  EXPECT_EQ(read->calls, note.calls);
  EXPECT_EQ(read->total_ns, note.total_ns);
  EXPECT_EQ(read->median_ns, note.median_ns);
  EXPECT_EQ(read->type, note.type);
  EXPECT_EQ(read->exec, std::string(256, '\x01'));
}

TEST(SumNote, OtherBytesAreNone) {
  for (const char* metadata : {
           "",
           "\"samples\"",
           R"({"kind":"engine_reported","samples":1})",
           R"({"kind":"engine_reported","samples":-1,"total_ns":1})",
           R"({"kind":"engine_reported","samples":1,"total_ns":1.5})",
           R"({"kind":"engine_reported","samples":1,"total_ns":9223372036854775808})",
           R"({"kind":"engine_reported","samples":1,"total_ns":1,"median_ns":-1})",
           R"({"kind":"engine_reported","samples":1,"total_ns":1,"median_ns":1e300})",
           R"({"kind":"derived","samples":1,"total_ns":1})",
           R"({"kind":1,"samples":1,"total_ns":1})",
           R"({"samples":1,"total_ns":1)",
           R"(["samples"])",
       }) {
    EXPECT_FALSE(ParseSumNote(metadata)) << metadata;
  }
  EXPECT_FALSE(ParseSumNote(R"({"kind":"engine_reported","samples":1,"total_ns":1,"x":")" +
                            std::string(5000, 'x') + "\"}"));
  EXPECT_TRUE(ParseSumNote(R"({"kind":"engine_reported","samples":1,"total_ns":1,"later":[]})"));
}

TEST(SumNote, IsOfAnEnginesTrackOnly) {
  Profile profile;
  profile.tracks.resize(2);
  profile.tracks[1].type = TrackType::kEngine;
  profile.metadata.push_back(WriteSumNote({}));
  SliceArgs args;
  args.metadata = 0;
  Slice slice;
  slice.args = profile.AddArgs(args);
  EXPECT_FALSE(SumNoteOf(profile, slice));
  slice.track = 1;
  EXPECT_TRUE(SumNoteOf(profile, slice));
  slice.track = 2;
  EXPECT_FALSE(SumNoteOf(profile, slice)) << "there is no such track";
  slice.track = 1;
  slice.args = 7;
  EXPECT_FALSE(SumNoteOf(profile, slice));
}

}  // namespace
}  // namespace inferprobe::profile
