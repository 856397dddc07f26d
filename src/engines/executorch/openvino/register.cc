// What libinferprobe_delegate_openvino.so exports: our delegate for programs that have a runtime of
// their own (ExecuTorch in Python, a runner). inferprobe's own engine has it built in.
#include <executorch/runtime/backend/interface.h>

#include "engines/executorch/openvino/openvino_backend.h"

// 0, or ExecuTorch's error code: 0x12 where a delegate of this name is registered already.
// NOLINTBEGIN(readability-identifier-naming): it is C
extern "C" __attribute__((visibility("default"))) int inferprobe_register_openvino_delegate();
extern "C" int inferprobe_register_openvino_delegate() {
  using inferprobe::openvino::kBackendId;
  return static_cast<int>(::executorch::runtime::register_backend(
      {kBackendId, inferprobe::openvino::TheOpenvinoBackend()}));
}
// NOLINTEND(readability-identifier-naming)
