// The parts of a result that say what ran where, and what was asked for. Each function walks one
// object in the order in which it is written; see describe_result.h.
#pragma once

#include <cstddef>
#include <string>

#include "formats/result_json/field.h"
#include "profile/result.h"

namespace inferprobe::result_json {

template <class Archive, class Result>
void DescribeTool(Archive& archive, Result& result) {
  archive.Constant(field::kName, "inferprobe");
  archive.Text(field::kVersion, result.tool_version);
  archive.Text(field::kRunId, result.run_id);
  archive.Text(field::kStartedAt, result.started_at);
}

template <class Archive, class Source>
void DescribeSource(Archive& archive, Source& source) {
  archive.Text(field::kPath, source.path);
  archive.Text(field::kFormat, source.format);
  archive.Text(field::kTitle, source.title);
  archive.Count(field::kBytes, source.bytes);
  archive.Objects(field::kBlocks, source.blocks, [](Archive& each, auto& block, size_t) {
    each.Text(field::kName, block.name);
    each.Count(field::kCount, block.count);
    each.Count(field::kEvents, block.events);
  });
  archive.Objects(field::kPackets, source.packets, [](Archive& each, auto& packet, size_t) {
    each.Text(field::kType, packet.type);
    each.Count(field::kCount, packet.count);
  });
  if (archive.Optional(field::kNotes, !source.notes.empty())) {
    archive.List(field::kNotes, source.notes);
  }
}

// A tensor without a name stands under its index.
template <class Archive, class Spec>
void DescribeTensor(Archive& archive, Spec& spec, size_t index) {
  const std::string number = std::to_string(index);
  std::string name = spec.name.empty() ? number : spec.name;
  archive.Text(field::kName, name);
  if constexpr (Archive::kReading) spec.name = name == number ? "" : name;
  archive.Enum(field::kType, spec.type);
  archive.List(field::kShape, spec.shape);
  archive.Bool(field::kDynamic, spec.dynamic);
  archive.Bool(field::kScalar, spec.is_scalar);
}

template <class Archive, class Model>
void DescribeModel(Archive& archive, Model& model) {
  archive.Text(field::kPath, model.path);
  archive.Text(field::kSha256, model.sha256);
  archive.Text(field::kFormat, model.format);
  archive.Text(field::kMethod, model.method);
  archive.List(field::kMethods, model.methods);
  archive.Count(field::kBytes, model.bytes);
  archive.Figure(field::kInstructions, model.instructions);
  archive.Objects(field::kInputs, model.inputs, [](Archive& each, auto& input, size_t index) {
    DescribeTensor(each, input.spec, index);
    each.Text(field::kSource, input.source);
  });
  archive.Objects(field::kOutputs, model.outputs, [](Archive& each, auto& output, size_t index) {
    DescribeTensor(each, output, index);
  });
  archive.Objects(field::kDelegates, model.delegates, [](Archive& each, auto& delegate, size_t) {
    each.Count(field::kId, delegate.id);
    each.Text(field::kBackend, delegate.backend);
    each.Count(field::kBlobBytes, delegate.blob_bytes);
    each.Text(field::kEngineId, delegate.engine_id);
  });
  if (archive.Optional(field::kNotes, !model.notes.empty())) {
    archive.List(field::kNotes, model.notes);
  }
}

template <class Archive, class Engine>
void DescribeEngine(Archive& archive, Engine& engine) {
  archive.Text(field::kName, engine.name);
  archive.Text(field::kTitle, engine.title);
  archive.Text(field::kVersion, engine.version);
  archive.Figure(field::kThreads, engine.threads);
  archive.List(field::kBackends, engine.backends);
}

template <class Archive, class Machine, class Clock>
void DescribeEnvironment(Archive& archive, Machine& machine, Clock& clock) {
  archive.Text(field::kOs, machine.os);
  archive.Text(field::kKernel, machine.kernel);
  archive.Text(field::kCpu, machine.cpu);
  archive.Count(field::kCpus, machine.cpus);
  archive.Count(field::kCpusOnline, machine.cpus_online);
  archive.Object(field::kClock, [&] {
    constexpr int64_t kPicosecondsInOne = 1000;
    archive.Text(field::kSource, clock.source);
    archive.Number(field::kTickNs, clock.tick_ns);
    archive.Scaled(field::kReadCostNs, clock.read_cost_ps, kPicosecondsInOne);
  });
  archive.Figure(field::kGovernor, machine.governor);
  archive.Figure(field::kLoadAverage, machine.load_average);
  archive.Figure(field::kMemoryBytes, machine.memory_bytes);
  if (archive.Optional(field::kCoreTypes, !machine.core_types.empty())) {
    archive.Objects(field::kCoreTypes, machine.core_types, [](Archive& each, auto& type, size_t) {
      each.Text(field::kName, type.name);
      each.List(field::kCpus, type.cpus);
    });
  }
}

template <class Archive, class Settings>
void DescribeSettings(Archive& archive, Settings& settings) {
  archive.Figure(field::kIterations, settings.iterations);
  archive.Figure(field::kDurationS, settings.duration_s);
  archive.Count(field::kWarmup, settings.warmup);
  archive.Count(field::kProcesses, settings.processes);
  archive.Figure(field::kThreads, settings.threads);
  archive.Count(field::kSeed, settings.seed);
  archive.Text(field::kLevel, settings.level);
  archive.Text(field::kMethod, settings.method);
}

template <class Archive, class Memory>
void DescribeMemory(Archive& archive, Memory& memory) {
  archive.Figure(field::kPlannedBytes, memory.planned_bytes);
  archive.List(field::kPlannedBuffers, memory.planned_buffers);
  archive.Figure(field::kMethodAllocations, memory.method_allocations);
  archive.Figure(field::kMethodBytes, memory.method_bytes);
  archive.Figure(field::kRunAllocations, memory.run_allocations);
  archive.Figure(field::kRunBytes, memory.run_bytes);
  archive.Figure(field::kPeakRssBytes, memory.peak_rss_bytes);
}

}  // namespace inferprobe::result_json
