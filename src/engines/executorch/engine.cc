#include "engines/executorch/engine.h"

#include <executorch/runtime/backend/interface.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "engines/executorch/backend_registration.h"
#include "engines/executorch/bundled_cases.h"
#include "engines/executorch/engine_error.h"
#include "engines/executorch/log_capture.h"
#include "engines/executorch/openvino/openvino_backend.h"
#include "engines/executorch/plan_check.h"
#include "engines/executorch/pool_hooks.h"
#include "measure/inputs/inputs.h"
#include "record/ring_writer.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;

// What a specification is called where there is no tensor.
TensorSpec SpecOf(const PlanValue& value) {
  TensorSpec spec = value.spec;
  if (value.kind == ValueKind::kNone || value.kind == ValueKind::kOther) {
    spec.type = ScalarType::kUint8;
    spec.shape = {0};
    spec.name = "(" + value.what + ")";
  }
  return spec;
}

}  // namespace

std::vector<std::string> RegisteredBackends() {
  std::vector<std::string> names;
  for (size_t i = 0; i < et::get_num_registered_backends(); ++i) {
    const auto name = et::get_backend_name(i);
    if (name.ok()) names.emplace_back(*name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string RuntimeVersion() { return INFERPROBE_EXECUTORCH_VERSION; }

Result<std::unique_ptr<ExecutorchEngine>> ExecutorchEngine::Load(
    const measure::LoadOptions& options) {
  InstallLogCapture();
  RegisterOwnBackends();
  if (options.threads != 0) INFERPROBE_RETURN_IF_ERROR(SetPoolThreads(options.threads));

  std::unique_ptr<ExecutorchEngine> engine(new ExecutorchEngine);
  engine->options_ = options;
  if (engine->options_.delegates.model.empty()) {
    engine->options_.delegates.model = std::filesystem::path(options.path).stem().string();
  }
  auto choices = ParseDelegateChoices(options.delegate_choices);
  if (!choices) return tl::unexpected(choices.error());
  engine->delegate_choices_ = *choices;
  auto levels = ParseDelegateLevels(options.delegate_levels);
  if (!levels) return tl::unexpected(levels.error());
  engine->delegate_choices_.levels = std::move(*levels);
  engine->options_.delegates.level_is_given = true;
  engine->pool_user_ = std::make_unique<PoolUser>();
  auto file = ProgramTables::Open(options.path);
  if (!file) return tl::unexpected(file.error());
  engine->file_ = std::move(*file);

  engine->plan_ = engine->file_->FindPlan(options.method);
  if (engine->plan_ == nullptr) {
    return MakeError(ErrorCode::kNotFound,
                     fmt::format("{} has no method \"{}\"", options.path, options.method),
                     fmt::format("its methods: {}", fmt::join(engine->file_->Methods(), ", ")));
  }
  INFERPROBE_RETURN_IF_ERROR(
      CheckPlanIndices(options.path, engine->file_->program(), *engine->plan_));
  engine->facts_ = ReadPlan(*engine->plan_);
  INFERPROBE_RETURN_IF_ERROR(engine->CheckPlan());

  auto program = LoadedProgram::Load(*engine->file_);
  if (!program) return tl::unexpected(program.error());
  engine->program_ = std::move(*program);
  auto data = DataFiles::Open(options.data_files);
  if (!data) return tl::unexpected(data.error());
  engine->data_ = std::move(*data);
  auto memory = PlannedMemory::Make(engine->facts_.planned_buffers);
  if (!memory) return tl::unexpected(memory.error());
  engine->memory_ = std::move(*memory);
  ProfileConfig off;  // said, so that the switch leaves it alone, unless it overrides
  auto instance = engine->MakeInstance(engine->memory_, nullptr, off);
  if (!instance) return tl::unexpected(instance.error());
  engine->plain_ = std::move(*instance);

  profile::EngineFacts& facts = engine->engine_facts_;
  facts.name = "executorch";
  facts.title = "ExecuTorch";
  facts.version = RuntimeVersion();
  facts.backends = RegisteredBackends();
  facts.threads = PoolThreads();
  if (facts.threads) SetKnownPoolThreads(static_cast<int>(*facts.threads));
  return engine;
}

// Refuses what cannot run before the runtime does, in words that say what to do.
Result<void> ExecutorchEngine::CheckPlan() const {
  const std::vector<std::string> registered = RegisteredBackends();
  for (const std::string& backend : facts_.backends) {
    if (std::find(registered.begin(), registered.end(), backend) != registered.end()) continue;
    return MakeError(
        ErrorCode::kNotBuiltIn,
        fmt::format("the program needs backend {}, which this build does not register; "
                    "registered: {}",
                    ShownId(backend), fmt::join(registered, ", ")));
  }
  const bool needs_openvino = std::find(facts_.backends.begin(), facts_.backends.end(),
                                        openvino::kBackendId) != facts_.backends.end();
  if (needs_openvino && !OwnOpenvinoIsRegistered()) {
    return MakeError(
        ErrorCode::kUnsupported,
        fmt::format("the {} of this process is not inferprobe's: another library registered one "
                    "first, which takes no setting of ours and whose calls would not be seen",
                    openvino::kBackendId),
        "load a program with inferprobe before the library that registers it is loaded");
  }
  if (!facts_.only_cpu) {
    return MakeError(ErrorCode::kUnsupported,
                     "the program plans memory on another device than the CPU",
                     "export it for the CPU: this engine has memory of the host only");
  }
  if (!facts_.external.empty() && options_.data_files.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} keeps {} of its tensors in data files, the first is \"{}\"",
                                 options_.path, facts_.external.size(), facts_.external.front()),
                     "give the .ptd files that were exported with it: --data FILE");
  }
  for (size_t i = 0; i < facts_.inputs.size(); ++i) {
    const PlanValue& input = facts_.inputs[i];
    std::string why = input.unsupported;
    if (input.kind == ValueKind::kNone || input.kind == ValueKind::kOther) why = "is " + input.what;
    if (input.unbounded) why = "has a dynamic shape without an upper bound";
    if (why.empty()) continue;
    return MakeError(
        ErrorCode::kUnsupported,
        fmt::format("input {} of method \"{}\" {}: it cannot be given", i, options_.method, why));
  }
  return {};
}

Result<std::unique_ptr<MethodInstance>> ExecutorchEngine::MakeInstance(
    std::shared_ptr<PlannedMemory> memory, RingTracer* tracer, const ProfileConfig& delegates) {
  auto load_options = DelegateLoadOptions::Make(facts_.backends, delegates, delegate_choices_);
  if (!load_options) return tl::unexpected(load_options.error());
  MethodInstance::Parts parts;
  parts.options = (*load_options)->map();
  parts.program = program_.get();
  parts.facts = &facts_;
  parts.method = options_.method;
  parts.memory = std::move(memory);
  parts.data = data_->map();
  parts.tracer = tracer;
  return MethodInstance::Load(parts);
}

const profile::ModelFacts& ExecutorchEngine::model() const {
  if (model_facts_ != nullptr) return *model_facts_;
  auto facts = std::make_unique<profile::ModelFacts>();
  facts->path = options_.path;
  facts->format = "executorch";
  facts->method = options_.method;
  facts->methods = file_->Methods();
  facts->sha256 = base::Sha256Hex(file_->file_bytes());
  facts->bytes = file_->file_bytes().size();
  for (const TensorSpec& spec : inputs()) facts->inputs.push_back({spec, ""});
  for (const PlanValue& output : facts_.outputs) facts->outputs.push_back(SpecOf(output));
  FillInstructions(*file_, *plan_, facts.get());
  model_facts_ = std::move(facts);
  return *model_facts_;
}

profile::MemoryFacts ExecutorchEngine::memory() const {
  profile::MemoryFacts facts;
  facts.planned_buffers = facts_.planned_buffers;
  int64_t planned = 0;
  for (const int64_t bytes : facts_.planned_buffers) planned += bytes;
  facts.planned_bytes = planned;
  facts.method_allocations = plain_->method_allocator().count();
  facts.method_bytes = plain_->method_allocator().bytes();
  if (last_run_ != LastRun::kNone) {
    const bool observed = last_run_ == LastRun::kObserved;
    const CountingAllocator& temp = (observed ? observed_ : plain_)->temp_allocator();
    facts.run_allocations = temp.count();
    facts.run_bytes = temp.bytes();
  }
  return facts;
}

std::vector<TensorSpec> ExecutorchEngine::inputs() const {
  std::vector<TensorSpec> specs;
  for (const PlanValue& input : facts_.inputs) specs.push_back(input.spec);
  return specs;
}

std::vector<measure::BundledCase> ExecutorchEngine::bundled_cases() const {
  return ReadBundledCases(*file_, options_.method);
}

profile::Metric<std::string> ExecutorchEngine::region_sources() const { return RegionSources(); }

Result<void> ExecutorchEngine::SetInputs(std::vector<Tensor> inputs) {
  INFERPROBE_RETURN_IF_ERROR(measure::CheckInputs(this->inputs(), inputs));
  INFERPROBE_RETURN_IF_ERROR(plain_->SetInputs(inputs));
  if (observed_ != nullptr) INFERPROBE_RETURN_IF_ERROR(observed_->SetInputs(inputs));
  inputs_ = std::move(inputs);
  inputs_set_ = true;
  last_run_ = LastRun::kNone;
  return {};
}

Result<void> ExecutorchEngine::PrepareObserved() {
  if (observed_ != nullptr) return {};
  std::shared_ptr<PlannedMemory> memory = memory_;
  if (facts_.keeps_state) {
    auto own = PlannedMemory::Make(facts_.planned_buffers);
    if (!own) return tl::unexpected(own.error());
    memory = std::move(*own);
  }
  auto tracer = std::make_unique<RingTracer>();
  // Each delegate's load is an event.
  tracer->BeginLoad(record::AttachThread());
  auto instance = MakeInstance(std::move(memory), tracer.get(), options_.delegates);
  tracer->EndRun();
  if (!instance) return tl::unexpected(instance.error());
  if (inputs_set_) INFERPROBE_RETURN_IF_ERROR((*instance)->SetInputs(inputs_));
  tracer_ = std::move(tracer);
  observed_ = std::move(*instance);
  set_inputs_name_ = record::InternName("set_inputs");
  if (!facts_.keeps_state) last_run_ = LastRun::kNone;  // its inputs lie where outputs were
  return {};
}

Result<void> ExecutorchEngine::Run(const measure::RunView& view) {
  if (!inputs_set_) {
    return MakeError(ErrorCode::kInvalidArgument, "Run() before SetInputs()");
  }
  if (view.observed) return RunObserved();
  last_run_ = LastRun::kPlain;
  et::Error error = plain_->GiveInputs();
  if (error == et::Error::Ok) error = plain_->Execute();
  if (error != et::Error::Ok) return tl::unexpected(EngineError("the run failed", error));
  return {};
}

Result<void> ExecutorchEngine::RunObserved() {
  if (observed_ == nullptr) {
    return MakeError(ErrorCode::kInvalidArgument, "an observed run before PrepareObserved()");
  }
  last_run_ = LastRun::kObserved;
  record::ThreadRing* ring = record::AttachThread();
  et::Error error = et::Error::Ok;
  if (ring == nullptr) {
    error = observed_->GiveInputs();
  } else {
    const record::OpenedSlice slice = record::OpenSlice(ring);
    const uint64_t start = NowTicks();
    error = observed_->GiveInputs();
    const uint64_t end = NowTicks();
    record::CloseSlice(ring, slice);
    record::Publish(ring, {start, end, set_inputs_name_, slice.id, slice.parent,
                           record::PackInfo(record::CellType::kSetInputs, 0)});
  }
  if (error == et::Error::Ok) {
    tracer_->BeginRun(ring);
    error = observed_->Execute();
    tracer_->EndRun();
  }
  if (error != et::Error::Ok) return tl::unexpected(EngineError("the run failed", error));
  return {};
}

Result<std::vector<Tensor>> ExecutorchEngine::Outputs(bool observed) {
  if (last_run_ != (observed ? LastRun::kObserved : LastRun::kPlain)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the outputs of the last run {} a tracer are not there",
                                 observed ? "with" : "without"),
                     "take outputs right after the run: the next one overwrites them");
  }
  return (observed ? observed_ : plain_)->Outputs();
}

}  // namespace inferprobe::executorch_engine
