// ExecuTorch's hooks with nothing behind them: what our tracer's costs are compared with, in tests
// and benchmarks. Any tracer at all makes XNNPACK time its operators.
#pragma once

#include <executorch/runtime/core/event_tracer.h>

namespace inferprobe::executorch_engine {

class NullTracer final : public ::executorch::runtime::EventTracer {
 public:
  using Entry = ::executorch::runtime::EventTracerEntry;
  using ChainId = ::executorch::runtime::ChainID;
  using DebugHandle = ::executorch::runtime::DebugHandle;
  using Id = ::executorch::runtime::DelegateDebugIntId;
  using Tensor = ::executorch::aten::Tensor;
  using EtBool = ::executorch::runtime::Result<bool>;

  void create_event_block(const char* /*name*/) override {}
  Entry start_profiling(const char* /*name*/, ChainId /*chain*/, DebugHandle /*handle*/) override {
    return {};
  }
  void end_profiling(Entry /*entry*/) override {}
  Entry start_profiling_delegate(const char* /*name*/, Id /*id*/) override { return {}; }
  void end_profiling_delegate(Entry /*entry*/, const void* /*metadata*/,
                              size_t /*length*/) override {}
  void log_profiling_delegate(const char* /*name*/, Id /*id*/, et_timestamp_t /*start*/,
                              et_timestamp_t /*end*/, const void* /*metadata*/,
                              size_t /*length*/) override {}
  void track_allocation(::executorch::runtime::AllocatorID /*id*/, size_t /*size*/) override {}
  ::executorch::runtime::AllocatorID track_allocator(const char* /*name*/) override { return 0; }
  EtBool log_evalue(const ::executorch::runtime::EValue& /*value*/,
                    ::executorch::runtime::LoggedEValueType /*type*/) override {
    return false;
  }
  EtBool log_intermediate_output_delegate(const char* /*name*/, Id /*id*/,
                                          const Tensor& /*output*/) override {
    return false;
  }
  EtBool log_intermediate_output_delegate(
      const char* /*name*/, Id /*id*/,
      const ::executorch::runtime::ArrayRef<Tensor> /*output*/) override {
    return false;
  }
  EtBool log_intermediate_output_delegate(const char* /*name*/, Id /*id*/,
                                          const int& /*output*/) override {
    return false;
  }
  EtBool log_intermediate_output_delegate(const char* /*name*/, Id /*id*/,
                                          const bool& /*output*/) override {
    return false;
  }
  EtBool log_intermediate_output_delegate(const char* /*name*/, Id /*id*/,
                                          const double& /*output*/) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(
      ::executorch::runtime::EventTracerFilterBase* /*filter*/) override {}
};

}  // namespace inferprobe::executorch_engine
