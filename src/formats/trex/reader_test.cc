// Profiles as they lie in the field, and damaged ones.
#include "formats/trex/reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/atomic_file.h"
#include "base/temporary_folder.h"
#include "profile/sum_note.h"

namespace inferprobe::trex {
namespace {

using profile::Loss;
using profile::LossCounts;

std::string Fixture(const std::string& name) {
  return std::string(INFERPROBE_SOURCE_DIR) + "/tests/fixtures/trex/" + name + ".json";
}

TEST(TrexParser, CountsTimesAndWhatIsMissing) {
  const struct {
    std::string_view text;
    std::string_view layers;  // name:total_ns/calls, with ~median_ns
    uint64_t count;
    Loss loss;
    uint64_t lost;
  } cases[] = {
      {R"([{"count":3},{"name":"a","timeMs":6,"averageMs":2,"medianMs":1.9,"percentage":60}])",
       "a:6000000/3~1900000", 3, Loss::kNoSamples, 0},
      // Torch-TensorRT: no count, no median, a comma too many everywhere.
      {R"([{"name":"a","timeMs":10,"averageMs":2,"percentage":9,},{"name":"b","timeMs":1,)"
       R"("averageMs":0.333333,"percentage":1,},])",
       "a:10000000/5 b:1000000/3", 5, Loss::kJsonRepaired, 3},
      {R"([{"name":"a","timeMs":0,"averageMs":0,"percentage":-nan}])", "a:0/0", 0, Loss::kNoSamples,
       1},
      {R"([{"count":0},{"name":"a","timeMs":0,"averageMs":-nan,"percentage":-nan}])", "a:0/0", 0,
       Loss::kNotANumber, 2},
      {R"([{"count":nan},{"name":"a","timeMs":6,"averageMs":2}])", "a:6000000/0", 0,
       Loss::kNoSamples, 1},
      {R"([{"count":4},{"name":"a","averageMs":2}])", "a:8000000/4", 4, Loss::kNoSamples, 0},
      {R"([{"count":-4},{"name":"a","timeMs":8}])", "a:8000000/0", 0, Loss::kTimeOutOfRange, 1},
      // Names repeat: two layers.
      {R"([{"count":1},{"name":"a","timeMs":1},{"name":"a","timeMs":2}])",
       "a:1000000/1 a:2000000/1", 1, Loss::kNoSamples, 0},
      {R"([{"count":1},{"name":"a","timeMs":-1},{"name":"b","timeMs":1e300}])", "", 1,
       Loss::kTimeOutOfRange, 2},
      // Of a median alone only that goes.
      {R"([{"count":2},{"name":"a","timeMs":6,"medianMs":1e300}])", "a:6000000/2", 2,
       Loss::kTimeOutOfRange, 1},
      {R"([{"count":1},{"name":"a","timeMs":1,"later":{"x":[1]}},{"odd":1},{"count":7}])",
       "a:1000000/1", 1, Loss::kUnknownField, 4},
      {R"([{"count":2},{"name":"a","timeMs":1},{"name":"b","ti)", "a:1000000/2", 2,
       Loss::kTruncatedFile, 1},
      {R"([{"count":2}])", "", 2, Loss::kNoEvents, 1},
      {"[{\"count\":1},{\"name\":\"\xff\",\"timeMs\":1}]", "\\xFF:1000000/1", 1, Loss::kInvalidUtf8,
       1},
  };
  for (const auto& each : cases) {
    LossCounts losses;
    const auto profile = ParseProfile(each.text, "x", &losses);
    ASSERT_TRUE(profile) << each.text << profile.error().message;
    std::string layers;
    for (const Layer& layer : profile->layers) {
      layers += (layers.empty() ? "" : " ") + layer.name + ":" + std::to_string(layer.total_ns) +
                "/" + std::to_string(layer.calls);
      if (layer.median_ns) layers += "~" + std::to_string(std::llround(*layer.median_ns));
    }
    EXPECT_EQ(layers, each.layers) << each.text;
    EXPECT_EQ(profile->count, each.count) << each.text;
    EXPECT_EQ(losses.Get(each.loss), each.lost) << each.text;
  }
}

TEST(TrexParser, ErrorsNameTheByte) {
  const struct {
    std::string_view text;
    std::string_view message;
  } cases[] = {
      {"", "x: byte 0 (line 1): no list of layers begins here"},
      {"[1]", "x: byte 1 (line 1): this is no layer, which is an object"},
      {"[{\"count\":1},\n{\"name\":1}]", "x: byte 22 (line 2): a text is missing"},
      {"[{\"name\":\"a\",\"timeMs\":\"6\"}]", "x: byte 22 (line 1): a number is missing"},
      {"[{\"name\":\"a\",\"timeMs\":6}] x", "x: byte 26 (line 1): more follows"},
      {"{\"a\":1}", "x: byte 0 (line 1): this is no list of layers with times"},
  };
  for (const auto& each : cases) {
    LossCounts losses;
    const auto profile = ParseProfile(each.text, "x", &losses);
    ASSERT_FALSE(profile) << each.text;
    EXPECT_EQ(profile.error().code, ErrorCode::kMalformed);
    EXPECT_NE(profile.error().message.find(each.message), std::string::npos)
        << profile.error().message;
  }
}

TEST(TrexReader, TheGraphOfAnEngineIsToldFromItsTimes) {
  const struct {
    const char* file;
    const char* message;
    const char* hint;
  } cases[] = {
      {"f28_trt_graph_profiles", "graph of an engine (trtexec --exportLayerInfo)",
       "--exportProfile"},
      {"f29_trt_graph_names_only", "and of that only names", "--profilingVerbosity=detailed"},
  };
  for (const auto& each : cases) {
    const auto recording = ReadProfile(Fixture(each.file));
    ASSERT_FALSE(recording);
    EXPECT_EQ(recording.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(recording.error().message.find(each.message), std::string::npos);
    EXPECT_NE(recording.error().hint.find(each.hint), std::string::npos);
  }
}

TEST(TrexReader, IsKnownByItsContent) {
  const struct {
    std::string_view head;
    bool is;
  } cases[] = {
      {"[\n  { \"count\" : 3 }\n, { \"name\"", true},
      {"[{\"name\": \"a\", \"timeMs\": 0", true},
      {"\xef\xbb\xbf[{\"count\":1}]", true},
      {"{\"Layers\": [\"a\"]", true},
      {"{\n  \"trex_metadata_version\": 1", true},
      {"{\"trex_", false},
      {"[{\"ph\":\"X\",\"pid\":1", false},
      {"[]", false},
      {"[1, \"timeMs\"]", false},
      {"{\"schema_version\": 1", false},
      {"", false},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(LooksLikeProfile(each.head, each.head.size()), each.is) << each.head;
  }
}

TEST(TrexReader, LayersStandOnATrackOfAnEngineAndNoRunIsMadeUp) {
  const auto recording = ReadProfile(Fixture("f26_trt_profile"));
  ASSERT_TRUE(recording) << recording.error().message;
  const profile::Profile& profile = recording->profile;
  EXPECT_TRUE(profile.runs.empty());
  EXPECT_TRUE(profile.runs_marked);
  ASSERT_EQ(profile.tracks.size(), 1U);
  EXPECT_EQ(profile.tracks[0].type, profile::TrackType::kEngine);
  EXPECT_EQ(profile.tracks[0].kind, profile::Kind::kEngineReported);
  ASSERT_EQ(profile.slices.size(), 2U);
  EXPECT_EQ(profile.slices[0].dur_ns, 2'000'000) << "its average";
  EXPECT_EQ(profile.slices[1].start_ns, 2'000'000);
  const auto sum = profile::SumNoteOf(profile, profile.slices[0]);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->calls, 3U);
  EXPECT_EQ(sum->total_ns, 6'000'000);
  EXPECT_EQ(profile.losses.Get(Loss::kOpaqueLayer), 1U);
  ASSERT_EQ(recording->source.blocks.size(), 1U);
  EXPECT_EQ(recording->source.blocks[0].count, 3U);
}

TEST(TrexReader, ControlCharactersOfANameAreKept) {
  const auto recording = ReadProfile(Fixture("control_and_utf8_layers"));
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->profile.Name(recording->profile.slices.at(0)),
            "\xe7\xbc\x96\xe7\xa0\x81\xe5\x99\xa8/\xc3\xa9layer\x1e\x1f"
            "b");
  EXPECT_EQ(recording->profile.losses.Get(Loss::kJsonRepaired), 1U);
}

TEST(TrexReader, TheMetadataBesideItIsReadWhereItIs) {
  const base::TemporaryFolder folder;
  const std::string path = folder.File("run.layers.json");
  LayerProfile layers;
  layers.count = 2;
  layers.layers = {{"a", "Convolution", "jit \"avx\"", 10, 2, {}}};
  Metadata metadata;
  metadata.engine_id = "0123456789abcdef-1";
  metadata.engine = "OpenVINO";
  metadata.engine_version = "2026.4.1";
  metadata.model = "mixed.pte";
  metadata.method = "forward";
  metadata.kind = "engine_mean_since_compile";
  metadata.of = "running_mean";
  metadata.error_ns = 2000;
  metadata.notes = {"reading layers adds overhead"};
  metadata.layers = TypesOf(layers);
  ASSERT_TRUE(base::WriteFileAtomically(path, WriteProfile(layers), base::Overwrite::kRefuse));
  auto without = ReadProfile(path);
  ASSERT_TRUE(without);
  EXPECT_EQ(without->profile.tracks[0].kind, profile::Kind::kEngineReported);

  const std::string beside = folder.File("run.layers.metadata.json");
  ASSERT_EQ(MetadataPath(path), beside);
  ASSERT_TRUE(base::WriteFileAtomically(beside, WriteMetadata(metadata), base::Overwrite::kRefuse));
  auto with = ReadProfile(path);
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_EQ(with->profile.tracks[0].kind, profile::Kind::kEngineMeanSinceCompile);
  EXPECT_EQ(with->profile.tracks[0].name, "layers of OpenVINO 0123456789abcdef-1");
  EXPECT_EQ(with->engine.version, "2026.4.1");
  EXPECT_EQ(with->model.path, "mixed.pte");
  const auto sum = profile::SumNoteOf(with->profile, with->profile.slices.at(0));
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->type, "Convolution");
  EXPECT_EQ(sum->exec, "jit \"avx\"");
  EXPECT_TRUE(sum->of_running_mean);
  EXPECT_EQ(sum->error_ns, 2000);
  EXPECT_EQ(with->source.notes, metadata.notes);

  auto parsed = ParseMetadata(WriteMetadata(metadata), "x");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(WriteMetadata(*parsed), WriteMetadata(metadata));

  parsed = ParseMetadata(
      R"({"trex_metadata_version":1,"kind":"","later":[{}],"layers":[["a","b","c"],[]],})", "x");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->kind, "engine_reported");
  ASSERT_EQ(parsed->layers.size(), 2U);
  EXPECT_EQ(parsed->layers[0].exec, "b");

  auto opened = ReadProfile(beside);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().hint, "open the profile beside it: " + path);
}

TEST(TrexReader, MetadataThatCannotBeUsedIsCountedAndTheTimesAreGood) {
  const base::TemporaryFolder folder;
  const std::string path = folder.File("a.json");
  ASSERT_TRUE(base::WriteFileAtomically(path, R"([{"count":1},{"name":"a","timeMs":1}])",
                                        base::Overwrite::kRefuse));
  for (const char* text : {
           R"({"engine": 1})",                                                   // damaged
           R"({"trex_metadata_version":1,"engine":"a)",                          // cut
           R"([1])",                                                             // foreign
           R"({"engine":"of somebody else","kind":"host_wall"})",                //
           R"({"trex_metadata_version":999,"engine":"a","kind":"host_wall"})",   // later
           R"({"trex_metadata_version":"1","engine":"a","kind":"host_wall"})",   //
           R"({"trex_metadata_version":null,"engine":"a","kind":"host_wall"})",  //
       }) {
    ASSERT_TRUE(
        base::WriteFileAtomically(folder.File("a.metadata.json"), text, base::Overwrite::kForce));
    const auto recording = ReadProfile(path);
    ASSERT_TRUE(recording) << text << recording.error().message;
    EXPECT_EQ(recording->profile.losses.Get(Loss::kUnreadMetadata), 1U) << text;
    EXPECT_EQ(recording->profile.tracks[0].name, "layers") << text;
    EXPECT_EQ(recording->profile.tracks[0].kind, profile::Kind::kEngineReported) << text;
  }
}

TEST(TrexReader, TimesOfTheHostAreOnNoTrackOfAnEngine) {
  Metadata metadata;
  metadata.kind = KindName(profile::Kind::kHostWall);
  const auto parsed = ParseMetadata(WriteMetadata(metadata), "x");
  ASSERT_TRUE(parsed);
  LayerProfile layers;
  layers.count = 1;
  layers.layers = {{"x.delegate", "", "", 10, 1, {}}};
  const auto recording = RecordingOf(layers, &*parsed, "x");
  EXPECT_EQ(recording.profile.tracks[0].type, profile::TrackType::kMeasure);
  EXPECT_EQ(recording.profile.tracks[0].kind, profile::Kind::kHostWall);
  const auto sum = profile::SumNoteOf(recording.profile, recording.profile.slices.at(0));
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->kind, profile::Kind::kHostWall);
}

TEST(TrexReader, AUnitThatIsGivenIsRefused) {
  profile::ReadOptions options;
  options.input_unit_ns = 1000;
  const auto recording = ReadProfile(Fixture("f26_trt_profile"), options);
  ASSERT_FALSE(recording);
  EXPECT_EQ(recording.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace inferprobe::trex
