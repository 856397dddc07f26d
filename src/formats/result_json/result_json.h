// The result of one measurement as JSON: docs/formats/result.schema.json.
//
// The rule that people break: keys come from fields.inc, which is generated from the schema, and
// describe_result.h says where they stand, for the writer and the reader (result_reader.h): there
// is no key in this folder that the schema does not know. A missing figure is an object with its
// status, never null, 0 or absent.
#pragma once

#include <string>

#include "profile/result.h"

namespace inferprobe::result_json {

std::string WriteResultJson(const profile::PerfResult& result);

}  // namespace inferprobe::result_json
