#include "measure/session_regions.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <thread>

#include "inferprobe/parallel_for.h"
#include "inferprobe/recorder.h"
#include "profile/ring_import.h"
#include "regions/current_work.h"
#include "regions/gate.h"

namespace inferprobe::measure {
namespace {

using profile::Category;
using profile::Loss;
using regions::t_work;

// Recorder, ring and importer, and loops as an engine with a pool of its own has them.
class SessionRegionsTest : public testing::Test {
 protected:
  SessionRegionsTest() {
    importer_.Attach(*record::BlockReader::Open(
        {static_cast<const std::byte*>(recorder_.memory()), recorder_.memory_bytes()}, "test",
        record::BlockReader::Access::kConsume));
  }
  void Loop(int64_t total = 64, std::string_view label = "loop") {
    ParallelFor(ExecutorView(executor_, t_work.hooked), total, 16, [](int64_t, int64_t) {}, label);
  }
  void Run(SessionRegions& regions, int loops) {
    regions.BeginRun();
    for (int i = 0; i < loops; ++i) Loop();
    regions.EndRun();
  }
  std::vector<profile::Region> Published(SessionRegions& regions) {
    const size_t before = profile_.regions.size();
    regions.Publish(record::AttachThread());
    importer_.Drain();
    return {profile_.regions.begin() + static_cast<std::ptrdiff_t>(before), profile_.regions.end()};
  }

  CpuExecutor executor_{2};
  Recorder recorder_ = *Recorder::Start({.events_per_thread = 4096, .max_threads = 4});
  profile::Profile profile_;
  profile::RingImporter importer_{&profile_, 0};
};

TEST_F(SessionRegionsTest, ARunsRegionsComeThroughTheRingAsTheyWere) {
  const auto collector = std::make_shared<ParallelRegionCollector>();
  SessionRegions regions(collector);
  regions.BeginRun();
  {
    const RegionOperator op(7);
    Loop(100, "mine");
  }
  regions.EndRun();
  const std::vector<profile::Region> published = Published(regions);
  const ParallelRegionReport report = collector->Report();
  ASSERT_EQ(report.events.size(), 1U);
  const ParallelRegionEvent& event = report.events[0];
  ASSERT_EQ(published.size(), 1U);
  const profile::Region& region = published[0];
  EXPECT_EQ(region.id, event.region_id);
  EXPECT_EQ(region.session, event.session_id);
  EXPECT_NE(region.session, 0U);
  EXPECT_EQ(region.run, 1U);
  EXPECT_EQ(region.executor, executor_.id());
  EXPECT_EQ(region.iterations, 100);
  EXPECT_EQ(region.grain, 16);
  EXPECT_EQ(region.requested, 2);
  EXPECT_EQ(region.admitted, event.admitted_threads);
  EXPECT_EQ(region.observed, event.observed_threads);
  EXPECT_EQ(region.line, event.location.line());
  EXPECT_EQ(profile_.strings.Get(region.file), event.location.file_name());
  EXPECT_EQ(profile_.strings.Get(region.function), event.location.function_name());
  EXPECT_EQ(region.participants_status, Status::kValid);
  ASSERT_EQ(profile_.region_parts.size(), event.participants.size());
  for (size_t i = 0; i < event.participants.size(); ++i) {
    EXPECT_EQ(profile_.region_parts[i].iterations, event.participants[i].iterations);
    EXPECT_EQ(profile_.region_parts[i].chunks, event.participants[i].chunks);
    EXPECT_EQ(profile_.region_parts[i].first_cpu, event.participants[i].first_cpu);
  }
  ASSERT_FALSE(profile_.slices.empty());
  const profile::Slice& slice = profile_.slices[0];
  EXPECT_EQ(slice.category, Category::kRegion);
  EXPECT_EQ(profile_.Name(slice), "mine");
  EXPECT_EQ(slice.start_ns, event.start_ns);
  EXPECT_EQ(static_cast<uint64_t>(slice.dur_ns), event.wall_time_ns);
  EXPECT_EQ(profile_.args[slice.args].instruction, 7);
}

TEST_F(SessionRegionsTest, OnlyTheLastRunIsPublished) {
  const auto collector = std::make_shared<ParallelRegionCollector>();
  SessionRegions regions(collector);
  Run(regions, 2);
  EXPECT_EQ(Published(regions).size(), 2U);
  Run(regions, 3);
  const std::vector<profile::Region> second = Published(regions);
  ASSERT_EQ(second.size(), 3U);
  for (const profile::Region& region : second) EXPECT_EQ(region.run, 2U);
}

TEST_F(SessionRegionsTest, ASharedCollectorGivesEachItsOwn) {
  const auto collector = std::make_shared<ParallelRegionCollector>();
  SessionRegions one(collector);
  SessionRegions two(collector);
  one.BeginRun();
  Loop();
  Run(two, 2);  // inside the other's run: it is put back after it
  Loop();
  one.EndRun();
  EXPECT_EQ(Published(one).size(), 2U);
  EXPECT_EQ(Published(two).size(), 2U);
  EXPECT_NE(profile_.regions[0].session, profile_.regions[2].session);
}

TEST_F(SessionRegionsTest, WhatFindsNoPlaceIsCountedOnce) {
  RegionCollectorOptions options;
  options.capacity = 3;
  SessionRegions regions(std::make_shared<ParallelRegionCollector>(options));
  Run(regions, 5);
  EXPECT_EQ(Published(regions).size(), 3U);
  EXPECT_EQ(profile_.losses.Get(Loss::kRegionsDropped), 2U);
  Run(regions, 1);
  EXPECT_EQ(Published(regions).size(), 0U);
  EXPECT_EQ(profile_.losses.Get(Loss::kRegionsDropped), 3U);
}

TEST_F(SessionRegionsTest, EachSessionCountsItsOwnThatFoundNoPlace) {
  const auto collector =
      std::make_shared<ParallelRegionCollector>(RegionCollectorOptions{.capacity = 3});
  SessionRegions one(collector);
  SessionRegions two(collector);
  const auto dropped = [&](SessionRegions& session) {
    const uint64_t before = profile_.losses.Get(Loss::kRegionsDropped);
    Published(session);
    return profile_.losses.Get(Loss::kRegionsDropped) - before;
  };
  // At the same time: each begins before the other has ended.
  regions::Gate begun;
  regions::Gate ended;
  const auto run = [&](SessionRegions& session, int loops) {
    session.BeginRun();
    begun.ArriveAndWaitFor(2);
    CpuExecutor two_threads(2);
    const ExecutorView view(two_threads, &session.collector());
    for (int i = 0; i < loops; ++i) {
      regions::Gate both;
      ParallelFor(view, 2, 1, [&](int64_t, int64_t) {
        both.ArriveAndWaitFor(2);
        // Also on a thread that knows of no session.
        ParallelFor(view, 2, 1, [](int64_t, int64_t) {});
      });
    }
    session.EndRun();
    ended.ArriveAndWaitFor(2);
  };
  std::thread other([&] { run(two, 7); });
  run(one, 5);
  other.join();
  EXPECT_EQ(dropped(one) + dropped(two), 36U - 3);
  EXPECT_EQ(profile_.losses.Get(Loss::kRegionsDropped), collector->dropped());
  // All are full now; and what goes to a collector of somebody else is none of the session's.
  ParallelRegionCollector beside(RegionCollectorOptions{.capacity = 0});
  one.BeginRun();
  for (int i = 0; i < 4; ++i) Loop();
  ParallelFor(ExecutorView(executor_, &beside), 4, 2, [](int64_t, int64_t) {});
  Run(two, 2);
  {
    RegionSession neither;
    const RegionRun of_neither(neither);
    Loop();
  }
  one.EndRun();
  EXPECT_EQ(dropped(one), 4U);
  EXPECT_EQ(dropped(two), 2U);
  EXPECT_EQ(dropped(one), 0U);
}

TEST_F(SessionRegionsTest, WhatACallbackRefusedIsCounted) {
  RegionCollectorOptions options;
  options.callback = [](const ParallelRegionEvent&) { throw std::runtime_error("it must not"); };
  SessionRegions regions(std::make_shared<ParallelRegionCollector>(options));
  Run(regions, 2);
  EXPECT_EQ(Published(regions).size(), 0U);
  EXPECT_EQ(profile_.losses.Get(Loss::kRegionsDropped), 2U);
}

TEST_F(SessionRegionsTest, OutsideOfRunsNobodyLooks) {
  SessionRegions regions(std::make_shared<ParallelRegionCollector>());
  Run(regions, 1);
  EXPECT_EQ(t_work.hooked, nullptr);
  EXPECT_EQ(t_work.session_id, 0U);
  EXPECT_EQ(t_work.run_id, 0U);
  EXPECT_EQ(t_work.drops, nullptr);
  Loop();
  EXPECT_EQ(regions.collector().Report().events.size(), 1U);
  regions.Publish(nullptr);  // where nothing records
}

TEST_F(SessionRegionsTest, AFullRingCountsWholeRegions) {
  SessionRegions regions(std::make_shared<ParallelRegionCollector>());
  Run(regions, 1000);
  const size_t published = Published(regions).size();
  EXPECT_GT(published, 100U);
  EXPECT_LT(published, 1000U);
  EXPECT_GT(profile_.losses.Get(Loss::kRingDropped), 0U);
  EXPECT_EQ(profile_.losses.Get(Loss::kDamagedRecord), 0U);
}

}  // namespace
}  // namespace inferprobe::measure
