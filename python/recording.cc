#include "recording.h"

#include <fmt/chrono.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "analyze/recording.h"
#include "base/atomic_file.h"
#include "base/files.h"
#include "base/thread_identity.h"
#include "formats/perfetto/notes.h"
#include "formats/perfetto/writer.h"
#include "measure/machine/environment.h"
#include "module_watch.h"
#include "profile/operator_import.h"
#include "record/block_reader.h"
#include "record/ring_writer.h"
#include "report/loss_table.h"
#include "report/module_table.h"

namespace inferprobe::python {
namespace {

using profile::Category;
using profile::kNone;
using profile::Loss;
using profile::LossCounts;
using profile::Metric;
using profile::Profile;
using profile::Slice;
using profile::Status;

// A ring goes to another thread only between blocks: each that a block starts needs its own.
constexpr uint64_t kMostThreads = 4096;
constexpr uint32_t kPresentBytes = 64 << 10;  // 2,048 calls
const char* const kNotRunByUs = "the model was called by its own program";

LossCounts Difference(const LossCounts& now, const LossCounts& before) {
  LossCounts difference;
  for (size_t i = 0; i < static_cast<size_t>(Loss::kCount); ++i) {
    const auto loss = static_cast<Loss>(i);
    difference.Add(loss, now.Get(loss) - before.Get(loss));
  }
  return difference;
}

// "features.3 Conv2d"; the root is its class.
std::string NameOf(const profile::Module& module) {
  return module.path.empty() ? module.class_name : module.path + " " + module.class_name;
}

// The module's number, of a call inside of the window; nullopt: it is none.
std::optional<uint32_t> NumberOfCall(const Profile& profile, const Window& window,
                                     const Slice& slice) {
  if (slice.category != Category::kModuleCall || slice.args == kNone) return std::nullopt;
  if (slice.start_ns < window.begin_ns || slice.start_ns + slice.dur_ns > window.end_ns) {
    return std::nullopt;
  }
  return profile.args[slice.args].module;
}

// The calls of the request's modules inside of the window, with the modules' places in its tree.
void CopyCalls(const Profile& from, const Window& window, const ProfileRequest& request,
               Profile* into) {
  std::unordered_map<uint32_t, uint32_t> module_of_number;
  std::vector<profile::StringId> names;
  for (uint32_t i = 0; i < request.numbers.size(); ++i) {
    if (request.numbers[i] != kNotWatched) module_of_number.emplace(request.numbers[i], i);
    names.push_back(into->strings.Intern(NameOf(request.model.modules.tree[i])));
  }
  for (const Slice& slice : from.slices) {
    const std::optional<uint32_t> number = NumberOfCall(from, window, slice);
    const auto module = number ? module_of_number.find(*number) : module_of_number.end();
    if (module == module_of_number.end()) continue;
    profile::SliceArgs args = from.args[slice.args];
    args.module = module->second;
    Slice& call = into->slices.emplace_back(slice);
    call.name = names[args.module];
    call.args = into->AddArgs(args);
    call.parent = kNone;  // OperatorImport finds it by time
  }
}

// Why operators cannot be placed; nullopt: they were.
std::optional<profile::Missing> AddOperators(const OperatorColumns& columns, const Window& window,
                                             Metric<double>* clock_error_ns,
                                             profile::OperatorImport* import, Profile* into) {
  const std::optional<profile::ClockFit> clock = columns.Clock();
  if (!clock) {
    return profile::Missing{Status::kUnavailable,
                            "torch's clock and ours never agreed: profile again"};
  }
  *clock_error_ns = clock->error_ns();
  std::vector<profile::StringId> names;
  names.reserve(columns.names.size());
  for (const std::string& name : columns.names) names.push_back(into->strings.Intern(name));

  const auto inside = [&](int64_t start_ns, int64_t end_ns) {
    return end_ns >= window.begin_ns && start_ns <= window.end_ns;
  };
  // What is outside of the window is not given: others get new numbers.
  std::vector<uint32_t> number_of(columns.start_ns.size() + 1, 0);
  uint32_t given = 0;
  for (size_t i = 0; i < columns.start_ns.size(); ++i) {
    const int64_t start_ns = clock->ToNs(columns.start_ns[i]);
    const int64_t end_ns = clock->ToNs(columns.end_ns[i]);
    if (!inside(start_ns, end_ns)) continue;
    number_of[i + 1] = ++given;
    import->AddOperator({start_ns, end_ns, names[columns.name[i]], columns.thread_id[i]});
  }
  for (size_t i = 0; i < columns.allocation_ns.size(); ++i) {
    const int64_t time_ns = clock->ToNs(columns.allocation_ns[i]);
    if (!inside(time_ns, time_ns)) continue;
    import->AddAllocation({time_ns, columns.allocation_bytes[i], columns.allocation_thread[i],
                           columns.allocation_device[i] != 0});
  }
  for (size_t i = 0; i < columns.work_start_ns.size(); ++i) {
    const uint32_t launched_by = number_of[columns.work_operator[i]];
    const int64_t start_ns = clock->ToNs(columns.work_start_ns[i]);
    const int64_t end_ns = clock->ToNs(columns.work_end_ns[i]);
    const bool by_nobody = columns.work_operator[i] == 0;
    if (by_nobody ? !inside(start_ns, end_ns) : launched_by == 0) continue;
    import->AddDeviceWork(
        {start_ns, end_ns, names[columns.work_name[i]], columns.work_stream[i], launched_by});
  }
  return std::nullopt;
}

void DescribeSettings(profile::Settings* settings) {
  const profile::Missing not_ours{Status::kNotMeasured, kNotRunByUs};
  settings->iterations = not_ours;
  settings->duration_s = not_ours;
  settings->threads = not_ours;
  settings->level = "modules";
}

std::string UtcText(int64_t unix_ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> when{std::chrono::nanoseconds(unix_ns)};
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(
                                                  std::chrono::floor<std::chrono::seconds>(when))));
}

}  // namespace

std::optional<profile::ClockFit> OperatorColumns::Clock() const {
  std::vector<profile::ClockPair> all;
  for (size_t i = 0; i + 2 < pairs.size(); i += 3) {
    all.push_back({pairs[i], pairs[i + 1], pairs[i + 2]});
  }
  return profile::ClockFit::Through(all);
}

Result<std::unique_ptr<ModuleRecording>> ModuleRecording::Start(uint32_t capacity) {
  RecorderOptions options;
  options.events_per_thread = capacity;
  options.max_threads = kMostThreads;
  options.present_bytes_per_thread = kPresentBytes;
  Result<Recorder> recorder = Recorder::Start(options);
  // Only addresses are taken, but of those a machine or a limit may have fewer.
  while (!recorder && recorder.error().code != ErrorCode::kAlreadyExists &&
         options.max_threads > 1) {
    options.max_threads /= 2;
    recorder = Recorder::Start(options);
  }
  if (!recorder) return tl::unexpected(recorder.error());
  std::unique_ptr<ModuleRecording> recording(new ModuleRecording(*std::move(recorder)));
  auto reader =
      record::BlockReader::Open({static_cast<const std::byte*>(recording->recorder_.memory()),
                                 recording->recorder_.memory_bytes()},
                                "this process's recorder", record::BlockReader::Access::kConsume);
  if (!reader) return tl::unexpected(reader.error());
  recording->importer_ = std::make_unique<profile::RingImporter>(&recording->profile_, 0);
  recording->importer_->Attach(*std::move(reader));
  return recording;
}

void ModuleRecording::Drain() {
  if (!stopped_) importer_->Drain();
}

Window ModuleRecording::Open() {
  // The ring's pages are touched here, and not in the first call of a module.
  record::AttachThread();
  const std::lock_guard lock(mutex_);
  Drain();
  Window window;
  window.losses = profile_.losses;
  window.calls_outside = CallsOutside();
  window.begin_ns = Clock().ToNs(NowTicks());
  return window;
}

void ModuleRecording::Close(Window* window) {
  window->end_ns = Clock().ToNs(NowTicks());
  const std::lock_guard lock(mutex_);
  Drain();
  window->losses = Difference(profile_.losses, window->losses);
  window->losses.Add(Loss::kModuleCallsOutside, CallsOutside() - window->calls_outside);
}

void ModuleRecording::Stop() {
  const std::lock_guard lock(mutex_);
  Drain();
  stopped_ = true;
  importer_.reset();
  recorder_.Stop();
}

std::vector<uint32_t> ModuleRecording::Called(const Window& window) const {
  const std::lock_guard lock(mutex_);
  std::set<uint32_t> numbers;
  for (const Slice& slice : profile_.slices) {
    if (const auto number = NumberOfCall(profile_, window, slice)) numbers.insert(*number);
  }
  return {numbers.begin(), numbers.end()};
}

ModuleProfile ModuleRecording::Make(const Window& window, ProfileRequest request) const {
  ModuleProfile made;
  Profile& profile = made.recording.profile;
  profile.losses = window.losses;
  profile.run_id = base::RandomHex128();
  {
    const std::lock_guard lock(mutex_);
    profile.tracks = profile_.tracks;
    profile.clock = profile_.clock;
    profile.process_name = profile_.process_name;
    CopyCalls(profile_, window, request, &profile);
  }

  profile::ModuleFacts& facts = request.model.modules;
  profile::OperatorImport import(&profile, base::ProcessId());
  if (request.operators != nullptr) {
    if (auto missing =
            AddOperators(*request.operators, window, &facts.clock_error_ns, &import, &profile)) {
      if (facts.operators) facts.operators = *missing;
      if (facts.memory) facts.memory = *missing;
      if (facts.device) facts.device = *missing;
    }
  }
  import.Finish(0);

  made.recording.model = std::move(request.model);
  made.recording.engine = std::move(request.engine);
  made.result = analyze::AnalyzeRecording(made.recording);
  profile::PerfResult& result = made.result;
  result.source.reset();
  result.tool_version = INFERPROBE_VERSION;
  result.run_id = profile.run_id;
  result.started_at = UtcText(window.begin_ns + profile.clock.realtime_minus_monotonic_ns);
  result.environment = measure::DescribeEnvironment();
  DescribeSettings(&result.settings);
  const profile::Missing not_ours{Status::kNotMeasured, kNotRunByUs};
  result.load_ms = not_ours;
  result.first_run_ms = not_ours;
  return made;
}

std::string ModuleProfile::Text(bool show_events) const {
  return report::ModuleText(result, {.show_events = show_events}) +
         report::LossTable(result.losses);
}

Result<void> ModuleProfile::SaveTrace(const std::string& path, bool force) const {
  auto file =
      base::AtomicFile::Create(path, force ? base::Overwrite::kForce : base::Overwrite::kRefuse);
  if (!file) return tl::unexpected(file.error());
  const Profile& profile = recording.profile;
  auto writer = perfetto::Writer::Create(std::move(*file), &profile);
  if (!writer) return tl::unexpected(writer.error());
  INFERPROBE_RETURN_IF_ERROR(writer->Append(0, static_cast<uint32_t>(profile.slices.size()), 0,
                                            static_cast<uint32_t>(profile.counters.size())));
  LossCounts losses = profile.losses;
  losses.Merge(writer->losses());
  return writer->Finish(perfetto::NotesOf(profile, recording.model, recording.engine,
                                          recording.event_cost_ns, recording.iterations, losses));
}

}  // namespace inferprobe::python
