// The names of the files that AtomicFile has begun and not committed, where a signal handler can
// reach them.
//
// The rule that people break: RemoveUnfinishedFiles() runs in a signal handler. It takes no lock
// and no memory; a name that is longer or one too many is not kept, and its file stays behind.
#pragma once

#include <string>

namespace inferprobe::base {

constexpr int kNotKept = -1;

// A slot for ForgetUnfinished, or kNotKept.
int KeepUnfinished(const std::string& path);
void ForgetUnfinished(int slot);
void RemoveUnfinishedFiles();

}  // namespace inferprobe::base
