// What the delegate kit says of each of its events, in the event's metadata: one JSON object, by
// which a file still tells a host phase from what an engine reported, after any conversion.
//
//   DelegateNotes notes(&profile);
//   if (const DelegateNote* note = notes.Of(slice)) ... note->kind ...
//
// The rule that people break: metadata is bytes of a file, of any delegate. What is not exactly
// such an object is no note, and its event is what an unmodified delegate reports about itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/metric.h"
#include "profile/model.h"

namespace inferprobe::profile {

struct DelegateNote {
  Kind kind = Kind::kEngineReported;
  CallMode mode = CallMode::kUnknown;
  std::optional<uint64_t> call;  // number of this call of this engine, from 1
  std::string engine;            // engine id
  std::string clock;             // of a device duration, e.g. "cuda event"
  bool of_running_mean = false;  // computed from a mean over all calls since compile
  std::string type, exec;        // of a layer
  uint64_t calls = 0;            // on .layer_report: inferences since compile; 0: not known
  uint64_t unit_ns = 0;          // on .layer_report: what the engine counts in; 0: not known
  uint64_t covered = 1;          // on .layer_report: calls since the reading before; 0: no layer
  std::string config;            // "process-wide, generation 3"
  // On .delegate: why the device's result of this call, or of an earlier one, will never come.
  std::string device_missing;

  // A phase, or the whole call: host wall time, part of what encloses it.
  [[nodiscard]] bool IsHostWall() const { return kind == Kind::kHostWall; }
};

constexpr size_t kLongestNote = 4096;  // bytes

// nullopt: these bytes are no note.
std::optional<DelegateNote> ParseDelegateNote(std::string_view metadata);

// The events of the kit that are more than phases, by the end of their names: PREFIX.delegate, ...
constexpr std::string_view kWholeCall = ".delegate";
constexpr std::string_view kDelegateLoad = ".delegate_load";
constexpr std::string_view kLayerReport = ".layer_report";
constexpr std::string_view kDeviceDuration = ".device";

// The notes of a profile, each distinct metadata parsed once, when it is first asked for.
class DelegateNotes {
 public:
  // `profile` must outlive it; it may grow.
  explicit DelegateNotes(const Profile* profile) : profile_(*profile) {}

  // nullptr: none. Stays valid.
  const DelegateNote* Of(const Slice& slice);
  const DelegateNote* At(uint32_t metadata);  // by index in Profile::metadata

  // Whether it is a host-wall event of the kit, with this end of its name.
  bool IsHostWall(const Slice& slice, std::string_view suffix = {});

 private:
  const Profile& profile_;
  std::vector<std::unique_ptr<const DelegateNote>> notes_;
  std::vector<bool> looked_at_;
};

}  // namespace inferprobe::profile
