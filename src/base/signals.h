// What a command does about signals.
#pragma once

#include <atomic>

namespace inferprobe::base {

// SIGINT and SIGTERM set `flag`, unless they are ignored already; a second SIGINT ends the program.
void SetOnInterrupt(std::atomic<bool>* flag);

// SIGINT, SIGTERM and SIGHUP end the program as they do without this, but what AtomicFile has not
// committed goes first (base/unfinished_files.h). For commands whose unfinished output is worth
// nothing.
void RemoveUnfinishedOnInterrupt();

// A file-size limit becomes an error of the write, not the end of the process.
void TurnSizeSignalIntoErrors();
// A closed pipe, too: for commands that still have to write elsewhere.
void TurnWriteSignalsIntoErrors();

}  // namespace inferprobe::base
