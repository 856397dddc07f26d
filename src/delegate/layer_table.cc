#include "delegate/layer_table.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"

namespace inferprobe::delegate {
namespace {

std::string MetadataOf(const LayerFacts& facts, LayerTimes times) {
  base::JsonWriter json(0);
  json.BeginObject();
  json.Key("kind").String("engine_reported");
  if (times == LayerTimes::kOfRunningMean) json.Key("of").String("running_mean");
  if (!facts.type.empty()) json.Key("type").String(facts.type);
  if (!facts.executed_as.empty()) json.Key("exec").String(facts.executed_as);
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace

void LayerTable::Describe(std::span<const LayerFacts> layers, LayerTimes times) {
  const bool reported = std::any_of(layers_.begin(), layers_.end(),
                                    [](const Layer& layer) { return layer.reports != 0; });
  if (reported) ++restarts_;
  layers_.clear();
  first_ = {};
  last_ = {};
  layers_.reserve(layers.size());
  times_ = times;
  for (const LayerFacts& facts : layers) {
    Layer layer;
    layer.name = EventName(std::string(facts.name));
    layer.type = facts.type;
    layer.executed_as = facts.executed_as;
    layer.metadata = MetadataOf(facts, times);
    layers_.push_back(std::move(layer));
  }
}

void LayerTable::ClearSums() {
  for (Layer& layer : layers_) {
    layer.total_ns = 0;
    layer.reports = 0;
  }
  restarts_ = 0;
  first_ = {};
  last_ = {};
}

// Values of consecutive calls telescope: what is left is what the first and the last sum may hide,
// each up to one unit for each call since compile.
int64_t LayerTable::MeanErrorNs() const {
  if (last_.calls == 0 || last_.unit_ns == 0) return 0;
  if (times_ == LayerTimes::kPerRun) return last_.unit_ns;
  const uint64_t reports = last_.calls - first_.calls + 1;
  return static_cast<int64_t>((last_.calls + first_.calls) * static_cast<uint64_t>(last_.unit_ns) /
                              reports);
}

}  // namespace inferprobe::delegate
