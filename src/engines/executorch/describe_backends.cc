#include "engines/executorch/describe_backends.h"

#include <executorch/runtime/backend/interface.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engines/executorch/backend_registration.h"
#include "engines/executorch/engine.h"
#include "engines/executorch/openvino/openvino_api.h"
#include "engines/executorch/openvino/openvino_backend.h"

namespace inferprobe::executorch_engine {
namespace {

using profile::Metric;
using profile::Missing;
using profile::Status;

Metric<std::string> OpenvinoState() {
  const auto api = openvino::LoadOpenvino();
  if (!api) {
    // Its further lines are the places that were looked at: `perf` prints them.
    const Error& error = api.error();
    const std::string what = error.message.substr(0, error.message.find("; looked at:"));
    return Missing{Status::kUnavailable, fmt::format("{}; {}", what, error.hint)};
  }
  return fmt::format(
      "from inside: phases, layers; the process-wide switch reaches it; OpenVINO {} at {}{}",
      (*api)->version, (*api)->library,
      HasStockOpenvino() ? "; ExecuTorch's own with --delegate openvino=stock" : "");
}

Metric<std::string> StateOf(const std::string& name, const std::vector<std::string>& unwrapped) {
  const bool is_unwrapped = std::find(unwrapped.begin(), unwrapped.end(), name) != unwrapped.end();
  if (is_unwrapped && name == openvino::kBackendId) {
    return Missing{Status::kUnavailable,
                   "another library registered it before inferprobe's engine was loaded: programs "
                   "that need it are refused"};
  }
  if (name == openvino::kBackendId) return OpenvinoState();
  if (is_unwrapped) {
    return Missing{Status::kUnavailable,
                   "it was registered before inferprobe's engine was loaded, so its calls are not "
                   "seen; the runtime's own event around each is"};
  }
  const auto* backend = ::executorch::runtime::get_backend_class(name.c_str());
  if (backend != nullptr && !backend->is_available()) {
    return Missing{Status::kUnavailable, "it says itself that what it needs is not there"};
  }
  return std::string(
      "from outside: calls, loading, what it reports itself; no phases; the process-wide switch "
      "does not reach it");
}

}  // namespace

std::vector<measure::BackendDescription> DescribeBackends() {
  RegisterOwnBackends();
  const std::vector<std::string> unwrapped = UnwrappedBackends();
  std::vector<measure::BackendDescription> described;
  for (const std::string& name : RegisteredBackends()) {
    described.push_back({name, StateOf(name, unwrapped)});
  }
  return described;
}

}  // namespace inferprobe::executorch_engine
