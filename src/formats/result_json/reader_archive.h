// Fills what a description (describe_*.h) walks over from a JsonTree. The writing counterpart has
// the same functions: writer_archive.h.
//
// The rule that people break: the first error sticks, and every function does nothing from then
// on: what was described may be half filled, and is thrown away. Whoever loops asks failed().
#pragma once

#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/result_json/enum_names.h"
#include "formats/result_json/field.h"
#include "formats/result_json/json_tree.h"
#include "profile/metric.h"
#include "profile/result.h"

namespace inferprobe::result_json {

class ReaderArchive {
 public:
  static constexpr bool kReading = true;

  // `name` of the file, for errors. The tree's first value is the object that is described.
  ReaderArchive(const JsonTree& tree, std::string name);

  // The whole tree, by `walk`.
  template <class Walk>
  void Root(Walk walk) {
    Within(0, walk);
  }

  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  // Fields that no description asked for.
  [[nodiscard]] uint64_t unknown_fields() const { return unknown_fields_; }
  void CountUnknown() { ++unknown_fields_; }
  // An error about what `key` of the object that is described holds.
  void Refuse(std::string_view key, std::string_view expected);
  // An error about any value, found by its way from the root.
  void FailAt(const JsonPath& path, std::string_view what);

  void Version(std::string_view key, int64_t version);
  void Constant(std::string_view key, std::string_view text);
  void Text(std::string_view key, std::string& value);
  void Bool(std::string_view key, bool& value);
  void Int(std::string_view key, int64_t& value);
  template <std::unsigned_integral T>
  void Count(std::string_view key, T& value) {
    if (Take(key)) UnsignedAt(node_, value);
  }
  void Count(std::string_view key, int64_t& value);
  void Number(std::string_view key, double& value);
  void Scaled(std::string_view key, int64_t& value, int64_t parts);
  void Status(std::string_view key, profile::Status status, std::string_view hint);
  void NotBuiltIn(std::string_view key, std::string_view hint);
  void Ignored(std::string_view key);

  template <class E>
  void Enum(std::string_view key, E& value) {
    if (!Take(key)) return;
    const bool text = tree_.at(node_).type == JsonTree::Type::kString;
    const std::optional<E> found = text ? EnumOf<E>(tree_.TextOf(node_)) : std::nullopt;
    if (!found) return Mismatch(node_, EnumChoices<E>());
    value = *found;
  }

  template <class T>
  void Figure(std::string_view key, profile::Metric<T>& value) {
    if (!Take(key)) return;
    if (tree_.at(node_).type == JsonTree::Type::kObject) {
      profile::Missing missing;
      MissingAt(node_, missing);
      value = IsNotFinite(missing) ? NotFinite<T>(missing) : profile::Metric<T>(std::move(missing));
      return;
    }
    T found{};
    or_status_ = true;
    ValueAt(node_, found);
    or_status_ = false;
    value = std::move(found);
  }

  [[nodiscard]] bool Optional(std::string_view key, bool) {
    return !failed() && tree_.Find(object_, key, hint_) != JsonTree::kNoNode;
  }

  template <class Walk>
  void Object(std::string_view key, Walk walk) {
    if (Take(key)) Within(node_, walk);
  }

  template <class T, class Describe>
  void Objects(std::string_view key, std::vector<T>& items, Describe describe) {
    Elements(key, "a list of objects", [&](uint32_t, size_t index) {
      T item{};
      Within(node_, [&] { describe(*this, item, index); });
      items.push_back(std::move(item));
    });
  }

  template <class T, class Describe>
  void ObjectsOrStatus(std::string_view key, profile::Metric<std::vector<T>>& items,
                       Describe describe) {
    const uint32_t node = failed() ? JsonTree::kNoNode : tree_.Find(object_, key, hint_);
    if (node != JsonTree::kNoNode && tree_.at(node).type == JsonTree::Type::kObject) {
      profile::Missing missing;
      if (Take(key)) MissingAt(node_, missing);
      items = std::move(missing);
      return;
    }
    std::vector<T> found;
    Objects(key, found, describe);
    items = std::move(found);
  }

  template <class T, class Describe>
  void ObjectOrStatus(std::string_view key, profile::Metric<T>& value, Describe describe) {
    const uint32_t node = failed() ? JsonTree::kNoNode : tree_.Find(object_, key, hint_);
    if (IsStatus(node)) {
      profile::Missing missing;
      if (Take(key)) MissingAt(node_, missing);
      value = std::move(missing);
      return;
    }
    T found{};
    Object(key, [&] { describe(*this, found); });
    value = std::move(found);
  }

  void ListOrStatus(std::string_view key, profile::Metric<std::vector<double>>& values) {
    const uint32_t node = failed() ? JsonTree::kNoNode : tree_.Find(object_, key, hint_);
    if (IsStatus(node)) {
      profile::Missing missing;
      if (Take(key)) MissingAt(node_, missing);
      values = std::move(missing);
      return;
    }
    std::vector<double> found;
    List(key, found);
    values = std::move(found);
  }

  template <class T>
  void List(std::string_view key, std::vector<T>& values) {
    Elements(key, "a list", [&](uint32_t node, size_t) {
      T value{};
      ValueAt(node, value);
      if constexpr (std::same_as<T, int64_t>) {
        if (value < 0) return Mismatch(node, "a number that is not negative");
      }
      values.push_back(std::move(value));
    });
  }
  void Samples(std::string_view key, std::vector<std::vector<double>>& lists);

  template <class T, class Belongs>
  std::vector<T>& Those(std::vector<T>& rows, Belongs) {
    return rows;
  }

 private:
  // Finds a field of the current object: then it is node_. An error where it is not there.
  bool Take(std::string_view key);
  // Describes an object that lies below the current one.
  template <class Walk>
  void Within(uint32_t object, Walk walk) {
    if (failed()) return;
    if (tree_.at(object).type != JsonTree::Type::kObject) return Mismatch(object, "an object");
    const Level outer{object_, hint_, taken_};
    path_.push_back(step_);
    object_ = object;
    hint_ = 0;
    taken_ = 0;
    walk();
    if (!failed()) {
      unknown_fields_ += tree_.at(object_).size - taken_;
      step_ = path_.back();
    }
    path_.pop_back();
    object_ = outer.object;
    hint_ = outer.hint;
    taken_ = outer.taken;
  }
  // Calls each(node, index) for the elements of the array at `key`; node_ is the element, too.
  template <class Each>
  void Elements(std::string_view key, std::string_view expected, Each each) {
    if (Take(key)) ElementsOf(node_, expected, each);
  }
  template <class Each>
  void ElementsOf(uint32_t array, std::string_view expected, Each each) {
    if (tree_.at(array).type != JsonTree::Type::kArray) return Mismatch(array, expected);
    path_.push_back(step_);
    const uint32_t size = tree_.at(array).size;
    uint32_t element = array + 1;
    for (uint32_t i = 0; i < size && !failed(); ++i, element = tree_.at(element).end) {
      step_ = {{}, i};
      node_ = element;
      each(element, i);
    }
    step_ = path_.back();
    path_.pop_back();
  }

  [[nodiscard]] bool IsStatus(uint32_t node) const {
    return node != JsonTree::kNoNode && tree_.at(node).type == JsonTree::Type::kObject &&
           tree_.Find(node, field::kStatus) != JsonTree::kNoNode;
  }
  void MissingAt(uint32_t object, profile::Missing& missing);
  static bool IsNotFinite(const profile::Missing& missing) {
    return missing.status == kNotFiniteStatus && missing.hint == kNotFiniteHint;
  }
  template <class T>
  static profile::Metric<T> NotFinite(const profile::Missing& missing) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if constexpr (std::same_as<T, double>) {
      return kNan;
    } else if constexpr (std::same_as<T, profile::Interval>) {
      return profile::Interval{kNan, kNan, false};
    } else {
      return profile::Metric<T>(missing);
    }
  }

  void ValueAt(uint32_t node, double& value);
  void ValueAt(uint32_t node, int64_t& value);
  void ValueAt(uint32_t node, uint32_t& value) { UnsignedAt(node, value); }
  void ValueAt(uint32_t node, bool& value);
  void ValueAt(uint32_t node, std::string& value);
  void ValueAt(uint32_t node, profile::Interval& value);
  template <std::unsigned_integral T>
  void UnsignedAt(uint32_t node, T& value) {
    uint64_t found = 0;
    if (WideAt(node, std::numeric_limits<T>::max(), found)) value = static_cast<T>(found);
  }
  bool WideAt(uint32_t node, uint64_t most, uint64_t& value);

  // "expected X, found Y" about a value on the current path.
  void Mismatch(uint32_t node, std::string_view expected);
  void Fail(uint64_t byte, const JsonPath& path, std::string_view what);

  struct Level {
    uint32_t object;
    uint32_t hint;
    uint32_t taken;
  };

  const JsonTree& tree_;
  std::string name_;
  std::optional<Error> error_;
  uint64_t unknown_fields_ = 0;

  JsonPath path_;           // to the container that is described; its first step is the root
  JsonStep step_;           // from there to the value in hand
  uint32_t node_ = 0;       // which this is
  uint32_t object_ = 0;     // the object that is described
  uint32_t hint_ = 0;       // its key where the next one is likely
  uint32_t taken_ = 0;      // fields of it that were asked for
  bool or_status_ = false;  // a status object could stand here, too
};

}  // namespace inferprobe::result_json
