// A scanner for JSON as it is really written: by format strings, into names that nobody escapes,
// of numbers that are none. It goes forward over the text once, and keeps nothing of it.
//
// Read as it was meant, and counted as `json_repaired`: commas too many, a byte order mark, raw
// control characters and lone backslashes in texts. nan and inf are no values, and counted as
// `not_a_number`.
//
// The rule that people break: whoever asks has looked first. Peek() says what comes, and Failed()
// whether the text was what was asked for; after a failure everything else is at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "inferprobe/result.h"
#include "profile/loss.h"

namespace inferprobe::trex {

class LenientJson {
 public:
  LenientJson(std::string_view text, std::string name, profile::LossCounts* losses);

  enum class Next : uint8_t { kEnd, kString, kNumber, kObject, kArray, kClose, kOther };
  // What comes behind spaces. kClose is the bracket or brace of what was opened last.
  Next Peek();

  // Steps into it. Then ask NextMember() or NextElement() until there are no more.
  void Open();
  // Whether another one follows; steps over commas, and over the closing bracket. The text may
  // end here: then Truncated().
  bool NextElement();
  // The key of the next member, and behind it stands the value.
  std::optional<std::string> NextMember();

  std::string String();
  std::optional<double> Number();  // nullopt: null, nan, inf
  void Skip();                     // a value of any kind

  [[nodiscard]] bool AtEnd() const { return at_ >= text_.size(); }
  // Nothing but spaces follows.
  bool OnlySpaceLeft();
  [[nodiscard]] bool Truncated() const { return truncated_; }
  [[nodiscard]] bool Failed() const { return failed_; }
  [[nodiscard]] uint64_t byte() const { return at_; }
  // "x.json: byte 12 (line 2): MESSAGE".
  [[nodiscard]] Error At(uint64_t byte, std::string_view message) const;
  [[nodiscard]] Error Failure() const { return At(failed_at_, why_); }

 private:
  static constexpr uint32_t kDeepest = 64;

  void SkipSpace();
  void Repaired() { losses_.Add(profile::Loss::kJsonRepaired); }
  void Fail(std::string why);
  void Truncate();
  void AppendEscape(std::string& out);
  [[nodiscard]] std::optional<uint32_t> Hex4(size_t at) const;
  std::string_view Token();

  std::string_view text_;
  std::string name_;
  profile::LossCounts& losses_;
  size_t at_ = 0;
  uint64_t open_ = 0;  // bit i: what is open at depth i is an object
  uint64_t some_ = 0;  // bit i: it had an element
  uint32_t depth_ = 0;
  bool truncated_ = false;
  bool failed_ = false;
  uint64_t failed_at_ = 0;
  std::string why_;
};

}  // namespace inferprobe::trex
