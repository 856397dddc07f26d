#include "formats/result_json/result_json.h"

#include <utility>

#include "formats/result_json/describe_result.h"
#include "formats/result_json/writer_archive.h"

namespace inferprobe::result_json {

std::string WriteResultJson(const profile::PerfResult& result) {
  base::JsonWriter json;
  WriterArchive archive(json);
  json.BeginObject();
  DescribeResult(archive, result);
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace inferprobe::result_json
