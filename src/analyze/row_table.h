// The rows of the operator table while they are being filled: found by key in constant time,
// totals kept per run, put into program order at the end.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/model.h"
#include "profile/result.h"

namespace inferprobe::analyze {

// A recording may hold times whose sum no 64 bits hold (base/saturating.h).
inline profile::Missing SumOverflowed() {
  return {profile::Status::kOverflow, "the sum of its times does not fit 64 bits"};
}

// What makes two slices the same row.
struct RowKey {
  uint32_t parent = profile::kNone;  // index of the parent row
  profile::StringId name = 0;
  int32_t instruction = -1;
  uint32_t occurrence = 0;   // of this name in its call, from 0; delegate operators only
  int32_t delegate_id = -1;  // of a delegate's operator that has nothing else to be known by
  uint32_t module = profile::kNone;  // of a PyTorch module's calls
  uint32_t track = 0;                // where rows are told apart by it: SummarizeSlices
  profile::RowType type = profile::RowType::kOther;
  profile::Kind kind = profile::Kind::kHostWall;
  profile::CallMode mode = profile::CallMode::kUnknown;  // of a delegate's call
  bool running_mean = false;  // a layer's time that was computed from the engine's mean
  bool noted = false;         // a host-wall event of the delegate kit
  bool is_call = false;       // of the delegate kit, and no instruction is around it
  bool in_ticks = false;      // of a clock whose tick is not known: its "ns" below are ticks
  bool operator==(const RowKey&) const = default;
};

struct RowKeyHash {
  size_t operator()(const RowKey& key) const;
};

struct Row {
  RowKey key;
  int64_t order = 0;  // among its siblings: where it was first seen
  uint64_t calls = 0;
  int64_t total_ns = 0;
  int64_t self_ns = 0;
  double tick_ns = 0;               // of the clock that its times are of; 0: not known
  uint64_t events = 0;              // recorded inside, the slices of the row itself included
  std::vector<int64_t> per_run_ns;  // of the runs in which it occurs
  uint32_t last_run = profile::kNone;

  void Add(uint32_t run, int64_t dur_ns);
  // The median over `runs` runs, zeros for those without it.
  [[nodiscard]] double MedianPerRun(uint64_t runs) const;
};

class RowTable {
 public:
  // Index of the row, made now if it is new. `order` counts when it is.
  uint32_t Find(const RowKey& key, int64_t order);
  // kNone: there is none.
  [[nodiscard]] uint32_t FindExisting(const RowKey& key) const;
  [[nodiscard]] Row& at(uint32_t index) { return rows_[index]; }
  [[nodiscard]] const Row& at(uint32_t index) const { return rows_[index]; }
  [[nodiscard]] size_t size() const { return rows_.size(); }
  // All rows, parents before their children, siblings by `order`.
  [[nodiscard]] std::vector<uint32_t> InProgramOrder() const;

 private:
  std::vector<Row> rows_;
  std::unordered_map<RowKey, uint32_t, RowKeyHash> index_;
};

}  // namespace inferprobe::analyze
