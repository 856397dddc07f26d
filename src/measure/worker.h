// `inferprobe worker`: one engine, one configuration, one process. Started by RunPerf with its
// channel and the shared rings as inherited descriptors; of no use on its own.
#pragma once

namespace inferprobe::measure {

constexpr int kWorkerChannelFd = 3;
constexpr int kWorkerRingsFd = 4;

// Serves the plan that comes over the channel. Returns the process's exit code.
int RunWorker();

}  // namespace inferprobe::measure
