#include "analyze/row_builder.h"

#include <algorithm>
#include <limits>

#include "base/saturating.h"

namespace inferprobe::analyze {
namespace {

using profile::Category;
using profile::Kind;
using profile::kNone;
using profile::Loss;
using profile::Profile;
using profile::RowType;
using profile::Run;
using profile::Slice;

// Among siblings: host-wall rows by their start, then the engine's operators in its own order
// (their starts may be made up), then what is left over.
constexpr int64_t kOrderEngine = int64_t{1} << 62;
constexpr int64_t kOrderBetween = std::numeric_limits<int64_t>::max() - 1;
constexpr int64_t kOrderUnattributed = std::numeric_limits<int64_t>::max();
// A call, its whole-call event, a phase: more than this is a damaged profile.
constexpr int kMostSteps = 8;

RowType TypeOf(Category category) {
  switch (category) {
    case Category::kScope:
      return RowType::kScope;
    case Category::kSetInputs:
      return RowType::kSetInputs;
    case Category::kRun:
    case Category::kMethod:
      return RowType::kMethod;
    case Category::kOperatorCall:
      return RowType::kOperatorCall;
    case Category::kKernel:
      return RowType::kKernel;
    case Category::kDelegateCall:
      return RowType::kDelegateCall;
    case Category::kDelegateOp:
      return RowType::kDelegateOp;
    case Category::kLoad:
    case Category::kOther:
    case Category::kRegion:
    case Category::kRegionPart:
    case Category::kDeviceWork:
      return RowType::kOther;
    case Category::kModuleCall:
      return RowType::kModule;
    case Category::kOperator:
      return RowType::kOperator;
  }
  return RowType::kOther;
}

}  // namespace

RowBuilder::RowBuilder(const Profile& profile, profile::DelegateNotes* notes)
    : profile_(profile), notes_(*notes) {
  root_ = rows_.Find({.type = RowType::kMethod}, std::numeric_limits<int64_t>::min());
}

void RowBuilder::AddRun(const Run& run) {
  const auto size = static_cast<uint32_t>(profile_.slices.size());
  first_ = std::min(run.first_slice, size);
  count_ = std::min(run.slice_count, size - first_);
  FindRunSlice();
  FindParents(run);
  FindNotes();
  FindRows(run);
  AddTimes(run);
  AddNotes();
  AddScopesAround(run);
  ++runs_;
}

uint32_t RowBuilder::RecordedParent(uint32_t local) const {
  const uint32_t parent = At(local).parent;
  if (parent == kNone || parent < first_ || parent - first_ >= count_) return kNone;
  return parent - first_ == run_slice_ ? count_ : parent - first_;
}

void RowBuilder::FindRunSlice() {
  run_slice_ = kNone;
  run_track_ = kNone;
  for (uint32_t i = 0; i < count_; ++i) {
    const Category category = At(i).category;
    if (category == Category::kRun) {
      run_slice_ = i;
      run_track_ = At(i).track;
      return;
    }
    const bool by_the_run = category == Category::kMethod || category == Category::kSetInputs;
    if (run_track_ == kNone && by_the_run) run_track_ = At(i).track;
  }
  // Calls alone, of a runtime that does not tell of the method around them.
  for (uint32_t i = 0; i < count_ && run_track_ == kNone; ++i) {
    const bool region =
        At(i).category == Category::kRegion || At(i).category == Category::kRegionPart;
    if (TrackOf(i).kind == Kind::kHostWall && !region) run_track_ = At(i).track;
  }
}

// A host-wall slice is part of its parent only on the same track; one that lies on another
// thread, or outside the run, has no parent.
void RowBuilder::FindParents(const Run& run) {
  parent_.assign(count_, kNone);
  for (uint32_t i = 0; i < count_; ++i) {
    if (i == run_slice_) continue;
    const Slice& slice = At(i);
    uint32_t parent = RecordedParent(i);
    if (TrackOf(i).kind != Kind::kHostWall) {
      parent_[i] = parent == kNone ? count_ : CallAround(parent);
      continue;
    }
    if (parent == kNone && slice.start_ns >= run.start_ns &&
        base::SaturatingAdd(slice.start_ns, slice.dur_ns) <= run.start_ns + run.dur_ns) {
      parent = count_;
    }
    if (parent == kNone) continue;
    const uint32_t track = parent == count_ ? run_track_ : At(parent).track;
    if (slice.track == track) parent_[i] = parent;
  }
}

// What an engine reports in a phase of its call is of the call, also where it was still in the
// phase when it reported; without an instruction that calls the delegate, of what the delegate
// itself recorded around all.
uint32_t RowBuilder::CallAround(uint32_t local) const {
  uint32_t outermost = local;
  uint32_t at = local;
  for (int steps = 0; steps < kMostSteps && at < count_; ++steps) {
    if (At(at).category == Category::kDelegateCall) return at;
    if (At(at).category != Category::kOther || !notes_.IsHostWall(At(at))) break;
    outermost = at;
    at = RecordedParent(at);
  }
  return outermost;
}

bool RowBuilder::IsDelegateCall(uint32_t local) const {
  return local < count_ && At(local).category == Category::kDelegateCall;
}

// Which slices are of the delegate kit, and of which mode each delegate's call is. A runtime whose
// tracer is not built in tells of no instruction: then the whole-call event is the call, and what
// follows it beside it, layers and the reading of them, is of it.
void RowBuilder::FindNotes() {
  noted_.assign(count_, 0);
  mode_.assign(count_, profile::CallMode::kUnknown);
  call_of_.assign(count_, kNone);
  std::unordered_map<uint32_t, uint32_t> last_call;  // by what is around both
  for (uint32_t i = 0; i < count_; ++i) {
    const profile::DelegateNote* note = notes_.Of(At(i));
    if (note == nullptr) continue;
    if (TrackOf(i).kind != Kind::kHostWall) {
      uint32_t& parent = parent_[i];
      const uint32_t report = parent < count_ ? call_of_[parent] : kNone;
      const auto before = last_call.find(parent);
      if (report != kNone) {
        parent = report;
      } else if (!IsDelegateCall(parent) && before != last_call.end()) {
        parent = before->second;
      }
      continue;
    }
    if (At(i).category != Category::kOther || !note->IsHostWall()) continue;
    noted_[i] = 1;
    const uint32_t around = parent_[i];
    if (notes_.IsHostWall(At(i), profile::kWholeCall)) {
      if (IsDelegateCall(around)) {
        call_of_[i] = around;
      } else if (around == kNone || around == count_ || noted_[around] == 0) {
        call_of_[i] = last_call[around] = i;
      }
      const bool known = call_of_[i] != kNone && note->mode != profile::CallMode::kUnknown;
      if (known) mode_[call_of_[i]] = note->mode;
    } else if (notes_.IsHostWall(At(i), profile::kLayerReport)) {
      const auto before = last_call.find(around);
      if (IsDelegateCall(around)) {
        call_of_[i] = around;
      } else if (before != last_call.end()) {
        call_of_[i] = before->second;
      }
    }
  }
}

// A device's time is of the call whose number it has, and that may lie in another run.
bool RowBuilder::IsRow(uint32_t local) const {
  if (local == run_slice_) return false;
  // A loop lies beside its operator, on a track of its own, and has tables of its own.
  const Category category = At(local).category;
  if (category == Category::kRegion || category == Category::kRegionPart) return false;
  if (TrackOf(local).kind != Kind::kDevice) return true;
  const profile::DelegateNote* note = notes_.Of(At(local));
  return note == nullptr || note->kind != Kind::kDevice;
}

// Rows of all slices; `order_` gets the slices with parents before children. Without recursion:
// scopes may nest deeply.
void RowBuilder::FindRows(const Run& run) {
  row_.assign(count_ + 1, kNone);
  row_[count_] = root_;
  folded_.assign(count_, 0);
  order_.clear();
  occurrences_.clear();
  for (uint32_t i = 0; i < count_; ++i) {
    if (!IsRow(i)) continue;
    chain_.clear();
    for (uint32_t k = i; k < count_ && row_[k] == kNone && chain_.size() <= count_;
         k = parent_[k]) {
      chain_.push_back(k);
    }
    for (; !chain_.empty(); chain_.pop_back()) {
      const uint32_t k = chain_.back();
      if (row_[k] != kNone) continue;  // a cycle in broken input
      row_[k] = RowOf(k, run);
      order_.push_back(k);
    }
  }
}

uint32_t RowBuilder::RowOf(uint32_t local, const Run& run) {
  const Slice& slice = At(local);
  const uint32_t parent = parent_[local];
  const Kind kind = TrackOf(local).kind;
  if (slice.category == Category::kMethod && parent == count_ && kind == Kind::kHostWall) {
    method_name_ = slice.name;
    ++methods_;
    folded_[local] = 1;
    return root_;
  }
  RowKey key;
  key.parent = parent == kNone ? kNone : row_[parent];
  key.name = slice.name;
  key.type = TypeOf(slice.category);
  key.kind = kind;
  key.in_ticks = TrackOf(local).in_ticks;
  key.noted = noted_[local] != 0;
  key.mode = mode_[local];
  key.is_call = call_of_[local] == local;
  if (slice.args != kNone) key.instruction = profile_.args[slice.args].instruction;
  if (slice.category == Category::kModuleCall && slice.args != kNone) {
    key.module = profile_.args[slice.args].module;
  }
  int64_t order = base::SaturatingAdd(slice.start_ns, -run.start_ns);
  if (slice.category == Category::kDelegateOp) {
    if (slice.name == 0 && slice.args != kNone) {
      key.name = profile_.args[slice.args].delegate_debug_name;
      if (key.name == 0) key.delegate_id = profile_.args[slice.args].delegate_debug_id;
    }
    key.instruction = -1;
    const profile::DelegateNote* note = notes_.Of(slice);
    key.running_mean = note != nullptr && note->of_running_mean;
    const auto known_by = key.name != 0 ? key.name : ~static_cast<uint32_t>(key.delegate_id);
    key.occurrence = occurrences_[uint64_t{parent} << 32 | known_by]++;
    order = kOrderEngine + local;
  }
  return rows_.Find(key, order);
}

void RowBuilder::AddTimes(const Run& run) {
  inside_ns_.assign(count_ + 1, 0);
  inside_events_.assign(count_ + 1, 0);
  border_events_.assign(count_ + 1, 0);
  for (auto i = order_.rbegin(); i != order_.rend(); ++i) {
    const uint32_t parent = parent_[*i];
    if (At(*i).dur_ns < 0) losses_.Add(Loss::kEndBeforeStart);
    if (parent == kNone) continue;
    if (TrackOf(*i).kind == Kind::kHostWall)
      inside_ns_[parent] = base::SaturatingAdd(inside_ns_[parent], Duration(*i));
    inside_events_[parent] += inside_events_[*i] + 1;
    ++border_events_[parent];
  }
  int64_t between_ns = 0;
  uint64_t between_events = 0;
  bool has_method = false;
  for (const uint32_t i : order_) {
    const int64_t self_ns = Duration(i) - inside_ns_[i];
    if (folded_[i] != 0) {
      has_method = true;
      between_ns = base::SaturatingAdd(between_ns, self_ns);
      between_events += border_events_[i] + 1;
      continue;
    }
    AddToRow(row_[i], Duration(i), TrackOf(i).kind == Kind::kHostWall ? self_ns : 0,
             inside_events_[i] + 1);
    rows_.at(row_[i]).tick_ns = TrackOf(i).tick_ns;
  }
  if (has_method) {
    const uint32_t between =
        rows_.Find({.parent = root_, .type = RowType::kBetween}, kOrderBetween);
    AddToRow(between, between_ns, between_ns, between_events);
  }
  // Where the method alone was timed, nobody knows what was around it.
  if (run_slice_ != kNone || run.mode != profile::RunMode::kProfiled || !has_method) {
    unattributed_ =
        rows_.Find({.parent = root_, .type = RowType::kUnattributed}, kOrderUnattributed);
    const int64_t rest_ns = run.dur_ns - inside_ns_[count_];
    AddToRow(unattributed_, rest_ns, rest_ns, border_events_[count_] + 1);
  }
  AddToRow(root_, run.dur_ns, 0, inside_events_[count_] + 1);
}

int64_t RowBuilder::Duration(uint32_t local) const {
  return std::max<int64_t>(At(local).dur_ns, 0);
}

void RowBuilder::AddToRow(uint32_t index, int64_t dur_ns, int64_t self_ns, uint64_t events) {
  Row& row = rows_.at(index);
  row.Add(static_cast<uint32_t>(runs_), dur_ns);
  row.self_ns = base::SaturatingAdd(row.self_ns, self_ns);
  row.events += events;
  ++row.calls;
  if (self_ns < 0) losses_.Add(Loss::kChildrenExceedParent);
}

void RowBuilder::AddNotes() {
  for (uint32_t i = 0; i < count_; ++i) {
    if (call_of_[i] == kNone) continue;
    const bool whole = notes_.IsHostWall(At(i), profile::kWholeCall);
    if (whole) {
      whole_calls_.push_back({row_[call_of_[i]], first_ + i});
    } else {
      readings_.push_back({row_[call_of_[i]], first_ + i});
    }
  }
}

// The user's scopes that enclose the run are rows beside it, each scope counted once, also when
// several runs lie in it.
void RowBuilder::AddScopesAround(const Run& run) {
  if (run_slice_ == kNone) return;
  // Bounded: in a damaged profile parents may form a circle.
  size_t steps = profile_.slices.size();
  for (uint32_t i = At(run_slice_).parent; i < profile_.slices.size() && steps > 0;
       i = profile_.slices[i].parent, --steps) {
    if (i >= first_ && i - first_ < count_) continue;  // has its row already
    if (!around_.insert(i).second) return;             // and so has all that is around it
    const Slice& slice = profile_.slices[i];
    const RowKey key{.name = slice.name, .type = TypeOf(slice.category)};
    const int64_t dur_ns = std::max<int64_t>(slice.dur_ns, 0);
    AddToRow(rows_.Find(key, base::SaturatingAdd(slice.start_ns, -run.start_ns)), dur_ns, dur_ns,
             1);
  }
}

}  // namespace inferprobe::analyze
