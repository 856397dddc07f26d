// Writes what a description (describe_*.h) walks over. The reading counterpart has the same
// functions: reader_archive.h.
//
// The rule that people break: a missing figure is an object with its status, never null, 0 or
// absent; only what Optional() guards may be absent.
#pragma once

#include <concepts>
#include <functional>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "formats/result_json/enum_names.h"
#include "formats/result_json/field.h"
#include "profile/metric.h"
#include "profile/result.h"

namespace inferprobe::result_json {

class WriterArchive {
 public:
  static constexpr bool kReading = false;

  explicit WriterArchive(base::JsonWriter& json) : json_(json) {}

  void Version(std::string_view key, int64_t version) { json_.Key(key).Int(version); }
  // A text that is always the same.
  void Constant(std::string_view key, std::string_view text) { json_.Key(key).String(text); }
  void Text(std::string_view key, std::string_view value) { json_.Key(key).String(value); }
  void Bool(std::string_view key, bool value) { json_.Key(key).Bool(value); }
  void Int(std::string_view key, int64_t value) { json_.Key(key).Int(value); }
  void Count(std::string_view key, std::unsigned_integral auto value) {
    json_.Key(key).Uint(value);
  }
  void Count(std::string_view key, int64_t value) { json_.Key(key).Int(value); }
  // A figure that is always there; one that is not finite is written as unavailable.
  void Number(std::string_view key, double value);
  // An integer that the file holds in a unit `parts` times as large.
  void Scaled(std::string_view key, int64_t value, int64_t parts) {
    Number(key, static_cast<double>(value) / static_cast<double>(parts));
  }
  void Status(std::string_view key, profile::Status status, std::string_view hint);
  void NotBuiltIn(std::string_view key, std::string_view hint) {
    Status(key, profile::Status::kNotBuiltIn, hint);
  }
  // For people who write into the file; never written here.
  void Ignored(std::string_view) {}

  template <class E>
  void Enum(std::string_view key, E value) {
    json_.Key(key).String(EnumWords<E>::Name(value));
  }

  template <class T>
  void Figure(std::string_view key, const profile::Metric<T>& value) {
    json_.Key(key);
    value ? Value(*value) : Missing(value.missing());
  }

  // Whether what follows is in the file; `present`: whether there is something to write.
  [[nodiscard]] bool Optional(std::string_view, bool present) const { return present; }

  template <class Walk>
  void Object(std::string_view key, Walk walk) {
    json_.Key(key).BeginObject();
    walk();
    json_.EndObject();
  }

  // An array of objects: describe(archive, item, index) for each.
  template <class Items, class Describe>
  void Objects(std::string_view key, const Items& items, Describe describe) {
    json_.Key(key).BeginArray();
    size_t index = 0;
    for (const typename Items::value_type& item : items) {
      json_.BeginObject();
      if constexpr (requires { item.get(); }) {
        describe(*this, item.get(), index++);  // one of Those()
      } else {
        describe(*this, item, index++);
      }
      json_.EndObject();
    }
    json_.EndArray();
  }

  // The same, or a status.
  template <class T, class Describe>
  void ObjectsOrStatus(std::string_view key, const profile::Metric<std::vector<T>>& items,
                       Describe describe) {
    if (items) return Objects(key, *items, describe);
    json_.Key(key);
    Missing(items.missing());
  }

  // An object, or a status.
  template <class T, class Describe>
  void ObjectOrStatus(std::string_view key, const profile::Metric<T>& value, Describe describe) {
    if (value) return Object(key, [&] { describe(*this, *value); });
    json_.Key(key);
    Missing(value.missing());
  }

  // An array of texts or integers.
  template <class T>
  void List(std::string_view key, const std::vector<T>& values) {
    json_.Key(key).BeginArray(true);
    for (const T& value : values) Value(value);
    json_.EndArray();
  }
  // An array of figures, or why there are none.
  void ListOrStatus(std::string_view key, const profile::Metric<std::vector<double>>& values) {
    if (values) return List(key, *values);
    json_.Key(key);
    Missing(values.missing());
  }
  void Samples(std::string_view key, const std::vector<std::vector<double>>& lists);

  // Those of the rows that belong into an array; a reader takes all that are there.
  template <class T, class Belongs>
  std::vector<std::reference_wrapper<const T>> Those(const std::vector<T>& rows, Belongs belongs) {
    std::vector<std::reference_wrapper<const T>> chosen;
    for (const T& row : rows) {
      if (belongs(row)) chosen.push_back(std::cref(row));
    }
    return chosen;
  }

 private:
  void Missing(const profile::Missing& missing);
  void Value(double value);
  void Value(int64_t value) { json_.Int(value); }
  void Value(uint32_t value) { json_.Uint(value); }
  void Value(bool value) { json_.Bool(value); }
  void Value(const std::string& value) { json_.String(value); }
  void Value(const profile::Interval& value);

  base::JsonWriter& json_;
};

}  // namespace inferprobe::result_json
