// The parts of a result that are about whole runs: latency, warm-up, what profiling costs, what was
// not quiet. See describe_result.h.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "formats/result_json/field.h"
#include "profile/result.h"

namespace inferprobe::result_json {

template <class Archive, class WarmUp>
void DescribeWarmUp(Archive& archive, WarmUp& warmup) {
  archive.Count(field::kRequested, warmup.requested);
  archive.Count(field::kExcluded, warmup.excluded);
  std::string rule = warmup.rule.empty() ? "count" : warmup.rule;
  archive.Text(field::kRule, rule);
  if constexpr (Archive::kReading) {
    if (rule != "count" && rule != "change point") {
      archive.Refuse(field::kRule, "\"count\" or \"change point\"");
    }
    warmup.rule = rule;
  }
  archive.Figure(field::kSteady, warmup.steady);
  archive.Figure(field::kSteadyAfter, warmup.steady_after);
  archive.Samples(field::kSamples, warmup.samples_ms);
}

struct PercentileField {
  std::string_view key;
  double p;
};
constexpr std::array kPercentileFields = {
    PercentileField{field::kP50, 0.5}, PercentileField{field::kP90, 0.9},
    PercentileField{field::kP95, 0.95}, PercentileField{field::kP99, 0.99},
    PercentileField{field::kP999, 0.999}};
using Percentiles = std::array<profile::Percentile, kPercentileFields.size()>;

// Those that have a field, in its order; what is not there was not measured.
inline Percentiles PercentilesOf(const std::vector<profile::Percentile>& found) {
  Percentiles percentiles;
  for (size_t i = 0; i < percentiles.size(); ++i) {
    percentiles[i].p = kPercentileFields[i].p;
    const auto at = std::find_if(found.begin(), found.end(), [&](const profile::Percentile& each) {
      return each.p == kPercentileFields[i].p;
    });
    if (at != found.end()) percentiles[i] = *at;
  }
  return percentiles;
}

// Whether nobody ever asked for them: a result without latency has none.
inline bool NeverFilled(const Percentiles& percentiles) {
  const auto untouched = [](const auto& figure) {
    return !figure && figure.missing().status == profile::Status::kNotMeasured &&
           figure.missing().hint.empty();
  };
  return std::all_of(percentiles.begin(), percentiles.end(), [&](const profile::Percentile& each) {
    return untouched(each.value) && untouched(each.interval);
  });
}

template <class Archive, class Latency>
void DescribeLatency(Archive& archive, Latency& latency) {
  archive.Constant(field::kKind, profile::KindName(profile::Kind::kHostWall));
  archive.Constant(field::kProfiling, "off");
  archive.Count(field::kCount, latency.count);
  archive.Figure(field::kAvg, latency.avg);
  archive.Figure(field::kStd, latency.std);
  archive.Figure(field::kMin, latency.min);
  archive.Figure(field::kMax, latency.max);
  Percentiles percentiles = PercentilesOf(latency.percentiles);
  for (size_t i = 0; i < percentiles.size(); ++i) {
    archive.Figure(kPercentileFields[i].key, percentiles[i].value);
  }
  archive.Object(field::kIntervals, [&] {
    archive.Figure(field::kAvg, latency.avg_interval);
    for (size_t i = 0; i < percentiles.size(); ++i) {
      archive.Figure(kPercentileFields[i].key, percentiles[i].interval);
    }
  });
  if constexpr (Archive::kReading) {
    if (!NeverFilled(percentiles)) {
      latency.percentiles.assign(percentiles.begin(), percentiles.end());
    }
  }
  archive.Samples(field::kSamples, latency.samples_ms);
  if constexpr (Archive::kReading) {
    uint64_t samples = 0;
    for (const std::vector<double>& process : latency.samples_ms) samples += process.size();
    // A list that is empty was taken out to save space.
    if (samples != 0 && samples != latency.count) {
      archive.Refuse(field::kCount, "as many as there are samples, " + std::to_string(samples));
    }
  }
}

template <class Archive, class Perturbation>
void DescribePerturbation(Archive& archive, Perturbation& perturbation) {
  archive.Constant(field::kKind, profile::KindName(profile::Kind::kDerived));
  archive.Count(field::kPairs, perturbation.pairs);
  archive.Figure(field::kProfiledP50Ms, perturbation.profiled_p50_ms);
  archive.Figure(field::kUnprofiledP50Ms, perturbation.unprofiled_p50_ms);
  archive.Figure(field::kRatio, perturbation.ratio);
  archive.Figure(field::kInterval, perturbation.interval);
  archive.Figure(field::kNullRatio, perturbation.null_ratio);
  archive.Figure(field::kNullRatioInterval, perturbation.null_interval);
}

template <class Archive, class Disturbance>
void DescribeDisturbance(Archive& archive, Disturbance& item) {
  archive.Text(field::kKind, item.kind);
  archive.Text(field::kText, item.text);
  archive.Count(field::kProcess, item.process);
  archive.List(field::kRuns, item.runs);
  if (archive.Optional(field::kNs, item.ns.has_value())) archive.Figure(field::kNs, item.ns);
  if (archive.Optional(field::kValue, item.value.has_value())) {
    archive.Figure(field::kValue, item.value);
    archive.Text(field::kUnit, item.unit);
  }
  archive.Bool(field::kWarning, item.warning);
}

}  // namespace inferprobe::result_json
