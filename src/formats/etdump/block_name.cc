#include "formats/etdump/block_name.h"

#include <fmt/format.h>

namespace inferprobe::etdump {
namespace {

using profile::Loss;

constexpr std::string_view kExecute = "Execute";
constexpr std::string_view kBegin = "Execute (lost events: ";
constexpr std::string_view kEnd = ")";

}  // namespace

std::string BlockNameOf(const profile::Run& run) {
  if (!run.incomplete) return std::string(kExecute);
  return fmt::format("{}{}{}", kBegin, profile::InfoOf(run.why).name, kEnd);
}

std::optional<Loss> LossInBlockName(std::string_view name) {
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  const std::string_view cause = name.substr(kBegin.size(), name.size() - kBegin.size() - 1);
  return profile::LossNamed(cause).value_or(Loss::kIncompleteRun);
}

}  // namespace inferprobe::etdump
