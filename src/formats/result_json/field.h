// The keys of the result JSON, generated from its schema.
#pragma once

#include <string_view>

#include "profile/metric.h"

namespace inferprobe::result_json {

namespace field {
#include "formats/result_json/fields.inc"
}  // namespace field

// How a figure that is NaN or infinite stands in the file; a reader makes it NaN again.
constexpr profile::Status kNotFiniteStatus = profile::Status::kUnavailable;
constexpr std::string_view kNotFiniteHint = "not a finite number";

}  // namespace inferprobe::result_json
