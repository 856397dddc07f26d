// The words that stand for enumerators in the result JSON, in both directions.
//
// The rule that people break: an enumerator that is appended to its list moves kLast with it; the
// test that compares these with the schema fails otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "inferprobe/result.h"
#include "inferprobe/tensor.h"
#include "profile/loss.h"
#include "profile/metric.h"
#include "profile/result.h"

namespace inferprobe::result_json {

template <class E>
struct EnumWords;

template <>
struct EnumWords<profile::Status> {
  // kValid is no reason for a missing figure.
  static constexpr auto kFirst = profile::Status::kNotRequested;
  static constexpr auto kLast = profile::Status::kNotMeasured;
  static const char* Name(profile::Status value) { return StatusName(value); }
};

template <>
struct EnumWords<profile::Kind> {
  static constexpr auto kLast = profile::Kind::kDerived;
  static const char* Name(profile::Kind value) { return profile::KindName(value); }
};

template <>
struct EnumWords<profile::RowType> {
  static constexpr auto kLast = profile::RowType::kUnattributed;
  static const char* Name(profile::RowType value) { return profile::RowTypeName(value); }
};

template <>
struct EnumWords<profile::CallMode> {
  static constexpr auto kLast = profile::CallMode::kAsynchronous;
  static const char* Name(profile::CallMode value) { return profile::CallModeName(value); }
};

template <>
struct EnumWords<profile::OutputCheck::Verdict> {
  using Verdict = profile::OutputCheck::Verdict;
  static constexpr auto kLast = Verdict::kMismatch;
  static const char* Name(Verdict value) {
    switch (value) {
      case Verdict::kUnchecked:
        return "unchecked";
      case Verdict::kMatch:
        return "match";
      case Verdict::kMismatch:
        return "mismatch";
    }
    return "unchecked";
  }
};

template <>
struct EnumWords<ScalarType> {
  static constexpr auto kLast = ScalarType::kQint32;
  static const char* Name(ScalarType value) { return ScalarTypeName(value); }
};

template <>
struct EnumWords<ErrorCode> {
  static constexpr auto kLast = ErrorCode::kInternal;
  static const char* Name(ErrorCode value) { return ErrorCodeName(value); }
};

// The first enumerator that has a word.
template <class E>
constexpr int FirstOf() {
  if constexpr (requires { EnumWords<E>::kFirst; }) return static_cast<int>(EnumWords<E>::kFirst);
  return 0;
}

template <class E>
std::optional<E> EnumOf(std::string_view name) {
  for (int i = FirstOf<E>(); i <= static_cast<int>(EnumWords<E>::kLast); ++i) {
    if (name == EnumWords<E>::Name(static_cast<E>(i))) return static_cast<E>(i);
  }
  return std::nullopt;
}

// "one of a, b, c".
template <class E>
std::string EnumChoices() {
  std::string text = "one of ";
  for (int i = FirstOf<E>(); i <= static_cast<int>(EnumWords<E>::kLast); ++i) {
    text += i == FirstOf<E>() ? "" : ", ";
    text += EnumWords<E>::Name(static_cast<E>(i));
  }
  return text;
}

inline std::optional<profile::Loss> LossOf(std::string_view name) {
  for (size_t i = 0; i < static_cast<size_t>(profile::Loss::kCount); ++i) {
    const auto loss = static_cast<profile::Loss>(i);
    if (name == profile::InfoOf(loss).name) return loss;
  }
  return std::nullopt;
}

}  // namespace inferprobe::result_json
