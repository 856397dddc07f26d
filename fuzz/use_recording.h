// What people do with a recording once it is read, for the fuzzers: everything must hold on
// whatever a reader lets through.
#pragma once

#include "inferprobe/result.h"
#include "profile/recording.h"
#include "profile/result.h"

namespace inferprobe::fuzz {

// `show`, `show --events`, and `convert` into each format. Nothing for an error, except that it
// must say what is wrong.
void UseRecording(Result<profile::Recording> recording);

// The tables and the result JSON; aborts when the JSON does not read back as it was written.
void UseResult(const profile::PerfResult& result);

// Aborts: an error without a message is a bug too.
void CheckError(const Error& error);

}  // namespace inferprobe::fuzz
