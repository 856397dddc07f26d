#include "inferprobe/recorder.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/shared_memory.h"
#include "base/temporary_folder.h"
#include "inferprobe/scope.h"
#include "record/block_reader.h"
#include "record/calibrate.h"
#include "record/shared_block.h"

namespace inferprobe {
namespace {

const RecorderOptions kSmall = {.events_per_thread = 64, .max_threads = 4, .name_bytes = 65536};

// Runs `body` in a forked child; its exit code.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(Recorder, OnlyOneAtATime) {
  Result<Recorder> first = Recorder::Start(kSmall);
  ASSERT_TRUE(first);
  Result<Recorder> second = Recorder::Start(kSmall);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kAlreadyExists);
  first->Stop();
  first->Stop();  // harmless
  EXPECT_TRUE(Recorder::Start(kSmall));
}

uint64_t PresentPages(const Recorder& recorder) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> present(recorder.memory_bytes() / page + 1);
  EXPECT_EQ(mincore(const_cast<void*>(recorder.memory()), recorder.memory_bytes(), present.data()),
            0);
  return static_cast<uint64_t>(
      std::count_if(present.begin(), present.end(), [](unsigned char c) { return (c & 1) != 0; }));
}

TEST(Recorder, AThreadTakesAsMuchMemoryAsIsSaid) {
  constexpr uint32_t kEvents = 1 << 16;
  constexpr uint64_t kRing = uint64_t{kEvents} * sizeof(record::Cell);
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  struct Case {
    const char* name;
    uint32_t present_bytes;
    uint64_t pages;
  };
  for (const Case& c :
       {Case{"all", 0, kRing / page}, Case{"16 pages", 16U * 4096, 16U * 4096 / page},
        Case{"more than there is", 1U << 30, kRing / page}}) {
    SCOPED_TRACE(c.name);
    Result<Recorder> recorder = Recorder::Start({.events_per_thread = kEvents,
                                                 .max_threads = 4,
                                                 .present_bytes_per_thread = c.present_bytes});
    ASSERT_TRUE(recorder);
    const uint64_t before = PresentPages(*recorder);
    for (int i = 0; i < 8; ++i) {
      INFERPROBE_SCOPE("few");
    }
    EXPECT_EQ(PresentPages(*recorder) - before, c.pages);
    // What is beyond comes when it is needed.
    for (uint32_t i = 8; i < kEvents; ++i) {
      INFERPROBE_SCOPE("many");
    }
    EXPECT_EQ(PresentPages(*recorder) - before, kRing / page);
    const DrainedScopes drained = recorder->Drain();
    EXPECT_EQ(drained.scopes.size(), kEvents);
    EXPECT_EQ(drained.dropped, 0U);
  }
}

TEST(Recorder, OfAFileAThreadsRingIsPresentWhole) {
  const base::TemporaryFolder folder;
  Result<Recorder> recorder = Recorder::Start({.file = folder.path() + "/rings",
                                               .events_per_thread = 1 << 16,
                                               .max_threads = 1,
                                               .present_bytes_per_thread = 4096});
  ASSERT_TRUE(recorder);
  {
    INFERPROBE_SCOPE("one");
  }
  struct stat info{};
  ASSERT_EQ(stat((folder.path() + "/rings").c_str(), &info), 0);
  EXPECT_GE(info.st_blocks * 512, int64_t{1} << 21);  // on disk, where a hole would be a SIGBUS
}

TEST(Recorder, AStoppedOneGivesNothing) {
  Result<Recorder> recorder = Recorder::Start(kSmall);
  {
    INFERPROBE_SCOPE("lost");
  }
  recorder->Stop();
  EXPECT_TRUE(recorder->Drain().scopes.empty());
  EXPECT_EQ(recorder->memory(), nullptr);
  EXPECT_EQ(recorder->memory_bytes(), 0U);
}

TEST(Recorder, RefusesSizesThatCannotBe) {
  for (const RecorderOptions& options :
       {RecorderOptions{.max_threads = 0}, RecorderOptions{.max_threads = 5000},
        RecorderOptions{.events_per_thread = UINT32_MAX, .max_threads = 4096}}) {
    Result<Recorder> recorder = Recorder::Start(options);
    ASSERT_FALSE(recorder);
    EXPECT_EQ(recorder.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Recorder, MovesAndReplaces) {
  Result<Recorder> first = Recorder::Start(kSmall);
  Recorder moved = *std::move(first);
  {
    INFERPROBE_SCOPE("after the move");
  }
  EXPECT_EQ(moved.Drain().scopes.size(), 1U);
  moved.Stop();
  Result<Recorder> next = Recorder::Start(kSmall);
  moved = *std::move(next);
  {
    INFERPROBE_SCOPE("in the next");
  }
  EXPECT_EQ(moved.Drain().scopes.size(), 1U);
}

TEST(Recorder, FileIsNotOverwritten) {
  const std::string path = testing::TempDir() + "inferprobe_exists.ring";
  std::filesystem::remove(path);
  RecorderOptions options = kSmall;
  options.file = path;
  {
    ASSERT_TRUE(Recorder::Start(options));
  }
  Result<Recorder> again = Recorder::Start(options);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
  EXPECT_NE(again.error().message.find(path), std::string::npos);
  options.file = testing::TempDir() + "no_such_folder/x.ring";
  EXPECT_EQ(Recorder::Start(options).error().code, ErrorCode::kNotFound);
  std::filesystem::remove(path);
}

TEST(Recorder, SharedMemoryMustBeLargeEnough) {
  Result<base::SharedMemory> memory = base::SharedMemory::Create(4096);
  RecorderOptions options = kSmall;
  options.shared_fd = memory->fd();
  Result<Recorder> recorder = Recorder::Start(options);
  ASSERT_FALSE(recorder);
  EXPECT_EQ(recorder.error().code, ErrorCode::kInvalidArgument);
}

TEST(Recorder, SharedMemoryIsReadByTheOtherSide) {
  Result<base::SharedMemory> memory = base::SharedMemory::Create(*record::BlockBytes(kSmall));
  RecorderOptions options = kSmall;
  options.shared_fd = memory->fd();
  options.run_id = "0123456789abcdef0123456789abcdef";
  options.process_name = "a worker";
  Result<Recorder> recorder = Recorder::Start(options);
  ASSERT_TRUE(recorder) << recorder.error().message;
  {
    INFERPROBE_SCOPE("seen there");
  }
  Result<record::BlockReader> reader =
      record::BlockReader::Open({static_cast<const std::byte*>(memory->data()), memory->size()},
                                "shared", record::BlockReader::Access::kConsume);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->facts().run_id, options.run_id);
  EXPECT_EQ(reader->facts().process_name, "a worker");
  EXPECT_EQ(reader->facts().pid, getpid());
  EXPECT_GT(reader->facts().event_ns, 0);
  EXPECT_EQ(reader->facts().tick_ns, record::CalibratedCosts().tick_ns);
  const record::BlockReader::Cells cells = reader->Unread(0);
  ASSERT_EQ(cells.end - cells.begin, 1U);
  EXPECT_EQ(reader->Name(cells.At(cells.begin).name), "seen there");
}

TEST(Recorder, NamesThatDoNotFitAreCountedAndLaterOnesStillCome) {
  RecorderOptions options = kSmall;
  options.name_bytes = 1 << 20;
  Result<Recorder> recorder = Recorder::Start(options);
  const std::string huge(size_t{1} << 20, 'x');
  const uint32_t lost = internal::RegisterName(huge.c_str());
  const uint32_t small = internal::RegisterName("small enough");
  Result<record::BlockReader> reader = record::BlockReader::Open(
      {static_cast<const std::byte*>(recorder->memory()), recorder->memory_bytes()}, "names",
      record::BlockReader::Access::kReadOnly);
  EXPECT_EQ(reader->Name(lost), std::nullopt);
  EXPECT_EQ(reader->Name(small), "small enough");
  EXPECT_EQ(reader->Name(0), "");
  EXPECT_EQ(reader->Name(small + 1000), std::nullopt);
  EXPECT_EQ(reader->NamesLost(), 1U);
}

// Threads record without a pause while recorders come and go. What this shows is that nothing
// crashes, that ThreadSanitizer sees no race, and that a recorder only ever holds its own events.
TEST(Recorder, StartsAndStopsWhileThreadsRecord) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      static constinit Site phase("phase");
      while (!stop.load()) {
        INFERPROBE_SCOPE("outer");
        Chain chain(phase);
        {
          INFERPROBE_SCOPE("inner");
        }
        chain.Next(phase);
        INFERPROBE_COUNTER("count", 1);
      }
    });
  }
  uint64_t seen = 0;
  for (int round = 0; round < 50; ++round) {
    Result<Recorder> recorder = Recorder::Start({.events_per_thread = 64, .max_threads = 8});
    ASSERT_TRUE(recorder);
    for (int i = 0; i < 3; ++i) {
      std::this_thread::yield();
      for (const RecordedScope& scope : recorder->Drain().scopes) {
        ASSERT_TRUE(scope.name == "outer" || scope.name == "inner" || scope.name == "phase");
        ASSERT_GE(scope.dur_ns, 0);
        ++seen;
      }
    }
  }
  // On a busy machine the threads may not have run in those rounds.
  Result<Recorder> recorder = Recorder::Start({.events_per_thread = 64, .max_threads = 8});
  while (seen == 0) seen += recorder->Drain().scopes.size();
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(Recorder, AScopeMayOutliveItsRecorder) {
  std::optional<Recorder> first(*Recorder::Start(kSmall));
  std::optional<Recorder> second;
  {
    INFERPROBE_SCOPE("of the first");
    first.reset();
    second.emplace(*Recorder::Start(kSmall));
    {
      INFERPROBE_SCOPE("of the second");
    }
  }
  const auto scopes = second->Drain().scopes;
  ASSERT_EQ(scopes.size(), 1U);
  EXPECT_EQ(scopes[0].name, "of the second");
  EXPECT_EQ(scopes[0].parent, 0U);
}

TEST(Recorder, ScopesInDestructorsOfEndingThreadsDoNotRecord) {
  struct Late {
    ~Late() { INFERPROBE_SCOPE("late"); }
  };
  Result<Recorder> recorder = Recorder::Start(kSmall);
  std::thread([] {
    thread_local Late late;  // made first, so destroyed last
    static_cast<void>(&late);
    INFERPROBE_SCOPE("in time");
  }).join();
  const auto scopes = recorder->Drain().scopes;
  ASSERT_EQ(scopes.size(), 1U);
  EXPECT_EQ(scopes[0].name, "in time");
}

TEST(Fork, TheChildDoesNotWriteIntoTheParentsRings) {
  Result<base::SharedMemory> memory = base::SharedMemory::Create(*record::BlockBytes(kSmall));
  RecorderOptions options = kSmall;
  options.shared_fd = memory->fd();
  Result<Recorder> recorder = Recorder::Start(options);
  {
    INFERPROBE_SCOPE("parent");
    EXPECT_EQ(InChild([&] {
                if (Recording()) return 1;
                {
                  INFERPROBE_SCOPE("child");
                }
                if (!recorder->Drain().scopes.empty()) return 2;
                // One of its own works, inside the scope that it inherited open.
                Result<Recorder> own = Recorder::Start(kSmall);
                if (!own) return 3;
                {
                  INFERPROBE_SCOPE("child's own");
                }
                const auto scopes = own->Drain().scopes;
                return scopes.size() == 1 && scopes[0].name == "child's own" ? 0 : 4;
              }),
              0);
    EXPECT_EQ(InChild([&] {
                recorder->Stop();  // of the parent's recorder: no concern of the child
                return 0;
              }),
              0);
  }
  EXPECT_TRUE(Recording());
  const auto scopes = recorder->Drain().scopes;
  ASSERT_EQ(scopes.size(), 1U);
  EXPECT_EQ(scopes[0].name, "parent");
}

TEST(Fork, TheChildEndsAnInheritedScopeIntoNothing) {
  Result<base::SharedMemory> memory = base::SharedMemory::Create(*record::BlockBytes(kSmall));
  RecorderOptions options = kSmall;
  options.shared_fd = memory->fd();
  Result<Recorder> recorder = Recorder::Start(options);
  pid_t child = 0;
  size_t before_the_parents_end = 1;
  {
    INFERPROBE_SCOPE("open at the fork");
    child = fork();
    if (child != 0) {
      waitpid(child, nullptr, 0);
      before_the_parents_end = recorder->Drain().scopes.size();
    }
  }  // ends in both, first in the child
  if (child == 0) _exit(0);
  EXPECT_EQ(before_the_parents_end, 0U);
  EXPECT_EQ(recorder->Drain().scopes.size(), 1U);
  {
    INFERPROBE_SCOPE("and goes on");
  }
  EXPECT_EQ(recorder->Drain().scopes.size(), 1U);
}

}  // namespace
}  // namespace inferprobe
