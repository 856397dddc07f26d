#include "cli/read_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/progress_line.h"

namespace inferprobe::cli {
namespace {

constexpr double kLongestTickNs = 1e12;

// A length in nanoseconds; nullopt: no positive number, or one that no clock has.
std::optional<double> Nanoseconds(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !std::isfinite(value) || value <= 0 || value > kLongestTickNs) return std::nullopt;
  return value;
}

Result<profile::ReadOptions> ReadOptionsOf(const ReadFlags& flags) {
  profile::ReadOptions options;
  const std::string& unit = flags.input_unit;
  if (unit == "ns") {
    options.input_unit_ns = 1;
  } else if (unit == "us") {
    options.input_unit_ns = 1e3;
  } else if (unit == "ms") {
    options.input_unit_ns = 1e6;
  } else if (unit == "s") {
    options.input_unit_ns = 1e9;
  } else if (!unit.empty()) {
    const std::optional<double> ns = Nanoseconds(unit);
    if (!ns) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("--input-unit \"{}\" is no unit", unit),
                       "ns, us, ms, s, or the nanoseconds of a tick: --input-unit 38.46");
    }
    options.input_unit_ns = *ns;
  }
  for (const std::string& text : flags.delegate_clocks) {
    const size_t equals = text.rfind('=');
    const std::optional<double> ns = equals == std::string::npos || equals == 0
                                         ? std::nullopt
                                         : Nanoseconds(std::string_view(text).substr(equals + 1));
    if (!ns) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("--delegate-clock \"{}\" is not NAME=NS_PER_TICK", text),
                       "for example: --delegate-clock DELEGATE_CALL@3=52.08");
    }
    options.delegate_clocks.push_back({text.substr(0, equals), *ns});
  }
  return options;
}

}  // namespace

Result<formats::Opened> OpenFile(const std::string& path, const ReadFlags& flags, bool quiet) {
  auto options = ReadOptionsOf(flags);
  if (!options) return tl::unexpected(options.error());
  const WaitingLine line("reading " + base::TerminalText(path),
                         !quiet && base::IsTerminal(base::StandardStream::kError));
  return formats::OpenFile(path, *options);
}

Result<void> CheckStrict(const ReadFlags& flags, const profile::LossCounts& losses,
                         const std::string& path) {
  if (!flags.strict || !losses.AnyDataLoss()) return {};
  std::string list;
  for (size_t i = 0; i < static_cast<size_t>(profile::Loss::kCount); ++i) {
    const auto loss = static_cast<profile::Loss>(i);
    const profile::LossInfo& info = profile::InfoOf(loss);
    if (losses.Get(loss) == 0 || info.severity != profile::Severity::kDataLoss) continue;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", losses.Get(loss), info.name);
  }
  return MakeError(ErrorCode::kMalformed, fmt::format("{}: data is missing: {}", path, list),
                   "--strict makes that a failure; without it, it is only listed");
}

}  // namespace inferprobe::cli
