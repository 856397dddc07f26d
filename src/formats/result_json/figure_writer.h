// Figures into JSON, in one way: a value, or the object that says why there is none.
#pragma once

#include <string_view>

#include "base/json_writer.h"
#include "profile/metric.h"
#include "profile/result.h"

namespace inferprobe::result_json {

namespace field {
#include "formats/result_json/fields.inc"
}  // namespace field

// Writes `key` and what follows it.
class FigureWriter {
 public:
  explicit FigureWriter(base::JsonWriter& json) : json_(json) {}

  void Missing(const profile::Missing& missing);

  void Figure(std::string_view key, const profile::Metric<double>& value);
  void Figure(std::string_view key, const profile::Metric<int64_t>& value);
  void Figure(std::string_view key, const profile::Metric<uint32_t>& value);
  void Figure(std::string_view key, const profile::Metric<bool>& value);
  void Figure(std::string_view key, const profile::Metric<std::string>& value);
  void Figure(std::string_view key, const profile::Metric<profile::Interval>& value);

  void Text(std::string_view key, std::string_view value) { json_.Key(key).String(value); }
  void Int(std::string_view key, int64_t value) { json_.Key(key).Int(value); }
  void Uint(std::string_view key, uint64_t value) { json_.Key(key).Uint(value); }
  void Bool(std::string_view key, bool value) { json_.Key(key).Bool(value); }
  // A figure that is always there; one that is not finite is written as unavailable.
  void Number(std::string_view key, double value);
  void Status(std::string_view key, profile::Status status, std::string_view hint);

  base::JsonWriter& json() { return json_; }

 private:
  void Value(double value);
  base::JsonWriter& json_;
};

}  // namespace inferprobe::result_json
