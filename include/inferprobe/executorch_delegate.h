// The kit in a delegate of ExecuTorch. Header only: it is compiled with the delegate's own
// ExecuTorch and its own ET_EVENT_TRACER_ENABLED. A delegate looks like this:
//
//   using namespace executorch::runtime;
//   namespace ipe = inferprobe::executorch_delegate;
//
//   Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
//                                ArrayRef<CompileSpec> specs) const override {
//     auto config = ipe::ConfigOf("myengine", context, specs);
//     if (!config) return ipe::Fail(config.error());
//     ...
//     auto profiler = inferprobe::DelegateProfiler::Create(std::move(options));
//     if (!profiler) return ipe::Fail(profiler.error());
//   }
//   Error execute(BackendExecutionContext& context, DelegateHandle* handle,
//                 Span<EValue*> args) const override {
//     ipe::TracerSink sink(context.event_tracer());
//     inferprobe::DelegateCall call(profiler, sink.get());
//     { inferprobe::PhaseScope phase(call, inferprobe::Phase::kInputBinding); ... }
//     call.Finish(inferprobe::CallMode::kBlocking);
//     return Error::Ok;
//   }
//
// The rule that people break: without ET_EVENT_TRACER_ENABLED the runtime's helpers do nothing, and
// TracerSink is nullptr: events go to the recorder then.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "inferprobe/config.h"
#include "inferprobe/delegate.h"

namespace inferprobe::executorch_delegate {

// What this build can do.
inline ProfilePlace PlaceOfBuild() {
  ProfilePlace place;
#ifdef ET_EVENT_TRACER_ENABLED
  place.has_tracer = true;
#else
  place.has_tracer = false;
#endif
  return place;
}

namespace internal {
// An event has a name or a number; ETDumpGen aborts on one with both. (kUnsetDebugHandle is 0,
// which is a number.)
constexpr auto kNoId = static_cast<::executorch::runtime::DebugHandle>(
    ::executorch::runtime::kUnsetDelegateDebugIntId);
}  // namespace internal

// A tracer as a sink, for the length of one call.
class TracerSink final : public EventSink {
 public:
  explicit TracerSink(::executorch::runtime::EventTracer* tracer) : tracer_(tracer) {}
  // nullptr: there is no tracer, or this build calls none.
  [[nodiscard]] EventSink* get() {
#ifdef ET_EVENT_TRACER_ENABLED
    return tracer_ != nullptr ? this : nullptr;
#else
    return nullptr;
#endif
  }

  void Begin(const char* name, Token* token) override {
    const auto entry = ::executorch::runtime::event_tracer_start_profiling_delegate(
        tracer_, name, internal::kNoId);
    static_assert(sizeof entry <= sizeof token->words);
    static_assert(std::is_trivially_copyable_v<::executorch::runtime::EventTracerEntry>);
    std::memcpy(token->words, &entry, sizeof entry);
  }
  void End(const Token& token, std::string_view metadata) override {
    ::executorch::runtime::EventTracerEntry entry;
    std::memcpy(static_cast<void*>(&entry), token.words, sizeof entry);
    ::executorch::runtime::event_tracer_end_profiling_delegate(tracer_, entry, metadata.data(),
                                                               metadata.size());
  }
  void Log(const char* name, uint64_t start, uint64_t end, std::string_view metadata) override {
    ::executorch::runtime::event_tracer_log_profiling_delegate(
        tracer_, name, internal::kNoId, start, end, metadata.data(), metadata.size());
  }
  [[nodiscard]] uint64_t Now() const override { return ::executorch::runtime::pal_current_ticks(); }
  [[nodiscard]] uint64_t TicksOf(int64_t ns) const override {
    const et_tick_ratio_t ratio = ::executorch::runtime::pal_ticks_to_ns_multiplier();
    const auto whole = static_cast<uint64_t>(ns);
    if (ratio.numerator == ratio.denominator || ratio.numerator == 0) return whole;
    return static_cast<uint64_t>(static_cast<double>(whole) *
                                 static_cast<double>(ratio.denominator) /
                                 static_cast<double>(ratio.numerator));
  }

 private:
  ::executorch::runtime::EventTracer* tracer_;
};

namespace internal {

inline std::string KeyOf(std::string_view prefix, const char* name) {
  return std::string(prefix) + "_profile_" + name;
}

// A text option that was given at load time. Another type under its key is a mistake, and is shown
// as one.
inline std::optional<std::string> RuntimeText(
    const ::executorch::runtime::BackendInitContext& context, const std::string& key) {
  for (const auto& option : context.runtime_specs()) {
    if (key != option.key) continue;
    if (const auto* text =
            std::get_if<std::array<char, ::executorch::runtime::kMaxOptionValueLength>>(
                &option.value)) {
      return std::string(text->data(), strnlen(text->data(), text->size()));
    }
    if (const auto* flag = std::get_if<bool>(&option.value)) return *flag ? "true" : "false";
    return std::to_string(std::get<int>(option.value));
  }
  return std::nullopt;
}

inline std::optional<bool> RuntimeFlag(const ::executorch::runtime::BackendInitContext& context,
                                       const std::string& key) {
  const auto text = RuntimeText(context, key);
  if (!text) return std::nullopt;
  return *text == "true" || *text == "1";
}

// With or without a closing zero byte.
inline std::optional<std::string> CompiledText(
    ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs,
    const std::string& key) {
  for (const auto& spec : specs) {
    if (spec.key == nullptr || key != spec.key) continue;
    const auto* bytes = static_cast<const char*>(spec.value.buffer);
    if (bytes == nullptr) return std::string();
    size_t size = spec.value.nbytes;
    while (size > 0 && bytes[size - 1] == '\0') --size;
    return std::string(bytes, size);
  }
  return std::nullopt;
}

}  // namespace internal

// The method's settings: load-time option, else compile spec, else off.
inline ::inferprobe::Result<ProfileConfig> ConfigOf(
    std::string_view prefix, const ::executorch::runtime::BackendInitContext& context,
    ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs) {
  ProfileSettings runtime;
  runtime.level = internal::RuntimeText(context, internal::KeyOf(prefix, "level"));
  runtime.format = internal::RuntimeText(context, internal::KeyOf(prefix, "format"));
  runtime.path_prefix = internal::RuntimeText(context, internal::KeyOf(prefix, "path_prefix"));
  runtime.model = internal::RuntimeText(context, internal::KeyOf(prefix, "model"));
  runtime.overwrite = internal::RuntimeFlag(context, internal::KeyOf(prefix, "overwrite"));
  ProfileSettings compiled;
  compiled.level = internal::CompiledText(specs, internal::KeyOf(prefix, "level"));
  compiled.format = internal::CompiledText(specs, internal::KeyOf(prefix, "format"));
  compiled.path_prefix = internal::CompiledText(specs, internal::KeyOf(prefix, "path_prefix"));
  compiled.model = internal::CompiledText(specs, internal::KeyOf(prefix, "model"));
  return ResolveProfileConfig(prefix, runtime, compiled, PlaceOfBuild());
}

// What a backend returns for the error: ExecuTorch passes on a code alone, so the words go to its
// log and to LastDelegateError().
inline ::executorch::runtime::Error Fail(
    const ::inferprobe::Error& error,
    ::executorch::runtime::Error code = ::executorch::runtime::Error::InvalidArgument) {
  SetLastDelegateError(error);
  ET_LOG(Error, "%s", LastDelegateError().c_str());
  return code;
}

// For DelegateOptions::log.
inline void LogError(const char* message) { ET_LOG(Error, "%s", message); }

// One load-time option. ExecuTorch cuts longer keys and values without a word: here they are
// refused.
template <typename Value>
::inferprobe::Result<::executorch::runtime::BackendOption> MakeOption(const std::string& key,
                                                                      const Value& value) {
  ::executorch::runtime::BackendOption option;
  if (key.size() >= sizeof option.key) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "option \"" + key + "\": the key is longer than " +
                         std::to_string(sizeof option.key - 1) + " bytes");
  }
  key.copy(option.key, key.size());
  if constexpr (std::is_same_v<Value, bool> || std::is_same_v<Value, int>) {
    option.value = value;
  } else {
    const std::string_view text = value;
    std::array<char, ::executorch::runtime::kMaxOptionValueLength> bytes{};
    if (text.size() >= bytes.size()) {
      return MakeError(ErrorCode::kInvalidArgument,
                       key + ": the value has " + std::to_string(text.size()) +
                           " bytes; ExecuTorch takes " + std::to_string(bytes.size() - 1),
                       "give a shorter one");
    }
    text.copy(bytes.data(), text.size());
    option.value = bytes;
  }
  return option;
}

// The load-time options that say the same as `config`, for LoadBackendOptionsMap.
inline ::inferprobe::Result<std::vector<::executorch::runtime::BackendOption>> OptionsOf(
    std::string_view prefix, const ProfileConfig& config) {
  std::vector<::executorch::runtime::BackendOption> options;
  const auto add = [&](const char* name, const auto& value) -> ::inferprobe::Result<void> {
    auto option = MakeOption(internal::KeyOf(prefix, name), value);
    if (!option) return tl::unexpected(option.error());
    options.push_back(*option);
    return {};
  };
  INFERPROBE_RETURN_IF_ERROR(add("level", std::string_view(ProfileLevelName(config.level))));
  INFERPROBE_RETURN_IF_ERROR(add("format", std::string_view(ProfileFormatName(config.format))));
  if (!config.path_prefix.empty()) {
    INFERPROBE_RETURN_IF_ERROR(add("path_prefix", std::string_view(config.path_prefix)));
  }
  if (!config.model.empty())
    INFERPROBE_RETURN_IF_ERROR(add("model", std::string_view(config.model)));
  if (config.overwrite) INFERPROBE_RETURN_IF_ERROR(add("overwrite", true));
  return options;
}

}  // namespace inferprobe::executorch_delegate
