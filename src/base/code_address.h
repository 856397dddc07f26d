// Where in which library code lies, for people: names of functions are gone from what is shipped.
#pragma once

#include <string>

namespace inferprobe::base {

// "libx.so+0x12"; "" where this system does not tell.
std::string CodeAddressText(const void* code);

}  // namespace inferprobe::base
