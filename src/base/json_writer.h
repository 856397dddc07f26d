// The one JSON writer: streams into a string, escapes in one place, prints numbers in one way.
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Key("name").String("forward");
//   json.Key("share").Number(0.934);
//   json.EndObject();
//   std::string text = std::move(json).Take();
//
// The rule that people break: NaN and infinity have no JSON form, and Number() writes null for
// them. A missing figure is written by its status, never as a number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inferprobe::base {

class JsonWriter {
 public:
  // `indent` spaces a level; 0 writes one line.
  explicit JsonWriter(int indent = 2) : indent_(indent) {}

  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  // `flat`: the elements stay on one line.
  JsonWriter& BeginArray(bool flat = false);
  JsonWriter& EndArray();
  JsonWriter& Key(std::string_view key);
  JsonWriter& String(std::string_view text);  // invalid UTF-8 is written as \\xNN text
  JsonWriter& Number(double value);           // shortest text that reads back as `value`
  JsonWriter& Int(int64_t value);
  JsonWriter& Uint(uint64_t value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();

  [[nodiscard]] const std::string& text() const { return out_; }
  std::string Take() && { return std::move(out_); }
  // What was written since the last call; for text that is too long to be kept whole.
  std::string Drain() { return std::exchange(out_, {}); }

 private:
  struct Level {
    bool array;
    bool flat;
    bool empty;
  };
  void BeforeValue();
  void NewLine();
  void Close(char bracket);

  std::string out_;
  std::vector<Level> levels_;
  int indent_;
  bool after_key_ = false;
};

// Appends `text` with JSON's escapes, without quotes.
void AppendJsonEscaped(std::string& out, std::string_view text);

}  // namespace inferprobe::base
