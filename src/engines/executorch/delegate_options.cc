#include "engines/executorch/delegate_options.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "engines/executorch/backend_registration.h"
#include "engines/executorch/openvino/openvino_backend.h"
#include "engines/executorch/wrapped_backend.h"
#include "inferprobe/executorch_delegate.h"

namespace inferprobe::executorch_engine {

namespace kit = ::inferprobe::executorch_delegate;

std::string ShownId(const std::string& id) {
  constexpr size_t kColumns = 80;
  return base::CutToWidth(base::TerminalText(id), kColumns);
}

Result<DelegateChoices> ParseDelegateChoices(const std::vector<std::string>& choices) {
  DelegateChoices chosen;
  for (const std::string& choice : choices) {
    if (choice == choices.front()) continue;
    return MakeError(ErrorCode::kInvalidArgument,
                     "two delegates are chosen: " + choices.front() + " and " + choice,
                     "give one of them");
  }
  for (const std::string& choice : choices) {
    const size_t at = choice.find('=');
    const std::string delegate = choice.substr(0, at);
    const std::string variant = at == std::string::npos ? "" : choice.substr(at + 1);
    const bool known = variant == "ours" || variant == "async" || variant == "stock";
    if (delegate != openvino::kPrefix || !known) {
      return MakeError(ErrorCode::kInvalidArgument,
                       "no such delegate to choose: \"" + choice + "\"",
                       "openvino=ours, openvino=async (enqueue and wait apart) or openvino=stock "
                       "(ExecuTorch's own)");
    }
    chosen.stock_openvino = variant == "stock";
    chosen.async_openvino = variant == "async";
  }
  if (chosen.stock_openvino && !HasStockOpenvino()) {
    return MakeError(ErrorCode::kNotBuiltIn,
                     "this build has no stock OpenVINO delegate: the executorch wheel that it was "
                     "built with brings none");
  }
  return chosen;
}

Result<std::map<std::string, ProfileLevel>> ParseDelegateLevels(
    const std::vector<std::string>& levels) {
  std::map<std::string, ProfileLevel> parsed;
  for (const std::string& text : levels) {
    const size_t at = text.find('=');
    const std::string prefix = text.substr(0, at);
    if (prefix.empty()) {
      return MakeError(ErrorCode::kInvalidArgument, "level \"" + text + "\" names no delegate",
                       "give DELEGATE=LEVEL, as openvino=layers, or a level for all");
    }
    auto level = ParseProfileLevel(
        "level of " + prefix, at == std::string::npos ? "" : std::string_view(text).substr(at + 1));
    if (!level) return tl::unexpected(level.error());
    const auto [first, is_first] = parsed.emplace(prefix, *level);
    if (!is_first && first->second != *level) {
      return MakeError(ErrorCode::kInvalidArgument,
                       "two levels of " + prefix + ": " + ProfileLevelName(first->second) +
                           " and " + ProfileLevelName(*level),
                       "give one of them");
    }
  }
  return parsed;
}

Result<std::unique_ptr<DelegateLoadOptions>> DelegateLoadOptions::Make(
    const std::vector<std::string>& backends, const ProfileConfig& config,
    const DelegateChoices& choices) {
  std::unique_ptr<DelegateLoadOptions> made(new DelegateLoadOptions);
  const auto prefix_of = [&](const std::string& backend) {
    return backend == openvino::kBackendId && !choices.stock_openvino
               ? std::string(openvino::kPrefix)
               : EventPrefixOf(backend);
  };
  for (const auto& [prefix, level] : choices.levels) {
    std::string known;
    for (const std::string& backend : backends) {
      known += (known.empty() ? "" : ", ") + ShownId(prefix_of(backend));
    }
    const bool found = std::any_of(
        backends.begin(), backends.end(),
        [&, &name = prefix](const std::string& backend) { return prefix_of(backend) == name; });
    if (found) continue;
    return MakeError(ErrorCode::kInvalidArgument,
                     "level of " + prefix + ": the method has no such delegate",
                     known.empty() ? "it has none" : "it has " + known);
  }
  for (const std::string& backend : backends) {
    const bool openvino = backend == openvino::kBackendId;
    const std::string prefix = prefix_of(backend);
    ProfileConfig own = config;
    if (const auto level = choices.levels.find(prefix);
        level != choices.levels.end() && config.level_is_given) {
      own.level = level->second;
    }
    auto options = kit::OptionsOf(prefix, own);
    if (!options) return tl::unexpected(options.error());
    if (openvino) {
      auto choice = kit::MakeOption(kOpenvinoChoiceKey,
                                    std::string_view(choices.stock_openvino ? "stock" : "ours"));
      if (!choice) return tl::unexpected(choice.error());
      options->push_back(*choice);
      if (!choices.stock_openvino && choices.async_openvino) {
        auto async = kit::MakeOption("openvino_async", *choices.async_openvino);
        if (!async) return tl::unexpected(async.error());
        options->push_back(*async);
      }
    }
    made->options_.push_back(std::move(*options));
  }
  for (size_t i = 0; i < backends.size(); ++i) {
    auto& options = made->options_[i];
    if (made->map_.set_options(backends[i].c_str(), {options.data(), options.size()}) !=
        ::executorch::runtime::Error::Ok) {
      return MakeError(ErrorCode::kUnsupported,
                       "backend \"" + ShownId(backends[i]) +
                           "\" cannot be given options: ExecuTorch takes 8 backends in a method, "
                           "and names of up to 63 bytes");
    }
  }
  return made;
}

}  // namespace inferprobe::executorch_engine
