#include "engines/executorch/backend_registration.h"

#include <dlfcn.h>
#include <executorch/runtime/backend/interface.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string_view>

#include "engines/executorch/backend_choice.h"
#include "engines/executorch/openvino/openvino_api.h"
#include "engines/executorch/openvino/openvino_backend.h"
#include "engines/executorch/wrapped_backend.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;

using Register = et::Error (*)(const et::Backend&);

struct Registrations {
  std::mutex mutex;
  std::deque<WrappedBackend> wrapped;  // stay where they are
  const WrappedBackend* stock_openvino = nullptr;
  const BackendChoice* openvino = nullptr;
};

// Made on first use, which may be before any initialiser of ours; never destroyed.
Registrations& All() {
  static auto* all = new Registrations;
  return *all;
}

// libexecutorch.so's own. Not RTLD_NEXT: that looks behind the program, and a plugin is not there.
Register RealRegister() {
  void* library = dlopen("libexecutorch.so", RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return nullptr;
  void* symbol = dlsym(library, "_ZN10executorch7runtime16register_backendERKNS0_7BackendE");
  dlclose(library);  // as often as it was opened: it stays loaded
  return reinterpret_cast<Register>(symbol);
}

et::Error RegisterWrapped(const et::Backend& backend) {
  const Register real = RealRegister();
  if (real == nullptr || backend.name == nullptr || backend.backend == nullptr) {
    return et::Error::InvalidState;
  }
  Registrations& all = All();
  const std::lock_guard lock(all.mutex);
  WrappedBackend& wrapped = all.wrapped.emplace_back(backend.name, backend.backend);
  // Ours has this id; the stock one stands behind it.
  if (std::string_view(backend.name) == openvino::kBackendId) {
    all.stock_openvino = &wrapped;
    return et::Error::Ok;
  }
  const et::Error error = real({backend.name, &wrapped});
  if (error != et::Error::Ok) all.wrapped.pop_back();
  return error;
}

// The stock delegate opens OpenVINO by this variable, and by a name that the wheel does not have.
// Opening it costs milliseconds and megabytes, and the variable is the whole process's: only where
// that delegate was chosen.
void PointStockToOpenvino() {
  static std::once_flag once;
  std::call_once(once, [] {
    const std::string library = openvino::OpenvinoLibraryPath();
    if (!library.empty()) setenv("OPENVINO_LIB_PATH", library.c_str(), /*overwrite=*/1);
  });
}

}  // namespace

void RegisterOwnBackends() {
  static std::once_flag once;
  std::call_once(once, [] {
    const Register real = RealRegister();
    if (real == nullptr) return;
    Registrations& all = All();
    const std::lock_guard lock(all.mutex);
    auto* choice = new BackendChoice(kOpenvinoChoiceKey, openvino::TheOpenvinoBackend(),
                                     all.stock_openvino, PointStockToOpenvino);
    all.openvino = choice;  // never destroyed: ExecuTorch has no way to take a backend back
    // A refusal is seen where it matters: OwnOpenvinoIsRegistered().
    static_cast<void>(real({openvino::kBackendId, choice}));
  });
}

bool OwnOpenvinoIsRegistered() {
  Registrations& all = All();
  const std::lock_guard lock(all.mutex);
  return all.openvino != nullptr && et::get_backend_class(openvino::kBackendId) == all.openvino;
}

bool HasStockOpenvino() {
  Registrations& all = All();
  const std::lock_guard lock(all.mutex);
  return all.stock_openvino != nullptr;
}

std::vector<std::string> UnwrappedBackends() {
  Registrations& all = All();
  const std::lock_guard lock(all.mutex);
  std::vector<std::string> names;
  for (size_t i = 0; i < et::get_num_registered_backends(); ++i) {
    const auto name = et::get_backend_name(i);
    if (!name.ok()) continue;
    const et::BackendInterface* registered = et::get_backend_class(*name);
    const bool seen =
        registered == all.openvino ||
        std::any_of(all.wrapped.begin(), all.wrapped.end(),
                    [&](const WrappedBackend& wrapped) { return registered == &wrapped; });
    if (!seen) names.emplace_back(*name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace inferprobe::executorch_engine

// Found by the loader in the place of libexecutorch.so's.
namespace executorch::ET_RUNTIME_NAMESPACE {
__attribute__((visibility("default"))) Error register_backend(const Backend& backend) {
  return inferprobe::executorch_engine::RegisterWrapped(backend);
}
}  // namespace executorch::ET_RUNTIME_NAMESPACE
