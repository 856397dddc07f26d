// Which parallel regions each counted run had, what took part in them, and in which operator.
//
// The rule that people break: a region is found by its run's slices, or by its thread and its time,
// never by its id: ids repeat between processes. Two sessions may run at the same time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/busy_time.h"
#include "profile/model.h"
#include "profile/result.h"

namespace inferprobe::analyze {

struct FoundRegion {
  uint32_t slice = 0;   // of Profile::slices
  uint32_t region = 0;  // of Profile::regions
  uint32_t first_part = 0;
  uint32_t part_count = 0;
  uint32_t op = profile::kNone;     // id of the OpRow of its instruction, or of what is around it
  bool nested = false;              // part of another region, which may have been lost
  uint32_t outer = profile::kNone;  // of a nested one: index in its run of the outermost
};

class RunRegions {
 public:
  // `ops`: the rows that were made of the same profile. All must outlive it. n log n.
  RunRegions(const profile::Profile& profile, const std::vector<profile::OpRow>& ops);

  struct OfRun {
    uint32_t run = 0;                  // of Profile::runs
    std::vector<FoundRegion> regions;  // by start
  };
  // The runs that rows come from and that lost nothing, in order.
  [[nodiscard]] const std::vector<OfRun>& runs() const { return runs_; }
  // In order of their start.
  [[nodiscard]] std::span<const uint32_t> PartsOf(const FoundRegion& region) const {
    return std::span(parts_).subspan(region.first_part, region.part_count);
  }
  [[nodiscard]] const profile::Region& Facts(const FoundRegion& region) const {
    return profile_.regions[region.region];
  }
  [[nodiscard]] const profile::RegionPart& PartFacts(uint32_t part_slice) const;
  [[nodiscard]] double WallNs(const FoundRegion& region) const;
  // A part's time inside its region, and its thread.
  [[nodiscard]] BusyInterval Busy(const FoundRegion& region, uint32_t part_slice) const;

 private:
  void FindRuns();
  void FindParts(const std::vector<uint32_t>& slice_of);
  // Its track, kNone where that is not known; takes from `*steps` how many slices it looked at.
  uint32_t ThreadOf(const profile::Run& run, uint64_t* steps) const;
  [[nodiscard]] uint32_t RunOf(uint32_t slice) const;  // index in runs_; kNone
  [[nodiscard]] uint32_t OperatorOf(const profile::Slice& slice) const;
  [[nodiscard]] uint32_t RowOfCall(const profile::Slice& call, const profile::Slice& inside) const;
  void FindOuter(OfRun* run) const;

  struct RunOfThread {
    uint32_t thread = profile::kNone;  // its track; kNone: whichever
    int64_t start_ns = 0;
    uint32_t at = 0;  // index in runs_; kNone: a run that is not counted
  };

  const profile::Profile& profile_;
  // Rows of calls at an instruction (-1: at none). Programs in one recording share instructions.
  std::unordered_map<int64_t, std::vector<const profile::OpRow*>> calls_at_;
  std::unordered_map<std::string, uint32_t> op_of_name_;  // scopes, and what has no instruction
  std::vector<OfRun> runs_;
  std::vector<uint32_t> by_slice_;      // indices in runs_, by first slice
  std::vector<RunOfThread> by_thread_;  // each run twice, by thread and start
  std::vector<uint32_t> parts_;         // slices, those of one region together
  std::vector<uint32_t> first_part_;
  std::vector<uint32_t> part_count_;
};

}  // namespace inferprobe::analyze
