#include "formats/result_json/writer_archive.h"

#include <cmath>

namespace inferprobe::result_json {

void WriterArchive::Missing(const profile::Missing& missing) {
  json_.BeginObject();
  Enum(field::kStatus, missing.status);
  Text(field::kHint, missing.hint);
  json_.EndObject();
}

void WriterArchive::Status(std::string_view key, profile::Status status, std::string_view hint) {
  json_.Key(key);
  Missing({status, std::string(hint)});
}

void WriterArchive::Number(std::string_view key, double value) {
  json_.Key(key);
  Value(value);
}

void WriterArchive::Value(double value) {
  if (std::isfinite(value)) {
    json_.Number(value);
  } else {
    Missing({kNotFiniteStatus, std::string(kNotFiniteHint)});
  }
}

void WriterArchive::Value(const profile::Interval& value) {
  if (!std::isfinite(value.low)) return Value(value.low);
  json_.BeginArray(true);
  json_.Number(value.low);
  if (value.open_above) {
    Missing({profile::Status::kTooFewSamples, "no upper bound with so few samples"});
  } else {
    Value(value.high);
  }
  json_.EndArray();
}

void WriterArchive::Samples(std::string_view key, const std::vector<std::vector<double>>& lists) {
  json_.Key(key).BeginArray();
  for (const std::vector<double>& list : lists) {
    json_.BeginArray(true);
    for (const double sample : list) json_.Number(sample);
    json_.EndArray();
  }
  json_.EndArray();
}

}  // namespace inferprobe::result_json
