// The layers of one engine: their names and metadata as events carry them, made once, and what was
// reported of each so far. Nothing here allocates between Describe() and the next.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "delegate/emitter.h"
#include "inferprobe/delegate.h"

namespace inferprobe::delegate {

struct Layer {
  EventName name;
  std::string type;
  std::string executed_as;
  std::string metadata;  // of each of its events
  int64_t total_ns = 0;
  uint64_t reports = 0;
};

class LayerTable {
 public:
  // A changed list begins anew: what was reported of the old one is gone, and counted.
  void Describe(std::span<const LayerFacts> layers, LayerTimes times);
  // What was reported so far is written: the sums begin anew, the layers stay.
  void ClearSums();
  [[nodiscard]] std::span<Layer> layers() { return layers_; }
  [[nodiscard]] std::span<const Layer> layers() const { return layers_; }
  [[nodiscard]] LayerTimes times() const { return times_; }
  [[nodiscard]] uint64_t restarts() const { return restarts_; }

  void NoteReport(const LayerReport& report) {
    if (first_.calls == 0) first_ = report;
    last_ = report;
  }
  [[nodiscard]] int64_t unit_ns() const { return last_.unit_ns; }
  // By so much a layer's mean over the reports may be off; 0: not known.
  [[nodiscard]] int64_t MeanErrorNs() const;

 private:
  std::vector<Layer> layers_;
  LayerTimes times_ = LayerTimes::kPerRun;
  uint64_t restarts_ = 0;
  LayerReport first_;
  LayerReport last_;
};

}  // namespace inferprobe::delegate
