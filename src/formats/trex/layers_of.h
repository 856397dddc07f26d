// The layers of a recording as a TREX profile: what engines reported inside delegates, and what
// another TREX profile held.
//
// The rule that people break: a profile is of one engine, a recording may have several. Their
// layers follow each other in the order of their calls, and the metadata names all of them.
#pragma once

#include "formats/trex/trex.h"
#include "profile/recording.h"
#include "profile/result.h"

namespace inferprobe::trex {

struct ProfileAndMetadata {
  LayerProfile profile;
  Metadata metadata;
};

// `result` is what the recording's analysis gave. Layers that have no time (in ticks of an unknown
// clock, beyond 64 bits) and those inside other layers are left out and counted in `losses`
// (not_in_format). kUnsupported: no engine reported any.
Result<ProfileAndMetadata> LayersOf(const profile::Recording& recording,
                                    const profile::PerfResult& result, profile::LossCounts* losses);

}  // namespace inferprobe::trex
