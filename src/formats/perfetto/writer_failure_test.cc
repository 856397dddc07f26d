// What happens when the file cannot be written: an error, and no half file.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "base/files.h"
#include "formats/perfetto/writer.h"
#include "formats/sample_profiles.h"

namespace inferprobe::perfetto {
namespace {

using profile::Profile;

// No file of this process may grow beyond `bytes`; the signal that comes with it is ignored.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  void (*old_handler_)(int);
  rlimit old_ = {};
};

Result<Writer> Open(const std::string& path, const Profile& profile) {
  auto file = base::AtomicFile::Create(path, base::Overwrite::kRefuse);
  if (!file) return tl::unexpected(file.error());
  return Writer::Create(std::move(*file), &profile);
}

std::string TempPath(const char* name) {
  return fmt::format("{}perfetto_{}_{}", testing::TempDir(), getpid(), name);
}

TEST(PerfettoWriterFailure, FullDeviceIsAnError) {
  if (!base::FileExists("/dev/full")) GTEST_SKIP() << "this machine has no /dev/full";
  const Profile profile = formats::InferenceProfile(2'000);
  auto writer = Open("/dev/full", profile);
  ASSERT_TRUE(writer.has_value()) << writer.error().message;
  const auto slices = static_cast<uint32_t>(profile.slices.size());
  const auto appended = writer->Append(0, slices, 0, 0);
  ASSERT_FALSE(appended.has_value());
  EXPECT_EQ(appended.error().code, ErrorCode::kIo);
  EXPECT_EQ(writer->Append(0, 1, 0, 0).error().message, appended.error().message);
  EXPECT_EQ(writer->Finish({}).error().message, appended.error().message);
}

TEST(PerfettoWriterFailure, FileThatMayNotGrowIsAnErrorAndGoesAway) {
  const std::string path = TempPath("limited.pftrace");
  const Profile profile = formats::InferenceProfile(2'000);
  const auto slices = static_cast<uint32_t>(profile.slices.size());
  std::optional<Error> error;
  {
    auto writer = Open(path, profile);
    ASSERT_TRUE(writer.has_value());
    const FileSizeLimit limit(100'000);
    const auto appended = writer->Append(0, slices, 0, 0);
    if (!appended) error = appended.error();
    EXPECT_FALSE(writer->Finish({}).has_value());
  }
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, ErrorCode::kIo);
  EXPECT_FALSE(base::FileExists(path));
  EXPECT_FALSE(base::FileExists(path + ".partial"));
}

TEST(PerfettoWriterFailure, UnfinishedWriterLeavesNothing) {
  const std::string path = TempPath("unfinished.pftrace");
  const Profile profile = formats::InferenceProfile(2);
  {
    auto writer = Open(path, profile);
    ASSERT_TRUE(writer.has_value());
    ASSERT_TRUE(writer->Append(0, 5, 0, 0).has_value());
    EXPECT_TRUE(base::FileExists(path + ".partial"));
  }
  EXPECT_FALSE(base::FileExists(path + ".partial"));
  EXPECT_FALSE(base::FileExists(path));
}

TEST(PerfettoWriterFailure, NoProfileIsAnError) {
  const std::string path = TempPath("none.pftrace");
  auto file = base::AtomicFile::Create(path, base::Overwrite::kRefuse);
  ASSERT_TRUE(file.has_value());
  EXPECT_FALSE(Writer::Create(std::move(*file), nullptr).has_value());
}

}  // namespace
}  // namespace inferprobe::perfetto
