#include "formats/result_json/figure_writer.h"

#include <cmath>

namespace inferprobe::result_json {

void FigureWriter::Missing(const profile::Missing& missing) {
  json_.BeginObject();
  Text(field::kStatus, profile::StatusName(missing.status));
  Text(field::kHint, missing.hint);
  json_.EndObject();
}

void FigureWriter::Value(double value) {
  if (std::isfinite(value)) {
    json_.Number(value);
  } else {
    Missing({profile::Status::kUnavailable, "not a finite number"});
  }
}

void FigureWriter::Number(std::string_view key, double value) {
  json_.Key(key);
  Value(value);
}

void FigureWriter::Status(std::string_view key, profile::Status status, std::string_view hint) {
  json_.Key(key);
  Missing({status, std::string(hint)});
}

void FigureWriter::Figure(std::string_view key, const profile::Metric<double>& value) {
  json_.Key(key);
  value ? Value(*value) : Missing(value.missing());
}

void FigureWriter::Figure(std::string_view key, const profile::Metric<int64_t>& value) {
  json_.Key(key);
  value ? static_cast<void>(json_.Int(*value)) : Missing(value.missing());
}

void FigureWriter::Figure(std::string_view key, const profile::Metric<uint32_t>& value) {
  json_.Key(key);
  value ? static_cast<void>(json_.Uint(*value)) : Missing(value.missing());
}

void FigureWriter::Figure(std::string_view key, const profile::Metric<bool>& value) {
  json_.Key(key);
  value ? static_cast<void>(json_.Bool(*value)) : Missing(value.missing());
}

void FigureWriter::Figure(std::string_view key, const profile::Metric<std::string>& value) {
  json_.Key(key);
  value ? static_cast<void>(json_.String(*value)) : Missing(value.missing());
}

void FigureWriter::Figure(std::string_view key, const profile::Metric<profile::Interval>& value) {
  json_.Key(key);
  if (!value) return Missing(value.missing());
  if (!std::isfinite(value->low)) {
    return Missing({profile::Status::kUnavailable, "not a finite number"});
  }
  json_.BeginArray(true);
  json_.Number(value->low);
  if (value->open_above) {
    Missing({profile::Status::kTooFewSamples, "no upper bound with so few samples"});
  } else {
    Value(value->high);
  }
  json_.EndArray();
}

}  // namespace inferprobe::result_json
