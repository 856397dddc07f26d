#include "analyze/module_calls.h"

#include <algorithm>

#include "base/saturating.h"

namespace inferprobe::analyze {
namespace {

using base::SaturatingAdd;
using profile::Category;
using profile::kNone;
using profile::Profile;
using profile::Run;
using profile::RunMode;
using profile::Slice;

constexpr uint32_t kUnknown = kNone - 1;

class Forest {
 public:
  Forest(const Profile& profile, const ModuleCallOptions& options)
      : profile_(profile), options_(options) {}

  ModuleCalls Find() {
    FindCounted();
    FindCalls();
    AddAmounts();
    return std::move(found_);
  }

 private:
  // The rule of the operators' table: a run that lost events is in no row, unless none is whole.
  void FindCounted() {
    const auto size = static_cast<uint32_t>(profile_.slices.size());
    const auto gives_rows = [](const Run& run) { return profile::GivesRows(run.mode); };
    if (std::none_of(profile_.runs.begin(), profile_.runs.end(), gives_rows)) {
      counted_.assign(size, 1);
      return;
    }
    const bool any_whole =
        std::any_of(profile_.runs.begin(), profile_.runs.end(),
                    [&](const Run& r) { return gives_rows(r) && !r.incomplete; });
    // Where counted stretches begin and end: runs may have slices in common.
    std::vector<int32_t> steps(size_t{size} + 1, 0);
    std::vector<int32_t> run_steps(size_t{size} + 1, 0);  // of any run
    found_.none_counted = "no run is whole, each lost events";
    std::vector<Stretch> stretches;
    for (const Run& run : profile_.runs) {
      const uint32_t first = std::min(run.first_slice, size);
      const uint32_t end = first + std::min(run.slice_count, size - first);
      ++run_steps[first];
      --run_steps[end];
      const bool left_out = run.incomplete && (any_whole || run.mode != RunMode::kProfiled);
      const bool counts = gives_rows(run) && !left_out;
      if (run.dur_ns >= 0) stretches.push_back({run.start_ns, run.dur_ns, counts});
      if (!counts) continue;
      found_.none_counted.clear();
      ++steps[first];
      --steps[end];
    }
    // What other threads did is in no run's range, and in a run by its time.
    std::stable_sort(stretches.begin(), stretches.end(),
                     [](const Stretch& a, const Stretch& b) { return a.start_ns < b.start_ns; });
    counted_.resize(size);
    int32_t open = 0;
    int32_t runs = 0;
    for (uint32_t i = 0; i < size; ++i) {
      open += steps[i];
      runs += run_steps[i];
      counted_[i] = open > 0 ? 1 : 0;
      if (runs > 0) continue;
      const Stretch* around = StretchAround(stretches, profile_.slices[i]);
      if (around != nullptr) {
        counted_[i] = around->counts ? 1 : 0;
      } else if (ModuleOf(profile_.slices[i]) != kNone) {
        ++found_.in_no_run;
      }
    }
  }

  struct Stretch {
    int64_t start_ns;
    int64_t dur_ns;
    bool counts;
  };

  // The last run that began before the slice, if the slice ended in it; nullptr.
  static const Stretch* StretchAround(const std::vector<Stretch>& runs, const Slice& slice) {
    auto run = std::upper_bound(runs.begin(), runs.end(), slice.start_ns,
                                [](int64_t ns, const Stretch& one) { return ns < one.start_ns; });
    if (run == runs.begin()) return nullptr;
    --run;
    // Both begin at 0 or later, so that the difference is exact.
    const int64_t since_start = slice.start_ns - run->start_ns;
    return slice.dur_ns >= 0 && since_start <= run->dur_ns &&
                   slice.dur_ns <= run->dur_ns - since_start
               ? &*run
               : nullptr;
  }

  [[nodiscard]] uint32_t ModuleOf(const Slice& slice) const {
    if (slice.category != Category::kModuleCall || slice.args >= profile_.args.size()) return kNone;
    const uint32_t module = profile_.args[slice.args].module;
    return module < options_.modules ? module : kNone;
  }

  [[nodiscard]] bool IsCall(uint32_t i) const {
    const Slice& slice = profile_.slices[i];
    if (counted_[i] == 0 || profile_.tracks[slice.track].kind != profile::Kind::kHostWall) {
      return false;
    }
    if (slice.category == Category::kOperator) return options_.operators;
    return ModuleOf(slice) != kNone;
  }

  // The innermost call at or around the slice; kNone. What was found is kept for what lies between.
  uint32_t CallAround(uint32_t slice) {
    const auto size = static_cast<uint32_t>(profile_.slices.size());
    uint32_t found = kNone;
    for (uint32_t at = slice; at < size; at = profile_.slices[at].parent) {
      if (around_[at] != kUnknown) {
        found = around_[at];
        break;
      }
      if (IsCall(at)) {
        found = at;
        break;
      }
      around_[at] = kNone;  // also what ends a circle
      chain_.push_back(at);
    }
    for (; !chain_.empty(); chain_.pop_back()) around_[chain_.back()] = found;
    return found;
  }

  void FindCalls() {
    const auto size = static_cast<uint32_t>(profile_.slices.size());
    around_.assign(size, kUnknown);
    std::vector<uint32_t> roots;
    std::vector<uint32_t> first_child(size, kNone);
    std::vector<uint32_t> next(size, kNone);
    for (uint32_t i = size; i-- > 0;) {
      if (!IsCall(i)) continue;
      const Slice& slice = profile_.slices[i];
      uint32_t parent = CallAround(slice.parent);
      // A call is inside another on its own thread alone.
      if (parent != kNone && profile_.slices[parent].track != slice.track) parent = kNone;
      if (parent == kNone) {
        roots.push_back(i);
        continue;
      }
      next[i] = first_child[parent];
      first_child[parent] = i;
    }
    call_of_.assign(size, kNone);
    // Without recursion. In a broken recording calls may be in a circle: these are in no tree.
    struct Entered {
      uint32_t slice;
      uint32_t parent;
    };
    std::vector<Entered> stack;
    for (auto root = roots.rbegin(); root != roots.rend(); ++root) {
      stack.push_back({*root, kNone});
      while (!stack.empty()) {
        const Entered entered = stack.back();
        stack.pop_back();
        const auto index = static_cast<uint32_t>(found_.calls.size());
        call_of_[entered.slice] = index;
        AddCall(profile_.slices[entered.slice], entered.parent);
        // The last one in is the first one out; which child comes first changes no sum.
        for (uint32_t child = first_child[entered.slice]; child != kNone; child = next[child]) {
          stack.push_back({child, index});
        }
      }
    }
  }

  void AddCall(const Slice& slice, uint32_t parent) {
    ModuleCall& call = found_.calls.emplace_back();
    call.parent = parent;
    call.module = ModuleOf(slice);
    call.name = slice.name;
    call.raised = call.module != kNone && profile_.args[slice.args].raised;
    call.seen = options_.seen_thread == profile::ModuleFacts::kAllThreads ||
                profile_.tracks[slice.track].tid == options_.seen_thread;
    call.start_ns = slice.start_ns;
    call.dur_ns = std::max<int64_t>(slice.dur_ns, 0);
  }

  ModuleAmounts* OwnAmounts(uint32_t slice) {
    const uint32_t around = CallAround(slice);
    if (around == kNone || call_of_[around] == kNone) return nullptr;
    return &found_.calls[call_of_[around]].own;
  }

  void AddAmounts() {
    for (const profile::Allocation& allocation : profile_.allocations) {
      ModuleAmounts* own = OwnAmounts(allocation.slice);
      if (own == nullptr) continue;
      int64_t& net = allocation.device ? own->device_bytes : own->cpu_bytes;
      net = SaturatingAdd(net, allocation.bytes);
      if (allocation.bytes > 0) {
        own->allocated_bytes = SaturatingAdd(own->allocated_bytes, allocation.bytes);
      } else {
        // The least number has no opposite.
        const int64_t freed = SaturatingAdd(~allocation.bytes, int64_t{1});
        own->freed_bytes = SaturatingAdd(own->freed_bytes, freed);
      }
    }
    for (uint32_t i = 0; i < profile_.slices.size(); ++i) {
      const Slice& slice = profile_.slices[i];
      if (slice.category != Category::kDeviceWork || counted_[i] == 0 || slice.dur_ns < 0) continue;
      if (profile_.tracks[slice.track].in_ticks) continue;
      if (ModuleAmounts* own = OwnAmounts(slice.parent)) {
        own->device_ns = SaturatingAdd(own->device_ns, slice.dur_ns);
      } else {
        found_.unowned_device_ns = SaturatingAdd(found_.unowned_device_ns, slice.dur_ns);
      }
    }
  }

  const Profile& profile_;
  ModuleCallOptions options_;
  ModuleCalls found_;
  std::vector<uint8_t> counted_;   // by slice
  std::vector<uint32_t> around_;   // of what is no call: the call around it
  std::vector<uint32_t> call_of_;  // by slice; kNone: it is none
  std::vector<uint32_t> chain_;
};

}  // namespace

void ModuleAmounts::Add(const ModuleAmounts& other) {
  device_ns = SaturatingAdd(device_ns, other.device_ns);
  cpu_bytes = SaturatingAdd(cpu_bytes, other.cpu_bytes);
  device_bytes = SaturatingAdd(device_bytes, other.device_bytes);
  allocated_bytes = SaturatingAdd(allocated_bytes, other.allocated_bytes);
  freed_bytes = SaturatingAdd(freed_bytes, other.freed_bytes);
}

ModuleCalls FindModuleCalls(const Profile& profile, const ModuleCallOptions& options) {
  return Forest(profile, options).Find();
}

}  // namespace inferprobe::analyze
