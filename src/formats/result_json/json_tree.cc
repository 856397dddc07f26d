#include "formats/result_json/json_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace inferprobe::result_json {

constexpr size_t kMostShown = 60;  // columns of a text from the file in an error
constexpr std::string_view kNumberCharacters = "+-.0123456789eE";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr const char* kNotWhole = "the file is damaged, or was not written by inferprobe";

// Takes the parser's events. It tells no positions, but what it tells has been checked: a cursor of
// our own can go along.
class TreeBuilder {
 public:
  TreeBuilder(JsonTree& tree, std::string name) : tree_(tree), name_(std::move(name)) {
    if (tree_.text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
      cursor_ = kByteOrderMark.size();
    }
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  bool null() {
    Add(JsonTree::Type::kNull);
    return Pass(4);
  }
  bool boolean(bool value) {
    Add(JsonTree::Type::kBool).boolean = value;
    return Pass(value ? 4 : 5);
  }
  bool number_integer(int64_t value) {
    Add(JsonTree::Type::kInt).integer = value;
    return PassNumber();
  }
  bool number_unsigned(uint64_t value) {
    Add(JsonTree::Type::kUint).unsigned_integer = value;
    return PassNumber();
  }
  bool number_float(double value, const std::string&) {
    Add(JsonTree::Type::kFloat).real = value;
    return PassNumber();
  }
  bool string(const std::string& value) {
    AddText(value);
    return PassString();
  }
  bool binary(const nlohmann::json::binary_t&) { return false; }  // not in JSON
  bool key(const std::string& value) {
    AddText(value);
    return PassString();
  }
  bool start_object(size_t) { return Open(JsonTree::Type::kObject); }
  bool start_array(size_t) { return Open(JsonTree::Type::kArray); }
  bool end_object() { return Close() && CheckKeys(); }
  bool end_array() { return Close(); }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& why) {
    // "[json.exception.parse_error.101] parse error at line 2, column 3: syntax error ..."
    std::string_view text = why.what();
    if (const size_t bracket = text.find("] "); bracket != std::string_view::npos) {
      text.remove_prefix(bracket + 2);
    }
    if (const size_t column = text.find(": ");
        text.rfind("parse error", 0) == 0 && column != std::string_view::npos) {
      text.remove_prefix(column + 2);
    }
    const uint64_t byte = std::min<uint64_t>(position == 0 ? 0 : position - 1, tree_.text_.size());
    return Fail(
        byte, WithoutLongToken(text),
        byte == tree_.text_.size() ? "the file ends too early: was it copied whole?" : kNotWhole);
  }

 private:
  using Node = JsonTree::Node;

  // "...; last read: 'TOKEN'; expected ...": the token may be as long as the file.
  static std::string WithoutLongToken(std::string_view text) {
    constexpr std::string_view kBefore = "last read: '";
    const size_t token = text.find(kBefore);
    const size_t end = text.rfind('\'');
    if (token == std::string_view::npos || end < token + kBefore.size()) {
      return base::TerminalText(text);
    }
    const size_t begin = token + kBefore.size();
    return base::TerminalText(text.substr(0, begin)) +
           base::CutToWidth(base::TerminalText(text.substr(begin, end - begin)), kMostShown) +
           base::TerminalText(text.substr(end));
  }

  Node& Add(JsonTree::Type type) {
    const std::string_view text = tree_.text_;
    while (cursor_ < text.size() &&
           std::string_view(" \t\r\n,:").find(text[cursor_]) != std::string_view::npos) {
      ++cursor_;
    }
    // A key is a node, too, but no element.
    if (!open_.empty()) {
      Node& container = tree_.nodes_[open_.back()];
      const bool object = container.type == JsonTree::Type::kObject;
      if (!object || in_member_) ++container.size;
      in_member_ = object && !in_member_;
    }
    Node node{};
    node.type = type;
    node.byte = static_cast<uint32_t>(cursor_);
    tree_.nodes_.push_back(node);
    tree_.nodes_.back().end = static_cast<uint32_t>(tree_.nodes_.size());
    return tree_.nodes_.back();
  }

  void AddText(const std::string& value) {
    Node& node = Add(JsonTree::Type::kString);
    node.text_begin = tree_.strings_.size();
    node.size = static_cast<uint32_t>(value.size());
    tree_.strings_ += value;
  }

  bool Pass(size_t bytes) {
    cursor_ = std::min(cursor_ + bytes, tree_.text_.size());
    return true;
  }
  bool PassNumber() {
    cursor_ =
        std::min(tree_.text_.find_first_not_of(kNumberCharacters, cursor_), tree_.text_.size());
    return true;
  }
  bool PassString() {
    for (++cursor_; cursor_ < tree_.text_.size() && tree_.text_[cursor_] != '"'; ++cursor_) {
      if (tree_.text_[cursor_] == '\\') ++cursor_;
    }
    return Pass(1);
  }

  bool Open(JsonTree::Type type) {
    Add(type);
    if (open_.size() == JsonTree::kMostLevels) {
      return Fail(cursor_, fmt::format("nested more than {} levels deep", JsonTree::kMostLevels),
                  kNotWhole);
    }
    open_.push_back(static_cast<uint32_t>(tree_.nodes_.size() - 1));
    in_member_ = false;
    return Pass(1);
  }

  bool Close() {
    const std::string_view text = tree_.text_;
    while (cursor_ < text.size() && text[cursor_] != ']' && text[cursor_] != '}') ++cursor_;
    closed_ = open_.back();
    tree_.nodes_[closed_].end = static_cast<uint32_t>(tree_.nodes_.size());
    open_.pop_back();
    in_member_ = false;
    return Pass(1);
  }

  // Which of two values of one key is meant, nobody knows.
  bool CheckKeys() {
    keys_.clear();
    for (uint32_t key = closed_ + 1; key < tree_.nodes_[closed_].end;
         key = tree_.nodes_[key + 1].end) {
      keys_.push_back(key);
    }
    const auto text = [this](uint32_t key) { return tree_.TextOf(key); };
    std::sort(keys_.begin(), keys_.end(), [&](uint32_t a, uint32_t b) {
      return text(a) != text(b) ? text(a) < text(b) : a < b;
    });
    const auto twice = std::adjacent_find(
        keys_.begin(), keys_.end(), [&](uint32_t a, uint32_t b) { return text(a) == text(b); });
    if (twice == keys_.end()) return true;
    return Fail(tree_.nodes_[twice[1]].byte,
                fmt::format("the key {} is there twice", tree_.Describe(*twice).substr(9)),
                "keep one of them");
  }

  bool Fail(uint64_t byte, const std::string& what, const char* hint) {
    error_ = Error{ErrorCode::kMalformed,
                   fmt::format("{}: {}", PlaceText(name_, tree_.text_, byte), what), hint};
    return false;
  }

  JsonTree& tree_;
  std::string name_;
  size_t cursor_ = 0;
  std::vector<uint32_t> open_;
  bool in_member_ = false;  // the key was there, its value comes
  uint32_t closed_ = 0;
  std::vector<uint32_t> keys_;
  std::optional<Error> error_;
};

std::string PathText(const JsonPath& path) {
  std::string text;
  for (const JsonStep& step : path) {
    if (step.key.empty()) {
      text += fmt::format("[{}]", step.index);
    } else {
      text += text.empty() ? "" : ".";
      text += step.key;
    }
  }
  return text;
}

std::string PlaceText(const std::string& name, std::string_view text, uint64_t byte) {
  const auto end =
      text.begin() + static_cast<std::ptrdiff_t>(std::min<uint64_t>(byte, text.size()));
  return fmt::format("{}: byte {} (line {})", name, byte, std::count(text.begin(), end, '\n') + 1);
}

Result<JsonTree> JsonTree::Parse(std::string_view text, const std::string& name) {
  if (text.size() > kMostBytes) {
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("{}: {} bytes; results of up to {} bytes are read", name,
                                 text.size(), kMostBytes));
  }
  JsonTree tree(text);
  TreeBuilder builder(tree, name);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    return tl::unexpected(builder.error() ? *builder.error()
                                          : Error{ErrorCode::kMalformed, name + ": no JSON", ""});
  }
  return tree;
}

std::string_view JsonTree::TokenOf(uint32_t node) const {
  const std::string_view rest = text_.substr(nodes_[node].byte);
  return rest.substr(0, rest.find_first_not_of(kNumberCharacters));
}

std::string JsonTree::Describe(uint32_t node) const {
  switch (nodes_[node].type) {
    case Type::kNull:
      return "null";
    case Type::kBool:
      return nodes_[node].boolean ? "true" : "false";
    case Type::kInt:
    case Type::kUint:
    case Type::kFloat:
      return fmt::format("the number {}", base::CutToWidth(TokenOf(node), kMostShown));
    case Type::kString:
      return fmt::format("the text \"{}\"",
                         base::CutToWidth(base::TerminalText(TextOf(node)), kMostShown));
    case Type::kObject:
      return "an object";
    case Type::kArray:
      return "a list";
  }
  return "";
}

uint32_t JsonTree::Find(uint32_t object, std::string_view key, uint32_t hint) const {
  const uint32_t first = object + 1;
  const uint32_t end = nodes_[object].end;
  const uint32_t start = hint > object && hint < end ? hint : first;
  for (uint32_t k = start; k < end; k = nodes_[k + 1].end) {
    if (TextOf(k) == key) return k + 1;
  }
  for (uint32_t k = first; k < start; k = nodes_[k + 1].end) {
    if (TextOf(k) == key) return k + 1;
  }
  return kNoNode;
}

uint64_t JsonTree::ByteOf(const JsonPath& path) const {
  uint32_t node = 0;
  for (const JsonStep& step : path) {
    uint32_t next = kNoNode;
    if (!step.key.empty() && nodes_[node].type == Type::kObject) {
      next = Find(node, step.key);
    } else if (step.key.empty() && nodes_[node].type == Type::kArray &&
               step.index < nodes_[node].size) {
      next = node + 1;
      for (uint32_t i = 0; i < step.index; ++i) next = nodes_[next].end;
    }
    if (next == kNoNode) break;
    node = next;
  }
  return nodes_[node].byte;
}

}  // namespace inferprobe::result_json
