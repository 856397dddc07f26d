// A profile from its text. What a file does not tell is not made up: a layer without a number of
// calls keeps its total, and has no average.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.h"
#include "formats/trex/lenient_json.h"
#include "formats/trex/trex.h"

namespace inferprobe::trex {
namespace {

using profile::Kind;
using profile::KindName;
using profile::Loss;
using profile::LossCounts;
using profile::MeasuredKind;

constexpr double kMostMs = 9e12;     // fits 63 bits of nanoseconds
constexpr double kMostCount = 9e15;  // a double holds it exactly
constexpr double kMostErrorNs = 9e18;

// An object of the list, as it stands there.
struct Record {
  std::optional<std::string> name;
  std::optional<double> count, time_ms, average_ms, median_ms;
  bool has_count = false;
  bool has_time = false;
};

void ReadMember(LenientJson& json, const std::string& key, Record* record, LossCounts* losses) {
  if (key == "name") {
    record->name = json.String();
  } else if (key == "count") {
    record->has_count = true;
    record->count = json.Number();
  } else if (key == "timeMs") {
    record->has_time = true;
    record->time_ms = json.Number();
  } else if (key == "averageMs") {
    record->has_time = true;
    record->average_ms = json.Number();
  } else if (key == "medianMs") {
    record->median_ms = json.Number();
  } else if (key == "percentage") {
    json.Number();  // computed anew: theirs is rounded
  } else {
    losses->Add(Loss::kUnknownField);
    json.Skip();
  }
}

bool IsTime(const std::optional<double>& ms) { return !ms || (*ms >= 0 && *ms <= kMostMs); }

// Torch-TensorRT tells no count, but both the total and the average, to six digits.
uint64_t CallsFrom(const Record& record) {
  if (!record.time_ms || !record.average_ms || !(*record.average_ms > 0)) return 0;
  const double ratio = *record.time_ms / *record.average_ms;
  const double calls = std::round(ratio);
  if (!(calls >= 1 && calls <= kMostCount)) return 0;
  return std::abs(ratio - calls) <= 0.01 + 2e-5 * calls ? static_cast<uint64_t>(calls) : 0;
}

int64_t Nanoseconds(double ms) { return std::llround(ms * 1e6); }

class Parser {
 public:
  Parser(std::string_view text, const std::string& name, LossCounts* losses)
      : json_(text, name, losses), losses_(*losses) {}

  Result<LayerProfile> Parse() {
    if (json_.Peek() == LenientJson::Next::kObject) return tl::unexpected(GraphError());
    if (json_.Peek() != LenientJson::Next::kArray) {
      return tl::unexpected(json_.At(json_.byte(), "no list of layers begins here"));
    }
    json_.Open();
    while (json_.NextElement()) {
      if (json_.Peek() != LenientJson::Next::kObject) {
        return tl::unexpected(json_.At(json_.byte(), "this is no layer, which is an object"));
      }
      Record record;
      json_.Open();
      while (const std::optional<std::string> key = json_.NextMember()) {
        ReadMember(json_, *key, &record, &losses_);
      }
      // Of what ends in the middle nothing is taken.
      if (json_.Failed() || json_.Truncated()) break;
      Take(std::move(record));
    }
    if (json_.Failed()) return tl::unexpected(json_.Failure());
    if (json_.Truncated()) {
      losses_.Add(Loss::kTruncatedFile);
    } else if (!json_.OnlySpaceLeft()) {
      return tl::unexpected(json_.At(json_.byte(), "more follows behind the list of layers"));
    }
    return Finish();
  }

 private:
  // `trtexec --exportLayerInfo` writes what the layers are, not what they take.
  Error GraphError() {
    Error error = json_.At(json_.byte(), "this is no list of layers with times");
    json_.Open();
    const std::optional<std::string> key = json_.NextMember();
    if (!key || *key != "Layers" || json_.Peek() != LenientJson::Next::kArray) return error;
    error.code = ErrorCode::kUnsupported;
    error.message += ", but the graph of an engine (trtexec --exportLayerInfo)";
    error.hint = "trtexec --exportProfile=FILE writes the times";
    json_.Open();
    if (json_.NextElement() && json_.Peek() == LenientJson::Next::kString) {
      error.message += ", and of that only names";
      error.hint += "; building with --profilingVerbosity=detailed tells what the layers are";
    }
    return error;
  }

  void Take(Record record) {
    if (!record.name && record.has_count && !count_known_) {
      count_known_ = true;
      if (record.count && *record.count >= 0 && *record.count <= kMostCount) {
        profile_.count = static_cast<uint64_t>(*record.count);
      } else if (record.count) {
        losses_.Add(Loss::kTimeOutOfRange);
      }
      return;
    }
    if (!record.name || !record.has_time) {
      losses_.Add(Loss::kUnknownField);
      return;
    }
    if (!IsTime(record.time_ms) || !IsTime(record.average_ms)) {
      losses_.Add(Loss::kTimeOutOfRange);
      return;
    }
    if (!IsTime(record.median_ms)) {
      losses_.Add(Loss::kTimeOutOfRange);
      record.median_ms.reset();
    }
    Layer layer;
    base::RepairedText repaired = base::RepairUtf8(*record.name);
    losses_.Add(Loss::kInvalidUtf8, repaired.bad_bytes != 0 ? 1 : 0);
    layer.name = std::move(repaired.text);
    // TensorRT's name for nodes that it does not tell apart.
    if (layer.name.find("ForeignNode[") != std::string::npos) losses_.Add(Loss::kOpaqueLayer);
    layer.calls = count_known_ ? profile_.count : CallsFrom(record);
    if (record.time_ms) {
      layer.total_ns = Nanoseconds(*record.time_ms);
    } else if (record.average_ms) {
      const double total_ms = *record.average_ms * static_cast<double>(layer.calls);
      if (total_ms > kMostMs) {
        losses_.Add(Loss::kTimeOutOfRange);
        return;
      }
      layer.total_ns = Nanoseconds(total_ms);
    }
    if (record.median_ms && layer.calls != 0) layer.median_ns = *record.median_ms * 1e6;
    if (layer.calls == 0) losses_.Add(Loss::kNoSamples);
    profile_.layers.push_back(std::move(layer));
  }

  LayerProfile Finish() {
    if (!count_known_) {
      for (const Layer& layer : profile_.layers) {
        profile_.count = std::max(profile_.count, layer.calls);
      }
    }
    if (profile_.layers.empty()) losses_.Add(Loss::kNoEvents);
    return std::move(profile_);
  }

  LenientJson json_;
  LossCounts& losses_;
  LayerProfile profile_;
  bool count_known_ = false;
};

}  // namespace

Result<LayerProfile> ParseProfile(std::string_view text, const std::string& name,
                                  LossCounts* losses) {
  return Parser(text, name, losses).Parse();
}

Result<Metadata> ParseMetadata(std::string_view text, const std::string& name) {
  LossCounts repairs;  // our own files need none
  LenientJson json(text, name, &repairs);
  Metadata metadata;
  bool known_version = false;
  if (json.Peek() != LenientJson::Next::kObject) {
    return tl::unexpected(json.At(json.byte(), "no metadata of a profile begins here"));
  }
  json.Open();
  while (const std::optional<std::string> key = json.NextMember()) {
    std::string* text_member = *key == "engine_id"        ? &metadata.engine_id
                               : *key == "engine"         ? &metadata.engine
                               : *key == "engine_version" ? &metadata.engine_version
                               : *key == "model"          ? &metadata.model
                               : *key == "method"         ? &metadata.method
                               : *key == "kind"           ? &metadata.kind
                               : *key == "of"             ? &metadata.of
                                                          : nullptr;
    if (text_member == &metadata.kind) {
      // What it does not know, it does not call a time of the host.
      metadata.kind = KindName(MeasuredKind(json.String()).value_or(Kind::kEngineReported));
    } else if (*key == kVersionKey && json.Peek() == LenientJson::Next::kNumber) {
      known_version = json.Number() == kMetadataVersion;
    } else if (text_member != nullptr) {
      *text_member = base::RepairUtf8(json.String()).text;
    } else if (*key == "error_ns") {
      if (const auto error_ns = json.Number();
          error_ns && *error_ns >= 0 && *error_ns <= kMostErrorNs) {
        metadata.error_ns = std::llround(*error_ns);
      }
    } else if (*key == "notes" && json.Peek() == LenientJson::Next::kArray) {
      json.Open();
      while (json.NextElement()) metadata.notes.push_back(base::RepairUtf8(json.String()).text);
    } else if (*key == "layers" && json.Peek() == LenientJson::Next::kArray) {
      json.Open();
      while (json.NextElement()) {
        LayerType& layer = metadata.layers.emplace_back();
        if (json.Peek() != LenientJson::Next::kArray) {
          return tl::unexpected(json.At(json.byte(), "a layer's type and execution are a list"));
        }
        json.Open();
        for (size_t i = 0; json.NextElement(); ++i) {
          const std::string value = base::RepairUtf8(json.String()).text;
          if (i == 0) layer.type = value;
          if (i == 1) layer.exec = value;
        }
      }
    } else {
      json.Skip();
    }
  }
  if (json.Failed()) return tl::unexpected(json.Failure());
  if (json.Truncated()) return tl::unexpected(json.At(json.byte(), "the file ends too early"));
  if (!known_version) {
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("{}: no {} that is known is in it", name, kVersionKey),
                     "read it with a newer inferprobe");
  }
  return metadata;
}

}  // namespace inferprobe::trex
