// The order in which slices are laid out on lanes: by track and start, and where several start
// together, each behind what it is in.
//
// The rule that people break: of slices that start together neither length nor index says what is
// in what; one without length may stand behind its parent, or belong to what ends there.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/perfetto/run_plan.h"
#include "profile/model.h"

namespace inferprobe::perfetto {

// Linear in `slices` apart from sorting, however deep they nest, also where parents form a circle.
void SortForLanes(const profile::Profile& profile, const RunPlan* runs,
                  std::vector<uint32_t>& slices);

}  // namespace inferprobe::perfetto
