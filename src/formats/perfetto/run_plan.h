// Which run each slice belongs to, and how a trace says so: a run that was timed from outside is
// its own slice; any other one is an instant on the track "inferprobe runs". A slice carries the
// number of its run where a reader would not find it by what the slice is in.
//
//   RunPlan plan(&profile);
//   plan.Learn(first_slice, slice_count);      // before these slices are laid out
//   plan.RunOf(slice);  plan.Facts(run);
//
// The rule that people break: times do not tell runs apart. Runs may touch, lie on top of each
// other (a clock that starts again with each), be empty, or be known by nothing but their place.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "profile/model.h"

namespace inferprobe::perfetto {

class RunPlan {
 public:
  explicit RunPlan(const profile::Profile* profile) : profile_(profile) {}

  // Takes up runs that are new in the profile. The slices [first, first + count) are written next.
  void Learn(uint32_t first, uint32_t count);

  [[nodiscard]] bool any() const { return !entries_.empty(); }
  [[nodiscard]] uint32_t RunOf(uint32_t slice) const;  // kNone: in none
  // The run whose own slice this is; kNone: of none.
  [[nodiscard]] uint32_t OwnRunOf(uint32_t slice) const;
  // How many slices of the run are in the file; nullopt: they are not all written at once.
  [[nodiscard]] std::optional<uint32_t> SlicesOf(uint32_t run) const { return runs_[run].slices; }
  // Whether its times touch another run's: then times do not say what is in it.
  [[nodiscard]] bool IsCrowded(uint32_t run) const { return runs_[run].crowded; }

  // Runs without a slice of their own whose first slice is before `end`; each is given out once.
  std::vector<uint32_t> TakeMarks(uint64_t end);

 private:
  struct Entry {
    uint32_t first;
    uint32_t run;
  };
  struct Known {
    std::optional<uint32_t> slices;
    bool crowded = false;
  };
  struct Span {
    int64_t start;
    int64_t end;
    uint32_t run;
  };

  [[nodiscard]] bool IsWritten(const profile::Slice& slice) const;
  [[nodiscard]] uint32_t OwnSlice(uint32_t run) const;
  [[nodiscard]] uint32_t EndOf(uint32_t run) const;
  void FindCrowded(std::vector<Span> spans);

  const profile::Profile* profile_;
  std::vector<Known> runs_;                     // as in Profile::runs, as far as they are known
  std::vector<Entry> entries_;                  // those that have slices, in order of these
  std::vector<uint32_t> marks_;                 // without a slice of their own, not yet given out
  std::unordered_map<uint32_t, uint32_t> own_;  // their own slice -> run
  int64_t last_end_ns_ = -1;                    // of all runs of earlier calls
};

}  // namespace inferprobe::perfetto
