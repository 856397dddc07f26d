// What the benchmarks of whole programs share: a program in memory with its inputs.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/executorch/delegate_options.h"
#include "engines/executorch/loaded_program.h"
#include "engines/executorch/method_instance.h"
#include "engines/executorch/plan_facts.h"
#include "engines/executorch/program_tables.h"
#include "inferprobe/recorder.h"
#include "measure/inputs/inputs.h"

namespace inferprobe::executorch_engine {

inline Result<Recorder> StartRecorder() {
  RecorderOptions recording;
  recording.events_per_thread = 1 << 16;
  return Recorder::Start(recording);
}

// measure(path) for each program, of our samples where none is named; what goes wrong ends it.
template <typename Measure>
int MeasureEach(std::vector<std::string> programs, std::initializer_list<const char*> samples,
                Measure measure) {
  if (programs.empty()) {
    for (const char* sample : samples) {
      programs.push_back(std::string(INFERPROBE_SOURCE_DIR "/samples/") + sample + ".pte");
    }
  }
  for (const std::string& program : programs) {
    if (auto measured = measure(program); !measured) {
      std::fprintf(stderr, "%s: %s\n", program.c_str(), measured.error().message.c_str());
      return 1;
    }
  }
  return 0;
}

// One program, of which several instances are loaded. Stays where it is.
class BenchProgram {
 public:
  static Result<std::unique_ptr<BenchProgram>> Open(const std::string& path) {
    std::unique_ptr<BenchProgram> it(new BenchProgram);
    auto tables = ProgramTables::Open(path);
    if (!tables) return tl::unexpected(tables.error());
    it->tables_ = std::move(*tables);
    auto program = LoadedProgram::Load(*it->tables_);
    if (!program) return tl::unexpected(program.error());
    it->program_ = std::move(*program);
    it->facts_ = ReadPlan(*it->tables_->FindPlan("forward"));
    auto memory = PlannedMemory::Make(it->facts_.planned_buffers);
    if (!memory) return tl::unexpected(memory.error());
    it->memory_ = std::move(*memory);
    std::vector<TensorSpec> specs;
    for (const PlanValue& input : it->facts_.inputs) specs.push_back(input.spec);
    auto inputs = measure::ResolveInputs(specs, {});
    if (!inputs) return tl::unexpected(inputs.error());
    it->inputs_ = std::move(inputs->tensors);
    return it;
  }

  // With its inputs set.
  Result<std::unique_ptr<MethodInstance>> Instance(::executorch::runtime::EventTracer* tracer,
                                                   ProfileLevel level,
                                                   const DelegateChoices& choices = {}) const {
    ProfileConfig config;
    config.level = level;
    auto options = DelegateLoadOptions::Make(facts_.backends, config, choices);
    if (!options) return tl::unexpected(options.error());
    auto loaded = MethodInstance::Load(
        {program_.get(), &facts_, "forward", memory_, nullptr, tracer, (*options)->map()});
    if (!loaded) return tl::unexpected(loaded.error());
    INFERPROBE_RETURN_IF_ERROR((*loaded)->SetInputs(inputs_));
    return std::move(*loaded);
  }

 private:
  BenchProgram() = default;

  std::unique_ptr<ProgramTables> tables_;
  std::unique_ptr<LoadedProgram> program_;
  PlanFacts facts_;
  std::shared_ptr<PlannedMemory> memory_;
  std::vector<Tensor> inputs_;
};

}  // namespace inferprobe::executorch_engine
