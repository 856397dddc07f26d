// TREX-compatible JSON: what `trtexec --exportProfile` and Torch-TensorRT write of an engine's
// layers, and TensorRT's engine explorer (trex) reads.
//
//   [{"count": 3},
//    {"name": "conv1", "timeMs": 6, "averageMs": 2, "medianMs": 1.9, "percentage": 60}, ...]
//
// Docs: docs/formats/trex.md.
//
// The rule that people break: trex takes only objects of four or five members for layers. What has
// no place in those five goes into the metadata, a file beside it, which is inferprobe's own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inferprobe/result.h"
#include "profile/loss.h"
#include "profile/metric.h"

namespace inferprobe::trex {

struct Layer {
  std::string name;                   // may repeat
  std::string type, exec;             // only in the metadata
  int64_t total_ns = 0;               // over all inferences
  uint64_t calls = 0;                 // that the total is of; 0: none, or the file does not tell
  profile::Metric<double> median_ns;  // of an inference
};

struct LayerProfile {
  uint64_t count = 0;  // inferences
  std::vector<Layer> layers;
};

struct LayerType {
  std::string type, exec;
};

struct Metadata {
  std::string engine_id;  // content hash and ordinal
  std::string engine;     // "OpenVINO"
  std::string engine_version;
  std::string model;
  std::string method;
  std::string kind = "engine_reported";  // profile::KindName
  std::string of;                        // "running_mean": computed from the engine's own mean
  profile::Metric<int64_t> error_ns;     // by so much a layer's average may be off
  std::vector<std::string> notes;        // for people: what the layers cost, and the like
  std::vector<LayerType> layers;         // of the profile's, in their order
};

constexpr std::string_view kVersionKey = "trex_metadata_version";
constexpr int kMetadataVersion = 1;

// Strict JSON, numbers in full precision. No inference: averages, medians and shares are null.
std::string WriteProfile(const LayerProfile& profile);
std::string WriteMetadata(const Metadata& metadata);
// Metadata::layers of these.
std::vector<LayerType> TypesOf(const LayerProfile& profile);

// "run.layers.json" has "run.layers.metadata.json" beside it.
std::string MetadataPath(const std::string& profile_path);

// Also what is no strict JSON but is written by such programs: see lenient_json.h. `name` is for
// the errors, which give a byte.
Result<LayerProfile> ParseProfile(std::string_view text, const std::string& name,
                                  profile::LossCounts* losses);
// Refuses what is not of this version.
Result<Metadata> ParseMetadata(std::string_view text, const std::string& name);

}  // namespace inferprobe::trex
