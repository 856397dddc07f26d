// The texts of an ETDump (names, and the bytes that delegates attach) as what the model keeps of
// them.
//
// The rule that people break: offsets may lead anywhere. All events may share one text of a
// megabyte, and texts may lie in one another, so that a small file claims gigabytes of them. A text
// that is long is therefore looked at once for each place in the file; places that have together
// more bytes than the file lie in one another, which no writer does, and is an error. Short ones
// cost an event no more than the event itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "profile/model.h"

namespace inferprobe::etdump {

// Longer names are cut to this, and marked by their length and a hash: two names stay two.
constexpr size_t kLongestName = 1024;
// The same of a block, of which there may be one for every eight bytes of the file.
constexpr size_t kLongestBlockName = 64;

class TextReader {
 public:
  // `file` and `into` must outlive it; the texts that it is given lie in `file`.
  TextReader(std::string_view file, profile::Profile* into) : file_(file), out_(*into) {}

  // Repaired, cut, and counted where that was needed. `guess`: what it may well be.
  profile::StringId Name(std::string_view text, profile::StringId guess);
  std::string BlockName(std::string_view text);
  // Index in Profile::metadata; kNone for no bytes.
  uint32_t Metadata(std::string_view bytes);

  // The place of the first text that was too much; what was returned since is "" or kNone.
  [[nodiscard]] std::optional<size_t> overlap() const { return overlap_; }

 private:
  [[nodiscard]] size_t PlaceOf(std::string_view text) const {
    return static_cast<size_t>(text.data() - file_.data());
  }
  // Whether this text, at a place that is new, may be looked at.
  bool MayLookAt(std::string_view text);
  profile::StringId Add(std::string_view text);

  std::string_view file_;
  profile::Profile& out_;
  uint64_t looked_at_ = 0;  // bytes of long texts
  std::optional<size_t> overlap_;
  std::unordered_map<size_t, profile::StringId> long_names_;  // by place
  std::unordered_map<size_t, uint32_t> long_metadata_;        // by place
  std::unordered_map<std::string_view, uint32_t> metadata_;   // views of the file
  std::unordered_set<profile::StringId> changed_;             // counted already
};

}  // namespace inferprobe::etdump
