// Puts the rows of a file that was read back into the shape that the model asks for: one list, in
// which the id of a row is its place and a parent stands before its children.
#pragma once

#include <optional>
#include <string>

#include "formats/result_json/json_tree.h"
#include "profile/result.h"

namespace inferprobe::result_json {

struct RowProblem {
  JsonPath path;
  std::string what;
};

// `ops` are those of the file's list of that name; the rows behind them in result->ops are those
// outside of calls.
std::optional<RowProblem> PlaceOps(profile::PerfResult* result, size_t ops);
std::optional<RowProblem> PlaceSlices(profile::PerfResult* result);

}  // namespace inferprobe::result_json
