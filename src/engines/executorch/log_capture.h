// What ExecuTorch says when something fails. Its log goes here instead of to stderr, so that an
// error of ours can say what the runtime said, and a run stays silent.
//
// The rule that people break: the log is one for the whole process, like the platform layer of
// ExecuTorch that it hangs on. Take the messages right after the call that failed.
#pragma once

#include <string>

namespace inferprobe::executorch_engine {

// Puts our hooks into ExecuTorch's platform layer; later calls do nothing. Installed for the rest
// of the process.
void InstallLogCapture();

// Forgets what was said so far; to call before something that may fail.
void ClearLog();

// The errors since ClearLog(), oldest first, separated by "; ". "" if there were none.
std::string TakeLog();

}  // namespace inferprobe::executorch_engine
