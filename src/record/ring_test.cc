#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "base/thread_identity.h"
#include "inferprobe/recorder.h"
#include "inferprobe/scope.h"
#include "record/block_reader.h"
#include "record/ring_writer.h"

namespace inferprobe::record {
namespace {

Recorder StartRecorder(const RecorderOptions& options) {
  Result<Recorder> recorder = Recorder::Start(options);
  EXPECT_TRUE(recorder) << recorder.error().message;
  return *std::move(recorder);
}

BlockReader ReaderOf(const Recorder& recorder) {
  Result<BlockReader> reader =
      BlockReader::Open({static_cast<const std::byte*>(recorder.memory()), recorder.memory_bytes()},
                        "test", BlockReader::Access::kConsume);
  EXPECT_TRUE(reader) << reader.error().message;
  return *std::move(reader);
}

Cell Numbered(uint64_t number) {
  return {
      number + 1, number + 2, 0, static_cast<uint32_t>(number), 0, PackInfo(CellType::kKernel, 7)};
}

// The starts of the cells that a ring holds; consumes them.
std::vector<uint64_t> Take(BlockReader& reader, uint32_t ring) {
  std::vector<uint64_t> starts;
  const BlockReader::Cells cells = reader.Unread(ring);
  for (uint64_t at = cells.begin; at != cells.end; ++at) starts.push_back(cells.At(at).start);
  reader.Consume(ring, cells.end);
  return starts;
}

TEST(Ring, IsNullWhileNothingRecords) { EXPECT_EQ(AttachThread(), nullptr); }

TEST(Ring, WrapsAround) {
  Recorder recorder = StartRecorder({.events_per_thread = 8, .max_threads = 1});
  BlockReader reader = ReaderOf(recorder);
  ThreadRing* ring = AttachThread();
  uint64_t number = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<uint64_t> expected;
    for (int i = 0; i < 5; ++i, ++number) {  // 5 and 8: every position is a first and a last one
      EXPECT_TRUE(Publish(ring, Numbered(number)));
      expected.push_back(number + 1);
    }
    EXPECT_EQ(Take(reader, 0), expected);
  }
  EXPECT_EQ(reader.Dropped(0), 0U);
}

TEST(Ring, FullDropsTheNewestAndCountsExactly) {
  Recorder recorder = StartRecorder({.events_per_thread = 8, .max_threads = 1});
  BlockReader reader = ReaderOf(recorder);
  ThreadRing* ring = AttachThread();
  for (uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(Publish(ring, Numbered(i)));
  for (uint64_t i = 8; i < 21; ++i) EXPECT_FALSE(Publish(ring, Numbered(i)));
  EXPECT_EQ(reader.Dropped(0), 13U);
  EXPECT_EQ(Take(reader, 0), (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_TRUE(Publish(ring, Numbered(100)));  // there is room again
  EXPECT_EQ(Take(reader, 0), (std::vector<uint64_t>{101}));
  EXPECT_EQ(reader.Dropped(0), 13U);
}

TEST(Ring, CapacityIsRoundedUp) {
  Recorder recorder = StartRecorder({.events_per_thread = 9, .max_threads = 1});
  EXPECT_EQ(ReaderOf(recorder).facts().ring_capacity, 16U);
}

TEST(Ring, AGroupIsAllOrNothing) {
  Recorder recorder = StartRecorder({.events_per_thread = 8, .max_threads = 1});
  BlockReader reader = ReaderOf(recorder);
  ThreadRing* ring = AttachThread();
  std::array<Cell, 3> group{Numbered(0), Numbered(1), Numbered(2)};
  EXPECT_TRUE(PublishGroup(ring, group));
  EXPECT_TRUE(PublishGroup(ring, group));
  EXPECT_FALSE(PublishGroup(ring, group));  // two places left
  EXPECT_EQ(reader.Dropped(0), 3U);
  EXPECT_TRUE(Publish(ring, Numbered(3)));  // which still serve for smaller ones
  EXPECT_TRUE(Publish(ring, Numbered(4)));
  EXPECT_FALSE(Publish(ring, Numbered(5)));
  EXPECT_EQ(reader.Dropped(0), 4U);
  EXPECT_EQ(Take(reader, 0).size(), 8U);
  const std::vector<Cell> too_big(9, Numbered(0));
  EXPECT_FALSE(PublishGroup(ring, too_big));  // never fits
  EXPECT_EQ(reader.Dropped(0), 13U);
}

TEST(Ring, AReadersNonsenseDoesNotMakeRoom) {
  Recorder recorder = StartRecorder({.events_per_thread = 8, .max_threads = 1});
  ThreadRing* ring = AttachThread();
  for (uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(Publish(ring, Numbered(i)));
  auto* header = reinterpret_cast<RingHeader*>(
      static_cast<std::byte*>(const_cast<void*>(recorder.memory())) + sizeof(Header));
  header->tail.store(1000);  // beyond what was published
  EXPECT_FALSE(Publish(ring, Numbered(8)));
  header->tail.store(3);
  EXPECT_TRUE(Publish(ring, Numbered(8)));
}

TEST(Ring, EightThreadsWhileAnotherReads) {
  constexpr int kThreads = 8;
  constexpr uint64_t kEach = 20'000;
  Recorder recorder = StartRecorder({.events_per_thread = 256, .max_threads = kThreads});
  BlockReader reader = ReaderOf(recorder);
  std::atomic<int> running{kThreads};
  std::atomic<uint64_t> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      ThreadRing* ring = AttachThread();
      for (uint64_t i = 0; i < kEach; ++i) {
        if (!Publish(ring, Numbered(i))) refused.fetch_add(1);
      }
      running.fetch_sub(1);
    });
  }
  std::map<int64_t, uint64_t> last_by_tid;
  uint64_t read = 0;
  const auto drain = [&] {
    for (uint32_t r = 0; r < kThreads; ++r) {
      const BlockReader::Cells cells = reader.Unread(r);
      ASSERT_FALSE(cells.damaged);
      for (uint64_t at = cells.begin; at != cells.end; ++at, ++read) {
        const Cell cell = cells.At(at);
        ASSERT_EQ(cell.end, cell.start + 1);  // not torn
        ASSERT_GT(cell.start, last_by_tid[cells.tid]);
        last_by_tid[cells.tid] = cell.start;
      }
      reader.Consume(r, cells.end);
    }
  };
  while (running.load() > 0) drain();
  for (std::thread& thread : threads) thread.join();
  drain();
  uint64_t dropped = 0;
  for (uint32_t r = 0; r < kThreads; ++r) dropped += reader.Dropped(r);
  EXPECT_EQ(dropped, refused.load());
  EXPECT_EQ(read + dropped, kThreads * kEach);
}

TEST(Ring, ScopesOfEightThreadsKeepTheirParents) {
  constexpr int kThreads = 8;
  Recorder recorder = StartRecorder({.events_per_thread = 4096, .max_threads = kThreads});
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (int i = 0; i < 500; ++i) {
        INFERPROBE_SCOPE("outer");
        INFERPROBE_SCOPE("inner");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const DrainedScopes drained = recorder.Drain();
  EXPECT_EQ(drained.scopes.size(), kThreads * 1000U);
  EXPECT_EQ(drained.dropped + drained.no_ring, 0U);
  std::set<int64_t> tids;
  for (size_t i = 0; i < drained.scopes.size(); i += 2) {
    const RecordedScope &inner = drained.scopes[i], &outer = drained.scopes[i + 1];
    ASSERT_EQ(inner.name, "inner");
    ASSERT_EQ(inner.parent, outer.id);
    ASSERT_EQ(inner.tid, outer.tid);
    tids.insert(outer.tid);
  }
  EXPECT_EQ(tids.size(), static_cast<size_t>(kThreads));
}

TEST(Ring, ASurplusThreadsEventsAreCounted) {
  Recorder recorder = StartRecorder({.events_per_thread = 64, .max_threads = 1});
  {
    INFERPROBE_SCOPE("has the ring");
  }
  std::thread([] {
    for (int i = 0; i < 7; ++i) {
      INFERPROBE_SCOPE("has none");
    }
  }).join();
  const DrainedScopes drained = recorder.Drain();
  EXPECT_EQ(drained.scopes.size(), 1U);
  EXPECT_EQ(drained.no_ring, 7U);
  EXPECT_EQ(drained.dropped, 0U);
}

TEST(Ring, OfAnEndedThreadIsReusedOnceItIsEmpty) {
  Recorder recorder = StartRecorder({.events_per_thread = 64, .max_threads = 1});
  BlockReader reader = ReaderOf(recorder);
  const auto one_scope = [] { INFERPROBE_SCOPE("short life"); };
  std::thread(one_scope).join();
  const BlockReader::Cells first = reader.Unread(0);
  EXPECT_EQ(first.end - first.begin, 1U);
  std::thread(one_scope).join();  // the first one's event is still in it
  EXPECT_EQ(reader.NoRing(), 1U);
  reader.Consume(0, first.end);
  int64_t tid = 0;
  std::thread([&] {
    tid = base::ThreadId();
    one_scope();
  }).join();
  EXPECT_EQ(reader.NoRing(), 1U);
  const BlockReader::Cells second = reader.Unread(0);
  ASSERT_EQ(second.end - second.begin, 1U);
  EXPECT_EQ(second.tid, tid);
  EXPECT_NE(second.owner, first.owner);
  EXPECT_EQ(second.At(second.begin).id, 1U);  // a new life, new ids
}

}  // namespace
}  // namespace inferprobe::record
