#include "base/shrinking_files.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/temporary_folder.h"

namespace inferprobe::base {
namespace {

constexpr size_t kPage = 4096;

// A file of three pages and some bytes, all 'x'.
class ShrinkingFiles : public testing::Test {
 protected:
  ShrinkingFiles() : path_(folder_.File("f")) {
    std::ofstream(path_) << std::string(3 * kPage + 100, 'x');
  }

  MappedFile Map() const {
    auto file = MappedFile::Open(path_);
    EXPECT_TRUE(file) << file.error().message;
    return *std::move(file);
  }
  void CutTo(size_t bytes) const {
    ASSERT_EQ(truncate(path_.c_str(), static_cast<off_t>(bytes)), 0);
  }

  TemporaryFolder folder_;
  std::string path_;
};

size_t Count(std::string_view bytes, char byte) {
  return static_cast<size_t>(std::count(bytes.begin(), bytes.end(), byte));
}

TEST_F(ShrinkingFiles, AFileThatStaysIsWhole) {
  const MappedFile file = Map();
  EXPECT_EQ(Count(file.bytes(), 'x'), 3 * kPage + 100);
  EXPECT_TRUE(file.Whole());
}

TEST_F(ShrinkingFiles, AFileThatGrowsIsWhole) {
  const MappedFile file = Map();
  std::ofstream(path_, std::ios::app) << std::string(5 * kPage, 'y');
  EXPECT_EQ(Count(file.bytes(), 'x'), file.bytes().size());
  EXPECT_TRUE(file.Whole());
}

struct Cut {
  size_t to;
  size_t read;  // bytes that are still there
};

TEST_F(ShrinkingFiles, WhatIsGoneIsZerosAndAnError) {
  for (const Cut& cut : {Cut{0, 0}, Cut{10, 10}, Cut{kPage, kPage},
                         Cut{2 * kPage + 1, 2 * kPage + 1}, Cut{3 * kPage + 99, 3 * kPage + 99}}) {
    std::ofstream(path_) << std::string(3 * kPage + 100, 'x');
    const MappedFile file = Map();
    CutTo(cut.to);
    EXPECT_EQ(Count(file.bytes(), 'x'), cut.read);
    EXPECT_EQ(Count(file.bytes(), '\0'), file.bytes().size() - cut.read);
    const auto whole = file.Whole();
    ASSERT_FALSE(whole) << cut.to;
    EXPECT_EQ(whole.error().code, ErrorCode::kIo);
    EXPECT_EQ(whole.error().message,
              path_ + ": became shorter while it was read (byte " + std::to_string(cut.to) + ")");
    EXPECT_FALSE(whole.error().hint.empty());
  }
}

TEST_F(ShrinkingFiles, AFileThatWasShorterForATimeIsAnError) {
  const MappedFile file = Map();
  CutTo(kPage);
  EXPECT_EQ(file.bytes()[2 * kPage], '\0');
  CutTo(3 * kPage + 100);
  const auto whole = file.Whole();
  ASSERT_FALSE(whole);
  EXPECT_NE(whole.error().message.find("could not be read (byte 8192)"), std::string::npos)
      << whole.error().message;
}

TEST_F(ShrinkingFiles, EachFileHasItsOwnNote) {
  const std::string other_path = folder_.File("other");
  std::ofstream(other_path) << std::string(2 * kPage, 'x');
  const auto other = MappedFile::Open(other_path);
  ASSERT_TRUE(other);
  const MappedFile file = Map();
  MappedFile moved = Map();
  CutTo(0);
  EXPECT_EQ(Count(file.bytes(), 'x'), 0U);
  EXPECT_EQ(Count(other->bytes(), 'x'), 2 * kPage);
  EXPECT_FALSE(file.Whole());
  EXPECT_TRUE(other->Whole());
  const MappedFile to = std::move(moved);
  EXPECT_EQ(Count(to.bytes(), 'x'), 0U);
  EXPECT_FALSE(to.Whole());
}

TEST_F(ShrinkingFiles, APlaceThatWasGivenBackTakesNoNoteAlong) {
  {
    const MappedFile file = Map();
    CutTo(0);
    EXPECT_EQ(file.bytes()[kPage], '\0');
  }
  std::ofstream(path_) << "short";
  EXPECT_TRUE(Map().Whole());
}

TEST_F(ShrinkingFiles, AnyThreadMayRead) {
  std::vector<std::thread> threads;
  const MappedFile file = Map();
  CutTo(kPage);
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(Count(file.bytes(), 'x'), kPage); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(file.Whole());
}

// Faults that are none of ours, in a new process (the handler is installed once in each).
struct OtherFault {
  const char* what;
  void (*before)();  // what the host program does, before it opens a file
  void (*fault)();
  testing::ExitedWithCode exit;
  int signal;  // instead of an exit; 0: none
};

// A read of a mapping that nobody guards.
void Fault() {
  const int fd = memfd_create("unguarded", MFD_CLOEXEC);
  const auto* bytes =
      static_cast<const volatile char*>(mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, fd, 0));
  static_cast<void>(bytes[0]);
}

void Raise() { std::raise(SIGBUS); }

void ExitWith42(int) { _exit(42); }
void ExitWith43(int, siginfo_t* info, void*) {
  _exit(info->si_code == BUS_ADRERR && info->si_addr != nullptr ? 43 : 1);
}

void Handle42() { std::signal(SIGBUS, ExitWith42); }
void Handle43() {
  struct sigaction action = {};
  action.sa_sigaction = ExitWith43;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}
void Default() { std::signal(SIGBUS, SIG_DFL); }  // a sanitizer has its own
void Ignore() { std::signal(SIGBUS, SIG_IGN); }

[[noreturn]] void RunChild(const OtherFault& it) {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  it.before();
  const auto guarded = MappedFile::Open("/proc/self/exe");
  it.fault();
  _exit(guarded ? 100 : 101);
}

TEST(OtherFaults, GoToWhoeverHandledThemBefore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const OtherFault cases[] = {
      {"a handler", Handle42, Fault, testing::ExitedWithCode(42), 0},
      {"a handler that wants facts", Handle43, Fault, testing::ExitedWithCode(43), 0},
      {"none", Default, Fault, testing::ExitedWithCode(0), SIGBUS},
      {"none, and the signal is sent", Default, Raise, testing::ExitedWithCode(0), SIGBUS},
      {"a fault cannot be ignored", Ignore, Fault, testing::ExitedWithCode(0), SIGBUS},
      {"what is sent can", Ignore, Raise, testing::ExitedWithCode(100), 0},
  };
  for (const OtherFault& it : cases) {
    SCOPED_TRACE(it.what);
    if (it.signal != 0) {
      EXPECT_EXIT(RunChild(it), testing::KilledBySignal(it.signal), "");
    } else {
      EXPECT_EXIT(RunChild(it), it.exit, "");
    }
  }
}

}  // namespace
}  // namespace inferprobe::base
