// Memory that a file is mapped to reads as zeros where the file has meanwhile become shorter, and a
// note is taken of it; without this, the read ends the program (SIGBUS).
//
//   GuardedMapping* guard = GuardMapping(address, bytes);   // as long as it is mapped
//   ...
//   if (FirstMissingByte(guard)) ...                  // zeros were read that the file never had
//   EndGuard(guard);                                  // before munmap
//
// The rule that people break: the handler of a signal is the whole process's. What is no read of
// guarded memory goes to the handler that was there before ours (Python's faulthandler, a
// sanitizer's, the host program's), which must see it as if ours were not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace inferprobe::base {

struct GuardedMapping;

// The first call of the process installs the handler of SIGBUS; it stays.
GuardedMapping* GuardMapping(const void* address, size_t bytes);
void EndGuard(GuardedMapping* guard);
// Where the first read went that the file had no bytes for, to a page.
std::optional<uint64_t> FirstMissingByte(const GuardedMapping* guard);

}  // namespace inferprobe::base
