// What `show` prints of a file beside figures: what it is and what is in it.
#pragma once

#include "profile/source.h"
#include "report/lines.h"

namespace inferprobe::report {

void AddSource(const profile::SourceFacts& source, bool all, Lines* lines);

}  // namespace inferprobe::report
