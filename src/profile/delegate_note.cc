#include "profile/delegate_note.h"

#include <nlohmann/json.hpp>

namespace inferprobe::profile {
namespace {

enum class Key : uint8_t {
  kKind,
  kMode,
  kCall,
  kEngine,
  kClock,
  kOf,
  kType,
  kExec,
  kCalls,
  kUnitNs,
  kCovered,
  kConfig,
  kDeviceMissing,
  kOther,  // of a later version
};
constexpr std::string_view kKeys[] = {"kind",    "mode",   "call",          "engine", "clock",
                                      "of",      "type",   "exec",          "calls",  "unit_ns",
                                      "covered", "config", "device_missing"};

Key KeyNamed(std::string_view name) {
  for (size_t i = 0; i < std::size(kKeys); ++i) {
    if (kKeys[i] == name) return static_cast<Key>(i);
  }
  return Key::kOther;
}

std::optional<CallMode> ModeNamed(std::string_view name) {
  for (const CallMode mode :
       {CallMode::kBlocking, CallMode::kSynchronized, CallMode::kAsynchronous}) {
    if (name == CallModeName(mode)) return mode;
  }
  return std::nullopt;
}

// Takes the parser's events; false ends the parsing. What lies deeper than the object itself is the
// value of a key that this version does not know.
class NoteBuilder {
 public:
  [[nodiscard]] std::optional<DelegateNote> Take() {
    if (!has_kind_) return std::nullopt;
    return std::move(note_);
  }

  bool null() { return Other(); }
  bool boolean(bool) { return Other(); }
  bool number_integer(int64_t) { return Other(); }  // negative
  bool number_unsigned(uint64_t value) {
    if (depth_ != 1) return Other();
    switch (key_) {
      case Key::kCall:
        note_.call = value;
        return value > 0;
      case Key::kCalls:
        note_.calls = value;
        return value <= kMostCalls;
      case Key::kUnitNs:
        note_.unit_ns = value;
        return value <= kLargestUnitNs;
      case Key::kCovered:
        note_.covered = value;
        return value <= kMostCalls;
      default:
        return Other();
    }
  }
  bool number_float(double, const std::string&) { return Other(); }
  bool string(const std::string& value) {
    if (depth_ != 1) return Other();
    switch (key_) {
      case Key::kKind: {
        const std::optional<Kind> kind = MeasuredKind(value);
        has_kind_ = kind.has_value();
        note_.kind = kind.value_or(note_.kind);
        return has_kind_;
      }
      case Key::kMode: {
        const std::optional<CallMode> mode = ModeNamed(value);
        note_.mode = mode.value_or(CallMode::kUnknown);
        return mode.has_value();
      }
      case Key::kOf:
        note_.of_running_mean = value == "running_mean";
        return note_.of_running_mean;
      case Key::kEngine:
        note_.engine = value;
        return true;
      case Key::kClock:
        note_.clock = value;
        return true;
      case Key::kType:
        note_.type = value;
        return true;
      case Key::kExec:
        note_.exec = value;
        return true;
      case Key::kConfig:
        note_.config = value;
        return true;
      case Key::kDeviceMissing:
        note_.device_missing = value;
        return true;
      default:
        return Other();
    }
  }
  bool binary(const nlohmann::json::binary_t&) { return false; }  // not in JSON
  bool key(const std::string& name) {
    if (depth_ != 1) return true;
    key_ = KeyNamed(name);
    if (key_ == Key::kOther) return true;
    const auto bit = uint32_t{1} << static_cast<uint32_t>(key_);
    const bool twice = (seen_ & bit) != 0;
    seen_ |= bit;
    return !twice;
  }
  bool start_object(size_t) {
    if (depth_ == 0) {
      depth_ = 1;
      return true;
    }
    return Open();
  }
  bool start_array(size_t) { return depth_ > 0 && Open(); }
  bool end_object() { return --depth_ >= 0; }
  bool end_array() { return --depth_ >= 0; }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) {
    has_kind_ = false;
    return false;
  }

 private:
  // Enough for any engine, and small enough that sums of such stay finite numbers of nanoseconds.
  static constexpr uint64_t kMostCalls = uint64_t{1} << 40;
  static constexpr uint64_t kLargestUnitNs = 1'000'000'000;

  // A value that none of the known keys takes.
  [[nodiscard]] bool Other() const { return depth_ > 1 || (depth_ == 1 && key_ == Key::kOther); }
  bool Open() {
    const bool allowed = Other();
    ++depth_;
    return allowed;
  }

  DelegateNote note_;
  bool has_kind_ = false;
  int depth_ = 0;
  Key key_ = Key::kOther;
  uint32_t seen_ = 0;
};

}  // namespace

std::optional<DelegateNote> ParseDelegateNote(std::string_view metadata) {
  if (metadata.size() > kLongestNote || !metadata.starts_with('{')) return std::nullopt;
  NoteBuilder builder;
  if (!nlohmann::json::sax_parse(metadata.begin(), metadata.end(), &builder)) return std::nullopt;
  return builder.Take();
}

const DelegateNote* DelegateNotes::Of(const Slice& slice) {
  return slice.args < profile_.args.size() ? At(profile_.args[slice.args].metadata) : nullptr;
}

const DelegateNote* DelegateNotes::At(uint32_t metadata) {
  if (metadata >= profile_.metadata.size()) return nullptr;
  if (metadata >= notes_.size()) {
    notes_.resize(profile_.metadata.size());
    looked_at_.resize(profile_.metadata.size());
  }
  if (!looked_at_[metadata]) {
    looked_at_[metadata] = true;
    if (std::optional<DelegateNote> note = ParseDelegateNote(profile_.metadata[metadata])) {
      notes_[metadata] = std::make_unique<const DelegateNote>(*std::move(note));
    }
  }
  return notes_[metadata].get();
}

bool DelegateNotes::IsHostWall(const Slice& slice, std::string_view suffix) {
  const DelegateNote* note = Of(slice);
  return note != nullptr && note->IsHostWall() && profile_.Name(slice).ends_with(suffix);
}

}  // namespace inferprobe::profile
