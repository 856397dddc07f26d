// Every backend that registers passes through here and is wrapped (wrapped_backend.h): also one
// that nobody here has seen. And one id, OpenvinoBackend, has two backends behind it, ours and
// ExecuTorch's own, between which a load-time option chooses.
//
// How: this room defines executorch::runtime::register_backend. Where the plugin, or a program that
// is linked with it, brings a backend's library, the loader finds our definition before that of
// libexecutorch.so. It forwards to the real one.
//
// The rule that people break: the backends' initialisers run before ours. Nothing here may need an
// initialiser of its own. A backend that was registered before, by another library of the process,
// is not wrapped: UnwrappedBackends() names it. Under the id OpenvinoBackend such a one keeps ours
// out, and a program that needs that id is refused.
#pragma once

#include <string>
#include <vector>

namespace inferprobe::executorch_engine {

// Load-time option of OpenvinoBackend: "ours" (the default) or "stock".
constexpr const char* kOpenvinoChoiceKey = "openvino_delegate";

// Registers what is ours; later calls do nothing. To be called before the first program is loaded.
// No engine is opened for it: a program without OpenVINO's delegates does not bring OpenVINO.
void RegisterOwnBackends();

// Whether OpenvinoBackend is ours; false where another library was first.
bool OwnOpenvinoIsRegistered();

// Ids of backends whose calls are not seen, sorted.
std::vector<std::string> UnwrappedBackends();

// Whether ExecuTorch's own OpenVINO delegate is there.
bool HasStockOpenvino();

}  // namespace inferprobe::executorch_engine
