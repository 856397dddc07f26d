// Who runs here, and what happens to that at a fork.
#pragma once

#include <cstdint>
#include <string>

namespace inferprobe::base {

int64_t ProcessId();
int64_t ThreadId();         // as the kernel counts it
std::string ThreadName();   // "" if it has none
std::string ProgramName();  // of the executable's file

// From now on every fork calls `before` in the forking thread, then `in_parent` or `in_child` in
// it; nullptr: nothing. Not vfork or posix_spawn, whose child runs nothing of ours.
void OnFork(void (*before)(), void (*in_parent)(), void (*in_child)());

}  // namespace inferprobe::base
