// What a trace carries beside its events: facts about the model, the engine, the clock and what was
// lost, as the arguments of one instant event at its end. One side writes them, the other reads
// them, both here.
//
// The rule that people break: keys are read by older and by later versions: a key keeps its
// meaning, and what is not known is left out, never written as 0 or "".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "profile/facts.h"
#include "profile/metric.h"
#include "profile/model.h"
#include "profile/recording.h"

namespace inferprobe::perfetto {

using Notes = std::vector<std::pair<std::string, std::string>>;

// `losses`: what the trace's user should know was lost, the profile's own and the writer's.
Notes NotesOf(const profile::Profile& profile, const profile::ModelFacts& model,
              const profile::EngineFacts& engine, const profile::Metric<double>& event_cost_ns,
              const profile::Metric<int64_t>& iterations, const profile::LossCounts& losses);

// Fills in what the notes tell. Notes that are not understood are left alone.
void ReadNotes(const Notes& notes, profile::Recording* recording);

}  // namespace inferprobe::perfetto
