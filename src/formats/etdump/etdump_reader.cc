#include "formats/etdump/etdump_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/memory_block.h"
#include "formats/etdump/block_name.h"
#include "formats/etdump/engine_tracks.h"
#include "formats/etdump/text_reader.h"
#include "profile/delegate_note.h"
#include "profile/leave_out.h"

namespace inferprobe::etdump {
namespace {

using profile::Category;
using profile::Kind;
using profile::kNone;
using profile::Loss;
using profile::Slice;
using profile::SliceArgs;

constexpr uint64_t kLargestTime = uint64_t{1} << 62;
constexpr uint32_t kHostTrack = 0;
constexpr size_t kGuesses = 1 << 14;
constexpr std::string_view kDelegateCall = "DELEGATE_CALL";
// Powers of ten up to which the resolution of the host's clock is looked for.
constexpr int64_t kCoarsestTickNs = 1'000'000'000;

Category CategoryOf(std::string_view name) {
  if (name == "Method::execute") return Category::kMethod;
  if (name == "OPERATOR_CALL") return Category::kOperatorCall;
  if (name == kDelegateCall) return Category::kDelegateCall;
  if (name.starts_with("native_call_")) return Category::kKernel;
  if (name == "Method::init" || name == "Program::load_method" || name == "load") {
    return Category::kLoad;
  }
  return Category::kOther;
}

bool InInstruction(Category category) {
  return category == Category::kOperatorCall || category == Category::kKernel ||
         category == Category::kDelegateCall;
}

std::string_view TextOf(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

std::string_view BytesOf(const flatbuffers::Vector<uint8_t>* bytes) {
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

class Reader {
 public:
  Reader(Walk walk, const profile::ReadOptions& options, profile::Recording* into)
      : walk_(std::move(walk)),
        unit_ns_(options.input_unit_ns),
        into_(*into),
        out_(into->profile),
        texts_(walk_.bytes(), &into->profile),
        notes_(&into->profile),
        engine_tracks_(&into->profile, kHostTrack, options.delegate_clocks) {
    if (unit_ns_ <= 0) unit_ns_ = 1;
  }

  Result<void> Read() {
    auto events = walk_.CountEvents();
    if (!events) return tl::unexpected(events.error());
    out_.slices.reserve(*events);
    base::PreferLargePages(out_.slices.data(), *events * sizeof(Slice));
    profile::Track host;
    host.name = "recorded thread";
    out_.tracks.push_back(std::move(host));
    for (uint32_t i = 0; i < walk_.blocks(); ++i) {
      auto block = walk_.OpenBlock(i);
      if (!block) return tl::unexpected(block.error());
      INFERPROBE_RETURN_IF_ERROR(ReadBlock(*block));
    }
    if (*events == 0) out_.losses.Add(Loss::kNoEvents);
    FinishEngineTracks();
    if (tick_ns_ > 1 && tick_ns_ < kCoarsestTickNs) {
      out_.clock.tick_ns = static_cast<double>(tick_ns_);
    }
    return {};
  }

 private:
  // What an event of the same place in the block before was: runs repeat one another.
  struct Guess {
    profile::StringId name = 0;
    SliceArgs args;
    uint32_t args_index = kNone;
  };

  Result<void> ReadBlock(const Walk::Block& block) {
    AddToGroups(block);
    if (block.events == 0) out_.losses.Add(Loss::kEmptyBlock);
    block_begin_ = static_cast<uint32_t>(out_.slices.size());
    run_begin_ = block_begin_;
    block_runs_ = out_.runs.size();
    has_calls_ = false;
    block_lost_ = LossInBlockName(block.name);
    lost_.reset();
    lost_method_ = false;
    open_.clear();
    reported_.clear();
    loads_.clear();
    for (uint32_t i = 0; i < block.events; ++i) {
      const ::etdump::Event* event = walk_.EventOf(block, i);
      if (event == nullptr) return walk_.BrokenEvent(block, i);
      ReadEvent(*event, i);
      if (texts_.overlap()) return TextsOverlap();
    }
    for (const auto& [instruction, slices] : reported_) {
      for (const uint32_t index : slices) {
        Slice& slice = out_.slices[index];
        const profile::DelegateNote* note = notes_.Of(slice);
        EngineTracks::Track& track = engine_tracks_.Of(instruction, note);
        ++track.reports;
        ++track.elsewhere;  // on whose clock, no call tells
        slice.track = static_cast<uint16_t>(track.track);
        // A device's time may come after its call, and says of which it is.
        if (note == nullptr || note->kind != Kind::kDevice) {
          out_.losses.Add(Loss::kEngineOpsOutsideCall);
        }
      }
    }
    if (out_.runs.size() == block_runs_) {
      // A method whose times were dropped is not one that was never told of.
      if (has_calls_ && !lost_method_) {
        AddRunOfSpan();
      } else if (block_lost_) {
        out_.losses.Add(Loss::kIncompleteRun);  // nothing of it is left that could say so
      }
    }
    MarkLoads();
    return {};
  }

  // What loads a delegate is loading where it lies in no run.
  void MarkLoads() {
    for (const uint32_t index : loads_) {
      Slice& load = out_.slices[index];
      const auto run = std::upper_bound(
          out_.runs.begin() + static_cast<ptrdiff_t>(block_runs_), out_.runs.end(), load.start_ns,
          [](int64_t start_ns, const profile::Run& it) { return start_ns < it.start_ns; });
      const bool in_run = run != out_.runs.begin() + static_cast<ptrdiff_t>(block_runs_) &&
                          load.start_ns < std::prev(run)->start_ns + std::prev(run)->dur_ns;
      if (!in_run) load.category = Category::kLoad;
    }
  }

  tl::unexpected<Error> TextsOverlap() const {
    return walk_.Broken(*texts_.overlap(),
                        "this text lies in others: together they are longer than the file");
  }

  void AddToGroups(const Walk::Block& block) {
    std::vector<profile::BlockGroup>& groups = into_.source.blocks;
    const std::string name = texts_.BlockName(block.name);
    if (!groups.empty() && groups.back().name == name && groups.back().events == block.events) {
      ++groups.back().count;
    } else {
      groups.push_back({name, 1, block.events});
    }
  }

  void ReadEvent(const ::etdump::Event& event, uint32_t place) {
    const int parts = (event.profile_event() != nullptr ? 1 : 0) +
                      (event.allocation_event() != nullptr ? 1 : 0) +
                      (event.debug_event() != nullptr ? 1 : 0);
    if (parts != 1) return LeaveOut(Loss::kPartsOfEvent, "");
    if (event.profile_event() == nullptr) return out_.losses.Add(Loss::kOtherEvents);
    const ::etdump::ProfileEvent& it = *event.profile_event();
    const uint64_t start = it.start_time();
    const uint64_t end = it.end_time();
    if (start == 0 && end == 0) return LeaveOut(Loss::kZeroTimes, TextOf(it.name()));
    if (end < start) return LeaveOut(Loss::kEndBeforeStart, TextOf(it.name()));
    Guess& guess = guesses_[place % kGuesses];

    // ETDumpGen gives metadata to what a delegate reports, be it empty, and to nothing else.
    const bool by_delegate = it.delegate_debug_id_int() != -1 ||
                             it.delegate_debug_id_str() != nullptr ||
                             it.delegate_debug_metadata() != nullptr;
    // A delegate's may be ticks, which are in nobody's unit.
    if (end > kLargestTime || (!by_delegate && IsBeyond(end))) {
      return LeaveOut(Loss::kTimeOutOfRange, TextOf(it.name()));
    }
    Slice slice;
    const bool by_id = by_delegate && it.name() == nullptr;
    slice.name = texts_.Name(TextOf(by_id ? it.delegate_debug_id_str() : it.name()), guess.name);
    slice.category = by_delegate ? Category::kDelegateOp : CategoryOfName(slice.name);
    SliceArgs args;
    // Outside of instructions ETDumpGen writes chain -1 and instruction 0.
    if (it.chain_index() >= 0 || by_delegate || InInstruction(slice.category)) {
      args.instruction = std::max(it.instruction_id(), -1);
    }
    if (it.chain_index() >= 0) args.chain = it.chain_index();
    if (by_delegate) {
      args.delegate_debug_id = it.delegate_debug_id_int();
      if (it.delegate_debug_id_str() != nullptr) args.delegate_debug_name = slice.name;
      if (it.name() != nullptr && it.delegate_debug_id_str() != nullptr) {
        args.delegate_debug_name = texts_.Name(TextOf(it.delegate_debug_id_str()), 0);
      }
      args.metadata = texts_.Metadata(BytesOf(it.delegate_debug_metadata()));
    }
    const profile::DelegateNote* note = notes_.At(args.metadata);
    if (note != nullptr && it.chain_index() < 0) args.instruction = -1;
    slice.args = Args(args, guess);
    guess.name = slice.name;
    if (!by_delegate) return AddHosts(slice, args, start, end);
    if (note == nullptr || !note->IsHostWall()) return AddReported(slice, args, start, end);
    if (IsBeyond(end)) return LeaveOut(Loss::kTimeOutOfRange, "");
    slice.category = Category::kOther;
    if (out_.Name(slice).ends_with(profile::kDelegateLoad)) {
      loads_.push_back(static_cast<uint32_t>(out_.slices.size()));
    }
    AddHosts(slice, args, start, end);
  }

  // The run that it was part of is not whole any more.
  void LeaveOut(Loss loss, std::string_view name) {
    out_.losses.Add(loss);
    if (!lost_) lost_ = loss;
    if (CategoryOf(name) != Category::kMethod) return;
    lost_method_ = true;
    run_begin_ = static_cast<uint32_t>(out_.slices.size());
  }

  // A delegate's events come before its call ends; until then they wait.
  void AddReported(Slice slice, const SliceArgs& args, uint64_t start, uint64_t end) {
    slice.start_ns = static_cast<int64_t>(start);
    slice.dur_ns = static_cast<int64_t>(end - start);
    reported_[args.instruction].push_back(static_cast<uint32_t>(out_.slices.size()));
    out_.slices.push_back(slice);
  }

  void AddHosts(Slice slice, const SliceArgs& args, uint64_t start, uint64_t end) {
    slice.start_ns = HostNs(start);
    slice.dur_ns = HostNs(end) - slice.start_ns;
    slice.track = kHostTrack;
    const auto index = static_cast<uint32_t>(out_.slices.size());
    out_.slices.push_back(slice);
    LearnTick(slice.start_ns);
    LearnTick(slice.start_ns + slice.dur_ns);
    // Events stand in the order of their ends: what started inside this one is part of it.
    while (!open_.empty() && Encloses(slice, out_.slices[open_.back()])) {
      out_.slices[open_.back()].parent = index;
      open_.pop_back();
    }
    open_.push_back(index);
    has_calls_ = has_calls_ || InInstruction(slice.category);
    if (slice.category == Category::kDelegateCall) ClaimReported(index, args, start, end);
    if (slice.category == Category::kMethod) AddRun(slice);
  }

  static bool Encloses(const Slice& outer, const Slice& inner) {
    return inner.start_ns >= outer.start_ns &&
           inner.start_ns + inner.dur_ns <= outer.start_ns + outer.dur_ns;
  }

  // Older runtimes number no reports: then what came since the last call is this one's.
  void ClaimReported(uint32_t call, const SliceArgs& args, uint64_t start, uint64_t end) {
    for (const int32_t instruction : {args.instruction, -1}) {
      const auto reports = reported_.find(instruction);
      if (reports == reported_.end()) continue;
      for (const uint32_t op : reports->second) {
        Slice& slice = out_.slices[op];
        EngineTracks::Track& track = engine_tracks_.Of(args.instruction, notes_.Of(slice));
        slice.parent = call;
        slice.track = static_cast<uint16_t>(track.track);
        const auto op_start = static_cast<uint64_t>(slice.start_ns);
        const uint64_t op_end = op_start + static_cast<uint64_t>(slice.dur_ns);
        ++track.reports;
        track.elsewhere += op_end < start || op_start > end ? 1 : 0;
      }
      reported_.erase(reports);
    }
  }

  // Only now is it known on whose clock each delegate reported.
  void FinishEngineTracks() {
    engine_tracks_.Finish();
    if (unit_ns_ == 1 || engine_tracks_.empty()) return;
    std::vector<bool> beyond(out_.slices.size());
    bool any_beyond = false;
    for (size_t i = 0; i < out_.slices.size(); ++i) {
      Slice& slice = out_.slices[i];
      if (slice.track == kHostTrack || out_.tracks[slice.track].in_ticks) continue;
      const auto start = static_cast<uint64_t>(slice.start_ns);
      const uint64_t end = start + static_cast<uint64_t>(slice.dur_ns);
      beyond[i] = IsBeyond(end);
      any_beyond = any_beyond || beyond[i];
      if (beyond[i]) continue;
      slice.start_ns = HostNs(start);
      slice.dur_ns = HostNs(end) - slice.start_ns;
    }
    if (any_beyond) profile::LeaveOut(beyond, Loss::kTimeOutOfRange, &out_);
  }

  // Method::execute is the run: of what stands before it in the block, it is the last to end.
  void AddRun(const Slice& method) {
    while (out_.runs.size() > block_runs_ && out_.runs.back().start_ns >= method.start_ns) {
      run_begin_ = out_.runs.back().first_slice;  // it called that one
      if (out_.runs.back().incomplete && !lost_) lost_ = out_.runs.back().why;
      out_.runs.pop_back();
    }
    profile::Run run;
    run.mode = profile::RunMode::kProfiled;
    run.start_ns = method.start_ns;
    run.dur_ns = method.dur_ns;
    run.first_slice = run_begin_;
    run.slice_count = static_cast<uint32_t>(out_.slices.size()) - run_begin_;
    MarkLoss(run);
    lost_.reset();
    run_begin_ = static_cast<uint32_t>(out_.slices.size());
    out_.runs.push_back(run);
  }

  void MarkLoss(profile::Run& run) const {
    run.incomplete = lost_ || block_lost_;
    run.why = lost_.value_or(block_lost_.value_or(run.why));
  }

  // A block without Method::execute, of an older runtime: from its first start to its last end.
  void AddRunOfSpan() {
    profile::Run run;
    run.mode = profile::RunMode::kProfiled;
    run.first_slice = block_begin_;
    run.slice_count = static_cast<uint32_t>(out_.slices.size()) - block_begin_;
    MarkLoss(run);
    int64_t end_ns = 0;
    bool any = false;
    for (uint32_t i = block_begin_; i < out_.slices.size(); ++i) {
      const Slice& slice = out_.slices[i];
      if (slice.track != kHostTrack) continue;
      run.start_ns = any ? std::min(run.start_ns, slice.start_ns) : slice.start_ns;
      end_ns = std::max(end_ns, slice.start_ns + slice.dur_ns);
      any = true;
    }
    run.dur_ns = end_ns - run.start_ns;
    out_.runs.push_back(run);
  }

  // In the unit that the user gave.
  [[nodiscard]] bool IsBeyond(uint64_t units) const {
    return units > kLargestTime || Ns(units) > static_cast<long double>(kLargestTime);
  }

  // Precondition: not beyond.
  [[nodiscard]] int64_t HostNs(uint64_t units) const {
    return unit_ns_ == 1 ? static_cast<int64_t>(units) : std::llroundl(Ns(units));
  }

  [[nodiscard]] long double Ns(uint64_t units) const {
    return static_cast<long double>(units) * static_cast<long double>(unit_ns_);
  }

  void LearnTick(int64_t time_ns) {
    while (tick_ns_ > 1 && time_ns % tick_ns_ != 0) tick_ns_ /= 10;
  }

  Category CategoryOfName(profile::StringId name) {
    if (name >= categories_.size()) categories_.resize(name + 1);
    if (!categories_[name]) categories_[name] = CategoryOf(out_.strings.Get(name));
    return *categories_[name];
  }

  uint32_t Args(const SliceArgs& args, Guess& guess) {
    if (args == guess.args) return guess.args_index;
    guess.args = args;
    guess.args_index = args == SliceArgs{} ? kNone : out_.AddArgs(args);
    return guess.args_index;
  }

  Walk walk_;
  double unit_ns_;
  profile::Recording& into_;
  profile::Profile& out_;
  TextReader texts_;
  profile::DelegateNotes notes_;

  std::vector<Guess> guesses_ = std::vector<Guess>(kGuesses);  // by place in the block
  std::vector<std::optional<Category>> categories_;            // by name
  EngineTracks engine_tracks_;
  int64_t tick_ns_ = kCoarsestTickNs;

  // Of the block.
  uint32_t block_begin_ = 0;
  uint32_t run_begin_ = 0;
  size_t block_runs_ = 0;
  bool has_calls_ = false;
  std::optional<Loss> block_lost_;  // by its name
  std::vector<uint32_t> open_;      // slices of the host that nothing encloses so far
  std::vector<uint32_t> loads_;     // of delegates
  // Of delegates, by instruction: events whose call has not ended yet.
  std::unordered_map<int32_t, std::vector<uint32_t>> reported_;
  std::optional<Loss> lost_;  // the first since the last run's end
  bool lost_method_ = false;
};

}  // namespace

Result<profile::Recording> ReadEtdump(const std::string& path,
                                      const profile::ReadOptions& options) {
  auto file = base::MappedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  auto recording = ParseEtdump(file->bytes(), path, options);
  INFERPROBE_RETURN_IF_ERROR(file->Whole());
  return recording;
}

Result<profile::Recording> ParseEtdump(std::string_view bytes, const std::string& name,
                                       const profile::ReadOptions& options) {
  auto walk = Walk::Open(bytes, name);
  if (!walk) return tl::unexpected(walk.error());
  profile::Recording recording;
  recording.source.path = name;
  recording.source.format = "etdump";
  recording.source.title = "ETDump";
  recording.source.bytes = bytes.size();
  recording.profile.process_name = "ETDump";
  recording.model.format = "executorch";
  recording.engine.name = "executorch";
  recording.engine.title = "ExecuTorch";
  recording.event_cost_ns = {profile::Status::kUnavailable,
                             "an ETDump does not tell what recording an event cost"};
  INFERPROBE_RETURN_IF_ERROR(Reader(*std::move(walk), options, &recording).Read());
  return recording;
}

}  // namespace inferprobe::etdump
