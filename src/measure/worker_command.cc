#include "measure/worker_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/process.h"
#include "measure/engine_registry.h"

namespace inferprobe::measure {
namespace {

constexpr int kAskMs = 30'000;  // importing from a cold disk
constexpr std::string_view kAnswer = "inferprobe-python";

// -P: the folder that the user is in may hold a file torch.py.
const std::vector<std::string> kWorkerArgs = {"-P", "-m", "inferprobe", "worker"};

// Why a Python cannot be the worker; nullopt: it can.
std::optional<std::string> WhyNot(const std::string& python, std::string_view framework) {
  const std::string script = fmt::format(
      "import importlib.util, inferprobe; "
      "print('{}', inferprobe.__version__, importlib.util.find_spec('{}') is not None)",
      kAnswer, framework);
  base::SpawnOptions spawn;
  spawn.program = python;
  spawn.args = {"-P", "-c", script};
  auto process = base::Process::Spawn(spawn);
  if (!process) return process.error().message;
  auto exit = process->WaitOrKill(kAskMs);
  if (!exit) return exit.error().message;
  std::string_view output = process->Output();
  while (!output.empty() && output.back() == '\n') output.remove_suffix(1);
  const size_t answer = output.rfind(kAnswer);
  if (!exit->ok() || answer == std::string_view::npos) {
    const std::string_view last_line = output.substr(output.rfind('\n') + 1);
    return fmt::format("{}{}{}", exit->ok() ? "no answer" : exit->Text(),
                       last_line.empty() ? "" : ": ", last_line);
  }
  const std::string_view said = output.substr(answer + kAnswer.size() + 1);
  const std::string_view version = said.substr(0, said.find(' '));
  if (version != INFERPROBE_VERSION) {
    return fmt::format("it has inferprobe {}, and this is " INFERPROBE_VERSION, version);
  }
  if (!said.ends_with("True")) return fmt::format("it has no {}", framework);
  return std::nullopt;
}

// Where nobody names one: beside this program, that of the environment whose package this program
// lies in, and those in PATH.
std::vector<std::string> PythonsInReach() {
  std::vector<std::string> pythons;
  const auto add = [&](std::string path) {
    if (base::FileExists(path) && std::find(pythons.begin(), pythons.end(), path) == pythons.end())
      pythons.push_back(std::move(path));
  };
  const std::string program = base::DirectoryOf(base::ExecutablePath());
  add(program + "/python3");
  add(program + "/../../../../../bin/python3");  // from lib/pythonX/site-packages/inferprobe/bin
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    if (!folder.empty()) add(std::string(folder) + "/python3");
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return pythons;
}

}  // namespace

Result<WorkerCommand> WorkerCommandFor(const std::string& engine, const std::string& program,
                                       const std::string& python) {
  const EngineInfo* info = KnownEngine(engine);
  if (info == nullptr || !info->in_python) {
    return WorkerCommand{program.empty() ? base::ExecutablePath() : program, {"worker"}};
  }
  std::string named = python;
  if (const char* variable = std::getenv("INFERPROBE_PYTHON"); named.empty() && variable != nullptr)
    named = variable;
  const std::vector<std::string> pythons = named.empty() ? PythonsInReach() : std::vector{named};
  std::vector<std::string> refused;
  for (const std::string& candidate : pythons) {
    auto why = WhyNot(candidate, info->name);
    if (!why) return WorkerCommand{candidate, kWorkerArgs};
    refused.push_back(fmt::format("{}: {}", candidate, *why));
  }
  if (refused.empty()) refused.emplace_back("there is no python3 in PATH");
  return MakeError(ErrorCode::kNotBuiltIn,
                   fmt::format("no Python that has both inferprobe and {} was found: {}",
                               info->name, fmt::join(refused, "; ")),
                   fmt::format("{}; INFERPROBE_PYTHON says which Python is meant", info->install));
}

}  // namespace inferprobe::measure
