// The table of named statistics of loss and repair, of those that are not zero.
#pragma once

#include <string>

#include "profile/loss.h"

namespace inferprobe::report {

// "" if all are zero.
std::string LossTable(const profile::LossCounts& losses);

}  // namespace inferprobe::report
