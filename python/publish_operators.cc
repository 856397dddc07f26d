#include "publish_operators.h"

#include <bit>
#include <cstdint>
#include <vector>

#include "record/layout.h"

namespace inferprobe::python {

using record::CellType;
using record::PackInfo;

std::optional<double> PublishOperators(const OperatorColumns& columns, record::ThreadRing* ring) {
  const std::optional<profile::ClockFit> clock = columns.Clock();
  if (!clock) return std::nullopt;
  const auto time = [&](int64_t ns) { return static_cast<uint64_t>(clock->ToNs(ns)); };
  std::vector<uint32_t> names;
  names.reserve(columns.names.size());
  for (const std::string& name : columns.names) names.push_back(record::InternName(name));

  for (size_t i = 0; i < columns.start_ns.size(); ++i) {
    record::Publish(
        ring, {time(columns.start_ns[i]), time(columns.end_ns[i]), names[columns.name[i]],
               static_cast<uint32_t>(columns.thread_id[i]), 0, PackInfo(CellType::kOperator, 0)});
  }
  for (size_t i = 0; i < columns.allocation_ns.size(); ++i) {
    record::Publish(
        ring, {time(columns.allocation_ns[i]), std::bit_cast<uint64_t>(columns.allocation_bytes[i]),
               0, static_cast<uint32_t>(columns.allocation_thread[i]), 0,
               PackInfo(CellType::kAllocation, columns.allocation_device[i] != 0)});
  }
  for (size_t i = 0; i < columns.work_start_ns.size(); ++i) {
    record::Publish(ring, {time(columns.work_start_ns[i]), time(columns.work_end_ns[i]),
                           names[columns.work_name[i]], columns.work_stream[i],
                           columns.work_operator[i], PackInfo(CellType::kDeviceWork, 0)});
  }
  return clock->error_ns();
}

}  // namespace inferprobe::python
