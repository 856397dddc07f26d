// Profiles for tests, written down as nested calls with a clock that only moves when told to.
//
//   SyntheticProfile made;
//   made.BeginRun();
//   made.Enter(Category::kMethod, "Method::execute");
//   made.Leaf(Category::kKernel, "add", 100);
//   made.Leave();
//   made.EndRun();
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profile/model.h"

namespace inferprobe::analyze {

// What a thread did in a parallel region; `start_ns` since the region's.
struct MadePart {
  int64_t tid = 0;
  int64_t start_ns = 0;
  int64_t busy_ns = 0;
  profile::RegionPart facts = {.chunks = 1};
};

class SyntheticProfile {
 public:
  SyntheticProfile() {
    thread_ = AddTrack(profile::TrackType::kThread, profile::Kind::kHostWall);
    engine_ = AddTrack(profile::TrackType::kEngine, profile::Kind::kEngineReported);
    other_thread_ = AddTrack(profile::TrackType::kThread, profile::Kind::kHostWall);
    profile.clock.tick_ns = 0.5;
  }

  uint16_t AddTrack(profile::TrackType type, profile::Kind kind) {
    profile::Track track;
    track.type = type;
    track.kind = kind;
    profile.tracks.push_back(track);
    return static_cast<uint16_t>(profile.tracks.size() - 1);
  }

  void BeginRun(profile::RunMode mode = profile::RunMode::kPairOn, uint32_t group = 0) {
    profile::Run run;
    run.mode = mode;
    run.group = group;
    run.start_ns = now_ns;
    run.first_slice = static_cast<uint32_t>(profile.slices.size());
    profile.runs.push_back(run);
    Enter(profile::Category::kRun, "run");
  }
  void EndRun() {
    Leave();
    profile::Run& run = profile.runs.back();
    run.dur_ns = now_ns - run.start_ns;
    run.slice_count = static_cast<uint32_t>(profile.slices.size()) - run.first_slice;
  }

  uint32_t Enter(profile::Category category, std::string_view name, int32_t instruction = -1) {
    const uint32_t index = Push(thread_, category, name, now_ns, 0, instruction);
    open_.push_back(index);
    return index;
  }
  void Leave() {
    profile::Slice& slice = profile.slices[open_.back()];
    slice.dur_ns = now_ns - slice.start_ns;
    open_.pop_back();
  }
  // A call of the PyTorch module of this number; Leave() ends it.
  uint32_t EnterModule(uint32_t module, bool raised = false) {
    const uint32_t index = Enter(profile::Category::kModuleCall, "");
    profile::SliceArgs args;
    args.module = module;
    args.raised = raised;
    profile.slices[index].args = profile.AddArgs(args);
    return index;
  }
  // In what is open now.
  void Allocation(int64_t bytes, bool device = false) {
    profile.allocations.push_back(
        {now_ns, bytes, open_.empty() ? profile::kNone : open_.back(), device});
  }
  // What `launcher` had done by a device, later; its time does not pass here.
  void DeviceWork(uint32_t launcher, std::string_view name, int64_t ns) {
    if (device_ == 0) {
      device_ = AddTrack(profile::TrackType::kEngine, profile::Kind::kDevice);
    }
    const uint32_t index = Push(device_, profile::Category::kDeviceWork, name, now_ns, ns, -1);
    profile.slices[index].parent = launcher;
  }
  void Wait(int64_t ns) { now_ns += ns; }
  // What follows runs on the thread of this number, from 1; 1 is the first.
  void UseThread(size_t number) {
    while (threads_.size() < number) {
      threads_.push_back({AddTrack(profile::TrackType::kThread, profile::Kind::kHostWall), 0});
    }
    thread_ = threads_[number - 1].thread;
    regions_of_ = number - 1;
  }
  void Leaf(profile::Category category, std::string_view name, int64_t ns,
            int32_t instruction = -1) {
    Enter(category, name, instruction);
    Wait(ns);
    Leave();
  }
  // What a delegate says about itself inside the slice that is open; its time does not pass here.
  void Reported(std::string_view name, int64_t ns) {
    Push(engine_, profile::Category::kDelegateOp, name, now_ns, ns, -1);
  }
  // Events of the delegate kit, with what its note says. Of the host:
  void EnterNoted(std::string_view name, std::string_view note = R"({"kind":"host_wall"})") {
    Note(Enter(profile::Category::kOther, name), note);
  }
  void NotedLeaf(std::string_view name, int64_t ns,
                 std::string_view note = R"({"kind":"host_wall"})") {
    EnterNoted(name, note);
    Wait(ns);
    Leave();
  }
  void Note(uint32_t slice, std::string_view note) {
    profile::SliceArgs args;
    profile::Slice& it = profile.slices[slice];
    if (it.args != profile::kNone) args = profile.args[it.args];
    args.metadata = static_cast<uint32_t>(profile.metadata.size());
    profile.metadata.emplace_back(note);
    it.args = profile.AddArgs(args);
  }
  // Of its engine, and of a device, wherever it stands:
  void ReportedNoted(std::string_view name, int64_t ns, std::string_view note) {
    Note(Push(engine_, profile::Category::kDelegateOp, name, now_ns, ns, -1), note);
  }
  void OnDevice(std::string_view name, int64_t ns, std::string_view note) {
    if (device_ == 0) {
      device_ = AddTrack(profile::TrackType::kEngine, profile::Kind::kDevice);
    }
    Note(Push(device_, profile::Category::kDelegateOp, name, now_ns, ns, -1), note);
  }
  void OnOtherThread(std::string_view name, int64_t ns) {
    const uint32_t index = Push(other_thread_, profile::Category::kScope, name, now_ns, ns, -1);
    profile.slices[index].parent = profile::kNone;
  }

  // A parallel region that begins now and takes `wall_ns`; its facts need no id, requested and
  // admitted threads. Returns its id.
  uint64_t Region(std::string_view label, int64_t wall_ns, profile::Region facts,
                  const std::vector<MadePart>& parts, int32_t instruction = -1) {
    const uint64_t id = BeginRegion(label, wall_ns, facts, parts, instruction);
    Wait(wall_ns);
    return id;
  }
  // The same, and its time does not pass.
  uint64_t BeginRegion(std::string_view label, int64_t wall_ns, profile::Region facts,
                       const std::vector<MadePart>& parts, int32_t instruction = -1) {
    uint16_t& regions = threads_[regions_of_].regions;
    if (regions == 0) {
      regions = AddTrack(profile::TrackType::kRegions, profile::Kind::kHostWall);
      profile.tracks[regions].parent = thread_;
    }
    facts.id = profile.regions.size() + 1;
    if (!parts.empty()) facts.participants_status = profile::Status::kValid;
    if (facts.observed == 0) facts.observed = static_cast<int32_t>(parts.size());
    profile::SliceArgs args;
    args.instruction = instruction;
    args.region = static_cast<uint32_t>(profile.regions.size());
    const uint32_t whole =
        Push(regions, profile::Category::kRegion, label, now_ns, wall_ns, instruction);
    profile.slices[whole].args = profile.AddArgs(args);
    profile.regions.push_back(facts);
    for (const MadePart& part : parts) {
      const auto [track, is_new] = participants_.try_emplace(part.tid, uint16_t{0});
      if (is_new) {
        track->second = AddTrack(profile::TrackType::kParticipant, profile::Kind::kHostWall);
        profile.tracks[track->second].tid = part.tid;
      }
      const uint32_t slice = Push(track->second, profile::Category::kRegionPart, label,
                                  now_ns + part.start_ns, part.busy_ns, -1);
      profile.slices[slice].parent = whole;
      profile::SliceArgs part_args;
      part_args.region_part = static_cast<uint32_t>(profile.region_parts.size());
      profile.slices[slice].args = profile.AddArgs(part_args);
      profile.region_parts.push_back(part.facts);
      profile.region_parts.back().region = args.region;
    }
    return facts.id;
  }

  profile::Profile profile;
  int64_t now_ns = 1000;

 private:
  uint32_t Push(uint16_t track, profile::Category category, std::string_view name, int64_t start_ns,
                int64_t dur_ns, int32_t instruction) {
    profile::Slice slice;
    slice.start_ns = start_ns;
    slice.dur_ns = dur_ns;
    slice.name = profile.strings.Intern(name);
    slice.parent = open_.empty() ? profile::kNone : open_.back();
    slice.track = track;
    slice.category = category;
    if (instruction >= 0) {
      profile::SliceArgs args;
      args.instruction = instruction;
      slice.args = profile.AddArgs(args);
    }
    profile.slices.push_back(slice);
    return static_cast<uint32_t>(profile.slices.size() - 1);
  }

  uint16_t thread_ = 0;
  uint16_t engine_ = 0;
  uint16_t other_thread_ = 0;
  uint16_t device_ = 0;  // 0: there is none yet
  struct Thread {
    uint16_t thread;
    uint16_t regions;  // the track beside it; 0: there is none yet
  };
  std::vector<Thread> threads_ = {{thread_, 0}};
  size_t regions_of_ = 0;  // the thread in use, as index
  std::map<int64_t, uint16_t> participants_;
  std::vector<uint32_t> open_;
};

}  // namespace inferprobe::analyze
