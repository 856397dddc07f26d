// What exists once in a process: the running recorder's block, the names, and which thread writes
// which ring.
//
// How start and stop are safe while threads record:
// - A scope reads inferprobe_generation once. 0: off. Another number than its ring's: the slow path
//   (Attach) takes the lock and gives it a ring of the recorder that runs now.
// - Stop() sets the number to 0 and lets go of the block. A thread that is inside a scope still
//   writes its event, into memory that is still there: every attached thread shares the block's
//   ownership until it attaches elsewhere with no slice open, or ends.
// - So at most one retired block per thread stays mapped; private ones give their pages back at
//   Stop().
// - A fork leaves the child with nothing recording, and with rings that take nothing.
#pragma once

#include <memory>
#include <mutex>

#include "record/block.h"
#include "record/names.h"

namespace inferprobe::record {

struct ProcessState {
  std::mutex mutex;
  std::shared_ptr<Block> active;
  uint32_t generations = 0;  // recorders started so far
  NameRegistry names;
};

// Never destroyed: threads may end after main().
ProcessState& State();

}  // namespace inferprobe::record
