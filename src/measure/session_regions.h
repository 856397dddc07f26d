// The parallel regions of a session's runs: whose they are, and on their way from the collector
// into the recorder's ring.
//
//   SessionRegions regions(collector);
//   regions.BeginRun();                 // loops of this thread are the run's from here ...
//   engine->Run({true, view});
//   regions.EndRun();                   // ... to here
//   regions.Publish(ring);              // outside of what is timed
//
// The rule that people break: one thread, one run at a time. What a callback was given instead of
// the collector is not there to be published.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "inferprobe/region.h"
#include "record/ring_writer.h"
#include "regions/current_work.h"

namespace inferprobe::measure {

class INFERPROBE_API SessionRegions {
 public:
  explicit SessionRegions(std::shared_ptr<ParallelRegionCollector> collector);
  ~SessionRegions();
  SessionRegions(const SessionRegions&) = delete;
  SessionRegions& operator=(const SessionRegions&) = delete;

  void BeginRun();
  void EndRun();

  // Into the calling thread's ring: the regions of the last run, each as a group of cells, and how
  // many of its own found no place in the collector. nullptr: nothing records.
  void Publish(record::ThreadRing* ring);

  [[nodiscard]] ParallelRegionCollector& collector() { return *collector_; }

 private:
  void PublishOne(record::ThreadRing* ring, const ParallelRegionEvent& event);
  uint32_t NameId(std::string_view name);
  uint32_t CodeId(const void* code);

  struct Outer {  // what the thread was at before the run, beside what RegionRun puts back
    ParallelRegionCollector* hooked;
    uint32_t depth;
  };
  std::shared_ptr<ParallelRegionCollector> collector_;
  RegionSession session_;
  std::optional<RegionRun> run_;
  Outer outer_{};
  uint64_t run_id_ = 0;
  uint64_t first_event_ = 0;  // of the collector, from which on the run's events stand
  regions::DropCount drops_;  // of the last run, until they are published
  std::map<std::string, uint32_t, std::less<>> names_;  // ids in the name table
  std::unordered_map<const void*, uint32_t> codes_;
  std::vector<record::Cell> cells_;
};

}  // namespace inferprobe::measure
