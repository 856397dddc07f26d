#include "report/perf_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "formats/result_json/result_samples.h"

namespace inferprobe::report {
namespace {

// Compares with tests/golden/report/<name>; INFERPROBE_UPDATE_GOLDEN=1 writes it instead.
void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = INFERPROBE_SOURCE_DIR "/tests/golden/report/" + name;
  if (std::getenv("INFERPROBE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ostringstream expected;
  expected << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(text, expected.str()) << path << ": INFERPROBE_UPDATE_GOLDEN=1 accepts the new text";
}

const profile::PerfResult& Sample(const std::string& name) {
  return result_json::GetResultSample(name);
}

TEST(PerfText, LooksAsItDid) {
  for (const char* name : {"typical", "everything_missing", "one_sample", "hostile_names", "crash",
                           "extremes", "many_rows"}) {
    ExpectGolden(std::string(name) + ".txt", PerfText(Sample(name), {}));
  }
}

TEST(PerfText, AllRowsLooksAsItDid) {
  ExpectGolden("typical_all.txt", PerfText(Sample("typical"), {.all_rows = true}));
}

TEST(PerfReport, OtherFormatsLookAsTheyDid) {
  ExpectGolden("typical.csv", PerfReport(Sample("typical"), Format::kCsv, {}));
  ExpectGolden("typical.md", PerfReport(Sample("typical"), Format::kMarkdown, {}));
  ExpectGolden("typical.json", PerfReport(Sample("typical"), Format::kJson, {}));
  ExpectGolden("hostile_names.csv", PerfReport(Sample("hostile_names"), Format::kCsv, {}));
}

TEST(PerfText, NoNameReachesTheTerminalRaw) {
  const std::string text = PerfText(Sample("hostile_names"), {});
  EXPECT_EQ(base::CountInvalidUtf8(text), 0U);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);  // right-to-left override
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(PerfText, ColourIsOnlyThereWhenAskedFor) {
  EXPECT_EQ(PerfText(Sample("crash"), {}).find('\x1b'), std::string::npos);
  EXPECT_NE(PerfText(Sample("crash"), {.color = true}).find("\x1b[33m"), std::string::npos);
}

TEST(PerfText, FoldingHidesNoTime) {
  const std::string text = PerfText(Sample("many_rows"), {});
  EXPECT_NE(text.find("smaller rows: --all"), std::string::npos);
  EXPECT_NE(text.find("between instructions"), std::string::npos);
  EXPECT_NE(text.find("unattributed"), std::string::npos);
  const std::string all = PerfText(Sample("many_rows"), {.all_rows = true});
  EXPECT_EQ(all.find("--all"), std::string::npos);
  EXPECT_GT(std::count(all.begin(), all.end(), '\n'), 600);
}

TEST(PerfText, KindsDoNotShareATable) {
  const std::string text = PerfText(Sample("typical"), {});
  const size_t host = text.find("where the time goes (host wall");
  const size_t engine = text.find("(engine-reported, whole us");
  ASSERT_NE(host, std::string::npos);
  ASSERT_NE(engine, std::string::npos);
  EXPECT_EQ(text.substr(host, engine - host).find("Convolution"), std::string::npos);
}

}  // namespace
}  // namespace inferprobe::report
