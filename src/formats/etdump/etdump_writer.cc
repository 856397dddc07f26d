#include "formats/etdump/etdump_writer.h"

#include <etdump_schema_flatcc_generated.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "formats/etdump/block_name.h"
#include "profile/delegate_note.h"

namespace inferprobe::etdump {
namespace {

using flatbuffers::Offset;
using profile::Category;
using profile::kNone;
using profile::Profile;
using profile::Slice;
using profile::SliceArgs;

constexpr uint32_t kVersion = 0;
// The builder may grow by this much between two looks at its size: one event with names, and what
// it keeps for the vectors.
constexpr uint64_t kMarginBytes = uint64_t{1} << 16;
// A chain of parents longer than this is a cycle in a broken profile.
constexpr int kDeepest = 512;
// Handed to the file in pieces, so that it does not hold a second copy.
constexpr size_t kPieceBytes = size_t{1} << 20;

// Scopes, the run as timed from outside and the setting of inputs are inferprobe's, not
// ExecuTorch's.
bool IsExecuTorchs(Category category) {
  switch (category) {
    case Category::kMethod:
    case Category::kOperatorCall:
    case Category::kKernel:
    case Category::kDelegateCall:
    case Category::kDelegateOp:
    case Category::kOther:
    case Category::kLoad:
      return true;
    case Category::kScope:
    case Category::kRun:
    case Category::kSetInputs:
    case Category::kRegion:
    case Category::kRegionPart:
    case Category::kModuleCall:
    case Category::kOperator:
    case Category::kDeviceWork:
      return false;
  }
  return false;
}

// The given slices, each after all that it encloses, siblings in order of time: the order in which
// ETDumpGen is told of their ends. A delegate's operators have times that were made up; they keep
// the order in which they were reported, and stand last before their call.
class EndOrder {
 public:
  EndOrder(const Profile& profile, std::vector<uint32_t> slices)
      : profile_(profile), slices_(std::move(slices)) {
    for (uint32_t i = 0; i < slices_.size(); ++i) place_[slices_[i]] = i;
    children_.resize(slices_.size());
    for (uint32_t i = 0; i < slices_.size(); ++i) {
      const uint32_t parent = NearestKept(slices_[i]);
      (parent == kNone ? roots_ : children_[parent]).push_back(i);
    }
  }

  std::vector<uint32_t> Take() {
    visited_.resize(slices_.size());
    Walk(std::move(roots_));
    // What only a cycle of parents reaches.
    for (uint32_t i = 0; i < slices_.size(); ++i) {
      if (!visited_[i]) Walk({i});
    }
    return std::move(order_);
  }

 private:
  struct Level {
    std::vector<uint32_t> siblings;
    size_t next = 0;
  };

  // Place among `slices_` of the nearest enclosing slice that is one of them.
  uint32_t NearestKept(uint32_t slice) const {
    uint32_t at = profile_.slices[slice].parent;
    for (int steps = 0; steps < kDeepest && at < profile_.slices.size(); ++steps) {
      if (const auto found = place_.find(at); found != place_.end()) {
        return at == slice ? kNone : found->second;
      }
      at = profile_.slices[at].parent;
    }
    return kNone;
  }

  bool EndsBefore(uint32_t a, uint32_t b) const {
    const Slice& left = profile_.slices[slices_[a]];
    const Slice& right = profile_.slices[slices_[b]];
    const bool left_reported = left.category == Category::kDelegateOp;
    const bool right_reported = right.category == Category::kDelegateOp;
    if (left_reported || right_reported) return !left_reported && right_reported;
    if (left.start_ns != right.start_ns) return left.start_ns < right.start_ns;
    return left.dur_ns < right.dur_ns;
  }

  // Without recursion: a broken profile may be as deep as it is long.
  void Walk(std::vector<uint32_t> roots) {
    std::vector<Level> levels;
    const auto descend = [&](std::vector<uint32_t> siblings) {
      std::stable_sort(siblings.begin(), siblings.end(),
                       [&](uint32_t a, uint32_t b) { return EndsBefore(a, b); });
      levels.push_back({std::move(siblings)});
    };
    descend(std::move(roots));
    while (!levels.empty()) {
      Level& level = levels.back();
      if (level.next < level.siblings.size()) {
        const uint32_t at = level.siblings[level.next++];
        if (visited_[at]) {  // by a cycle: it is written once, by the level that began it
          level.siblings.erase(level.siblings.begin() + static_cast<ptrdiff_t>(--level.next));
          continue;
        }
        visited_[at] = true;
        descend(std::move(children_[at]));
      } else {
        levels.pop_back();
        if (levels.empty()) break;
        const Level& above = levels.back();
        order_.push_back(slices_[above.siblings[above.next - 1]]);
      }
    }
  }

  const Profile& profile_;
  std::vector<uint32_t> slices_;
  std::unordered_map<uint32_t, uint32_t> place_;  // slice -> index in slices_
  std::vector<std::vector<uint32_t>> children_;   // indices in slices_
  std::vector<uint32_t> roots_;
  std::vector<bool> visited_;
  std::vector<uint32_t> order_;
};

class Encoder {
 public:
  Encoder(const Profile& profile, uint64_t max_bytes)
      : profile_(profile), notes_(&profile), max_bytes_(max_bytes) {}

  Result<std::string_view> Encode() {
    // Times are unsigned in the file. Ours count from the machine's start; were one negative, all
    // would be counted from it.
    for (const Slice& slice : profile_.slices) origin_ns_ = std::min(origin_ns_, slice.start_ns);

    std::vector<Offset<::etdump::RunData>> blocks;
    for (auto& [pid, loads] : LoadsByProcess()) {
      INFERPROBE_RETURN_IF_ERROR(AddBlock("Default", std::move(loads), blocks));
    }
    for (const profile::Run& run : profile_.runs) {
      if (!profile::GivesRows(run.mode)) continue;
      INFERPROBE_RETURN_IF_ERROR(AddBlock(BlockNameOf(run), EventsOf(run), blocks));
    }
    builder_.FinishSizePrefixed(
        ::etdump::CreateETDump(builder_, kVersion, builder_.CreateVector(blocks)),
        ::etdump::ETDumpIdentifier());
    return std::string_view(reinterpret_cast<const char*>(builder_.GetBufferPointer()),
                            builder_.GetSize());
  }

  [[nodiscard]] uint64_t repaired() const { return repaired_; }
  [[nodiscard]] uint64_t written() const { return written_; }

 private:
  // Each process loads once, and Inspector keeps one event of a kind for each block.
  std::map<int64_t, std::vector<uint32_t>> LoadsByProcess() const {
    std::vector<bool> in_run(profile_.slices.size());
    for (const profile::Run& run : profile_.runs) {
      const size_t end = std::min(in_run.size(), size_t{run.first_slice} + run.slice_count);
      for (size_t i = run.first_slice; i < end; ++i) in_run[i] = true;
    }
    std::map<int64_t, std::vector<uint32_t>> loads;
    for (uint32_t i = 0; i < profile_.slices.size(); ++i) {
      const Slice& slice = profile_.slices[i];
      const bool other = slice.category == Category::kOther && !in_run[i];
      if ((slice.category != Category::kLoad && !other) || slice.dur_ns < 0) continue;
      const bool known = slice.track < profile_.tracks.size();
      loads[known ? profile_.tracks[slice.track].pid : 0].push_back(i);
    }
    return loads;
  }

  std::vector<uint32_t> EventsOf(const profile::Run& run) const {
    std::vector<uint32_t> events;
    const size_t end = std::min(profile_.slices.size(), size_t{run.first_slice} + run.slice_count);
    for (size_t i = run.first_slice; i < end; ++i) {
      const Slice& slice = profile_.slices[i];
      if (IsExecuTorchs(slice.category) && slice.category != Category::kLoad && slice.dur_ns >= 0) {
        events.push_back(static_cast<uint32_t>(i));
      }
    }
    return events;
  }

  Result<void> AddBlock(const std::string& name, std::vector<uint32_t> slices,
                        std::vector<Offset<::etdump::RunData>>& blocks) {
    std::vector<Offset<::etdump::Event>> events;
    events.reserve(slices.size());
    for (const uint32_t slice : EndOrder(profile_, std::move(slices)).Take()) {
      const std::string_view metadata = MetadataOf(profile_.slices[slice]);
      const uint64_t name_bytes = profile_.Name(profile_.slices[slice]).size();
      if (builder_.GetSize() + metadata.size() + name_bytes + kMarginBytes + pending_bytes_ >
          max_bytes_) {
        return MakeError(ErrorCode::kUnsupported,
                         fmt::format("these runs need more than the {} bytes that an ETDump may "
                                     "have: {} of {} runs fit",
                                     max_bytes_, blocks.size(), profile_.runs.size()),
                         "profile fewer runs, or write a Perfetto trace (--trace)");
      }
      events.push_back(::etdump::CreateEvent(builder_, AddEvent(slice)));
      ++written_;
      pending_bytes_ = (events.size() + blocks.size()) * sizeof(uint32_t);
    }
    blocks.push_back(::etdump::CreateRunData(builder_, builder_.CreateSharedString(name), -1, 0,
                                             builder_.CreateVector(events)));
    return {};
  }

  const SliceArgs& ArgsOf(const Slice& slice) const {
    static const SliceArgs kNoArgs;
    return slice.args < profile_.args.size() ? profile_.args[slice.args] : kNoArgs;
  }

  std::string_view MetadataOf(const Slice& slice) const {
    const uint32_t index = ArgsOf(slice).metadata;
    return index < profile_.metadata.size() ? std::string_view(profile_.metadata[index])
                                            : std::string_view();
  }

  Offset<flatbuffers::String> Text(profile::StringId id) {
    const auto [at, is_new] = texts_.try_emplace(id, 0);
    if (is_new) {
      const base::RepairedText text = base::RepairUtf8(profile_.strings.Get(id));
      if (text.bad_bytes > 0) ++repaired_;
      at->second = builder_.CreateString(text.text).o;
    }
    return at->second;
  }

  // Once each, however many events have it.
  Offset<flatbuffers::Vector<uint8_t>> Metadata(const Slice& slice) {
    const std::string_view bytes = MetadataOf(slice);
    const auto [at, is_new] = metadata_.try_emplace(bytes.empty() ? kNone : ArgsOf(slice).metadata);
    if (is_new) {
      at->second =
          builder_.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()).o;
    }
    return at->second;
  }

  // What ETDumpGen writes: a delegate's operator has a number or a text to be known by, and
  // metadata even when that is empty; other events have a name. Outside of instructions the chain
  // is -1 and the instruction 0. An operator that has a name beside that keeps it: the format has
  // room, and Inspector shows it. So is a host phase of the delegate kit, by what its metadata
  // notes.
  Offset<::etdump::ProfileEvent> AddEvent(uint32_t index) {
    const Slice& slice = profile_.slices[index];
    const SliceArgs& args = ArgsOf(slice);
    const int32_t instruction = InstructionOf(index);
    Offset<flatbuffers::String> name = 0;
    Offset<flatbuffers::String> debug_text = 0;
    Offset<flatbuffers::Vector<uint8_t>> metadata = 0;
    const bool by_delegate = slice.category == Category::kDelegateOp || notes_.IsHostWall(slice);
    if (by_delegate) {
      const bool unknown = args.delegate_debug_id == -1 && args.delegate_debug_name == 0;
      const profile::StringId identifier = unknown ? slice.name : args.delegate_debug_name;
      if (identifier != 0 || unknown) debug_text = Text(identifier);
      if (slice.name != identifier) name = Text(slice.name);
      metadata = Metadata(slice);
    } else {
      name = Text(slice.name);
    }
    const uint64_t start =
        static_cast<uint64_t>(slice.start_ns) - static_cast<uint64_t>(origin_ns_);
    ::etdump::ProfileEventBuilder event(builder_);
    event.add_end_time(start + static_cast<uint64_t>(slice.dur_ns));
    event.add_start_time(start);
    if (by_delegate) {
      event.add_delegate_debug_metadata(metadata);
      event.add_delegate_debug_id_int(args.delegate_debug_id);
      event.add_delegate_debug_id_str(debug_text);
    }
    event.add_instruction_id(std::max(instruction, 0));
    event.add_chain_index(instruction < 0 ? -1 : std::max(args.chain, 0));
    event.add_name(name);
    return event.Finish();
  }

  // Its own, or that of what encloses it.
  int32_t InstructionOf(uint32_t index) const {
    for (int depth = 0; depth < kDeepest && index < profile_.slices.size(); ++depth) {
      const Slice& slice = profile_.slices[index];
      if (const int32_t own = ArgsOf(slice).instruction; own >= 0) return own;
      index = slice.parent;
    }
    return -1;
  }

  const Profile& profile_;
  profile::DelegateNotes notes_;
  const uint64_t max_bytes_;
  uint64_t repaired_ = 0;  // names
  uint64_t written_ = 0;   // events
  flatbuffers::FlatBufferBuilder builder_;
  std::unordered_map<profile::StringId, flatbuffers::uoffset_t> texts_;
  std::unordered_map<uint32_t, flatbuffers::uoffset_t> metadata_;  // by index in the profile
  uint64_t pending_bytes_ = 0;                                     // of vectors not yet written
  int64_t origin_ns_ = 0;
};

}  // namespace

Result<void> WriteEtdump(const Profile& profile, const std::string& path, base::Overwrite overwrite,
                         profile::LossCounts* losses, uint64_t max_bytes) {
  auto file = base::AtomicFile::Create(path, overwrite);
  if (!file) return tl::unexpected(file.error());
  Encoder encoder(profile, std::min(max_bytes, kMaxBytes));
  const auto bytes = encoder.Encode();
  if (!bytes) return tl::unexpected(bytes.error());
  if (losses != nullptr) {
    losses->Add(profile::Loss::kInvalidUtf8, encoder.repaired());
    losses->Add(profile::Loss::kNotInFormat, profile.slices.size() + profile.counters.size() +
                                                 profile.allocations.size() - encoder.written());
  }
  for (size_t at = 0; at < bytes->size(); at += kPieceBytes) {
    INFERPROBE_RETURN_IF_ERROR(file->Write(bytes->substr(at, kPieceBytes)));
  }
  return file->Commit();
}

}  // namespace inferprobe::etdump
