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
#include <string>
#include <string_view>
#include <vector>

#include "profile/model.h"

namespace inferprobe::analyze {

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
  void Wait(int64_t ns) { now_ns += ns; }
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
  std::vector<uint32_t> open_;
};

}  // namespace inferprobe::analyze
