// Functions for a Python process that has other runtimes loaded, for tests/e2e/test_regions.py:
// loops of the calling thread are looked at between two calls, and a program is run in the process.
#include <cstdint>
#include <cstdio>
#include <memory>

#include "inferprobe/region.h"
#include "inferprobe/session.h"
#include "regions/current_work.h"

namespace {

std::unique_ptr<inferprobe::ParallelRegionCollector> g_looking;

uint64_t HashOf(const std::vector<inferprobe::Tensor>& tensors) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const inferprobe::Tensor& tensor : tensors) {
    for (const auto byte : tensor.data) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): as the test calls them

__attribute__((visibility("default"))) void look_begin() {
  g_looking = std::make_unique<inferprobe::ParallelRegionCollector>();
  inferprobe::regions::t_work.hooked = g_looking.get();
}

__attribute__((visibility("default"))) int64_t look_end() {
  inferprobe::regions::t_work.hooked = nullptr;
  return static_cast<int64_t>(g_looking->Report().events.size());
}

// Regions of one run, or -1 and a line on stderr; with `look` 0 a run in which nothing is looked
// at. The outputs' hash in `*hash`.
__attribute__((visibility("default"))) int64_t run_program(const char* path, int look,
                                                           uint64_t* hash) {
  inferprobe::RuntimeSessionOptions options;
  if (look != 0) options.regions = std::make_shared<inferprobe::ParallelRegionCollector>();
  auto session = inferprobe::RuntimeSession::Load(path, options);
  if (!session) {
    std::fprintf(stderr, "%s: %s\n", session.error().message.c_str(), session.error().hint.c_str());
    return -1;
  }
  if (auto run = session->Run(); !run) return -1;
  auto outputs = session->Outputs();
  if (!outputs) return -1;
  *hash = HashOf(*outputs);
  return look == 0 ? 0 : static_cast<int64_t>(options.regions->Report().events.size());
}

// A run that a collector's callback asks for in the middle of another: 0 if it was refused, with
// why on stderr.
__attribute__((visibility("default"))) int64_t run_in_callback(const char* path) {
  auto inner = inferprobe::RuntimeSession::Load(path);
  int64_t taken = -1;
  inferprobe::RegionCollectorOptions collecting;
  collecting.callback = [&](const inferprobe::ParallelRegionEvent&) {
    if (taken >= 0) return;
    auto run = inner->Run();
    taken = run ? 1 : 0;
    if (!run) std::fprintf(stderr, "%s\n", run.error().message.c_str());
  };
  inferprobe::RuntimeSessionOptions options;
  options.regions = std::make_shared<inferprobe::ParallelRegionCollector>(collecting);
  auto session = inferprobe::RuntimeSession::Load(path, options);
  if (!inner || !session || !session->Run()) return -1;
  return taken;
}

// NOLINTEND(readability-identifier-naming)
}  // extern "C"
