// What looking into delegates costs: a program with OpenVINO delegates at each level beside the
// same at level off (twice, two instances: A against A), in the same mode; the other ways to run
// it; and a call of the kit, and of the wrapper around an unmodified backend, alone.
//
//   delegate_bench --seconds 2                    the calls alone
//   delegate_bench --seconds 8 PROGRAM.pte ...    programs; each row is a line of JSON
//
// The rule that people break: an instance is at other addresses than the next one, which alone can
// make a difference. So A against A is of two instances, not of one and itself, and each round's
// order is drawn anew.
#include <executorch/runtime/backend/interface.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench_program.h"
#include "engines/executorch/backend_registration.h"
#include "engines/executorch/engine_error.h"
#include "engines/executorch/log_capture.h"
#include "engines/executorch/null_backend.h"
#include "engines/executorch/tracer.h"
#include "engines/executorch/wrapped_backend.h"
#include "inferprobe/executorch_delegate.h"
#include "record/ring_writer.h"
#include "turns.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;
namespace kit = ::inferprobe::executorch_delegate;

constexpr int kWarmUps = 2;
constexpr int kRunsOfATurn = 4;
constexpr int kFewestRounds = 20;
constexpr int kCalls = 1000;  // of a turn of the kit's

struct Way {
  const char* name;
  ProfileLevel level;
  const char* choice;
};
constexpr std::array<Way, 7> kWays = {{{"off", ProfileLevel::kOff, "ours"},
                                       {"off again (A against A)", ProfileLevel::kOff, "ours"},
                                       {"delegate", ProfileLevel::kDelegate, "ours"},
                                       {"phases", ProfileLevel::kPhases, "ours"},
                                       {"layers", ProfileLevel::kLayers, "ours"},
                                       {"async", ProfileLevel::kOff, "async"},
                                       {"stock", ProfileLevel::kOff, "stock"}}};

Result<void> MeasureProgram(const std::string& path, double seconds) {
  auto program = BenchProgram::Open(path);
  if (!program) return tl::unexpected(program.error());
  auto recorder = StartRecorder();
  if (!recorder) return tl::unexpected(recorder.error());
  record::ThreadRing* ring = record::AttachThread();
  std::array<RingTracer, kWays.size()> tracers;
  std::array<std::unique_ptr<MethodInstance>, kWays.size()> instances;
  std::array<uint64_t, kWays.size()> cells{};
  for (size_t i = 0; i < kWays.size(); ++i) {
    auto choices = ParseDelegateChoices({std::string("openvino=") + kWays[i].choice});
    if (!choices) return tl::unexpected(choices.error());
    auto loaded = (*program)->Instance(&tracers[i], kWays[i].level, *choices);
    if (!loaded) return tl::unexpected(loaded.error());
    instances[i] = std::move(*loaded);
  }
  const auto run = [&](size_t i) {
    const uint64_t head = ring->head;
    const uint64_t start = NowTicks();
    et::Error error = instances[i]->GiveInputs();
    tracers[i].BeginRun(ring);
    if (error == et::Error::Ok) error = instances[i]->Execute();
    tracers[i].EndRun();
    const uint64_t end = NowTicks();
    if (error != et::Error::Ok) {
      std::fputs(EngineError("a run failed", error).message.c_str(), stderr);
      std::exit(1);
    }
    cells[i] = ring->head - head;
    recorder->Drain();  // what perf does between runs, too
    return static_cast<double>(end - start) * Clock().ns_per_tick;
  };
  const Turns turns = Turns::Take({kWays.size(), kFewestRounds, kWarmUps, kRunsOfATurn, seconds},
                                  run, [](size_t) {});
  for (size_t way = 0; way < kWays.size(); ++way) {
    const std::vector<double>& ns = turns.ns(way);
    const std::vector<double> ratios = turns.Ratios(way, 0);
    std::vector<double> more(ns.size());
    for (size_t i = 0; i < ns.size(); ++i) more[i] = ns[i] - turns.ns(0)[i];
    fmt::print(R"({{"program": "{}", "way": "{}", "rounds": {}, "cells": {}, "median_us": {}, )"
               R"("x_off": {}, "x_off_low": {}, "x_off_high": {}, "more_us": {}}})"
               "\n",
               path.substr(path.rfind('/') + 1), kWays[way].name, ratios.size(), cells[way],
               MedianOf(ns) / 1e3, MedianOf(ratios), QuantileOf(ratios, 0.25),
               QuantileOf(ratios, 0.75), MedianOf(more) / 1e3);
  }
  return {};
}

// A call through ExecuTorch's border, without ExecuTorch's part of it.
class Calls {
 public:
  static Result<Calls> Make(const et::BackendInterface& backend, ProfileLevel level) {
    static const std::string bytes = "no engine";
    ProfileConfig config;
    config.level = level;
    auto options = kit::OptionsOf("nullbackend", config);
    if (!options) return tl::unexpected(options.error());
    et::BackendInitContext context(nullptr, nullptr, "forward", nullptr,
                                   {options->data(), options->size()});
    et::FreeableBuffer processed(bytes.data(), bytes.size(), nullptr);
    auto handle = backend.init(context, &processed, {});
    if (!handle.ok()) return tl::unexpected(EngineError("no backend", handle.error()));
    return Calls(backend, *handle);
  }
  void Run(int n) const {
    et::BackendExecutionContext context(nullptr, nullptr, "forward");
    for (int i = 0; i < n; ++i) static_cast<void>(backend_->execute(context, handle_, {}));
  }

 private:
  Calls(const et::BackendInterface& backend, et::DelegateHandle* handle)
      : backend_(&backend), handle_(handle) {}
  const et::BackendInterface* backend_;
  et::DelegateHandle* handle_;
};

// As our OpenVINO delegate does it: three phases in a call.
void KitCalls(DelegateProfiler* profiler, int n) {
  for (int i = 0; i < n; ++i) {
    DelegateCall call(profiler, nullptr);
    for (const Phase phase : {Phase::kInputBinding, Phase::kOutputBinding, Phase::kInferHost}) {
      const PhaseScope scope(call, phase);
    }
    call.Finish(CallMode::kBlocking);
  }
}

Result<void> MeasureCalls(double seconds) {
  auto recorder = StartRecorder();
  if (!recorder) return tl::unexpected(recorder.error());
  static NullBackend bare;
  static WrappedBackend wrapped("NullBackend", &bare);
  auto alone = Calls::Make(bare, ProfileLevel::kOff);
  auto off = Calls::Make(wrapped, ProfileLevel::kOff);
  auto seen = Calls::Make(wrapped, ProfileLevel::kDelegate);
  if (!alone || !off || !seen) return MakeError(ErrorCode::kInternal, "the bare backend failed");

  const auto make = [](ProfileLevel level) {
    DelegateOptions options;
    options.prefix = "double";
    options.content_hash = "0123456789abcdef";
    options.config.level = level;
    return DelegateProfiler::Create(std::move(options));
  };
  auto kit_off = make(ProfileLevel::kOff);
  auto kit_phases = make(ProfileLevel::kPhases);
  if (!kit_off) return tl::unexpected(kit_off.error());
  if (!kit_phases) return tl::unexpected(kit_phases.error());

  struct Row {
    const char* name;
    std::function<void(int)> calls;
  };
  const std::vector<Row> rows = {
      {"backend bare", [&](int n) { alone->Run(n); }},
      {"backend wrapped, off", [&](int n) { off->Run(n); }},
      {"backend wrapped, delegate", [&](int n) { seen->Run(n); }},
      {"kit off", [&](int n) { KitCalls(kit_off->get(), n); }},
      {"kit off again", [&](int n) { KitCalls(kit_off->get(), n); }},
      {"kit phases", [&](int n) { KitCalls(kit_phases->get(), n); }},
  };
  const Turns turns = Turns::Take(
      {rows.size(), kFewestRounds, 0, 1, seconds},
      [&](size_t i) {
        rows[i].calls(kCalls / 10);
        const uint64_t start = NowTicks();
        rows[i].calls(kCalls);
        const double took = static_cast<double>(NowTicks() - start) * Clock().ns_per_tick;
        recorder->Drain();
        return took / kCalls;
      },
      [](size_t) {});
  for (size_t i = 0; i < rows.size(); ++i) {
    fmt::print(R"({{"call": "{}", "ns": {}, "low": {}, "high": {}}})"
               "\n",
               rows[i].name, MedianOf(turns.ns(i)), QuantileOf(turns.ns(i), 0.25),
               QuantileOf(turns.ns(i), 0.75));
  }
  return {};
}

int Main(int argc, char** argv) {
  InstallLogCapture();
  RegisterOwnBackends();
  double seconds = 6;
  std::vector<std::string> programs;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else {
      programs.emplace_back(argv[i]);
    }
  }
  if (programs.empty()) {
    auto measured = MeasureCalls(seconds);
    if (!measured) std::fprintf(stderr, "%s\n", measured.error().message.c_str());
    return measured ? 0 : 1;
  }
  return MeasureEach(std::move(programs), {},
                     [&](const std::string& program) { return MeasureProgram(program, seconds); });
}

}  // namespace
}  // namespace inferprobe::executorch_engine

int main(int argc, char** argv) { return inferprobe::executorch_engine::Main(argc, argv); }
