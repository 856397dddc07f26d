#include "engines/executorch/openvino/openvino_backend.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engines/executorch/openvino/openvino_api.h"
#include "engines/executorch/openvino/openvino_engine.h"
#include "inferprobe/executorch_delegate.h"

namespace inferprobe::openvino {
namespace {

namespace et = ::executorch::runtime;
namespace kit = ::inferprobe::executorch_delegate;
using ::executorch::aten::ScalarType;

constexpr size_t kMaxDims = 16;  // ExecuTorch's kTensorDimensionLimit

struct Loaded {
  std::unique_ptr<OpenvinoEngine> engine;
  bool async = false;
  std::unique_ptr<DelegateProfiler> profiler;  // first to go: it calls the engine
};

std::optional<ElementType> TypeOf(ScalarType type) {
  switch (type) {
    case ScalarType::Float:
      return ElementType::kF32;
    case ScalarType::Half:
      return ElementType::kF16;
    case ScalarType::BFloat16:
      return ElementType::kBf16;
    case ScalarType::Double:
      return ElementType::kF64;
    case ScalarType::Int:
      return ElementType::kI32;
    case ScalarType::Char:
      return ElementType::kI8;
    case ScalarType::Byte:
      return ElementType::kU8;
    case ScalarType::Short:
      return ElementType::kI16;
    case ScalarType::Long:
      return ElementType::kI64;
    case ScalarType::Bool:
      return ElementType::kBoolean;
    default:
      return std::nullopt;
  }
}

// A flag, as a load-time option of any type or a compile spec.
::inferprobe::Result<bool> FlagOf(const et::BackendInitContext& context,
                                  et::ArrayRef<et::CompileSpec> specs, const std::string& key) {
  auto text = kit::internal::RuntimeText(context, key);
  if (!text) text = kit::internal::CompiledText(specs, key);
  if (!text || *text == "0" || *text == "false") return false;
  if (*text == "1" || *text == "true") return true;
  return MakeError(ErrorCode::kInvalidArgument,
                   key + ": \"" + *text + "\" is not one of 0, 1, false, true");
}

::inferprobe::Result<std::unique_ptr<Loaded>> Load(const et::BackendInitContext& context,
                                                   const et::FreeableBuffer& processed,
                                                   et::ArrayRef<et::CompileSpec> specs,
                                                   const ProfileConfig& config) {
  auto api = LoadOpenvino();
  if (!api) return tl::unexpected(api.error());
  auto loaded = std::make_unique<Loaded>();
  auto async = FlagOf(context, specs, "openvino_async");
  if (!async) return tl::unexpected(async.error());
  loaded->async = *async;

  const std::span<const std::byte> blob(static_cast<const std::byte*>(processed.data()),
                                        processed.size());
  OpenvinoEngine::Options options;
  if (auto device = kit::internal::CompiledText(specs, "device")) options.device = *device;
  options.layers = config.level == ProfileLevel::kLayers;
  auto engine = OpenvinoEngine::Load(**api, blob, std::move(options));
  if (!engine) return tl::unexpected(engine.error());
  loaded->engine = std::move(*engine);

  DelegateOptions observed;
  observed.prefix = kPrefix;
  observed.engine = "OpenVINO";
  observed.engine_version = (*api)->version;
  observed.method = context.get_method_name() != nullptr ? context.get_method_name() : "";
  observed.content_hash = EngineContentHash(blob);
  observed.config = config;
  observed.place = kit::PlaceOfBuild();
  observed.hooks = loaded->engine.get();
  observed.log = kit::LogError;
  auto profiler = DelegateProfiler::Create(std::move(observed));
  if (!profiler) return tl::unexpected(profiler.error());
  loaded->profiler = std::move(*profiler);
  return loaded;
}

::inferprobe::Result<void> Bind(OpenvinoEngine& engine, bool input, size_t index,
                                const et::EValue& value) {
  const char* what = input ? "input " : "output ";
  if (!value.isTensor()) {
    return MakeError(ErrorCode::kEngine, what + std::to_string(index) + " is no tensor");
  }
  const ::executorch::aten::Tensor& tensor = value.toTensor();
  const auto type = TypeOf(tensor.scalar_type());
  const auto dims = static_cast<size_t>(tensor.dim());
  if (!type || dims > kMaxDims) {
    return MakeError(ErrorCode::kEngine, what + std::to_string(index) +
                                             " has a type or rank that OpenVINO is not given");
  }
  std::array<int64_t, kMaxDims> shape{};
  for (size_t i = 0; i < dims; ++i) shape[i] = tensor.size(static_cast<ssize_t>(i));
  const BoundTensor bound{*type, {shape.data(), dims}, tensor.mutable_data_ptr()};
  return input ? engine.BindInput(index, bound) : engine.BindOutput(index, bound);
}

::inferprobe::Result<void> Run(OpenvinoEngine& engine, bool async, DelegateCall& call,
                               et::Span<et::EValue*> args) {
  if (args.size() < engine.inputs() + engine.outputs()) {
    return MakeError(ErrorCode::kEngine, "the program gives " + std::to_string(args.size()) +
                                             " arguments, the engine "
                                             "has " +
                                             std::to_string(engine.inputs()) + " inputs and " +
                                             std::to_string(engine.outputs()) + " outputs");
  }
  {
    const PhaseScope phase(call, Phase::kInputBinding);
    for (size_t i = 0; i < engine.inputs(); ++i) {
      INFERPROBE_RETURN_IF_ERROR(Bind(engine, true, i, *args[i]));
    }
  }
  {
    const PhaseScope phase(call, Phase::kOutputBinding);
    for (size_t i = 0; i < engine.outputs(); ++i) {
      INFERPROBE_RETURN_IF_ERROR(Bind(engine, false, i, *args[engine.inputs() + i]));
    }
  }
  if (!async) {
    const PhaseScope phase(call, Phase::kInferHost);
    return engine.Infer();
  }
  {
    const PhaseScope phase(call, Phase::kEnqueueHost);
    INFERPROBE_RETURN_IF_ERROR(engine.StartAsync());
  }
  const PhaseScope phase(call, Phase::kSynchronize);
  return engine.Wait();
}

}  // namespace

OpenvinoBackend::~OpenvinoBackend() = default;

bool OpenvinoBackend::is_available() const { return LoadOpenvino().has_value(); }

et::Result<et::DelegateHandle*> OpenvinoBackend::init(et::BackendInitContext& context,
                                                      et::FreeableBuffer* processed,
                                                      et::ArrayRef<et::CompileSpec> specs) const {
  auto config = kit::ConfigOf(kPrefix, context, specs);
  if (!config) return kit::Fail(config.error(), et::Error::InvalidArgument);
  kit::TracerSink sink(context.event_tracer());
  const DelegateLoad load(kPrefix, config->level, sink.get());
  auto loaded = Load(context, *processed, specs, *config);
  if (!loaded) {
    const bool argument = loaded.error().code == ErrorCode::kInvalidArgument ||
                          loaded.error().code == ErrorCode::kAlreadyExists;
    return kit::Fail(loaded.error(), argument ? et::Error::InvalidArgument
                                              : et::Error::DelegateInvalidCompatibility);
  }
  return loaded->release();
}

et::Error OpenvinoBackend::execute(et::BackendExecutionContext& context, et::DelegateHandle* handle,
                                   et::Span<et::EValue*> args) const {
  auto* loaded = static_cast<Loaded*>(handle);
  kit::TracerSink sink(context.event_tracer());
  DelegateCall call(loaded->profiler.get(), sink.get());
  if (auto done = Run(*loaded->engine, loaded->async, call, args); !done) {
    return kit::Fail(done.error(), et::Error::Internal);
  }
  call.Finish(loaded->async ? CallMode::kSynchronized : CallMode::kBlocking);
  if (call.wants_layers()) loaded->engine->ReportLayers(call);
  return et::Error::Ok;
}

void OpenvinoBackend::destroy(et::DelegateHandle* handle) const {
  auto* loaded = static_cast<Loaded*>(handle);
  if (loaded == nullptr) return;
  if (loaded->profiler != nullptr) {
    if (auto closed = loaded->profiler->Close(); !closed) {
      static_cast<void>(kit::Fail(closed.error(), et::Error::Internal));
    }
  }
  delete loaded;
}

OpenvinoBackend* TheOpenvinoBackend() {
  static auto* backend = new OpenvinoBackend;
  return backend;
}

}  // namespace inferprobe::openvino
