#include "formats/etdump/text_reader.h"

#include <fmt/format.h>

#include "base/text.h"

namespace inferprobe::etdump {
namespace {

using profile::Loss;
using profile::StringId;

// Up to here a text is compared and hashed for every event. Names of operators are shorter.
constexpr size_t kShort = 64;

// At most `bytes`, and no character in half.
std::string_view Head(std::string_view text, size_t bytes) {
  size_t end = bytes;
  const auto continues = [&](size_t at) { return (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80; };
  while (end > bytes - 3 && continues(end)) --end;
  return text.substr(0, end);
}

std::string Cut(std::string_view text, size_t longest) {
  return fmt::format("{}… ({} bytes, {:016x})", base::RepairUtf8(Head(text, longest)).text,
                     text.size(), base::HashText(text));
}

}  // namespace

bool TextReader::MayLookAt(std::string_view text) {
  if (overlap_) return false;
  looked_at_ += text.size();
  if (looked_at_ <= file_.size()) return true;
  overlap_ = PlaceOf(text);
  return false;
}

StringId TextReader::Add(std::string_view text) {
  const bool is_long = text.size() > kLongestName;
  if (!is_long && base::CountInvalidUtf8(text) == 0) return out_.strings.Intern(text);
  const StringId id =
      out_.strings.Intern(is_long ? Cut(text, kLongestName) : base::RepairUtf8(text).text);
  if (changed_.insert(id).second) out_.losses.Add(is_long ? Loss::kNameCut : Loss::kInvalidUtf8);
  return id;
}

StringId TextReader::Name(std::string_view text, StringId guess) {
  if (text.size() <= kShort) return text == out_.strings.Get(guess) ? guess : Add(text);
  if (const auto found = long_names_.find(PlaceOf(text)); found != long_names_.end()) {
    return found->second;
  }
  if (!MayLookAt(text)) return 0;
  const StringId id = Add(text);
  long_names_.emplace(PlaceOf(text), id);
  return id;
}

std::string TextReader::BlockName(std::string_view text) {
  const StringId id = Name(text, 0);
  const std::string_view name = out_.strings.Get(id);
  return name.size() <= kLongestBlockName ? std::string(name) : Cut(name, kLongestBlockName);
}

uint32_t TextReader::Metadata(std::string_view bytes) {
  if (bytes.empty()) return profile::kNone;
  const bool is_long = bytes.size() > kShort;
  if (is_long) {
    const auto found = long_metadata_.find(PlaceOf(bytes));
    if (found != long_metadata_.end()) return found->second;
    if (!MayLookAt(bytes)) return profile::kNone;
  }
  const auto [at, is_new] =
      metadata_.try_emplace(bytes, static_cast<uint32_t>(out_.metadata.size()));
  if (is_new) out_.metadata.emplace_back(bytes);
  if (is_long) long_metadata_.emplace(PlaceOf(bytes), at->second);
  return at->second;
}

}  // namespace inferprobe::etdump
