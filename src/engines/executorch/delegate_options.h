// From what a user chose to what ExecuTorch hands to each backend when a method is loaded.
//
// The rule that people break: ExecuTorch keeps pointers. The options live at least as long as the
// load that they are given to.
#pragma once

#include <executorch/runtime/backend/backend_options_map.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inferprobe/config.h"

namespace inferprobe::executorch_engine {

// A backend's id for a message: it comes out of a file.
std::string ShownId(const std::string& id);

struct DelegateChoices {
  bool stock_openvino = false;
  std::optional<bool> async_openvino;          // not chosen: as the program has it
  std::map<std::string, ProfileLevel> levels;  // by prefix
};
// "openvino=ours", "openvino=async", "openvino=stock"; two that differ are refused.
Result<DelegateChoices> ParseDelegateChoices(const std::vector<std::string>& choices);

// "openvino=layers", "xnnpackbackend=off"; two that differ for one delegate are refused.
Result<std::map<std::string, ProfileLevel>> ParseDelegateLevels(
    const std::vector<std::string>& levels);

class DelegateLoadOptions {
 public:
  // For each of `backends`: `config` under the keys that its events have as prefix. A level for a
  // prefix that none of them has is an error.
  static Result<std::unique_ptr<DelegateLoadOptions>> Make(const std::vector<std::string>& backends,
                                                           const ProfileConfig& config,
                                                           const DelegateChoices& choices);
  [[nodiscard]] const ::executorch::runtime::LoadBackendOptionsMap* map() const { return &map_; }

 private:
  DelegateLoadOptions() = default;
  std::vector<std::vector<::executorch::runtime::BackendOption>> options_;
  ::executorch::runtime::LoadBackendOptionsMap map_;
};

}  // namespace inferprobe::executorch_engine
