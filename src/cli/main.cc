// The command line: flags, help and exit codes. The only file that includes CLI11, which costs
// seconds of compile time.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "inferprobe/config.h"
#include "measure/worker.h"

namespace inferprobe::cli {
namespace {

constexpr const char* kAbout =
    "Shows where inference time really goes, and prints no number that it did not measure.";

constexpr const char* kExamples = R"(Examples:
  inferprobe perf samples/vision_xnnpack.pte
  inferprobe perf model.pte --input 0=image.npy --trace out.pftrace --output result.json
  inferprobe tune model.pte --threads 1,2,4
  inferprobe show out.pftrace
  inferprobe convert run.etdp run.pftrace
  inferprobe doctor

Exit codes: 0 good, 1 failed, 2 wrong usage. `inferprobe COMMAND --help` says more.)";

constexpr const char* kPerfExamples = R"(Examples:
  inferprobe perf model.pte                           latency, operators, delegates
  inferprobe perf model.pte --iterations 200          exactly 200 measured runs
  inferprobe perf model.pte --input 0=x.npy --input 1=y.npy
  inferprobe perf model.bpte                          checks the expected outputs, too
  inferprobe perf model.pte --trace t.pftrace         open it in ui.perfetto.dev
  inferprobe perf model.pte --etdump t.etdp           open it with executorch.devtools.Inspector
  inferprobe perf model.pte --processes 5 --output r.json
  inferprobe perf model.pte --regions                 which parallel loops leave cores idle
  inferprobe perf net.py:make_net --shape x=1x3x64x64 a PyTorch module that a function makes
  inferprobe perf model.pt2                           an AOTInductor package; .pt: TorchScript

Latency comes from a loop without profiling. Operators come from a profiled one; what profiling
costs is measured and printed. By default at least 100 runs and 1 s, until the median is known to
+-1 %, at most 10 s.)";

constexpr const char* kTuneExamples = R"(Examples:
  inferprobe tune model.pte                           1, 2, 4, ... threads against the default
  inferprobe tune model.pte --threads 1,2,4
  inferprobe tune model.pte --rounds 20 --duration 0.5 --format json

Each round starts a fresh process of each candidate, in random order, and the default twice. The
clock alone decides: a candidate is faster when its outputs are the default's and the whole interval
of its ratio is below 1. What explains it (efficiency, idle cores) is printed beside it.

Exit codes: 0 good, also when nothing is better, 1 failed, 2 wrong usage.)";

constexpr const char* kShowExamples = R"(Examples:
  inferprobe show run.etdp                            an ETDump, of ExecuTorch's or of ours
  inferprobe show result.json                         what `perf --output` wrote
  inferprobe show run.pftrace --events --format csv   every slice
  inferprobe show result.json --regions               its parallel regions alone
  inferprobe show killed.ring                         what a killed process had recorded
  inferprobe show phone.etdp --input-unit us --delegate-clock DELEGATE_CALL@3=52.08
  inferprobe show run.etdp --strict                   exit 1 if data is missing

What FILE is, is decided by its content, not by its name. An ETDump does not say the unit of its
times: nanoseconds, unless --input-unit tells.

Exit codes: 0 good, 1 broken or missing file, or lost data with --strict, 2 wrong usage.)";

constexpr const char* kConvertExamples = R"(Examples:
  inferprobe convert run.etdp run.pftrace             open it in ui.perfetto.dev
  inferprobe convert run.pftrace run.etdp             open it with executorch.devtools.Inspector
  inferprobe convert run.etdp run.json                the figures, as `perf --output` writes them
  inferprobe convert run.etdp trace.bin --to perfetto

What the target has no place for is counted and listed.

Exit codes: 0 good, 1 failed, or lost data with --strict, 2 wrong usage, or OUT exists.)";

constexpr const char* kDoctorExamples = R"(Examples:
  inferprobe doctor
  inferprobe doctor --format json

Each row is an engine, clock, counter, source of disturbances or hook: there, or why not and what to
do.)";

// CLI11 alone would take "-1" for 2^64 - 1.
std::string WholeNumber(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? "" : "\"" + text + "\" is no whole number from 0 to 18446744073709551615";
}

// In the words of this command line.
std::string TextOf(const CLI::ParseError& error) {
  constexpr std::string_view kValueForFlag = " was given a disallowed flag override";
  std::string text = error.what();
  if (!text.ends_with(kValueForFlag)) return text;
  return "--" + text.substr(0, text.size() - kValueForFlag.size()) + " takes no value";
}

std::string IsLevel(const std::string& text) {
  const std::string key = text.substr(0, text.find('=') + 1);
  auto level = ParseProfileLevel("level", text.substr(key.size()));
  return level ? "" : key + level.error().message.substr(std::string("level: ").size());
}

std::string NotEmpty(const std::string& text) {
  return text.empty() ? "the name of the file is empty" : "";
}

void AddFormat(CLI::App* command, std::string* format) {
  command->add_option("--format", *format, "How rows are printed")
      ->check(CLI::IsMember({"table", "json", "csv", "markdown"}))
      ->capture_default_str();
}

// Which model, and what it is fed with.
void AddModelFlags(CLI::App* command, measure::PerfOptions* options) {
  // Checked after parsing: CLI11 would name a missing MODEL before an unknown flag.
  command->add_option("MODEL", options->model, "The model's file, or FILE.py:FUNCTION");
  command->add_option("--engine", options->engine, "Engine; default: by the file's content");
  command->add_option("--method", options->method, "Method to run")->capture_default_str();
  command
      ->add_option("--input", options->inputs,
                   "An input: NAME=FILE.npy, INDEX=FILE.npy, or FILE.npy in order; default: random")
      ->allow_extra_args(false);
  command
      ->add_option("--shape", options->shapes,
                   "Shape of a random input, where the model leaves it open: NAME=1x3x224x224")
      ->allow_extra_args(false);
  command->add_option("--data", options->data_files, "Tensors kept apart from the program (.ptd)")
      ->allow_extra_args(false);
  command
      ->add_option("--seed", options->seed,
                   "Seed of random inputs; default: 0, or a bundled program's own inputs")
      ->check(WholeNumber);
  command
      ->add_option("--delegate", options->delegates,
                   "Which delegate runs: openvino=ours, openvino=async (enqueue and wait apart) or "
                   "openvino=stock (ExecuTorch's own)")
      ->check(CLI::IsMember({"openvino=ours", "openvino=async", "openvino=stock"}))
      ->allow_extra_args(false);
}

// How long each process measures.
void AddLengthFlags(CLI::App* command, measure::PerfOptions* options) {
  auto* iterations = command->add_option("--iterations", options->iterations,
                                         "Exactly this many measured runs in each process");
  iterations->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
  command->add_option("--duration", options->duration_s, "Seconds of measured runs in each process")
      ->check(CLI::Range(0.001, 86400.0))
      ->excludes(iterations);
  command->add_option("--warmup", options->warmup, "Runs before the measurement")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1'000'000}))
      ->capture_default_str();
}

void AddPerf(CLI::App* command, PerfCommand* perf) {
  measure::PerfOptions& options = perf->options;
  command->footer(kPerfExamples);
  AddModelFlags(command, &options);
  AddLengthFlags(command, &options);
  command->add_option("--processes", options.processes, "Fresh processes, one after another")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  command
      ->add_option("--threads", options.threads, "Threads of the engine's pool; default: its own")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--ring-events", options.ring_events,
                   "Events that a thread can hold between drains; default: 65536, or more with "
                   "--regions")
      ->check(CLI::Range(256U, 1U << 24));
  command
      ->add_option("--level", perf->levels,
                   "What is seen of delegates: off, delegate (each call; the default), phases (its "
                   "host phases), layers (the engine's own); of one alone: openvino=layers")
      ->check(IsLevel)
      ->allow_extra_args(false);
  command
      ->add_option("--profile-format", options.profile_format,
                   "Where layers go: etdump (the result and its traces), perfetto or trex (files)")
      ->check(CLI::IsMember({"etdump", "perfetto", "trex"}))
      ->capture_default_str();
  command
      ->add_option("--profile-path-prefix", options.profile_path_prefix,
                   "Folder of the files of perfetto and trex")
      ->check(NotEmpty);
  // A flag: a value behind a space would be the model.
  command
      ->add_flag("--regions{busy}", options.regions,
                 "Look at parallel loops in the profiled runs: =wall (their time), =busy (and who "
                 "took part, how long; the default), =cpu (and CPU clocks, which cost most)")
      ->disable_flag_override(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->check(CLI::IsMember({"wall", "busy", "cpu"}));
  command->add_option("--output", options.output, "Write the result as JSON")->check(NotEmpty);
  command->add_option("--trace", options.trace, "Write a Perfetto trace")->check(NotEmpty);
  command->add_option("--etdump", options.etdump, "Write an ETDump")->check(NotEmpty);
  command->add_flag("--force", options.force, "Replace outputs that exist");
  command->add_flag("--all", perf->all_rows, "Print every row, also the small ones");
  command->add_flag("--quiet", perf->quiet, "Print nothing but errors");
  AddFormat(command, &perf->format);
}

void AddTune(CLI::App* command, TuneCommand* tune) {
  command->footer(kTuneExamples);
  AddModelFlags(command, &tune->options.perf);
  AddLengthFlags(command, &tune->options.perf);
  command
      ->add_option("--threads", tune->options.threads,
                   "Sizes of the engine's pool to try: 1,2,4; default: 1, 2, 4, ... up to the CPUs")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->allow_extra_args(false);
  command->add_option("--grain", tune->grains, "Not adjustable in a model; says what is")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--rounds", tune->options.rounds, "Processes of each candidate")
      ->check(CLI::Range(3U, 1000U))
      ->capture_default_str();
  command->add_flag("--quiet", tune->quiet, "No progress");
  AddFormat(command, &tune->format);
}

void AddReadFlags(CLI::App* command, ReadFlags* flags) {
  command
      ->add_option("--input-unit", flags->input_unit,
                   "Unit of an ETDump's times: ns, us, ms, s, or nanoseconds as a number")
      ->type_name("UNIT");
  command
      ->add_option("--delegate-clock", flags->delegate_clocks,
                   "Tick of a delegate's own clock: NAME=NS_PER_TICK")
      ->type_name("NAME=NS")
      ->allow_extra_args(false);
  command->add_flag("--strict", flags->strict, "Exit 1 if data was lost");
}

void AddShow(CLI::App* command, ShowCommand* show) {
  command->footer(kShowExamples);
  command->add_option("FILE", show->path, "A trace, a recording or a result");
  auto* events =
      command->add_flag("--events", show->events, "Every slice, with start_ns and dur_ns");
  command->add_flag("--regions", show->regions, "Parallel regions alone")->excludes(events);
  command->add_flag("--all", show->all_rows, "Print every row, also the small ones");
  AddReadFlags(command, &show->read);
  AddFormat(command, &show->format);
}

void AddConvert(CLI::App* command, ConvertCommand* convert) {
  command->footer(kConvertExamples);
  command->add_option("IN", convert->in, "A trace, a recording or a result");
  command
      ->add_option("OUT", convert->out, "What to write: .etdp, .pftrace, .perfetto-trace or .json")
      ->check(NotEmpty);
  command->add_option("--to", convert->to, "Format of OUT, whatever its name ends in")
      ->type_name("etdump|perfetto|trex|json");
  command->add_flag("--force", convert->force, "Replace OUT if it exists");
  command->add_flag("--quiet", convert->quiet, "Print nothing but errors");
  AddReadFlags(command, &convert->read);
}

// "--regions=" is as "--regions" to CLI11, which means busy.
bool HasEmptyRegions(int argc, char** argv) {
  char** const end = argv + argc;
  const auto is = [](std::string_view wanted) {
    return [wanted](std::string_view word) { return word == wanted; };
  };
  return std::any_of(argv, std::find_if(argv, end, is("--")), is("--regions="));
}

// "--regions busy model.pte" has the model "busy": what is meant, or "".
std::string WhatRegionsMeans(int argc, char** argv) {
  for (int i = 0; i + 1 < argc; ++i) {
    const std::string_view next = argv[i + 1];
    if (std::string_view(argv[i]) != "--regions") continue;
    if (next != "wall" && next != "busy" && next != "cpu") continue;
    return "it takes its value behind \"=\": --regions=" + std::string(next);
  }
  return "";
}

// A command without the file that it is about.
int PrintMissing(const char* command, const char* what, const char* example) {
  return PrintError({ErrorCode::kInvalidArgument, std::string(command) + " needs " + what,
                     std::string("for example: inferprobe ") + command + " " + example});
}

int Main(int argc, char** argv) {
  CLI::App app(kAbout, "inferprobe");
  app.footer(kExamples);
  app.set_version_flag("--version", "inferprobe " INFERPROBE_VERSION);
  app.require_subcommand(1);
  app.option_defaults()->disable_flag_override();  // else --strict=no would be taken

  PerfCommand perf;
  AddPerf(
      app.add_subcommand("perf", "Measure a model: latency, operators, delegates")->alias("bench"),
      &perf);
  TuneCommand tune;
  AddTune(app.add_subcommand("tune", "Find the number of threads that runs a model fastest"),
          &tune);
  ShowCommand show;
  AddShow(app.add_subcommand("show", "Open a trace, a recording or a result"), &show);
  ConvertCommand convert;
  AddConvert(app.add_subcommand("convert",
                                "Turn an ETDump, Perfetto trace or recording into "
                                "another format"),
             &convert);
  DoctorCommand doctor;
  CLI::App* doctor_app =
      app.add_subcommand("doctor", "What can be measured on this machine, and why the rest cannot");
  doctor_app->footer(kDoctorExamples);
  AddFormat(doctor_app, &doctor.format);
  // Started by perf; hidden from the help.
  app.add_subcommand("worker")->group("");

  const std::string first = argc > 1 ? argv[1] : "";
  const std::vector<CLI::App*> commands = app.get_subcommands([](CLI::App*) { return true; });
  const bool known = std::any_of(commands.begin(), commands.end(),
                                 [&](CLI::App* command) { return command->check_name(first); });
  if (!first.empty() && first[0] != '-' && !known) {
    return PrintError(
        {ErrorCode::kInvalidArgument, "there is no command \"" + first + "\"",
         "commands: perf, tune, show, convert, doctor; `inferprobe --help` says more"});
  }
  try {
    app.parse(argc, argv);
    if (app.got_subcommand("perf") && HasEmptyRegions(argc, argv)) {
      throw CLI::ValidationError("--regions", "its value is empty: wall, busy or cpu");
    }
  } catch (const CLI::Success& help_or_version) {
    std::ostringstream text;
    app.exit(help_or_version, text, text);
    auto printed = PrintText(text.str());
    return printed ? kGood : PrintError(printed.error());
  } catch (const CLI::ParseError& error) {
    const std::string command = app.get_subcommands().empty()
                                    ? "inferprobe"
                                    : "inferprobe " + app.get_subcommands().front()->get_name();
    const bool extra_word = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
    const std::string meant = extra_word ? WhatRegionsMeans(argc, argv) : std::string();
    return PrintError({ErrorCode::kInvalidArgument, TextOf(error),
                       meant.empty() ? "`" + command + " --help` says what there is" : meant});
  }
  if (app.got_subcommand("worker")) return measure::RunWorker();
  if (app.got_subcommand("doctor")) return RunDoctorCommand(doctor);
  if (app.got_subcommand("show")) {
    if (show.path.empty()) return PrintMissing("show", "a file", "run.etdp");
    return RunShowCommand(show);
  }
  if (app.got_subcommand("convert")) {
    if (convert.in.empty() || convert.out.empty()) {
      return PrintMissing("convert", "a file to read and one to write", "run.etdp run.pftrace");
    }
    return RunConvertCommand(convert);
  }
  if (app.got_subcommand("tune")) {
    if (tune.options.perf.model.empty()) {
      return PrintMissing("tune", "the file of a model", "samples/vision_xnnpack.pte");
    }
    return RunTuneCommand(tune);
  }
  if (perf.options.model.empty()) {
    return PrintMissing("perf", "the file of a model", "samples/vision_xnnpack.pte");
  }
  return RunPerfCommand(perf);
}

// Takes none itself.
int PrintNoMemory() {
  std::fputs(
      "inferprobe: not enough memory\n"
      "  close other programs, raise the limit (`ulimit -v`), or use a larger machine\n",
      stderr);
  return kFailed;
}

}  // namespace
}  // namespace inferprobe::cli

int main(int argc, char** argv) {
  // What is read and printed takes memory in proportion to it.
  try {
    return inferprobe::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    return inferprobe::cli::PrintNoMemory();
  } catch (const std::length_error&) {
    return inferprobe::cli::PrintNoMemory();
  }
}
