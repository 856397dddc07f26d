// What a command does about signals.
#pragma once

#include <atomic>

namespace inferprobe::base {

// SIGINT and SIGTERM set `flag`, unless they are ignored already; a second SIGINT ends the program.
void SetOnInterrupt(std::atomic<bool>* flag);

// A closed pipe or a file-size limit becomes an error of the write, not the end of the process.
void TurnWriteSignalsIntoErrors();

}  // namespace inferprobe::base
