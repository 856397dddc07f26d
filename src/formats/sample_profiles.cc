#include "formats/sample_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace inferprobe::formats {

using profile::Category;
using profile::kNone;
using profile::Profile;
using profile::SliceArgs;

ProfileBuilder::ProfileBuilder() {
  profile.run_id = "00112233445566778899aabbccddeeff";
  profile.process_name = "inferprobe worker";
  profile.clock.source = "tsc";
  profile.clock.realtime_minus_monotonic_ns = 1'700'000'000'000'000'000;
  profile.clock.boottime_minus_monotonic_ns = 5'000'000'000;
}

uint16_t ProfileBuilder::AddThread(std::string name, int64_t pid, int64_t tid) {
  profile::Track track;
  track.name = std::move(name);
  track.pid = pid;
  track.tid = tid;
  profile.tracks.push_back(std::move(track));
  return static_cast<uint16_t>(profile.tracks.size() - 1);
}

uint16_t ProfileBuilder::AddEngineTrack(uint16_t thread, std::string name) {
  profile::Track track;
  track.name = std::move(name);
  track.type = profile::TrackType::kEngine;
  track.kind = profile::Kind::kEngineReported;
  track.pid = profile.tracks[thread].pid;
  track.parent = thread;
  profile.tracks.push_back(std::move(track));
  return static_cast<uint16_t>(profile.tracks.size() - 1);
}

uint16_t ProfileBuilder::AddCounterTrack(std::string name, std::string unit, int64_t pid) {
  profile::Track track;
  track.name = std::move(name);
  track.type = profile::TrackType::kCounter;
  track.unit = std::move(unit);
  track.pid = pid;
  profile.tracks.push_back(std::move(track));
  return static_cast<uint16_t>(profile.tracks.size() - 1);
}

uint32_t ProfileBuilder::Add(uint16_t track, std::string_view name, Category category,
                             int64_t start_ns, int64_t dur_ns, uint32_t parent,
                             const SliceArgs* args) {
  profile::Slice slice;
  slice.start_ns = start_ns;
  slice.dur_ns = dur_ns;
  slice.name = profile.strings.Intern(name);
  slice.parent = parent;
  slice.track = track;
  slice.category = category;
  if (args != nullptr) slice.args = profile.AddArgs(*args);
  profile.slices.push_back(slice);
  return static_cast<uint32_t>(profile.slices.size() - 1);
}

Profile InferenceProfile(uint32_t runs, int64_t step_ns) {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("main", 4242, 4242);
  const uint16_t ops = build.AddEngineTrack(thread, "XnnpackBackend");
  const uint16_t heat = build.AddCounterTrack("temperature", "degC", 4242);
  Profile& profile = build.profile;
  profile.metadata.emplace_back("\x00\x01\xFF tile", 8);

  const int64_t load = kSampleStartNs - 5'000'000;
  const uint32_t init = build.Add(thread, "Method::init", Category::kLoad, load + 10, 800'000);
  profile.slices[init].parent =
      build.Add(thread, "Program::load_method", Category::kLoad, load, 900'000);

  for (uint32_t run = 0; run < runs; ++run) {
    const auto first = static_cast<uint32_t>(profile.slices.size());
    const int64_t start = kSampleStartNs + int64_t{run} * step_ns;
    const auto call = [&](int32_t instruction, std::string_view kernel, int64_t at, int64_t dur) {
      const SliceArgs args{.chain = 0, .instruction = instruction};
      const uint32_t inner =
          build.Add(thread, kernel, Category::kKernel, at + 40, dur - 80, kNone, &args);
      const uint32_t outer =
          build.Add(thread, "OPERATOR_CALL", Category::kOperatorCall, at, dur, kNone, &args);
      profile.slices[inner].parent = outer;
      return outer;
    };
    std::vector<uint32_t> calls;
    const uint32_t inputs =
        build.Add(thread, "inferprobe.set_inputs", Category::kSetInputs, start + 100, 900);
    calls.push_back(call(0, "native_call__to_dim_order_copy.out", start + 2'000, 700 + run % 7));
    {  // the delegate's operators come when its call has ended, in whole microseconds
      std::vector<uint32_t> reported;
      int64_t at = start + 3'500;
      int32_t id = 0;
      for (const char* name : {"Transpose (ND, X32) #1", "Convolution (NHWC, F32) IGEMM #1",
                               "Transpose (ND, X32) #2"}) {
        SliceArgs args{.chain = 0, .instruction = 1};
        args.delegate_debug_name = profile.strings.Intern(name);
        if (id == 1) args.metadata = 0;
        reported.push_back(
            build.Add(ops, name, Category::kDelegateOp, at, id * 3'000, kNone, &args));
        at += id++ * 3'000;
      }
      const SliceArgs numbered{.chain = 0, .instruction = 1, .delegate_debug_id = 7};
      reported.push_back(build.Add(ops, "", Category::kDelegateOp, at, 2'000, kNone, &numbered));
      const SliceArgs args{.chain = 0, .instruction = 1};
      calls.push_back(build.Add(thread, "DELEGATE_CALL", Category::kDelegateCall, start + 3'200,
                                12'000, kNone, &args));
      for (const uint32_t op : reported) profile.slices[op].parent = calls.back();
    }
    calls.push_back(call(2, "native_call_mean.out", start + 15'200, 2'500));
    const uint32_t method =
        build.Add(thread, "Method::execute", Category::kMethod, start + 1'500, 17'000);
    for (const uint32_t outer : calls) profile.slices[outer].parent = method;
    const uint32_t whole =
        build.Add(thread, "inferprobe.run", Category::kRun, start, 20'000 + run % 5);
    profile.slices[method].parent = whole;
    profile.slices[inputs].parent = whole;
    build.Add(thread, "inferprobe.drain", Category::kScope, start + 30'000, 1'000);

    profile::Run entry;
    entry.mode = profile::RunMode::kPairOn;
    entry.start_ns = start;
    entry.dur_ns = 20'000 + run % 5;
    entry.first_slice = first;
    entry.slice_count = static_cast<uint32_t>(profile.slices.size()) - first;
    profile.runs.push_back(entry);
    profile.counters.push_back({start + 25'000, 40.5 + run, heat});
  }
  return std::move(build.profile);
}

namespace {

struct TreeMaker {
  ProfileBuilder build;
  std::mt19937 random;
  struct Node {
    int64_t start;
    int64_t end;
    uint16_t track;
    int parent;
  };
  std::vector<Node> nodes;

  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  }

  // Children one after the other in [start, end], touching or not.
  void Grow(uint16_t track, int parent, int64_t start, int64_t end, int depth) {
    int64_t at = start;
    for (int64_t child = Below(5); child > 0 && nodes.size() < 400; --child) {
      const int64_t from = at + Below(std::min<int64_t>(end - at, 3) + 1);
      const int64_t to = from + Below(std::min<int64_t>(end - from, 9) + 1);
      nodes.push_back({from, to, track, parent});
      if (depth < 6) Grow(track, static_cast<int>(nodes.size() - 1), from, to, depth + 1);
      at = to;
    }
  }
};

}  // namespace

Profile RandomTrees(uint32_t seed) {
  TreeMaker maker;
  maker.random.seed(seed);
  for (uint16_t thread = 0; thread < 3; ++thread) {
    const uint16_t track =
        maker.build.AddThread(fmt::format("thread {}", thread), 100, 100 + thread);
    for (int64_t at = 0, tree = 0; tree < 8; ++tree) {
      const int64_t length = maker.Below(30);
      maker.nodes.push_back({at, at + length, track, -1});
      maker.Grow(track, static_cast<int>(maker.nodes.size() - 1), at, at + length, 0);
      at += length + maker.Below(3);
    }
  }
  std::vector<uint32_t> place(maker.nodes.size());  // of each node among the slices
  for (uint32_t i = 0; i < place.size(); ++i) place[i] = i;
  std::shuffle(place.begin(), place.end(), maker.random);
  Profile& profile = maker.build.profile;
  profile.slices.resize(place.size());
  for (size_t i = 0; i < place.size(); ++i) {
    const TreeMaker::Node& node = maker.nodes[i];
    profile::Slice& slice = profile.slices[place[i]];
    slice.start_ns = kSampleStartNs + node.start;
    slice.dur_ns = node.end - node.start;
    slice.name = profile.strings.Intern(fmt::format("n{}", i));
    slice.track = node.track;
    if (node.parent >= 0) slice.parent = place[static_cast<size_t>(node.parent)];
  }
  return std::move(maker.build.profile);
}

std::vector<std::string> HostileNames() {
  return {
      "",
      "quote \" apostrophe ' backslash \\ percent %s {}",
      "line\nbreak\r\ttab",
      "control \x01\x1b[31m\x7f",
      "right to left \u202Eabc\u202C mark \u200F",
      "日本語 \U0001F600",
      "</script><b>&amp;",
      "'; DROP TABLE slice; --",
      std::string(5'000, 'x') + "\u00E9",
      "bad \xFF\xC0\x80 utf8",
      "cut \xE2\x82",
      std::string("nul \0 inside", 12),
  };
}

}  // namespace inferprobe::formats
