#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/saturating.h"
#include "formats/trex/trex.h"

namespace inferprobe::trex {
namespace {

constexpr std::string_view kJson = ".json";

void Milliseconds(base::JsonWriter& json, std::string_view key, double ns) {
  json.Key(key).Number(ns / 1e6);
}

void Text(base::JsonWriter& json, std::string_view key, const std::string& text) {
  if (!text.empty()) json.Key(key).String(text);
}

}  // namespace

std::string WriteProfile(const LayerProfile& profile) {
  int64_t sum_ns = 0;
  for (const Layer& layer : profile.layers) sum_ns = base::SaturatingAdd(sum_ns, layer.total_ns);
  base::JsonWriter json(0);
  json.BeginArray();
  json.BeginObject().Key("count").Uint(profile.count).EndObject();
  // A line each: people look into these files, and compare them.
  std::string out = json.Drain();
  for (const Layer& layer : profile.layers) {
    const auto total_ns = static_cast<double>(layer.total_ns);
    json.BeginObject();
    json.Key("name").String(layer.name);
    Milliseconds(json, "timeMs", total_ns);
    if (profile.count == 0) {
      json.Key("averageMs").Null();
    } else {
      Milliseconds(json, "averageMs", total_ns / static_cast<double>(profile.count));
    }
    if (layer.median_ns && profile.count != 0) {
      Milliseconds(json, "medianMs", *layer.median_ns);
    } else if (profile.count == 0) {
      json.Key("medianMs").Null();
    }
    json.Key("percentage");
    if (sum_ns > 0 && !base::IsSaturated(sum_ns)) {
      json.Number(100 * total_ns / static_cast<double>(sum_ns));
    } else {
      json.Null();
    }
    json.EndObject();
    std::string line = json.Drain();
    line.insert(line.find('{'), "\n");
    out += line;
  }
  json.EndArray();
  return out + "\n" + json.Drain() + "\n";
}

std::string WriteMetadata(const Metadata& metadata) {
  base::JsonWriter json;
  json.BeginObject();
  json.Key(kVersionKey).Int(kMetadataVersion);
  Text(json, "engine_id", metadata.engine_id);
  Text(json, "engine", metadata.engine);
  Text(json, "engine_version", metadata.engine_version);
  Text(json, "model", metadata.model);
  Text(json, "method", metadata.method);
  Text(json, "kind", metadata.kind);
  Text(json, "of", metadata.of);
  if (metadata.error_ns) json.Key("error_ns").Int(*metadata.error_ns);
  if (!metadata.notes.empty()) {
    json.Key("notes").BeginArray();
    for (const std::string& note : metadata.notes) json.String(note);
    json.EndArray();
  }
  if (!metadata.layers.empty()) {
    json.Key("layers").BeginArray();
    for (const LayerType& layer : metadata.layers) {
      json.BeginArray(/*flat=*/true);
      json.String(layer.type).String(layer.exec);
      json.EndArray();
    }
    json.EndArray();
  }
  json.EndObject();
  return std::move(json).Take();
}

std::vector<LayerType> TypesOf(const LayerProfile& profile) {
  std::vector<LayerType> types;
  types.reserve(profile.layers.size());
  bool any = false;
  for (const Layer& layer : profile.layers) {
    types.push_back({layer.type, layer.exec});
    any = any || !layer.type.empty() || !layer.exec.empty();
  }
  if (!any) types.clear();
  return types;
}

std::string MetadataPath(const std::string& profile_path) {
  const std::string_view path = profile_path;
  const std::string_view stem =
      path.ends_with(kJson) ? path.substr(0, path.size() - kJson.size()) : path;
  return fmt::format("{}.metadata.json", stem);
}

}  // namespace inferprobe::trex
