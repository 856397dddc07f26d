// OpenVINO through its C API, opened at run time: this program is built without OpenVINO, and works
// with the one that is installed.
//
//   auto api = LoadOpenvino();
//   if (!api) return api.error();              // it names every place that was looked at
//   Core* core = nullptr;
//   if ((*api)->core_create(&core) != kOk) ... (*api)->get_last_err_msg() ...
//
// The rule that people break: these declarations are ours. They state the ABI of OpenVINO's C
// headers as they are in 2026.4.1 (unchanged since 2023.0 for what is used here); what is added is
// added to openvino_api_test.cc, which compares it with those headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "inferprobe/result.h"

namespace inferprobe::openvino {

// What only OpenVINO looks into: ov_core_t and so on.
struct Core;
struct CompiledModel;
struct InferRequest;
struct Tensor;

// ov_status_e. 0 is success, every error is negative; get_error_info() has its words.
using Status = int32_t;
constexpr Status kOk = 0;

// ov_element_type_e: those that a tensor of ExecuTorch's can have.
enum class ElementType : uint32_t {
  kDynamic = 0,
  kBoolean = 1,
  kBf16 = 2,
  kF16 = 3,
  kF32 = 4,
  kF64 = 5,
  kI8 = 7,
  kI16 = 8,
  kI32 = 9,
  kI64 = 10,
  kU8 = 16,
  kU16 = 17,
  kU32 = 18,
  kU64 = 19,
};

struct Shape {  // ov_shape_t
  int64_t rank = 0;
  int64_t* dims = nullptr;
};

enum class NodeStatus : uint32_t {  // ov_profiling_info_t::Status
  kNotRun = 0,                      // the CPU plugin says so also of a mean below one microsecond
  kOptimizedOut = 1,
  kExecuted = 2,
};

// ov_profiling_info_t: a node of the compiled graph. The times are means over all calls since the
// model was compiled, in whole microseconds, rounded down: see running_mean.h.
struct ProfilingInfo {
  NodeStatus status = NodeStatus::kNotRun;
  int64_t real_time = 0;
  int64_t cpu_time = 0;
  const char* node_name = nullptr;
  const char* exec_type = nullptr;
  const char* node_type = nullptr;
};

struct ProfilingInfoList {  // ov_profiling_info_list_t
  ProfilingInfo* profiling_infos = nullptr;
  size_t size = 0;
};

struct Version {  // ov_version_t
  const char* build_number = nullptr;
  const char* description = nullptr;
};

// Our name, OpenVINO's, and the type.
#define INFERPROBE_OPENVINO_FUNCTIONS(X)                                                   \
  X(get_openvino_version, ov_get_openvino_version, Status(Version*))                       \
  X(version_free, ov_version_free, void(Version*))                                         \
  X(get_error_info, ov_get_error_info, const char*(Status))                                \
  X(get_last_err_msg, ov_get_last_err_msg, const char*())                                  \
  X(free_text, ov_free, void(const char*))                                                 \
  X(core_create, ov_core_create, Status(Core**))                                           \
  X(core_free, ov_core_free, void(Core*))                                                  \
  X(core_set_property, ov_core_set_property, Status(const Core*, const char*, ...))        \
  X(core_get_property, ov_core_get_property,                                               \
    Status(const Core*, const char*, const char*, char**))                                 \
  X(core_import_model, ov_core_import_model,                                               \
    Status(const Core*, const char*, size_t, const char*, CompiledModel**))                \
  X(compiled_model_inputs_size, ov_compiled_model_inputs_size,                             \
    Status(const CompiledModel*, size_t*))                                                 \
  X(compiled_model_outputs_size, ov_compiled_model_outputs_size,                           \
    Status(const CompiledModel*, size_t*))                                                 \
  X(compiled_model_create_infer_request, ov_compiled_model_create_infer_request,           \
    Status(const CompiledModel*, InferRequest**))                                          \
  X(compiled_model_free, ov_compiled_model_free, void(CompiledModel*))                     \
  X(infer_request_set_input_tensor_by_index, ov_infer_request_set_input_tensor_by_index,   \
    Status(InferRequest*, size_t, const Tensor*))                                          \
  X(infer_request_set_output_tensor_by_index, ov_infer_request_set_output_tensor_by_index, \
    Status(InferRequest*, size_t, const Tensor*))                                          \
  X(infer_request_infer, ov_infer_request_infer, Status(InferRequest*))                    \
  X(infer_request_start_async, ov_infer_request_start_async, Status(InferRequest*))        \
  X(infer_request_wait, ov_infer_request_wait, Status(InferRequest*))                      \
  X(infer_request_get_profiling_info, ov_infer_request_get_profiling_info,                 \
    Status(const InferRequest*, ProfilingInfoList*))                                       \
  X(infer_request_free, ov_infer_request_free, void(InferRequest*))                        \
  X(profiling_info_list_free, ov_profiling_info_list_free, void(ProfilingInfoList*))       \
  X(tensor_create_from_host_ptr, ov_tensor_create_from_host_ptr,                           \
    Status(ElementType, Shape, void*, Tensor**))                                           \
  X(tensor_free, ov_tensor_free, void(Tensor*))                                            \
  X(shape_create, ov_shape_create, Status(int64_t, const int64_t*, Shape*))                \
  X(shape_free, ov_shape_free, Status(Shape*))

struct OpenvinoApi {
#define INFERPROBE_OPENVINO_FIELD(name, symbol, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  INFERPROBE_OPENVINO_FUNCTIONS(INFERPROBE_OPENVINO_FIELD)
#undef INFERPROBE_OPENVINO_FIELD
  std::string library;  // the file that was opened
  std::string version;  // "2026.4.1-22982-…", as OpenVINO says it
};

// Opens OpenVINO, once a process: a later call has the first one's answer. It stays open until the
// process ends, because its threads do.
Result<const OpenvinoApi*> LoadOpenvino();

// The library that LoadOpenvino() opens, for ExecuTorch's own delegate, which takes it from
// OPENVINO_LIB_PATH. "" where there is none.
std::string OpenvinoLibraryPath();

// What LoadOpenvino() does with one library; apart for tests.
Result<OpenvinoApi> OpenOpenvino(const std::string& library);

}  // namespace inferprobe::openvino
