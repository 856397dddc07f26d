// A parallel region's facts, and a participant's, as arguments of their slices: written and read in
// one place.
//
// The rule that people break: what has its default is not written. A reader starts from defaults.
#pragma once

#include <cstdint>
#include <protozero/pbf_builder.hpp>
#include <string_view>

#include "formats/perfetto/fields.h"
#include "formats/perfetto/interner.h"
#include "formats/perfetto/tracks.h"
#include "profile/model.h"

namespace inferprobe::perfetto {

void WriteRegion(protozero::pbf_builder<TrackEvent>& out, const profile::Profile& profile,
                 const profile::Region& region, Interner& interner);
void WriteRegionPart(protozero::pbf_builder<TrackEvent>& out, const profile::RegionPart& part,
                     Interner& interner);

// What the arguments of one slice say of a region or of a part in one.
struct RegionArgs {
  profile::Region region;
  profile::RegionPart part;
  bool any = false;

  // False: the argument is none of a region's. What no writer writes stays as it was.
  bool Read(ArgName name, int64_t number, std::string_view text, Texts& texts);
};

}  // namespace inferprobe::perfetto
