#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "formats/trex/trex.h"

namespace inferprobe::trex {
namespace {

TEST(TrexWriter, WritesWhatTrexReads) {
  LayerProfile profile;
  profile.count = 3;
  profile.layers = {{"conv1 + relu1", "Conv", "jit", 6'000'000, 3, 1'900'000.0},
                    {"b", "", "", 4'000'000, 3, {}}};
  EXPECT_EQ(
      WriteProfile(profile),
      "[{\"count\":3},\n"
      "{\"name\":\"conv1 + relu1\",\"timeMs\":6,\"averageMs\":2,\"medianMs\":1.9,"
      "\"percentage\":60},\n"
      "{\"name\":\"b\",\"timeMs\":4,\"averageMs\":1.3333333333333333,\"percentage\":40}\n]\n");
}

TEST(TrexWriter, WithoutAnInferenceNothingIsANumberThatIsNone) {
  LayerProfile profile;
  profile.layers = {{"a", "", "", 0, 0, {}}};
  EXPECT_EQ(WriteProfile(profile),
            "[{\"count\":0},\n{\"name\":\"a\",\"timeMs\":0,\"averageMs\":null,\"medianMs\":null,"
            "\"percentage\":null}\n]\n");
  EXPECT_EQ(WriteProfile({}), "[{\"count\":0}\n]\n");
}

TEST(TrexWriter, HostileNamesAndLargeTimesComeBackAsTheyWere) {
  LayerProfile profile;
  profile.count = 7;
  for (const char* name : {"\"},{\"name\":\"x", "a\x1e\x1f\n\\", "<script>", "",
                           "\xe7\xbc\x96\xe7\xa0\x81", "C:\\models\\r"}) {
    profile.layers.push_back({name, "", "", 123'456'789'012'345, 7, 17'636'684'144'620.7});
  }
  const std::string text = WriteProfile(profile);
  const auto strict = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(strict.is_array());
  ASSERT_EQ(strict.size(), 1 + profile.layers.size());
  for (size_t i = 1; i < strict.size(); ++i) EXPECT_EQ(strict[i].size(), 5U) << "trex wants five";
  profile::LossCounts losses;
  const auto read = ParseProfile(text, "x", &losses);
  ASSERT_TRUE(read);
  EXPECT_FALSE(losses.AnyDataLoss());
  EXPECT_EQ(losses.Get(profile::Loss::kJsonRepaired), 0U);
  ASSERT_EQ(read->layers.size(), profile.layers.size());
  for (size_t i = 0; i < profile.layers.size(); ++i) {
    EXPECT_EQ(read->layers[i].name, profile.layers[i].name);
    EXPECT_EQ(read->layers[i].total_ns, profile.layers[i].total_ns);
    EXPECT_DOUBLE_EQ(*read->layers[i].median_ns, *profile.layers[i].median_ns);
  }
  EXPECT_EQ(WriteProfile(*read), text);
}

TEST(TrexWriter, MetadataLiesBesideTheProfile) {
  EXPECT_EQ(MetadataPath("a/b.layers.json"), "a/b.layers.metadata.json");
  EXPECT_EQ(MetadataPath("profile"), "profile.metadata.json");
  EXPECT_EQ(MetadataPath(""), ".metadata.json");
  EXPECT_EQ(WriteMetadata({}),
            "{\n  \"trex_metadata_version\": 1,\n  \"kind\": \"engine_reported\"\n}\n");
}

}  // namespace
}  // namespace inferprobe::trex
