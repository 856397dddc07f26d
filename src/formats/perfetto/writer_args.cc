// Writer's part for the arguments of events: what Perfetto's own fields cannot say of a slice.

#include <algorithm>

#include "formats/perfetto/packet_out.h"
#include "formats/perfetto/region_args.h"
#include "formats/perfetto/writer.h"

namespace inferprobe::perfetto {

using profile::kNone;
using profile::Loss;
using profile::Profile;
using profile::Slice;
using profile::SliceArgs;
using profile::Track;
using profile::TrackType;
using protozero::pbf_builder;

// A call, its whole-call event, a phase: more than this is a damaged profile.
constexpr int kMostSteps = 8;

void Writer::WriteArgs(std::string& body, uint32_t slice_index, uint8_t flags) {
  const Profile& profile = *profile_;
  const Slice& slice = profile.slices[slice_index];
  pbf_builder<TrackEvent> out{body};
  if (slice.category == profile::Category::kDelegateCall) {
    const bool known = slice.args < profile.args.size();
    last_calls_[{slice.track, known ? profile.args[slice.args].instruction : -1}] = slice_index;
  }
  if (slice.args < profile.args.size()) {
    const SliceArgs& args = profile.args[slice.args];
    if (args.instruction != -1) AddInt(out, interner_.Arg(ArgName::kInstruction), args.instruction);
    if (args.chain != -1) AddInt(out, interner_.Arg(ArgName::kChain), args.chain);
    if (args.delegate_debug_id != -1) {
      AddInt(out, interner_.Arg(ArgName::kDelegateDebugId), args.delegate_debug_id);
    }
    if (args.delegate_debug_name != 0) {
      AddText(out, interner_.Arg(ArgName::kDelegateDebugName),
              interner_.DebugName(profile, args.delegate_debug_name));
    }
    if (args.metadata < profile.metadata.size()) {
      AddText(out, interner_.Arg(ArgName::kMetadata), interner_.Metadata(profile, args.metadata));
    }
    if (args.region < profile.regions.size()) {
      WriteRegion(out, profile, profile.regions[args.region], interner_);
    }
    if (slice.category == profile::Category::kModuleCall && args.module != kNone) {
      AddInt(out, interner_.Arg(ArgName::kModule), args.module);
      if (args.raised) AddInt(out, interner_.Arg(ArgName::kRaised), 1);
    }
    if (args.region_part < profile.region_parts.size()) {
      WriteRegionPart(out, profile.region_parts[args.region_part], interner_);
    }
  }
  if (const uint32_t run = runs_.OwnRunOf(slice_index); run != kNone) {
    WriteRunArgs(body, run);
  } else if ((flags & kTellRun) != 0) {
    const uint32_t member_of = runs_.RunOf(slice_index);
    AddInt(out, interner_.Arg(ArgName::kRun), member_of == kNone ? -1 : int64_t{member_of});
  }
  if ((flags & kTellNoParent) != 0) AddInt(out, interner_.Arg(ArgName::kParent), -1);
  if ((flags & kTellParent) != 0) WriteParent(out, slice_index);
  const Track& track = profile.tracks[slice.track];
  if (track.kind != profile::Kind::kHostWall) {
    AddText(out, interner_.Arg(ArgName::kKind), interner_.Word(profile::KindName(track.kind)));
  }
  if (track.type == TrackType::kEngine) WriteEngineArgs(body, slice);
}

void Writer::WriteRunArgs(std::string& body, uint32_t index) {
  const profile::Run& run = profile_->runs[index];
  pbf_builder<TrackEvent> out{body};
  AddInt(out, interner_.Arg(ArgName::kRun), index);
  AddText(out, interner_.Arg(ArgName::kMode), interner_.Word(profile::RunModeName(run.mode)));
  if (run.group != 0) AddInt(out, interner_.Arg(ArgName::kGroup), run.group);
  if (run.process != 0) AddInt(out, interner_.Arg(ArgName::kProcess), run.process);
  if (run.incomplete) AddInt(out, interner_.Arg(ArgName::kIncomplete), 1);
  if (run.incomplete && run.why != Loss::kIncompleteRun) {
    AddText(out, interner_.Arg(ArgName::kWhy), interner_.Word(profile::InfoOf(run.why).name));
  }
  if (!profile::GivesRows(run.mode)) return;
  // By this a reader sees that a part of the run is missing.
  if (const std::optional<uint32_t> slices = runs_.SlicesOf(index)) {
    AddInt(out, interner_.Arg(ArgName::kSlices), *slices);
  }
}

// On another lane than its parent: by how many slices that one began earlier, or, below -1, later.
// Times alone would not tell it from others that began and ended with it.
void Writer::WriteParent(pbf_builder<TrackEvent>& out, uint32_t slice) {
  const uint64_t parent = uint64_t{profile_->slices[slice].parent} - first_slice_;
  const uint32_t own = begun_[slice - first_slice_];
  if (parent >= begun_.size() || begun_[parent] == kNone) return;  // then by times
  const int64_t earlier = int64_t{own} - int64_t{begun_[parent]};
  AddInt(out, interner_.Arg(ArgName::kParent), earlier > 0 ? earlier : earlier - 1);
}

// What a reader would not find by what the slice is in on its lane.
uint8_t Writer::FlagsOf(uint32_t slice_index, uint32_t inside, uint32_t lane_ordinal) const {
  const Slice& slice = profile_->slices[slice_index];
  const TrackType type = profile_->tracks[slice.track].type;
  const bool engine = type == TrackType::kEngine;
  // Its operator, or its region, is on another track: what is around it here says nothing.
  const bool beside = type == TrackType::kRegions || type == TrackType::kParticipant ||
                      (engine && slice.category == profile::Category::kDeviceWork);
  uint8_t flags = beside && slice.parent != kNone ? kTellParent : 0;
  if (!beside && (inside != kNone || lane_ordinal != 0)) {
    const bool in_call = engine && CallOf(slice) != nullptr;
    if (LanePlanner::Enclosing(*profile_, slice_index) != kNone) {
      if (inside == kNone) flags |= kTellParent;
    } else if (!in_call) {
      flags |= kTellNoParent;
    }
  }
  if (engine && CallOf(slice) != nullptr && !IsAtItsCall(slice)) flags |= kTellParent;
  if (!runs_.any()) return flags;
  const uint32_t run = runs_.RunOf(slice_index);
  if (engine) {
    const bool found_by_call = IsAtItsCall(slice) && run != kNone && !runs_.IsCrowded(run) &&
                               runs_.RunOf(slice.parent) == run;
    if (!found_by_call) flags |= kTellRun;
  } else if (inside != kNone ? runs_.RunOf(inside) != run : run != kNone || lane_ordinal != 0) {
    flags |= kTellRun;
  }
  return flags;
}

// The delegate call that an engine's slice is in, also in an event of the host inside that call;
// nullptr: none.
const Slice* Writer::CallOf(const Slice& slice) const {
  using profile::Category;
  if (slice.category != Category::kDelegateOp) return nullptr;
  uint32_t at = slice.parent;
  for (int steps = 0; steps < kMostSteps && at < profile_->slices.size(); ++steps) {
    const Slice& outer = profile_->slices[at];
    if (outer.category == Category::kDelegateCall) return outer.start_ns >= 0 ? &outer : nullptr;
    if (outer.category != Category::kOther) return nullptr;
    at = outer.parent;
  }
  return nullptr;
}

// Whether that is where a reader looks for it: on its thread, at its instruction.
bool Writer::IsAtItsCall(const Slice& slice) const {
  const Slice* call = CallOf(slice);
  const auto instruction_of = [this](const Slice& it) {
    return it.args < profile_->args.size() ? profile_->args[it.args].instruction : -1;
  };
  return call != nullptr && call->track == profile_->tracks[slice.track].parent &&
         instruction_of(slice) == instruction_of(*call);
}

// Whether no other call at its instruction, on its thread, has begun since. The call itself may
// come in a later Append: then the last one in the file began before it.
bool Writer::IsLastBegun(const Slice& call) const {
  const int32_t instruction =
      call.args < profile_->args.size() ? profile_->args[call.args].instruction : -1;
  const auto last = last_calls_.find({call.track, instruction});
  if (last == last_calls_.end()) return true;
  const Slice& other = profile_->slices[last->second];
  return &other == &call || other.start_ns < call.start_ns;
}

// An engine's slice is shown beside its delegate call, on another track. A reader takes the call at
// its instruction that is running as it starts; where that is another one, it is told.
void Writer::WriteEngineArgs(std::string& body, const Slice& slice) {
  pbf_builder<TrackEvent> out{body};
  const Slice* call = CallOf(slice);
  if (profile_->tracks[slice.track].in_ticks) {
    AddInt(out, interner_.Arg(ArgName::kStartTicks), slice.start_ns);
    AddInt(out, interner_.Arg(ArgName::kTicks), slice.dur_ns);
    if (call == nullptr) AddInt(out, interner_.Arg(ArgName::kCall), -1);
    return;
  }
  if (slice.category != profile::Category::kDelegateOp) return;
  if (call == nullptr) {
    AddInt(out, interner_.Arg(ArgName::kCall), -1);
  } else if (!IsLastBegun(*call) || slice.start_ns < call->start_ns ||
             slice.start_ns - call->start_ns > std::max<int64_t>(call->dur_ns, 0)) {
    AddInt(out, interner_.Arg(ArgName::kCall), call->start_ns);
  }
}

}  // namespace inferprobe::perfetto
