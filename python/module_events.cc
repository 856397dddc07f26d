#include "module_events.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <unordered_map>

#include "base/saturating.h"

namespace inferprobe::python {
namespace {

using profile::Category;
using profile::kNone;
using profile::Profile;
using profile::Slice;

bool IsTimed(const Slice& slice) {
  return slice.category == Category::kOperator || slice.category == Category::kModuleCall;
}

// By start, and what encloses before what it encloses.
std::vector<uint32_t> OutermostFirst(const Profile& profile) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < profile.slices.size(); ++i) {
    if (IsTimed(profile.slices[i])) order.push_back(i);
  }
  const auto key = [&](uint32_t i) {
    const Slice& slice = profile.slices[i];
    return std::tuple(slice.start_ns, -slice.dur_ns);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return order;
}

// What a slice is inside of, found once from the outside to the inside.
struct Place {
  uint32_t call = kNone;  // innermost module call around it, or the call itself
  uint32_t depth = 0;     // operators around it, up to the call
  bool known = false;
};

class Places {
 public:
  explicit Places(const Profile& profile) : profile_(profile), places_(profile.slices.size()) {}

  const Place& Of(uint32_t index) {
    // Slices of equal times may come in any order, so parents are asked for.
    path_.clear();
    for (uint32_t at = index; at != kNone && !places_[at].known; at = profile_.slices[at].parent) {
      path_.push_back(at);
      if (profile_.slices[at].category == Category::kModuleCall) break;
    }
    for (auto at = path_.rbegin(); at != path_.rend(); ++at) Find(*at);
    return places_[index];
  }

 private:
  void Find(uint32_t index) {
    Place& place = places_[index];
    place.known = true;
    const Slice& slice = profile_.slices[index];
    if (slice.category == Category::kModuleCall) {
      place.call = index;
      return;
    }
    if (slice.parent == kNone) return;
    const Place& parent = places_[slice.parent];
    const bool in_operator = profile_.slices[slice.parent].category == Category::kOperator;
    place.call = parent.call;
    place.depth = parent.depth + (in_operator ? 1 : 0);
  }

  const Profile& profile_;
  std::vector<Place> places_;
  std::vector<uint32_t> path_;
};

}  // namespace

ModuleEvents EventsOf(const Profile& profile, uint32_t modules) {
  ModuleEvents events;
  events.calls.assign(modules, 0);
  const std::vector<uint32_t> order = OutermostFirst(profile);

  std::vector<int64_t> inside_ns(profile.slices.size(), 0);
  std::vector<int64_t> bytes(profile.slices.size(), 0);
  std::vector<int64_t> device_bytes(profile.slices.size(), 0);
  for (const uint32_t i : order) {
    const Slice& slice = profile.slices[i];
    if (slice.parent != kNone) {
      inside_ns[slice.parent] = base::SaturatingAdd(inside_ns[slice.parent], slice.dur_ns);
    }
  }
  for (const profile::Allocation& allocation : profile.allocations) {
    std::vector<int64_t>& sums = allocation.device ? device_bytes : bytes;
    for (uint32_t at = allocation.slice; at != kNone; at = profile.slices[at].parent) {
      sums[at] = base::SaturatingAdd(sums[at], allocation.bytes);
    }
  }

  Places places(profile);
  std::vector<uint32_t> number_of_call(profile.slices.size(), 0);
  struct Row {
    uint32_t module, call, slice;
  };
  std::vector<Row> rows;
  for (const uint32_t i : order) {
    const Slice& slice = profile.slices[i];
    if (slice.category != Category::kModuleCall || slice.args == kNone) continue;
    const uint32_t module = profile.args[slice.args].module;
    if (module < modules) number_of_call[i] = events.calls[module]++;
  }
  for (const uint32_t i : order) {
    if (profile.slices[i].category != Category::kOperator) continue;
    const uint32_t call = places.Of(i).call;
    if (call == kNone || profile.slices[call].args == kNone) continue;
    const uint32_t module = profile.args[profile.slices[call].args].module;
    if (module < modules) rows.push_back({module, number_of_call[call], i});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tuple(a.module, a.call) < std::tuple(b.module, b.call);
  });

  std::unordered_map<profile::StringId, uint32_t> names;
  for (const Row& row : rows) {
    const Slice& slice = profile.slices[row.slice];
    const auto [name, fresh] =
        names.try_emplace(slice.name, static_cast<uint32_t>(events.names.size()));
    if (fresh) events.names.emplace_back(profile.Name(slice));
    events.module.push_back(row.module);
    events.call.push_back(row.call);
    events.name.push_back(name->second);
    events.depth.push_back(places.Of(row.slice).depth);
    events.start_ns.push_back(slice.start_ns);
    events.dur_ns.push_back(slice.dur_ns);
    events.self_ns.push_back(slice.dur_ns - inside_ns[row.slice]);
    events.thread_id.push_back(profile.tracks[slice.track].tid);
    events.bytes.push_back(bytes[row.slice]);
    events.device_bytes.push_back(device_bytes[row.slice]);
  }
  return events;
}

}  // namespace inferprobe::python
