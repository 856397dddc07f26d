// Which CPU the calling thread runs on, without a system call.
#pragma once

#include <cstdint>

namespace inferprobe::base {

// -1: the system does not tell. By the time that it is used the thread may be elsewhere.
int32_t CurrentCpu();

}  // namespace inferprobe::base
