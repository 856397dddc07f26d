// Broken and hostile program files: each ends in an error or in a run, never in a crash. Every try
// runs in a child process, so that a crash is a failed expectation and not the end of the tests.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <random>

#include "engines/executorch/program_tables.h"
#include "engines/executorch/test_support.h"

namespace inferprobe::executorch_engine {
namespace {

// kCrashedInRun: loading and handing over inputs went well, then a kernel met what it does not
// check: a value of another kind than it takes ("EValue is not a Tensor", an abort of
// ExecuTorch's), a stride of 0 (SIGFPE), a damaged delegate blob (XNNPACK follows it). A program
// does not say what its operators take, so no verifier can tell beforehand; `perf` reports such a
// worker's death. Of 1,000 single-byte flips in the first 4 kB, 23 ended so in vision_portable (22
// of them in that abort), 37 in text_portable, none in the two that XNNPACK runs; none of 29,000
// crashed in loading.
enum class Ending : uint8_t { kError, kRan, kCrashedInRun, kCrashed };
constexpr const char* kNowItRuns = "now it runs";

// Loads the program in `bytes` and, if that succeeds, runs it once.
Ending TryInChild(const std::string& bytes, const std::vector<std::string>& data = {}) {
  const std::string path = testing::TempDir() + "/hostile." + std::to_string(getpid()) + ".pte";
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  const std::string said = path + ".stderr";
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen(said.c_str(), "w", stderr) == nullptr) _exit(9);
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(20);  // an endless loop is a crash, too
    measure::LoadOptions options = Options(path, "forward", data);
    auto engine = ExecutorchEngine::Load(options);
    if (!engine) {
      // What is wrong must be said.
      _exit(engine.error().message.empty() ? 9 : 1);
    }
    (void)(*engine)->model();
    (void)(*engine)->bundled_cases();
    auto inputs = measure::ResolveInputs((*engine)->inputs(), {});
    if (!inputs || !(*engine)->SetInputs(inputs->tensors)) _exit(1);
    std::fputs(kNowItRuns, stderr);
    std::fflush(stderr);
    if (!(*engine)->Run(false)) _exit(1);
    (void)(*engine)->Outputs(false);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const std::string last_words = base::ReadFile(said).value_or("");
  std::filesystem::remove(path);
  std::filesystem::remove(said);
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
    if (last_words.starts_with(kNowItRuns)) return Ending::kCrashedInRun;
    std::cerr << last_words << "\n";
    return Ending::kCrashed;
  }
  return WEXITSTATUS(status) == 0 ? Ending::kRan : Ending::kError;
}

class Hostile : public testing::TestWithParam<std::string> {
 protected:
  std::string bytes_ = *base::ReadFile(GetParam());
};

TEST_P(Hostile, UnchangedRuns) { EXPECT_EQ(TryInChild(bytes_), Ending::kRan); }

TEST_P(Hostile, TruncatedIsAnError) {
  // Every length of the header, then steps through the rest, and the last bytes.
  std::vector<size_t> lengths;
  for (size_t i = 0; i < 64; ++i) lengths.push_back(i);
  for (size_t i = 1; i < 128; ++i) lengths.push_back(64 + (bytes_.size() - 64) * i / 128);
  for (size_t i = 1; i < 10; ++i) lengths.push_back(bytes_.size() - i);
  for (const size_t length : lengths) {
    EXPECT_EQ(TryInChild(bytes_.substr(0, length)), Ending::kError) << length;
  }
}

TEST_P(Hostile, FlippedIsAnErrorOrIsRun) {
  std::mt19937 random(20261101);
  int crashed_in_run = 0;
  const size_t range = std::min<size_t>(bytes_.size(), 4096);
  for (int i = 0; i < 300; ++i) {
    const size_t at = random() % range;
    const auto flip = static_cast<char>(1 + random() % 255);
    std::string flipped = bytes_;
    flipped[at] = static_cast<char>(flipped[at] ^ flip);
    const Ending ending = TryInChild(flipped);
    EXPECT_NE(ending, Ending::kCrashed)
        << "byte " << at << " ^ " << static_cast<int>(static_cast<unsigned char>(flip));
    if (ending == Ending::kCrashedInRun) ++crashed_in_run;
  }
  EXPECT_LE(crashed_in_run, 30) << "far more than the 2 to 4 % that were seen";
}

// Sparse: it takes no room on the disk, and would take hours to hash.
TEST_P(Hostile, TooLargeIsAnErrorAndIsNotRead) {
  const std::string path = testing::TempDir() + "/sparse." + std::to_string(getpid()) + ".pte";
  for (const uint64_t bytes : {uint64_t{3} << 30, uint64_t{1} << 40}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes_;
    std::error_code too_large;  // for this file system
    std::filesystem::resize_file(path, bytes, too_large);
    if (too_large) continue;
    const auto engine = ExecutorchEngine::Load(Options(path));
    ASSERT_FALSE(engine);
    EXPECT_NE(engine.error().message.find("bytes"), std::string::npos) << engine.error().message;
  }
  std::filesystem::remove(path);
}

// The same of a data file, and headers that tell of more than is there.
TEST(HostileData, TooLargeIsAnErrorAndIsNotRead) {
  const std::string good = *base::ReadFile(Fixture("external_first.ptd"));
  const std::string path = testing::TempDir() + "/sparse." + std::to_string(getpid()) + ".ptd";
  const auto error = [&] {
    const auto verified = VerifyDataFile(path);
    return verified ? std::string("no error") : verified.error().message;
  };
  std::ofstream(path, std::ios::binary | std::ios::trunc) << good;
  EXPECT_EQ(error(), "no error");
  struct Size {
    uint64_t bytes;
    const char* says;
  };
  for (const Size& it :
       {Size{good.size() + 4096, "no error"}, Size{uint64_t{2} << 20, "the data ends here"},
        Size{uint64_t{3} << 30, "the data ends here"},
        Size{uint64_t{1} << 40, "bytes of memory"}}) {
    std::error_code too_large;  // for this file system
    std::filesystem::resize_file(path, it.bytes, too_large);
    if (too_large) continue;
    EXPECT_NE(error().find(it.says), std::string::npos) << error();
  }
  // Offset and size of the tables, then of the data: 8 bytes each, from byte 16.
  for (const size_t at : {16U, 24U, 32U, 40U}) {
    std::string damaged = good;
    damaged.replace(at, 8, "\xF0\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
    EXPECT_NE(error().find("the file ends early"), std::string::npos) << at << ": " << error();
  }
  // Without a header the tables are all there is.
  std::string bare = good;
  bare.replace(8, 4, "none");
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bare;
  std::error_code too_large;
  std::filesystem::resize_file(path, uint64_t{3} << 30, too_large);
  if (!too_large) {
    EXPECT_NE(error().find("no flatbuffer has more"), std::string::npos) << error();
  }
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Each, Hostile,
                         testing::Values(Sample("vision_portable.pte"),
                                         Sample("vision_xnnpack.pte"),
                                         Sample("vision_xnnpack.bpte"), Fixture("types.pte")),
                         [](const auto& program) {
                           std::string name = std::filesystem::path(program.param).filename();
                           name[name.find('.')] = '_';
                           return name;
                         });

}  // namespace
}  // namespace inferprobe::executorch_engine
