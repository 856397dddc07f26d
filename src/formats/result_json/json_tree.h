// A JSON text as a tree in which every value knows the byte at which it stands, so that an error
// about its meaning can name that byte. Strict JSON: UTF-8, no comments, no NaN, no key twice.
//
// The rule that people break: a tree views the text that it was parsed from, which must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inferprobe/result.h"

namespace inferprobe::result_json {

// A step down from a value: into an object by key, or into an array by index.
struct JsonStep {
  std::string_view key;
  uint32_t index = 0;
};
using JsonPath = std::vector<JsonStep>;
std::string PathText(const JsonPath& path);  // "delegates[0].layers[3].parent"

// "r.json: byte 12 (line 2)", for errors about that byte of `text`.
std::string PlaceText(const std::string& name, std::string_view text, uint64_t byte);

class JsonTree {
 public:
  enum class Type : uint8_t { kNull, kBool, kInt, kUint, kFloat, kString, kObject, kArray };

  // Values in the order of the text; a container is followed by what is in it, a member of an
  // object by its key (a string) and its value.
  struct Node {
    union {
      int64_t integer;
      uint64_t unsigned_integer;  // kUint: larger than int64 can hold, or not negative
      double real;
      bool boolean;
      uint64_t text_begin;  // kString: in the tree's own buffer
    };
    uint32_t byte;  // where it starts
    uint32_t end;   // index behind the last node in it
    uint32_t size;  // members or elements; bytes of a string
    Type type;
  };

  static constexpr uint32_t kNoNode = 0xFFFFFFFF;
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  static constexpr size_t kMostLevels = 64;

  // `name` is for the errors.
  static Result<JsonTree> Parse(std::string_view text, const std::string& name);

  [[nodiscard]] const Node& at(uint32_t node) const { return nodes_[node]; }
  [[nodiscard]] std::string_view TextOf(uint32_t node) const {
    return std::string_view(strings_).substr(nodes_[node].text_begin, nodes_[node].size);
  }
  // A number as it stands in the file.
  [[nodiscard]] std::string_view TokenOf(uint32_t node) const;
  // What a value is, for people: `the number 1.5`, `an object`.
  [[nodiscard]] std::string Describe(uint32_t node) const;
  // The value of `key`, looked for from `hint` on (a key's node, or 0) and then from the first.
  [[nodiscard]] uint32_t Find(uint32_t object, std::string_view key, uint32_t hint = 0) const;
  // The byte of what the path leads to, or of the last value on the way that is there.
  [[nodiscard]] uint64_t ByteOf(const JsonPath& path) const;
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  friend class TreeBuilder;
  explicit JsonTree(std::string_view text) : text_(text) {}

  std::string_view text_;
  std::vector<Node> nodes_;
  std::string strings_;
};

}  // namespace inferprobe::result_json
