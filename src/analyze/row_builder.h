// Fills a RowTable from one profiled run after another: which slice belongs to which row, and what
// of its time is inside other rows.
//
// The rule that people break: a host-wall slice is part of its parent only on the same track.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyze/row_table.h"
#include "profile/delegate_note.h"
#include "profile/model.h"

namespace inferprobe::analyze {

// A reading of an engine's layers, made in a call of a delegate.
struct LayerReading {
  uint32_t call_row = profile::kNone;
  uint32_t slice = 0;  // PREFIX.layer_report
};

// A delegate's own whole-call event.
struct WholeCall {
  uint32_t call_row = profile::kNone;
  uint32_t slice = 0;  // PREFIX.delegate
};

class RowBuilder {
 public:
  // `notes` of that profile; both must outlive it.
  RowBuilder(const profile::Profile& profile, profile::DelegateNotes* notes);

  void AddRun(const profile::Run& run);

  [[nodiscard]] const RowTable& rows() const { return rows_; }
  [[nodiscard]] uint32_t root() const { return root_; }
  // kNone: no run was timed from outside.
  [[nodiscard]] uint32_t unattributed() const { return unattributed_; }
  // Of the engine's own slice of the whole call; 0: not each run has one, so the first row is the
  // runs'.
  [[nodiscard]] profile::StringId method_name() const {
    return methods_ < runs() ? 0 : method_name_;
  }
  [[nodiscard]] uint64_t runs() const { return runs_; }
  [[nodiscard]] const profile::LossCounts& losses() const { return losses_; }
  // In the order of the runs.
  [[nodiscard]] const std::vector<LayerReading>& readings() const { return readings_; }
  [[nodiscard]] const std::vector<WholeCall>& whole_calls() const { return whole_calls_; }

 private:
  // Indices below are local to the run: 0 .. count_ - 1 are its slices, count_ is the run itself
  // (which stands for its kRun slice, if that was not dropped).
  [[nodiscard]] const profile::Slice& At(uint32_t local) const {
    return profile_.slices[first_ + local];
  }
  [[nodiscard]] const profile::Track& TrackOf(uint32_t local) const {
    return profile_.tracks[At(local).track];
  }
  [[nodiscard]] uint32_t RecordedParent(uint32_t local) const;
  [[nodiscard]] int64_t Duration(uint32_t local) const;

  void FindRunSlice();
  void FindParents(const profile::Run& run);
  void FindNotes();
  [[nodiscard]] uint32_t CallAround(uint32_t local) const;
  [[nodiscard]] bool IsDelegateCall(uint32_t local) const;
  [[nodiscard]] bool IsRow(uint32_t local) const;
  void FindRows(const profile::Run& run);
  uint32_t RowOf(uint32_t local, const profile::Run& run);
  void AddNotes();
  void AddTimes(const profile::Run& run);
  void AddToRow(uint32_t index, int64_t dur_ns, int64_t self_ns, uint64_t events);
  void AddScopesAround(const profile::Run& run);

  const profile::Profile& profile_;
  profile::DelegateNotes& notes_;
  RowTable rows_;
  uint32_t root_ = 0;
  uint32_t unattributed_ = profile::kNone;
  profile::StringId method_name_ = 0;
  size_t methods_ = 0;
  uint64_t runs_ = 0;
  std::unordered_set<uint32_t> around_;
  profile::LossCounts losses_;
  std::vector<LayerReading> readings_;
  std::vector<WholeCall> whole_calls_;

  // Of the current run.
  uint32_t first_ = 0;
  uint32_t count_ = 0;
  uint32_t run_slice_ = profile::kNone;
  uint32_t run_track_ = profile::kNone;
  std::vector<uint32_t> parent_;
  std::vector<uint32_t> row_;
  std::vector<uint8_t> noted_;           // host-wall events of the delegate kit
  std::vector<profile::CallMode> mode_;  // of delegate calls
  // Of whole-call events and of readings of layers: the delegate's call that they are of, which may
  // be the whole-call event itself; kNone.
  std::vector<uint32_t> call_of_;
  std::vector<uint8_t> folded_;  // the engine's own slice of the whole call: part of the root
  std::vector<uint32_t> order_;
  std::vector<uint32_t> chain_;
  std::vector<int64_t> inside_ns_;
  std::vector<uint64_t> inside_events_;
  std::vector<uint64_t> border_events_;  // directly inside: their cost falls on both sides
  std::unordered_map<uint64_t, uint32_t> occurrences_;
};

}  // namespace inferprobe::analyze
