// What `tune` prints: a row for each candidate, and the recommendation.
//
// The rule that people break: the columns that explain a candidate stand apart from its verdict,
// which is the clock's alone.
#pragma once

#include <string>

#include "profile/tune_result.h"
#include "report/table.h"

namespace inferprobe::report {

// kTable: for people. JSON: one object with everything, also the figures of each round. CSV and
// Markdown: the rows.
std::string TuneReport(const profile::TuneResult& result, Format format);

}  // namespace inferprobe::report
