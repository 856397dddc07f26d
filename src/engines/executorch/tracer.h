// ExecuTorch's EventTracer, writing into the calling thread's ring: what the runtime and its
// delegates report while a method executes.
//
// Times of start/end pairs are our own clock readings: host wall. Times that a delegate hands over
// afterwards (log_profiling_delegate) are its own, and only translated to CLOCK_MONOTONIC: they
// become kDelegateOp cells, which are never added to the others. XNNPACK's are whole microseconds
// placed back to back.
//
// The rule that people break: it records between BeginRun() and EndRun(), on the thread that called
// BeginRun(). Events of other threads are counted as lost, not written to a ring that is not
// theirs.
#pragma once

#include <executorch/runtime/core/event_tracer.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "engines/executorch/name_cache.h"
#include "record/ring_writer.h"

namespace inferprobe::executorch_engine {

// ExecuTorch's clock in CLOCK_MONOTONIC nanoseconds. Both are steady, so the offset holds.
struct EngineClock {
  uint64_t numerator = 1;  // nanoseconds = ticks * numerator / denominator
  uint64_t denominator = 1;
  int64_t offset_ns = 0;

  static EngineClock Measure();
  [[nodiscard]] uint64_t ToMonotonicNs(uint64_t ticks) const {
    if (numerator == denominator) [[likely]] {
      return ticks + static_cast<uint64_t>(offset_ns);
    }
    __extension__ using Wide = unsigned __int128;
    const Wide ns = static_cast<Wide>(ticks) * numerator / denominator;
    return static_cast<uint64_t>(ns) + static_cast<uint64_t>(offset_ns);
  }
};

class RingTracer final : public ::executorch::runtime::EventTracer {
 public:
  using Entry = ::executorch::runtime::EventTracerEntry;
  using ChainId = ::executorch::runtime::ChainID;
  using DebugHandle = ::executorch::runtime::DebugHandle;
  using DelegateIntId = ::executorch::runtime::DelegateDebugIntId;
  using Tensor = ::executorch::aten::Tensor;
  template <typename T>
  using EtResult = ::executorch::runtime::Result<T>;

  RingTracer() : clock_(EngineClock::Measure()) {}

  // `ring`: the calling thread's; nullptr: nothing is recorded. Either way parallel regions learn
  // the instruction that they are in.
  void BeginRun(record::ThreadRing* ring);
  // Until EndRun() what delegates say of their loading is recorded, and nothing of the runtime's:
  // the load that a program has is the one without a tracer.
  void BeginLoad(record::ThreadRing* ring);
  // Closes what an error left open, and publishes what was lost.
  void EndRun();

  void create_event_block(const char* name) override;
  Entry start_profiling(const char* name, ChainId chain_id, DebugHandle debug_handle) override;
  void end_profiling(Entry entry) override;
  Entry start_profiling_delegate(const char* name, DelegateIntId id) override;
  void end_profiling_delegate(Entry entry, const void* metadata, size_t metadata_len) override;
  void log_profiling_delegate(const char* name, DelegateIntId id, et_timestamp_t start_time,
                              et_timestamp_t end_time, const void* metadata,
                              size_t metadata_len) override;

  // Allocations are counted by CountingAllocator, values are not looked at.
  void track_allocation(::executorch::runtime::AllocatorID /*id*/, size_t /*size*/) override {}
  ::executorch::runtime::AllocatorID track_allocator(const char* /*name*/) override { return 0; }
  EtResult<bool> log_evalue(const ::executorch::runtime::EValue& /*value*/,
                            ::executorch::runtime::LoggedEValueType /*type*/) override {
    return false;
  }
  EtResult<bool> log_intermediate_output_delegate(const char* /*name*/, DelegateIntId /*id*/,
                                                  const Tensor& /*output*/) override {
    return false;
  }
  EtResult<bool> log_intermediate_output_delegate(
      const char* /*name*/, DelegateIntId /*id*/,
      const ::executorch::runtime::ArrayRef<Tensor> /*output*/) override {
    return false;
  }
  EtResult<bool> log_intermediate_output_delegate(const char* /*name*/, DelegateIntId /*id*/,
                                                  const int& /*output*/) override {
    return false;
  }
  EtResult<bool> log_intermediate_output_delegate(const char* /*name*/, DelegateIntId /*id*/,
                                                  const bool& /*output*/) override {
    return false;
  }
  EtResult<bool> log_intermediate_output_delegate(const char* /*name*/, DelegateIntId /*id*/,
                                                  const double& /*output*/) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(
      ::executorch::runtime::EventTracerFilterBase* /*filter*/) override {}

 private:
  // An event that began and has not ended.
  struct Open {
    uint64_t start = 0;
    int64_t event_id = 0;
    uint32_t name = 0;
    uint32_t info = 0;
    internal::OpenedSlice slice{};
    ChainId chain = ::executorch::runtime::kUnsetChainId;
    DelegateIntId delegate_id = ::executorch::runtime::kUnsetDelegateDebugIntId;
    int32_t outer_instruction = -1;  // that the thread was in before
    bool of_delegate = false;
  };
  static constexpr size_t kMaxDepth = 64;

  bool Records();
  Entry Begin(const char* name, ChainId chain, DebugHandle handle, bool of_delegate,
              DelegateIntId id);
  void End(const Entry& entry, const void* metadata, size_t metadata_len);
  bool UnwindTo(int64_t event_id);
  void DropTop();
  void PublishWithExtension(const record::Cell& cell, ChainId chain, DelegateIntId id,
                            uint32_t debug_name, const void* metadata, size_t metadata_len);

  EngineClock clock_;
  NameCache names_;
  record::ThreadRing* ring_ = nullptr;  // nullptr: not in a run
  bool loading_ = false;
  int32_t outer_instruction_ = -1;  // that the thread was in before the run
  size_t depth_ = 0;
  int64_t last_event_id_ = 0;
  std::array<Open, kMaxDepth> stack_;
  uint64_t unbalanced_ = 0;
  uint64_t metadata_cut_ = 0;
  std::atomic<uint64_t> foreign_{0};
};

}  // namespace inferprobe::executorch_engine
