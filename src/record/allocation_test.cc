// Counts every allocation of this program: an enabled scope makes none once its thread is attached,
// a disabled one makes none at all. A program of its own, because it replaces malloc.
#include <gtest/gtest.h>

#include <thread>

#include "base/counting_malloc.h"
#include "inferprobe/recorder.h"
#include "inferprobe/scope.h"
#include "record/ring_writer.h"

namespace inferprobe {
namespace {

using base::Allocations;

void ManyScopes() {
  static constinit Site phase("phase");
  for (int i = 0; i < 10'000; ++i) {
    INFERPROBE_SCOPE("outer");
    Chain chain(phase);
    {
      INFERPROBE_SCOPE("inner");
    }
    chain.Next(phase);
    INFERPROBE_COUNTER("count", i);
  }
}

TEST(Allocations, AreSeen) {
  EXPECT_EQ(Allocations([] {
              int* number = new int;
              asm volatile("" : "+r"(number));  // or the pair is optimised away
              delete number;
            }),
            1U);
}

TEST(Allocations, NoneWhileDisabled) { EXPECT_EQ(Allocations(ManyScopes), 0U); }

TEST(Allocations, NoneWhileEnabledAlsoWhenFull) {
  Result<Recorder> recorder = Recorder::Start({.events_per_thread = 1024});
  ASSERT_TRUE(recorder);
  ManyScopes();  // attaches, registers the names, fills the ring
  EXPECT_EQ(Allocations(ManyScopes), 0U);
  EXPECT_GT(recorder->Drain().dropped, 0U);
  EXPECT_EQ(Allocations(ManyScopes), 0U);
}

TEST(Allocations, NoneInASurplusThread) {
  Result<Recorder> recorder = Recorder::Start({.events_per_thread = 64, .max_threads = 1});
  ManyScopes();
  uint64_t allocations = 1;
  std::thread([&] {
    ManyScopes();
    allocations = Allocations(ManyScopes);
  }).join();
  EXPECT_EQ(allocations, 0U);
}

}  // namespace
}  // namespace inferprobe
