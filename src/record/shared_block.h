// For a parent that makes the memory which a worker records into.
//
//   auto bytes = record::BlockBytes(options);
//   auto memory = base::SharedMemory::Create(*bytes);
//   ... the worker: Recorder::Start({.shared_fd = fd, the same sizes}) ...
//   auto reader = record::BlockReader::Open(memory bytes);     // once the worker says it started
#pragma once

#include <cstddef>

#include "inferprobe/recorder.h"

namespace inferprobe::record {

// Size of the block of a recorder with these options.
INFERPROBE_API Result<size_t> BlockBytes(const RecorderOptions& options);

}  // namespace inferprobe::record
