#include "formats/trex/lenient_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace inferprobe::trex {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool IsTokenCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.' || c == '_' || c == '(' || c == ')';
}

// What printf and streams make of what is no number: "nan", "-nan", "-nan(ind)", "inf".
bool IsNoNumber(std::string_view token) {
  if (token.starts_with('-') || token.starts_with('+')) token.remove_prefix(1);
  std::string lower(token.substr(0, 8));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return lower == "nan" || lower.starts_with("nan(") || lower == "inf" || lower == "infinity";
}

void AppendUtf8(std::string& out, uint32_t code) {
  const auto add = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

}  // namespace

LenientJson::LenientJson(std::string_view text, std::string name, profile::LossCounts* losses)
    : text_(text), name_(std::move(name)), losses_(*losses) {
  if (text_.starts_with(kByteOrderMark)) {
    at_ = kByteOrderMark.size();
    Repaired();
  }
}

void LenientJson::SkipSpace() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string::npos) {
    ++at_;
  }
}

void LenientJson::Fail(std::string why) {
  if (failed_) return;
  failed_ = true;
  failed_at_ = at_;
  why_ = std::move(why);
  at_ = text_.size();
}

void LenientJson::Truncate() {
  if (failed_) return;
  truncated_ = true;
  at_ = text_.size();
}

LenientJson::Next LenientJson::Peek() {
  SkipSpace();
  if (AtEnd()) return Next::kEnd;
  switch (text_[at_]) {
    case '"':
      return Next::kString;
    case '{':
      return Next::kObject;
    case '[':
      return Next::kArray;
    case '}':
    case ']':
      return Next::kClose;
    default:
      return IsTokenCharacter(text_[at_]) ? Next::kNumber : Next::kOther;
  }
}

void LenientJson::Open() {
  const Next next = Peek();
  if (next != Next::kObject && next != Next::kArray) return Fail("no list and no object");
  if (depth_ + 1 >= kDeepest) return Fail("lists and objects lie too deep in each other");
  ++depth_;
  const uint64_t bit = uint64_t{1} << depth_;
  open_ = next == Next::kObject ? open_ | bit : open_ & ~bit;
  some_ &= ~bit;
  ++at_;
}

bool LenientJson::NextElement() {
  if (failed_ || truncated_) return false;
  const uint64_t bit = uint64_t{1} << depth_;
  const bool first = (some_ & bit) == 0;
  size_t commas = 0;
  while (Peek() == Next::kOther && text_[at_] == ',') {
    ++commas;
    ++at_;
  }
  if (AtEnd()) {
    Truncate();
    return false;
  }
  const bool closes = text_[at_] == ((open_ & bit) != 0 ? '}' : ']');
  if (closes) {
    if (commas != 0) Repaired();
    --depth_;
    ++at_;
    return false;
  }
  if (first ? commas != 0 : commas > 1) Repaired();
  if (!first && commas == 0) {
    Fail("a comma or a closing bracket is missing");
    return false;
  }
  some_ |= bit;
  return true;
}

std::optional<std::string> LenientJson::NextMember() {
  if (!NextElement()) return std::nullopt;
  if (Peek() != Next::kString) {
    Fail("a member's name is missing");
    return std::nullopt;
  }
  std::string key = String();
  SkipSpace();
  if (AtEnd()) {
    Truncate();
  } else if (text_[at_] == ':') {
    ++at_;
  } else {
    Fail("a colon is missing behind a member's name");
  }
  if (failed_ || truncated_) return std::nullopt;
  return key;
}

std::optional<uint32_t> LenientJson::Hex4(size_t at) const {
  if (at > text_.size() || text_.size() - at < 4) return std::nullopt;
  uint32_t value = 0;
  const char* begin = text_.data() + at;
  const auto parsed = std::from_chars(begin, begin + 4, value, 16);
  if (parsed.ec != std::errc() || parsed.ptr != begin + 4) return std::nullopt;
  return value;
}

// At a backslash.
void LenientJson::AppendEscape(std::string& out) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
  const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (const size_t known = letter == '\0' ? std::string_view::npos : kLetters.find(letter);
      known != std::string_view::npos) {
    out.push_back(kMeaning[known]);
    at_ += 2;
    return;
  }
  constexpr uint32_t kNoCode = 0xFFFFFFFF;
  uint32_t code = letter == 'u' ? Hex4(at_ + 2).value_or(kNoCode) : kNoCode;
  size_t length = 6;
  if (code >= 0xD800 && code < 0xE000) {  // half of a character beyond 16 bits
    const bool more = code < 0xDC00 && text_.substr(at_ + 6, 2) == "\\u";
    const uint32_t low = more ? Hex4(at_ + 8).value_or(kNoCode) : kNoCode;
    if (low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      length = 12;
    } else {
      code = kNoCode;
    }
  }
  if (code != kNoCode) {
    AppendUtf8(out, code);
    at_ += length;
    return;
  }
  Repaired();  // a backslash of a path, that nobody escaped
  out.push_back('\\');
  ++at_;
}

std::string LenientJson::String() {
  if (Peek() != Next::kString) {
    Fail("a text is missing");
    return {};
  }
  ++at_;
  std::string out;
  bool raw = false;
  while (at_ < text_.size() && text_[at_] != '"') {
    if (text_[at_] == '\\') {
      AppendEscape(out);
      continue;
    }
    raw = raw || static_cast<unsigned char>(text_[at_]) < 0x20;
    out.push_back(text_[at_++]);
  }
  if (raw) Repaired();
  if (AtEnd()) {
    Truncate();
    return {};
  }
  ++at_;
  return out;
}

std::string_view LenientJson::Token() {
  const size_t begin = at_;
  while (at_ < text_.size() && IsTokenCharacter(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::optional<double> LenientJson::Number() {
  if (Peek() != Next::kNumber) {
    Fail("a number is missing");
    return std::nullopt;
  }
  const size_t begin = at_;
  const std::string_view token = Token();
  if (AtEnd()) {  // the rest of it may be missing
    Truncate();
    return std::nullopt;
  }
  if (token == "null") return std::nullopt;
  if (IsNoNumber(token)) {
    losses_.Add(profile::Loss::kNotANumber);
    return std::nullopt;
  }
  double value = 0;
  const auto parsed = std::from_chars(token.data(), token.data() + token.size(), value);
  if (parsed.ptr != token.data() + token.size() || parsed.ec == std::errc::invalid_argument) {
    at_ = begin;
    Fail(fmt::format("\"{}\" is no number", base::ShownBytes(token.substr(0, 40))));
    return std::nullopt;
  }
  if (parsed.ec != std::errc()) {  // too large for a double, or too small
    losses_.Add(profile::Loss::kNotANumber);
    return std::nullopt;
  }
  return value;
}

void LenientJson::Skip() {
  const uint32_t outside = depth_;
  do {
    switch (Peek()) {
      case Next::kString:
        String();
        break;
      case Next::kNumber:
        Token();
        break;
      case Next::kObject:
      case Next::kArray:
        Open();
        break;
      case Next::kEnd:
        Truncate();
        break;
      case Next::kClose:
      case Next::kOther:
        Fail("a value is missing");
        break;
    }
    // Out of what ends here, and to the next value of what does not.
    while (depth_ > outside && !failed_ && !truncated_) {
      const bool object = (open_ & uint64_t{1} << depth_) != 0;
      if (object ? NextMember().has_value() : NextElement()) break;
    }
  } while (depth_ > outside && !failed_ && !truncated_);
}

bool LenientJson::OnlySpaceLeft() { return Peek() == Next::kEnd; }

Error LenientJson::At(uint64_t byte, std::string_view message) const {
  const std::string_view before = text_.substr(0, byte);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  return {ErrorCode::kMalformed,
          fmt::format("{}: byte {} (line {}): {}", name_, byte, line, message), ""};
}

}  // namespace inferprobe::trex
