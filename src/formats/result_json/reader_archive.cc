#include "formats/result_json/reader_archive.h"

#include <fmt/format.h>

#include <cmath>

namespace inferprobe::result_json {
namespace {

using Type = JsonTree::Type;

constexpr const char* kHint = "docs/formats/result.md describes the format";
// Doubles up to here hold every integer: one with a fraction of .0 is meant as such.
constexpr double kLargestWhole = 9007199254740992.0;

}  // namespace

ReaderArchive::ReaderArchive(const JsonTree& tree, std::string name)
    : tree_(tree), name_(std::move(name)) {}

void ReaderArchive::Fail(uint64_t byte, const JsonPath& path, std::string_view what) {
  if (failed()) return;
  const std::string where = PathText(path);
  error_ = Error{ErrorCode::kMalformed,
                 fmt::format("{}: {}{}{}", PlaceText(name_, tree_.text(), byte), where,
                             where.empty() ? "" : ": ", what),
                 kHint};
}

void ReaderArchive::FailAt(const JsonPath& path, std::string_view what) {
  Fail(tree_.ByteOf(path), path, what);
}

void ReaderArchive::Mismatch(uint32_t node, std::string_view expected) {
  // The first step of all leads to the root, and is no step.
  JsonPath path(path_.begin() + (path_.empty() ? 0 : 1), path_.end());
  if (!path_.empty()) path.push_back(step_);
  Fail(tree_.at(node).byte, path,
       fmt::format("expected {}{}, found {}", expected, or_status_ ? " or a status object" : "",
                   tree_.Describe(node)));
}

void ReaderArchive::Refuse(std::string_view key, std::string_view expected) {
  const uint32_t node = tree_.Find(object_, key);
  if (failed() || node == JsonTree::kNoNode) return;
  step_ = {key, 0};
  Mismatch(node, expected);
}

bool ReaderArchive::Take(std::string_view key) {
  if (failed()) return false;
  const uint32_t node = tree_.Find(object_, key, hint_);
  step_ = {key, 0};
  if (node == JsonTree::kNoNode) {
    JsonPath path(path_.begin() + 1, path_.end());
    path.push_back(step_);
    Fail(tree_.at(object_).byte, path, "this field is missing");
    return false;
  }
  node_ = node;
  hint_ = tree_.at(node).end;
  ++taken_;
  return true;
}

void ReaderArchive::Ignored(std::string_view key) {
  if (!failed() && tree_.Find(object_, key, hint_) != JsonTree::kNoNode) ++taken_;
}

void ReaderArchive::Version(std::string_view key, int64_t version) {
  int64_t found = 0;
  Int(key, found);
  if (failed() || found == version) return;
  const bool newer = found > version;
  Fail(tree_.at(node_).byte, {{key, 0}},
       newer
           ? fmt::format("the result is of version {} and was written by a newer inferprobe; this "
                         "one reads version {}",
                         found, version)
           : fmt::format("there is no version {}; this inferprobe reads version {}", found,
                         version));
  error_->code = newer ? ErrorCode::kUnsupported : ErrorCode::kMalformed;
  if (newer) error_->hint = "install a newer inferprobe";
}

void ReaderArchive::Constant(std::string_view key, std::string_view text) {
  if (!Take(key)) return;
  if (tree_.at(node_).type != Type::kString || tree_.TextOf(node_) != text) {
    Mismatch(node_, fmt::format("the text \"{}\"", text));
  }
}

void ReaderArchive::Text(std::string_view key, std::string& value) {
  if (Take(key)) ValueAt(node_, value);
}

void ReaderArchive::Bool(std::string_view key, bool& value) {
  if (Take(key)) ValueAt(node_, value);
}

void ReaderArchive::Int(std::string_view key, int64_t& value) {
  if (Take(key)) ValueAt(node_, value);
}

void ReaderArchive::Count(std::string_view key, int64_t& value) {
  Int(key, value);
  if (!failed() && value < 0) Mismatch(node_, "a number that is not negative");
}

void ReaderArchive::Number(std::string_view key, double& value) {
  profile::Metric<double> found;
  Figure(key, found);
  if (failed()) return;
  if (!found) return Mismatch(node_, "a number");
  value = *found;
}

void ReaderArchive::Scaled(std::string_view key, int64_t& value, int64_t parts) {
  double found = 0;
  Number(key, found);
  if (failed()) return;
  const double scaled = found * static_cast<double>(parts);
  if (!(std::fabs(scaled) < kLargestWhole)) return Mismatch(node_, "a smaller number");
  value = std::llround(scaled);
}

void ReaderArchive::Status(std::string_view key, profile::Status, std::string_view) {
  profile::Missing missing;
  if (!Take(key)) return;
  if (tree_.at(node_).type != Type::kObject) return Mismatch(node_, "a status object");
  MissingAt(node_, missing);
}

void ReaderArchive::NotBuiltIn(std::string_view key, std::string_view) {
  if (!Take(key)) return;
  // Content is of a part that this version does not have.
  if (tree_.at(node_).type != Type::kObject ||
      tree_.Find(node_, field::kStatus) == JsonTree::kNoNode) {
    return CountUnknown();
  }
  profile::Missing missing;
  MissingAt(node_, missing);
}

void ReaderArchive::MissingAt(uint32_t object, profile::Missing& missing) {
  Within(object, [&] {
    Enum(field::kStatus, missing.status);
    Text(field::kHint, missing.hint);
  });
  node_ = object;
}

void ReaderArchive::ValueAt(uint32_t node, double& value) {
  const JsonTree::Node& found = tree_.at(node);
  switch (found.type) {
    case Type::kFloat:
      if (!(std::fabs(found.real) <= profile::kLargestFigure)) {
        return Mismatch(node, "a number up to 1e30");
      }
      value = found.real;
      return;
    case Type::kUint:
      value = static_cast<double>(found.unsigned_integer);
      return;
    case Type::kInt:
      value = static_cast<double>(found.integer);
      if (value == 0) value = -0.0;  // only a negative zero is an integer with a sign
      return;
    default:
      return Mismatch(node, "a number");
  }
}

void ReaderArchive::ValueAt(uint32_t node, int64_t& value) {
  const JsonTree::Node& found = tree_.at(node);
  if (found.type == Type::kInt) {
    value = found.integer;
  } else if (found.type == Type::kUint &&
             found.unsigned_integer <= uint64_t{std::numeric_limits<int64_t>::max()}) {
    value = static_cast<int64_t>(found.unsigned_integer);
  } else if (found.type == Type::kFloat && std::fabs(found.real) <= kLargestWhole &&
             std::nearbyint(found.real) == found.real) {
    value = static_cast<int64_t>(found.real);
  } else {
    Mismatch(node, "a whole number of 64 bits");
  }
}

bool ReaderArchive::WideAt(uint32_t node, uint64_t most, uint64_t& value) {
  const JsonTree::Node& found = tree_.at(node);
  bool fits = true;
  if (found.type == Type::kUint) {
    value = found.unsigned_integer;
  } else if (found.type == Type::kFloat && found.real >= 0 && found.real <= kLargestWhole &&
             std::nearbyint(found.real) == found.real) {
    value = static_cast<uint64_t>(found.real);
  } else {
    fits = found.type == Type::kInt && found.integer == 0;
  }
  if (fits && value <= most) return true;
  Mismatch(node, most == std::numeric_limits<uint64_t>::max()
                     ? "a whole number that is not negative"
                     : fmt::format("a whole number from 0 to {}", most));
  return false;
}

void ReaderArchive::ValueAt(uint32_t node, bool& value) {
  if (tree_.at(node).type != Type::kBool) return Mismatch(node, "true or false");
  value = tree_.at(node).boolean;
}

void ReaderArchive::ValueAt(uint32_t node, std::string& value) {
  if (tree_.at(node).type != Type::kString) return Mismatch(node, "a text");
  value = tree_.TextOf(node);
}

void ReaderArchive::ValueAt(uint32_t node, profile::Interval& value) {
  if (tree_.at(node).type != Type::kArray || tree_.at(node).size != 2) {
    return Mismatch(node, "[low, high]");
  }
  or_status_ = false;
  ElementsOf(node, "[low, high]", [&](uint32_t element, size_t index) {
    if (index == 0) return ValueAt(element, value.low);
    if (tree_.at(element).type != Type::kObject) {
      or_status_ = true;
      ValueAt(element, value.high);
      or_status_ = false;
      return;
    }
    profile::Missing missing;
    MissingAt(element, missing);
    value.open_above = !IsNotFinite(missing);
    value.high = value.open_above ? 0 : std::numeric_limits<double>::quiet_NaN();
  });
}

void ReaderArchive::Samples(std::string_view key, std::vector<std::vector<double>>& lists) {
  Elements(key, "a list of lists", [&](uint32_t list, size_t) {
    std::vector<double>& samples = lists.emplace_back();
    ElementsOf(list, "a list of numbers", [&](uint32_t node, size_t) {
      double sample = 0;
      ValueAt(node, sample);
      if (!failed() && sample < 0) return Mismatch(node, "a time that is not negative");
      samples.push_back(sample);
    });
  });
}

}  // namespace inferprobe::result_json
