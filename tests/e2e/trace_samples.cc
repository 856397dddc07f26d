// Writes profiles with known content as traces, and beside each the truth about it, for
// tests/e2e/test_perfetto.py and test_etdump.py:
//
//   trace_samples FOLDER       writes FOLDER/<name>.pftrace, .etdp and .json
//
// And FOLDER/module_tree.pftrace, a whole recording of modules, for test_show.py.
// A piecewise sample is given up after its last Append, as when the process dies: its trace is
// FOLDER/<name>.pftrace.partial.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "formats/etdump/etdump_writer.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/writer.h"
#include "formats/sample_profiles.h"

namespace inferprobe {
namespace {

using formats::ProfileBuilder;
using profile::Category;
using profile::kNone;
using profile::Profile;
using profile::Slice;

struct Sample {
  std::string name;
  Profile profile;
  uint32_t step = 0;                       // slices for each Append; 0: all at once
  bool finished = true;                    // false: abandoned
  std::vector<uint32_t> overlapping = {};  // slices that belong on the track beside
  std::vector<uint32_t> left_out = {};     // slices that no trace can hold
};

Profile Overlaps() {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("worker", 77, 78);
  const uint16_t engine = build.AddEngineTrack(thread, "npu");
  build.Add(engine, "op a", Category::kDelegateOp, 1'000, 50);
  build.Add(engine, "op b", Category::kDelegateOp, 1'040, 50);
  build.Add(engine, "op c", Category::kDelegateOp, 1'090, 50);
  build.Add(thread, "call", Category::kScope, 1'000, 200);
  return std::move(build.profile);
}

// Tracks of equal names, with slices at the same times: a delegate called in two places, and a
// thread number that the system gave out again.
Profile Twins() {
  ProfileBuilder build;
  const uint16_t first = build.AddThread("pool", 91, 92);
  const uint16_t second = build.AddThread("pool", 91, 92);
  const uint16_t one = build.AddEngineTrack(first, "delegate");
  const uint16_t two = build.AddEngineTrack(first, "delegate");
  const uint16_t cold = build.AddCounterTrack("temperature", "degC", 91);
  const uint16_t warm = build.AddCounterTrack("temperature", "degC", 91);
  int64_t at = 1'000;
  for (const uint16_t track : {first, second, one, two}) {
    build.Add(track, "long", Category::kScope, at, 100);
    build.Add(track, "next", Category::kScope, at + 100, 100);
    at += 30;
  }
  build.profile.counters = {{1'000, 20, cold}, {1'001, 90, warm}, {1'002, 21, cold}};
  return std::move(build.profile);
}

Profile LateParents() {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("main", 55, 55);
  for (int64_t i = 0; i < 6; ++i) {
    const auto run = static_cast<uint32_t>(build.profile.slices.size() + 1);
    build.Add(thread, "step", Category::kScope, 10'010 + i * 1'000, 400, run);
    build.Add(thread, "run", Category::kRun, 10'000 + i * 1'000, 500);
  }
  const uint32_t session = build.Add(thread, "session", Category::kScope, 9'000, 7'000);
  for (uint32_t i = 1; i < 12; i += 2) build.profile.slices[i].parent = session;
  return std::move(build.profile);
}

Profile HostileNames() {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("thread \"quoted\"\n\u202E", 66, 66);
  const uint16_t counter = build.AddCounterTrack("counter 'of' \"things\"", "k\u03A9\"", 66);
  int64_t at = 5'000'000'000;
  for (const std::string& name : formats::HostileNames()) {
    profile::SliceArgs args;
    args.delegate_debug_name = build.profile.strings.Intern(name);
    build.Add(thread, name, Category::kOther, at, 300'000'000, kNone, &args);
    build.profile.counters.push_back({at, -1.25, counter});
    at += 400'000'000;
  }
  profile::Run run;
  run.mode = profile::RunMode::kPairOn;
  run.slice_count = static_cast<uint32_t>(build.profile.slices.size());
  build.profile.runs.push_back(run);
  return std::move(build.profile);
}

Profile HugeTimes() {
  ProfileBuilder build;
  const uint16_t thread = build.AddThread("main", 88, 88);
  build.Add(thread, "negative", Category::kScope, -5'000, 10);
  build.Add(thread, "at zero", Category::kScope, 0, 10);
  build.Add(thread, "19 digits", Category::kScope, 1'764'000'000'123'456'789, 1'234'567);
  build.Add(thread, "near the end", Category::kScope, 9'223'372'036'854'000'000, 775'000);
  build.Add(thread, "beyond", Category::kScope, 9'223'372'036'854'000'000, 9'000'000);
  build.Add(thread, "backwards", Category::kScope, 500, -1);
  return std::move(build.profile);
}

// Two threads in one model; a device whose kernels run after what launched them.
Profile Modules() {
  ProfileBuilder build;
  const uint16_t main = build.AddThread("main", 31, 31);
  const uint16_t other = build.AddThread("other", 31, 32);
  const uint16_t stream = build.AddEngineTrack(main, "stream 7");
  build.profile.tracks[stream].kind = profile::Kind::kDevice;
  const auto module = [](uint32_t number, bool raised = false) {
    profile::SliceArgs args;
    args.module = number;
    args.raised = raised;
    return args;
  };
  int64_t at = formats::kSampleStartNs;
  for (const uint16_t thread : {main, other}) {
    const profile::SliceArgs root = module(0);
    const profile::SliceArgs inner = module(1, thread == other);
    const uint32_t net = build.Add(thread, "Net", Category::kModuleCall, at, 900, kNone, &root);
    const uint32_t conv =
        build.Add(thread, "conv", Category::kModuleCall, at + 100, 500, net, &inner);
    const uint32_t op = build.Add(thread, "aten::conv2d", Category::kOperator, at + 100, 500, conv);
    build.Add(thread, "aten::relu", Category::kOperator, at + 700, 100, net);
    build.Add(stream, "sgemm", Category::kDeviceWork, at + 700, 800, op);
    build.profile.allocations.push_back({at + 110, 4096, op, false});
    build.profile.allocations.push_back({at + 120, 1 << 20, op, true});
    build.profile.allocations.push_back({at + 590, -1024, op, false});
    at += 2'000;
  }
  return std::move(build.profile);
}

std::vector<Sample> Samples() {
  std::vector<Sample> samples;
  samples.push_back({"inference", formats::InferenceProfile(120, 30'000'000)});
  samples.push_back({"piecewise", formats::InferenceProfile(40), 7, false});
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    samples.push_back({fmt::format("trees{}", seed), formats::RandomTrees(seed)});
  }
  samples.push_back({"overlaps", Overlaps(), 0, true, {1}});
  samples.push_back({"twins", Twins()});
  samples.push_back({"late_parents", LateParents(), 3});
  samples.push_back({"hostile_names", HostileNames()});
  samples.push_back({"modules", Modules()});
  samples.push_back({"huge_times", HugeTimes(), 0, true, {}, {0, 4, 5}});
  return samples;
}

bool Holds(const std::vector<uint32_t>& list, uint32_t value) {
  for (const uint32_t each : list) {
    if (each == value) return true;
  }
  return false;
}

std::string TrackName(const Sample& sample, uint32_t slice) {
  const profile::Track& track = sample.profile.tracks[sample.profile.slices[slice].track];
  std::string name = track.name;
  if (track.type == profile::TrackType::kEngine) {
    name += track.kind == profile::Kind::kDevice ? " (device)"
                                                 : " (engine-reported, start times not measured)";
  }
  return Holds(sample.overlapping, slice) ? name + " (overlap)" : name;
}

// Independent of the writer: what a reader should find for this slice.
void WriteSlice(base::JsonWriter& json, const Sample& sample, uint32_t index) {
  const Profile& profile = sample.profile;
  const Slice& slice = profile.slices[index];
  int64_t depth = 0;
  std::string parent;
  for (uint32_t at = slice.parent; at != kNone && profile.slices[at].track == slice.track;
       at = profile.slices[at].parent) {
    if (depth++ == 0) parent = profile.Name(profile.slices[at]);
  }
  json.BeginObject();
  json.Key("name").String(profile.Name(slice));
  json.Key("category").String(profile::CategoryName(slice.category));
  json.Key("ts").Int(slice.start_ns);
  json.Key("dur").Int(slice.dur_ns);
  json.Key("depth").Int(depth);
  json.Key("parent").String(parent);
  json.Key("track").String(TrackName(sample, index));
  json.Key("pid").Int(profile.tracks[slice.track].pid);
  json.Key("args").BeginObject();
  if (slice.args != kNone) {
    const profile::SliceArgs& args = profile.args[slice.args];
    if (args.instruction >= 0) json.Key("instruction").Int(args.instruction);
    if (args.chain >= 0) json.Key("chain").Int(args.chain);
    if (args.delegate_debug_id >= 0) json.Key("delegate_debug_id").Int(args.delegate_debug_id);
    if (args.delegate_debug_name != 0) {
      json.Key("delegate_debug_name").String(profile.strings.Get(args.delegate_debug_name));
    }
    if (args.module != kNone) json.Key("module").Uint(args.module);
    if (args.raised) json.Key("raised").Int(1);
    if (args.metadata != kNone) {
      std::string hex;
      for (const char byte : profile.metadata[args.metadata]) {
        hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      }
      json.Key("metadata").String(hex);
    }
  }
  for (size_t run = 0; run < profile.runs.size(); ++run) {
    const profile::Run& entry = profile.runs[run];
    if (slice.category != Category::kRun || index < entry.first_slice ||
        index - entry.first_slice >= entry.slice_count) {
      continue;
    }
    json.Key("run").Uint(run);
    json.Key("mode").String(profile::RunModeName(entry.mode));
  }
  if (profile.tracks[slice.track].type == profile::TrackType::kEngine) {
    json.Key("kind").String(profile::KindName(profile.tracks[slice.track].kind));
    // Where an operator is in no delegate call, it is said.
    const bool op = slice.category == Category::kDelegateOp;
    if (op && slice.parent == kNone) json.Key("call").Int(-1);
  }
  json.EndObject();
  json.EndObject();
}

void WriteBlock(base::JsonWriter& json, const Profile& profile, std::string_view name,
                uint32_t first, uint32_t count, bool load) {
  json.BeginObject();
  json.Key("name").String(name);
  json.Key("events").BeginArray();
  for (uint32_t i = first; i < first + count; ++i) {
    const Slice& slice = profile.slices[i];
    const bool ours = slice.category == Category::kScope || slice.category == Category::kRun ||
                      slice.category == Category::kSetInputs;
    if (ours || (slice.category == Category::kLoad) != load) continue;
    json.BeginObject();
    const bool op = slice.category == Category::kDelegateOp;
    json.Key("name").String(op ? "" : profile.Name(slice));
    if (op) {
      const profile::SliceArgs& args = profile.args[slice.args];
      if (args.delegate_debug_id >= 0) {
        json.Key("delegate").Int(args.delegate_debug_id);
      } else {
        json.Key("delegate").String(profile.Name(slice));
      }
    }
    const bool has_args = slice.args != kNone;
    json.Key("instruction").Int(has_args ? std::max(profile.args[slice.args].instruction, 0) : 0);
    json.Key("ns").Int(slice.dur_ns);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

std::string Truth(const Sample& sample) {
  const Profile& profile = sample.profile;
  base::JsonWriter json(1);
  json.BeginObject();
  json.Key("trace").String(sample.name + (sample.finished ? ".pftrace" : ".pftrace.partial"));
  json.Key("run_id").String(profile.run_id);
  json.Key("finished").Bool(sample.finished);
  json.Key("slices").BeginArray();
  for (uint32_t i = 0; i < profile.slices.size(); ++i) {
    if (!Holds(sample.left_out, i)) WriteSlice(json, sample, i);
  }
  json.EndArray();
  json.Key("counters").BeginArray();
  for (const profile::CounterSample& counter : profile.counters) {
    const profile::Track& track = profile.tracks[counter.track];
    json.BeginObject();
    json.Key("name").String(track.name);
    json.Key("unit").String(track.unit);
    json.Key("ts").Int(counter.time_ns);
    json.Key("value").Number(counter.value);
    json.EndObject();
  }
  int64_t allocated[2] = {};
  for (const profile::Allocation& allocation : profile.allocations) {
    int64_t& sum = allocated[allocation.device ? 1 : 0];
    sum += allocation.bytes;
    json.BeginObject();
    json.Key("name").String(allocation.device ? "allocated device memory" : "allocated memory");
    json.Key("unit").String("bytes");
    json.Key("ts").Int(allocation.time_ns);
    json.Key("value").Number(static_cast<double>(sum));
    json.EndObject();
  }
  json.EndArray();
  json.Key("blocks").BeginArray();
  const auto all = static_cast<uint32_t>(profile.slices.size());
  if (all > 0 && profile.slices[0].category == Category::kLoad) {
    WriteBlock(json, profile, "Default", 0, all, true);
  }
  for (const profile::Run& run : profile.runs) {
    WriteBlock(json, profile, "Execute", run.first_slice, run.slice_count, false);
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

Result<void> WriteTrace(const Sample& sample, const std::string& path) {
  auto file = base::AtomicFile::Create(path, base::Overwrite::kForce);
  if (!file) return tl::unexpected(file.error());
  auto writer = perfetto::Writer::Create(std::move(*file), &sample.profile);
  if (!writer) return tl::unexpected(writer.error());
  const auto slices = static_cast<uint32_t>(sample.profile.slices.size());
  const auto counters = static_cast<uint32_t>(sample.profile.counters.size());
  const uint32_t step = sample.step == 0 ? slices : sample.step;
  for (uint32_t first = 0; first < slices; first += step) {
    INFERPROBE_RETURN_IF_ERROR(
        writer->Append(first, std::min(step, slices - first), 0, first == 0 ? counters : 0));
  }
  if (sample.finished) {
    return writer->Finish({{"run_id", sample.profile.run_id}, {"said", "a \"note\"\n"}});
  }
  writer->Abandon();
  return {};
}

// A tree for the calls of the sample "modules", as a recording of them has it.
Result<void> WriteModuleTree(const std::string& path) {
  const Profile profile = Modules();
  profile::ModelFacts model;
  model.path = "Net";
  model.format = "pytorch";
  profile::ModuleFacts& facts = model.modules;
  facts.tree.resize(3);
  facts.tree[0].class_name = "Net";
  facts.tree[1].class_name = "Conv2d";
  facts.tree[1].path = "conv";
  facts.tree[1].also = {"conv_again"};
  facts.tree[1].parent = 0;
  facts.tree[1].parameters = 224;
  facts.tree[2].class_name = "RecursiveScriptModule";
  facts.tree[2].path = "head";
  facts.tree[2].parent = 0;
  facts.tree[2].not_covered = "scripted: it has no forward of Python";
  facts.operators = facts.memory = facts.device = true;
  facts.clock_error_ns = 250.0;
  facts.not_covered = {{"one thread", "it ended before the profile"}};
  profile::EngineFacts engine;
  engine.name = "pytorch";
  engine.title = "PyTorch";
  engine.version = "2.13.0";
  auto file = base::AtomicFile::Create(path, base::Overwrite::kForce);
  if (!file) return tl::unexpected(file.error());
  auto writer = perfetto::Writer::Create(std::move(*file), &profile);
  if (!writer) return tl::unexpected(writer.error());
  INFERPROBE_RETURN_IF_ERROR(writer->Append(0, static_cast<uint32_t>(profile.slices.size()), 0, 0));
  return writer->Finish(perfetto::NotesOf(profile, model, engine, {}, {}, profile.losses));
}

Result<void> WriteSample(const Sample& sample, const std::string& folder) {
  const std::string path = folder + "/" + sample.name;
  INFERPROBE_RETURN_IF_ERROR(
      base::WriteFileAtomically(path + ".json", Truth(sample), base::Overwrite::kForce));
  INFERPROBE_RETURN_IF_ERROR(WriteTrace(sample, path + ".pftrace"));
  return etdump::WriteEtdump(sample.profile, path + ".etdp", base::Overwrite::kForce);
}

}  // namespace
}  // namespace inferprobe

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: trace_samples FOLDER\n");
    return 2;
  }
  for (const inferprobe::Sample& sample : inferprobe::Samples()) {
    if (const auto written = inferprobe::WriteSample(sample, argv[1]); !written) {
      std::fprintf(stderr, "%s: %s\n", sample.name.c_str(), written.error().message.c_str());
      return 1;
    }
  }
  const std::string tree = std::string(argv[1]) + "/module_tree.pftrace";
  if (const auto written = inferprobe::WriteModuleTree(tree); !written) {
    std::fprintf(stderr, "%s: %s\n", tree.c_str(), written.error().message.c_str());
    return 1;
  }
  return 0;
}
