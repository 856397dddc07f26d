// Whether somebody is looking, and how wide the window is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferprobe::base {

enum class StandardStream : uint8_t { kOutput, kError };

bool IsTerminal(StandardStream stream);
// A terminal on which colour is welcome: not "dumb", and NO_COLOR is not set.
bool WantsColor(StandardStream stream);
// Columns of the terminal on standard output; `otherwise` when it is none.
size_t TerminalWidth(size_t otherwise);

}  // namespace inferprobe::base
