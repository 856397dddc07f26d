// kill -9 at any moment: what was published is there.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/shared_memory.h"
#include "inferprobe/recorder.h"
#include "record/block_reader.h"
#include "record/ring_writer.h"
#include "record/shared_block.h"

namespace inferprobe::record {
namespace {

constexpr uint32_t kEvents = 1 << 14;

// Publishes cells that are numbered from 1, and tells after each how many there are by now.
[[noreturn]] void PublishUntilKilled(const RecorderOptions& options, int ready,
                                     std::atomic<uint64_t>* published) {
  Result<Recorder> recorder = Recorder::Start(options);
  ThreadRing* ring = recorder ? AttachThread() : nullptr;
  const char answer = ring != nullptr ? 'y' : 'n';
  if (write(ready, &answer, 1) != 1 || ring == nullptr) _exit(1);
  const uint32_t name = InternName("numbered");
  for (uint64_t number = 1;; ++number) {
    if (!Publish(ring, {number, number + 1, name, static_cast<uint32_t>(number), 0,
                        PackInfo(CellType::kKernel, 0)})) {
      std::this_thread::yield();
      --number;
      continue;
    }
    published->store(number, std::memory_order_release);
  }
}

// Forks the publisher, waits until it runs, kills it after about `us`.
void RunAndKill(const RecorderOptions& options, std::atomic<uint64_t>* published, unsigned us) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) PublishUntilKilled(options, ready[1], published);
  close(ready[1]);
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  close(ready[0]);
  while (published->load() == 0) std::this_thread::yield();
  usleep(us);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(Survival, KilledWorkersPublishedEventsAreAllThere) {
  const RecorderOptions sizes = {.events_per_thread = kEvents, .max_threads = 2};
  Result<base::SharedMemory> counter = base::SharedMemory::Create(4096);
  auto* published = new (counter->data()) std::atomic<uint64_t>{0};
  for (unsigned round = 0; round < 20; ++round) {
    Result<base::SharedMemory> memory = base::SharedMemory::Create(*BlockBytes(sizes));
    RecorderOptions options = sizes;
    options.shared_fd = memory->fd();
    published->store(0);
    RunAndKill(options, published, round * 37 % 400);
    if (HasFatalFailure()) return;

    Result<BlockReader> reader =
        BlockReader::Open({static_cast<const std::byte*>(memory->data()), memory->size()}, "killed",
                          BlockReader::Access::kConsume);
    ASSERT_TRUE(reader) << reader.error().message;
    const BlockReader::Cells cells = reader->Unread(0);
    ASSERT_FALSE(cells.damaged);
    const uint64_t found = cells.end - cells.begin;
    // It may have died between publishing one and telling so.
    EXPECT_GE(found, published->load());
    EXPECT_LE(found, published->load() + 1);
    for (uint64_t at = cells.begin; at != cells.end; ++at) {
      const Cell cell = cells.At(at);
      ASSERT_EQ(cell.start, at + 1);
      ASSERT_EQ(cell.end, at + 2);
      ASSERT_EQ(reader->Name(cell.name), "numbered");
    }
  }
}

TEST(Survival, MappedFileOfAKilledProcess) {
  const std::string path = testing::TempDir() + "inferprobe_killed.ring";
  std::filesystem::remove(path);
  Result<base::SharedMemory> counter = base::SharedMemory::Create(4096);
  auto* published = new (counter->data()) std::atomic<uint64_t>{0};
  RunAndKill({.file = path, .events_per_thread = kEvents, .max_threads = 2}, published, 100);
  Result<base::MappedFile> file = base::MappedFile::Open(path);
  ASSERT_TRUE(file) << file.error().message;
  Result<BlockReader> reader =
      BlockReader::Open(std::as_bytes(std::span(file->bytes().data(), file->bytes().size())), path,
                        BlockReader::Access::kReadOnly);
  ASSERT_TRUE(reader) << reader.error().message;
  const BlockReader::Cells cells = reader->Unread(0);
  EXPECT_GE(cells.end, published->load());
  for (uint64_t at = cells.begin; at != cells.end; ++at) ASSERT_EQ(cells.At(at).start, at + 1);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace inferprobe::record
