#include "measure/worker_client.h"

#include <fmt/format.h>

#include "base/message_channel.h"
#include "base/process.h"
#include "base/shared_memory.h"
#include "measure/worker.h"
#include "record/block_reader.h"
#include "record/shared_block.h"

namespace inferprobe::measure {
namespace {

constexpr int kPollMs = 100;      // how soon a cancel is seen
constexpr int kSilentPolls = 20;  // without a word, before the worker is looked at
constexpr int kExitMs = 15'000;   // for an engine's destructors; a hanging one is killed

struct Started {
  base::Process process;
  base::MessageChannel channel;
};

Result<Started> Start(const WorkerCommand& command, int rings_fd) {
  auto pair = base::MessageChannel::CreatePair();
  if (!pair) return tl::unexpected(pair.error());
  base::SpawnOptions spawn;
  spawn.program = command.program;
  spawn.args = command.args;
  spawn.fds = {{pair->second.fd(), kWorkerChannelFd}};
  if (rings_fd >= 0) spawn.fds.push_back({rings_fd, kWorkerRingsFd});
  auto process = base::Process::Spawn(spawn);
  if (!process) return tl::unexpected(process.error());
  pair->second.Close();
  return Started{std::move(*process), std::move(pair->first)};
}

// "XnnpackBackend #0", for the track of what that delegate reports.
std::string EngineTrackName(const WorkerOutcome& outcome, int32_t instruction) {
  if (outcome.loaded && instruction >= 0) {
    const profile::ModelFacts& model = outcome.loaded->model;
    const auto index = static_cast<size_t>(instruction);
    if (index < model.instruction_delegates.size() && model.instruction_delegates[index] >= 0) {
      const auto delegate = static_cast<size_t>(model.instruction_delegates[index]);
      if (delegate < model.delegates.size()) {
        return fmt::format("{} #{}", model.delegates[delegate].backend, delegate);
      }
    }
  }
  return fmt::format("delegate at instruction {}", instruction);
}

std::string StoppedText(int64_t pid, const std::string& doing) {
  return fmt::format(
      "the worker process {} was stopped by a signal while {}: nothing goes on until `kill -CONT "
      "{}`; Ctrl-C ends the measurement",
      pid, doing, pid);
}

// The words for a worker that ended without `done` or `error`.
Error DeathOf(base::Process* process, const std::string& doing) {
  auto exit = process->WaitOrKill(kExitMs);
  std::string how = exit ? exit->Text() : exit.error().message;
  if (exit && exit->signal != 0) how = "was " + how;
  if (exit && exit->killed_for_hanging) how = "hung, and was killed";
  Error error;
  error.code = ErrorCode::kCrashed;
  error.message = fmt::format("the worker process {} while {}", how, doing);
  std::string_view output = process->Output();
  while (!output.empty() && output.back() == '\n') output.remove_suffix(1);
  if (output.size() > 500) output.remove_prefix(output.size() - 500);
  if (!output.empty()) error.message += fmt::format("; it last said: {}", output);
  error.hint = "the engine or one of its delegates crashed; inferprobe kept what it had recorded";
  return error;
}

}  // namespace

WorkerClient::WorkerClient(profile::Profile* profile, Sinks sinks, const std::atomic<bool>* cancel)
    : profile_(profile), sinks_(std::move(sinks)), cancel_(cancel) {}

Result<WorkerOutcome> WorkerClient::Run(const WorkerCommand& command, const PlanMessage& plan) {
  RecorderOptions recording;
  recording.events_per_thread = plan.options.ring_events;
  auto bytes = record::BlockBytes(recording);
  if (!bytes) return tl::unexpected(bytes.error());
  auto rings = base::SharedMemory::Create(*bytes, "inferprobe rings");
  if (!rings) return tl::unexpected(rings.error());
  auto started = Start(command, rings->fd());
  if (!started) return tl::unexpected(started.error());
  base::Process& process = started->process;
  base::MessageChannel& channel = started->channel;

  WorkerOutcome outcome;
  outcome.pid = process.pid();
  profile::RingImporter importer(profile_, plan.process, [&outcome](int32_t instruction) {
    return EngineTrackName(outcome, instruction);
  });
  bool attached = false;
  const auto import = [&]() -> Result<void> {
    if (!attached) {
      auto reader = record::BlockReader::Open(
          std::span(static_cast<const std::byte*>(rings->data()), rings->size()), "the rings",
          record::BlockReader::Access::kConsume);
      // A worker that died before it recorded anything leaves an empty block.
      if (!reader) return {};
      importer.Attach(std::move(*reader));
      attached = true;
    }
    return sinks_.imported(importer.Drain());
  };

  std::string doing = "starting";
  int silent_polls = 0;
  bool stop_told = false;
  INFERPROBE_RETURN_IF_ERROR(channel.Send(Encode(plan)));
  while (!outcome.done && !outcome.failure) {
    if (cancel_ != nullptr && cancel_->load()) {
      (void)import();
      return MakeError(ErrorCode::kCrashed, "interrupted",
                       plan.options.trace.empty()
                           ? ""
                           : "what had been recorded is in the trace's .partial file");
    }
    auto received = channel.Receive(kPollMs, &process);
    const bool gone = !received || received->what == base::Received::What::kClosed;
    if (gone) {
      outcome.died = true;
      outcome.failure = DeathOf(&process, doing);
      break;
    }
    if (received->what == base::Received::What::kTimeout) {
      // Most silence is a long run. Looked at every two seconds, and told once.
      if (++silent_polls % kSilentPolls != 0 || stop_told || !process.Stopped()) continue;
      stop_told = true;
      if (sinks_.notice) sinks_.notice(StoppedText(process.pid(), doing));
      continue;
    }
    silent_polls = 0;
    stop_told = false;
    auto message = Decode(received->message);
    if (!message) return tl::unexpected(message.error());
    if (auto* loaded = std::get_if<LoadedMessage>(&*message)) {
      profile_->clock = loaded->clock;
      outcome.loaded = std::move(*loaded);
    } else if (auto* phase = std::get_if<PhaseMessage>(&*message)) {
      doing = fmt::format("in the phase \"{}\"", phase->phase);
      if (sinks_.phase) sinks_.phase(*phase);
    } else if (std::holds_alternative<DrainMessage>(*message)) {
      INFERPROBE_RETURN_IF_ERROR(import());
      if (auto sent = channel.Send(Encode(DrainedMessage{})); !sent) continue;  // seen as closed
    } else if (auto* block = std::get_if<BlockMessage>(&*message)) {
      outcome.blocks.push_back(std::move(block->reading));
    } else if (auto* done = std::get_if<DoneMessage>(&*message)) {
      outcome.done = std::move(*done);
    } else if (auto* error = std::get_if<ErrorMessage>(&*message)) {
      outcome.failure = std::move(error->error);
    }
  }
  if (outcome.died) profile_->losses.Add(profile::Loss::kWorkerDied);
  INFERPROBE_RETURN_IF_ERROR(import());
  if (outcome.done) {
    // A crash after `done` (static destructors of an engine) harms no result, but is said.
    auto exit = process.WaitOrKill(kExitMs);
    if (exit && !exit->ok()) outcome.failure = DeathOf(&process, "exiting, after all was measured");
  }
  return outcome;
}

Result<DescribedMessage> DescribeEngine(const WorkerCommand& command, const std::string& engine) {
  auto started = Start(command, -1);
  if (!started) return tl::unexpected(started.error());
  PlanMessage plan;
  plan.describe = true;
  plan.options.engine = engine;
  INFERPROBE_RETURN_IF_ERROR(started->channel.Send(Encode(plan)));
  auto received = started->channel.Receive(30'000, &started->process);
  if (!received) return tl::unexpected(received.error());
  if (received->what == base::Received::What::kTimeout) {
    return MakeError(ErrorCode::kEngine, "the engine did not answer within 30 s");
  }
  if (received->what == base::Received::What::kClosed) {
    return tl::unexpected(DeathOf(&started->process, "loading the engine"));
  }
  auto message = Decode(received->message);
  if (!message) return tl::unexpected(message.error());
  if (auto* error = std::get_if<ErrorMessage>(&*message)) return tl::unexpected(error->error);
  if (auto* described = std::get_if<DescribedMessage>(&*message)) return std::move(*described);
  return MakeError(ErrorCode::kInternal, "the worker did not describe its engine");
}

}  // namespace inferprobe::measure
