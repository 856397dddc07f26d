#include "formats/trex/layers_of.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace inferprobe::trex {
namespace {

using profile::Kind;
using profile::OpRow;
using profile::PerfResult;
using profile::RowType;
using profile::Status;

OpRow LayerRow(uint32_t id, const char* name) {
  OpRow row;
  row.id = id;
  row.parent = 0;
  row.type = RowType::kDelegateOp;
  row.kind = Kind::kEngineReported;
  row.name = name;
  row.calls = 2;
  return row;
}

// Two profiled runs of 100 us each, all in one delegate call.
PerfResult OneDelegate(std::vector<OpRow> layers) {
  PerfResult result;
  result.profiled_runs = 2;
  result.profiled_mean_ns = 100'000;
  OpRow call;
  call.type = RowType::kDelegateCall;
  call.name = "OpenvinoBackend #0";
  call.total_ns = 200'000;
  result.ops.push_back(call);
  for (const OpRow& layer : layers) result.ops.push_back(layer);
  profile::DelegateResult& delegate = result.delegates.emplace_back();
  delegate.backend = "OpenvinoBackend";
  delegate.engine_id = "0a1b-0";
  delegate.host_ns = 100'000;
  delegate.layer_error_ns = profile::Metric<double>(7'000.4);
  delegate.layers = std::move(layers);
  return result;
}

// Its table says that its mean is below resolution; a profile consists of sums, and its metadata
// says by how much they may be off.
TEST(TrexLayersOf, ALayerBelowResolutionIsThereWithTheErrorInTheMetadata) {
  OpRow known = LayerRow(1, "large");
  known.mean_ns = 60'000.0;
  known.share = 0.6;
  known.total_ns = 111'000;  // of the profiled runs alone: not what the mean is of
  OpRow below = LayerRow(2, "small");
  below.mean_ns = {Status::kBelowResolution, "5 us, may be off by 7 us"};
  below.share = 0.05;
  below.total_ns = 3'000;
  profile::LossCounts losses;
  const auto layers = LayersOf({}, OneDelegate({known, below}), &losses);
  ASSERT_TRUE(layers);
  ASSERT_EQ(layers->profile.layers.size(), 2U);
  EXPECT_EQ(layers->profile.layers[0].total_ns, 120'000);
  EXPECT_EQ(layers->profile.layers[1].name, "small");
  EXPECT_EQ(layers->profile.layers[1].total_ns, 10'000) << "share of the call, over two runs";
  EXPECT_EQ(layers->metadata.of, "running_mean");
  ASSERT_TRUE(layers->metadata.error_ns);
  EXPECT_EQ(*layers->metadata.error_ns, 7'001) << "never less than it is";
  EXPECT_EQ(losses.Get(profile::Loss::kNotInFormat), 0U);
}

// In ticks of a clock that nobody knows, or missing for another reason: no time is made up.
TEST(TrexLayersOf, ALayerWithoutATimeIsLeftOutAndCounted) {
  OpRow known = LayerRow(1, "known");
  known.mean_ns = 60'000.0;
  OpRow ticks = LayerRow(2, "ticks");
  ticks.in_ticks = true;
  ticks.mean_ns = {Status::kUnavailable, "ticks"};
  OpRow lost = LayerRow(3, "lost");
  lost.mean_ns = {Status::kUnavailable, "events of these runs were dropped"};
  profile::LossCounts losses;
  const auto layers = LayersOf({}, OneDelegate({known, ticks, lost}), &losses);
  ASSERT_TRUE(layers);
  ASSERT_EQ(layers->profile.layers.size(), 1U);
  EXPECT_EQ(losses.Get(profile::Loss::kNotInFormat), 2U);
}

}  // namespace
}  // namespace inferprobe::trex
