// A TREX profile as a recording: a track of layers, each once, as long as its average.
//
// The rule that people break: such a file holds sums, and no inference. No run is made up, the
// places of the layers on the track are not measured, and the averages add up to no latency:
// layers may overlap, and what lies between them is in none.
#pragma once

#include <string>
#include <string_view>

#include "formats/trex/trex.h"
#include "profile/recording.h"

namespace inferprobe::trex {

// A profile, or the graph of an engine or a profile's metadata, which ReadProfile() refuses with
// words. `head` is the begin of a file.
bool LooksLikeProfile(std::string_view head, uint64_t bytes);

// With the metadata beside it, where there is such a file. One that cannot be used is counted: the
// times are good without.
Result<profile::Recording> ReadProfile(const std::string& path,
                                       const profile::ReadOptions& options = {});

// The profile of `name`; `metadata` may be null.
profile::Recording RecordingOf(const LayerProfile& layers, const Metadata* metadata,
                               const std::string& name);

}  // namespace inferprobe::trex
