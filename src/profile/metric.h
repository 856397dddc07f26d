// The one rule about numbers, as types: a figure is a value with a kind and a unit, or a status
// that says why there is none. Unavailable is never zero, NaN or "".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "inferprobe/status.h"

namespace inferprobe::profile {

// What a figure is a measurement of. Figures of different kinds are never added or nested.
enum class Kind : uint8_t {
  kHostWall,
  kHostCpu,
  kDevice,
  kEngineReported,          // per run, as the engine said it
  kEngineMeanSinceCompile,  // the engine's running mean
  kDerived,                 // computed from others; the docs say from which
};
const char* KindName(Kind kind);  // "host_wall"
const char* KindText(Kind kind);  // "host wall"
// Of what was measured; nullopt: no such kind, or kDerived, which no event has.
std::optional<Kind> MeasuredKind(std::string_view name);

using Status = inferprobe::Status;

struct Missing {
  Status status = Status::kNotMeasured;
  std::string hint;  // what would make it available
};

// What a file may claim at most. Nothing that is measured comes near; what is computed from it
// (nanoseconds of milliseconds, ratios, squares) stays finite.
constexpr double kLargestFigure = 1e30;

// A value, or the reason why there is none. Starts out as `not_measured`.
template <typename T>
class Metric {
 public:
  Metric() : state_(Missing{}) {}
  Metric(T value) : state_(std::move(value)) {}            // NOLINT(google-explicit-constructor)
  Metric(Missing missing) : state_(std::move(missing)) {}  // NOLINT(google-explicit-constructor)
  Metric(Status status, std::string hint = {})             // NOLINT(google-explicit-constructor)
      : state_(Missing{status, std::move(hint)}) {}

  [[nodiscard]] bool has_value() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const { return *std::get_if<T>(&state_); }
  const T* operator->() const { return std::get_if<T>(&state_); }
  // Precondition: !has_value().
  [[nodiscard]] const Missing& missing() const { return *std::get_if<Missing>(&state_); }

 private:
  std::variant<Missing, T> state_;
};

}  // namespace inferprobe::profile
