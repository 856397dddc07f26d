// What a recording holds in which nothing is a run: slices of one name inside the same others are a
// row, each track by itself.
//
// The rule that people break: these rows add up to nothing but their own parents. Two tracks may be
// two threads that ran at once.
#pragma once

#include <vector>

#include "profile/model.h"
#include "profile/result.h"

namespace inferprobe::analyze {

struct SliceTableOptions {
  // Calls of modules, and the operators of their framework, have a table of their own (modules.h):
  // what is in them stands in what they are in.
  bool without_modules = false;
};

// Parents before their children, tracks in their order. Slices in ticks of an unknown clock and
// those that stand for a sum (sum_table.h) are not among them. Linear in slices, apart from sorting
// the rows. `losses`: where slices are shorter than what is in them.
std::vector<profile::SliceRow> SummarizeSlices(const profile::Profile& profile,
                                               profile::LossCounts* losses = nullptr,
                                               const SliceTableOptions& options = {});

}  // namespace inferprobe::analyze
