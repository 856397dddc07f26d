// Writes files of mapped rings as a killed process leaves them: ring_seeds FOLDER. Inputs of
// fuzz_rings; see make_seeds.sh.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "inferprobe/recorder.h"
#include "inferprobe/scope.h"
#include "record/layout.h"
#include "record/ring_writer.h"

namespace inferprobe::record {
namespace {

// One cell of every type that has no seed of its own, and a delegate's operator with all that can
// follow it.
void PublishEveryType() {
  ThreadRing* ring = AttachThread();
  const uint64_t now = NowTicks();
  const uint32_t name = InternName("a name");
  uint32_t id = 100;
  const auto publish = [&](CellType type, uint32_t parent, uint32_t info) {
    Publish(ring, {now, now + 1000, name, ++id, parent, PackInfo(type, info)});
  };
  publish(CellType::kLoad, 0, 0);
  publish(CellType::kSetInputs, 0, 0);
  publish(CellType::kKernel, 104, 0);
  publish(CellType::kOperatorCall, 110, 0);
  publish(CellType::kDelegateOp, 110, 1);
  const uint64_t debug_id_and_chain = uint64_t{0} << 32 | 7;
  Publish(ring, {debug_id_and_chain, 0, name, 1, 30, PackInfo(CellType::kExtension, 0)});
  Publish(ring, {0x6161616161616161, 0x6262626262626262, 0x63636363, 0x64646464, 0x65656565,
                 PackInfo(CellType::kBytes, 0)});
  Publish(ring, {0x6161, 0, 0, 0, 0, PackInfo(CellType::kBytes, 0)});
  publish(CellType::kDelegateCall, 109, 1);
  publish(CellType::kMethod, 0, kNoInstruction);
  publish(CellType::kRun, 0, 1);
  Publish(ring, {5, uint64_t{1} << 32 | 2, 0, 3, 4, PackInfo(CellType::kRunFacts, 1)});
  Publish(ring, {now, 0x4045000000000000, name, 0, 0, PackInfo(CellType::kCounter, 0)});
  Publish(ring, {3, 0, 0, 0, 0, PackInfo(CellType::kLoss, 2)});
  publish(CellType::kOther, 0, 0);
}

// A region in a kernel, with a thread that took part, and one whose last cell is missing.
void PublishRegions() {
  ThreadRing* ring = AttachThread();
  const uint64_t now = NowTicks();
  const uint32_t name = InternName("2d_tile_2d");
  Publish(ring, {now, now + 1000, name, 5, 0, PackInfo(CellType::kKernel, 3)});
  for (const bool whole : {true, false}) {
    const Cell cells[] = {
        {1000, 2000, name, 1, 5, PackInfo(CellType::kRegion, 3)},
        {7, 0, name, 12, name, PackInfo(CellType::kRegionFacts, kRegionNestedInline)},
        {64, 16, 2, 2, 1, PackInfo(CellType::kRegionFacts, 0)},
        {1, 2, 0, 0, name, PackInfo(CellType::kRegionFacts, 0)},
        {500, 0, 42, 0, 0, PackInfo(CellType::kRegionFacts, 0)},
        {1100, 1900, 42, 4, 1, PackInfo(CellType::kRegionPart, 0)},
        {64, 700, 0, 1, 0, PackInfo(CellType::kRegionPart, 0)}};
    PublishGroup(ring, {cells, whole ? 7U : 6U});
  }
  Publish(ring, {now, now + 2000, name, 4, 0, PackInfo(CellType::kRun, 7)});
}

// Modules in a run, what a profiler saw in them, and an operator that sticks out.
void PublishModules() {
  ThreadRing* ring = AttachThread();
  const uint64_t now = NowTicks();
  const auto ns = [](uint64_t ticks) { return static_cast<uint64_t>(Clock().ToNs(ticks)); };
  const uint32_t name = InternName("aten::conv2d");
  const auto tid = static_cast<uint32_t>(gettid());
  Publish(ring, {now + 100, now + 900, name, 3, 2, PackInfo(CellType::kModuleCall, 1)});
  Publish(ring, {now, now + 2000, name, 2, 1, PackInfo(CellType::kModuleCall, kModuleRaised)});
  for (const uint64_t start : {now + 50, now + 200, now + 800}) {
    Publish(ring, {ns(start), ns(start + 600), name, tid, 0, PackInfo(CellType::kOperator, 0)});
  }
  Publish(ring, {ns(now), ns(now + 600), name, tid + 1, 0, PackInfo(CellType::kOperator, 0)});
  Publish(ring, {ns(now + 250), 4096, 0, tid, 0, PackInfo(CellType::kAllocation, 0)});
  Publish(ring, {ns(now + 260), ~uint64_t{4095}, 0, tid, 0, PackInfo(CellType::kAllocation, 1)});
  Publish(ring, {ns(now + 3000), ns(now + 9000), name, 7, 2, PackInfo(CellType::kDeviceWork, 0)});
  Publish(ring, {now, now + 5000, name, 1, 0, PackInfo(CellType::kRun, 9)});
}

bool Write(const std::string& file, void (*publish)()) {
  auto recorder = Recorder::Start({.file = file,
                                   .events_per_thread = 32,
                                   .max_threads = 2,
                                   .name_bytes = 128,
                                   .run_id = "0123456789abcdef0123456789abcdef",
                                   .process_name = "seed"});
  if (!recorder) {
    std::fprintf(stderr, "%s\n", recorder.error().message.c_str());
    return false;
  }
  publish();
  return true;
}

}  // namespace
}  // namespace inferprobe::record

int main(int argc, char** argv) {
  using namespace inferprobe::record;
  if (argc != 2) {
    std::fputs("usage: ring_seeds FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = argv[1];
  const bool written = Write(folder + "/empty.ring", [] {}) &&
                       Write(folder + "/every_type.ring", PublishEveryType) &&
                       Write(folder + "/modules.ring", PublishModules) &&
                       Write(folder + "/regions.ring", PublishRegions) &&
                       Write(folder + "/overflow.ring", [] {
                         for (int i = 0; i < 50; ++i) {
                           INFERPROBE_SCOPE("outer");
                           INFERPROBE_SCOPE("inner");
                         }
                       });
  return written ? 0 : 1;
}
