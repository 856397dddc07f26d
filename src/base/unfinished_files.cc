#include "base/unfinished_files.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstring>

namespace inferprobe::base {
namespace {

enum class State : uint8_t { kFree, kFilling, kFull };

struct Slot {
  std::atomic<State> state{State::kFree};
  std::array<char, PATH_MAX> path{};
};
static_assert(std::atomic<State>::is_always_lock_free);

// A command writes three files at most.
std::array<Slot, 8> g_slots;

}  // namespace

int KeepUnfinished(const std::string& path) {
  if (path.size() >= PATH_MAX) return kNotKept;
  for (size_t i = 0; i < g_slots.size(); ++i) {
    State expected = State::kFree;
    if (!g_slots[i].state.compare_exchange_strong(expected, State::kFilling)) continue;
    std::memcpy(g_slots[i].path.data(), path.c_str(), path.size() + 1);
    g_slots[i].state.store(State::kFull);
    return static_cast<int>(i);
  }
  return kNotKept;
}

void ForgetUnfinished(int slot) {
  if (slot != kNotKept) g_slots[static_cast<size_t>(slot)].state.store(State::kFree);
}

void RemoveUnfinishedFiles() {
  for (const Slot& slot : g_slots) {
    if (slot.state.load() == State::kFull) unlink(slot.path.data());
  }
}

}  // namespace inferprobe::base
