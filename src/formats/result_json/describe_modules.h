// The part of a result about the modules of a PyTorch model. See describe_result.h.
//
// The rule that people break: figures of a kind that was not recorded at all are absent from the
// rows: module_summary says once why, and a reader gives that reason to each. So the summary stands
// before the rows. Of a module that was not called, its total_cpu_ns says it for all.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/result_json/field.h"
#include "profile/modules.h"

namespace inferprobe::result_json {

// Why figures that the rows do not have are not there.
struct UsualReasons {
  profile::Missing device, memory, device_memory;

  explicit UsualReasons(const profile::ModuleFacts& facts) {
    if (!facts.device) device = facts.device.missing();
    if (!facts.memory) memory = facts.memory.missing();
    device_memory = facts.memory ? device : memory;
  }
  // Of a module without any figures: all of them have the reason of its time.
  explicit UsualReasons(const profile::Missing& all)
      : device(all), memory(all), device_memory(all) {}
};

template <class Archive, class Figure>
void DescribeUnless(Archive& archive, const profile::Missing& usual, std::string_view key,
                    Figure& figure) {
  const bool is_usual =
      !figure && figure.missing().status == usual.status && figure.missing().hint == usual.hint;
  if (archive.Optional(key, !is_usual)) {
    archive.Figure(key, figure);
  } else if constexpr (Archive::kReading) {
    figure = usual;
  }
}

// The figures that a module and an operator have alike.
template <class Archive, class Row>
void DescribeDeviceAndMemory(Archive& archive, const UsualReasons& usual, Row& row) {
  DescribeUnless(archive, usual.device, field::kSelfDeviceNs, row.self_device_ns);
  DescribeUnless(archive, usual.device, field::kTotalDeviceNs, row.total_device_ns);
  DescribeUnless(archive, usual.memory, field::kSelfCpuBytes, row.self_cpu_bytes);
  DescribeUnless(archive, usual.memory, field::kTotalCpuBytes, row.total_cpu_bytes);
  DescribeUnless(archive, usual.device_memory, field::kSelfDeviceBytes, row.self_device_bytes);
  DescribeUnless(archive, usual.device_memory, field::kTotalDeviceBytes, row.total_device_bytes);
}

template <class Archive, class Operator>
void DescribeModuleOperator(Archive& archive, const UsualReasons& usual, Operator& op) {
  archive.Text(field::kName, op.name);
  archive.Count(field::kCalls, op.calls);
  archive.Int(field::kSelfNs, op.self_ns);
  archive.Int(field::kTotalNs, op.total_ns);
  DescribeDeviceAndMemory(archive, usual, op);
}

// The rows described so far, of which the parent of the next is one. Ids ascend.
class ModulesBefore {
 public:
  void Add(const profile::ModuleRow& row) {
    ids_.push_back(row.module);
    depths_.push_back(row.depth);
    paths_.push_back(row.facts.path);
  }
  [[nodiscard]] bool Ascends(uint32_t id) const { return ids_.empty() || id > ids_.back(); }
  // Its place; what size() gives: it is none of them.
  [[nodiscard]] size_t Find(uint32_t id) const {
    const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
    return at != ids_.end() && *at == id ? static_cast<size_t>(at - ids_.begin()) : size();
  }
  [[nodiscard]] size_t size() const { return ids_.size(); }
  [[nodiscard]] const std::string& path(size_t at) const { return paths_[at]; }
  [[nodiscard]] uint32_t depth(size_t at) const { return depths_[at]; }

 private:
  std::vector<uint32_t> ids_, depths_;
  std::vector<std::string> paths_;
};

template <class Archive, class Row>
void DescribeModuleParent(Archive& archive, const ModulesBefore& before, Row& row) {
  size_t parent = before.Find(row.facts.parent);
  if (!archive.Optional(field::kParentId, parent < before.size())) return;
  std::string path = parent < before.size() ? before.path(parent) : "";
  archive.Text(field::kParent, path);
  archive.Count(field::kParentId, row.facts.parent);
  if constexpr (Archive::kReading) {
    parent = before.Find(row.facts.parent);
    if (parent == before.size()) {
      return archive.Refuse(field::kParentId, "the id of a module before it");
    }
    if (path != before.path(parent)) archive.Refuse(field::kParent, "the path of that module");
    row.depth = before.depth(parent) + 1;
  }
}

template <class Archive, class Row>
void DescribeModule(Archive& archive, const UsualReasons& recorded, bool operators,
                    const ModulesBefore& before, Row& row) {
  archive.Count(field::kId, row.module);
  if constexpr (Archive::kReading) {
    if (!before.Ascends(row.module)) {
      archive.Refuse(field::kId, "a number above that of the module before it");
    }
  }
  archive.Text(field::kPath, row.facts.path);
  if (archive.Optional(field::kAlso, !row.facts.also.empty())) {
    archive.List(field::kAlso, row.facts.also);
  }
  archive.Text(field::kClass, row.facts.class_name);
  DescribeModuleParent(archive, before, row);
  if (archive.Optional(field::kChosen, !row.facts.chosen)) {
    archive.Bool(field::kChosen, row.facts.chosen);
  }
  if (archive.Optional(field::kNotCovered, !row.facts.not_covered.empty())) {
    archive.Text(field::kNotCovered, row.facts.not_covered);
  }
  archive.Count(field::kCalls, row.calls);
  if (archive.Optional(field::kOutermostCalls, row.outermost_calls != row.calls)) {
    archive.Count(field::kOutermostCalls, row.outermost_calls);
    if constexpr (Archive::kReading) {
      if (row.outermost_calls == 0 || row.outermost_calls > row.calls) {
        archive.Refuse(field::kOutermostCalls, "from 1 to the number of calls");
      }
    }
  } else if constexpr (Archive::kReading) {
    row.outermost_calls = row.calls;
  }
  if (archive.Optional(field::kRaised, row.raised != 0)) {
    archive.Count(field::kRaised, row.raised);
  }
  archive.Figure(field::kSelfCpuNs, row.self_ns);
  archive.Figure(field::kOperatorsCpuNs, row.operators_ns);
  archive.Figure(field::kChildrenCpuNs, row.children_ns);
  archive.Figure(field::kTotalCpuNs, row.total_ns);
  archive.Figure(field::kShare, row.share);
  const UsualReasons usual = row.total_ns ? recorded : UsualReasons(row.total_ns.missing());
  DescribeDeviceAndMemory(archive, usual, row);
  DescribeUnless(archive, usual.memory, field::kAllocatedBytes, row.allocated_bytes);
  DescribeUnless(archive, usual.memory, field::kFreedBytes, row.freed_bytes);
  archive.Count(field::kParameters, row.facts.parameters);
  // Where they were recorded, a module without any has an empty list.
  if (archive.Optional(field::kOperators, operators || !row.operators.empty())) {
    archive.Objects(field::kOperators, row.operators, [&](Archive& each, auto& op, size_t) {
      DescribeModuleOperator(each, recorded, op);
    });
  }
}

// The value is true, or there is none.
template <class Archive, class Recorded>
void DescribeRecorded(Archive& archive, std::string_view key, Recorded& recorded) {
  archive.Figure(key, recorded);
  if constexpr (Archive::kReading) {
    if (recorded && !*recorded) archive.Refuse(key, "true, or an object with status and hint");
  }
}

template <class Archive, class Report>
void DescribeModuleSummary(Archive& archive, Report& report) {
  archive.Int(field::kTotalCpuNs, report.total_ns);
  archive.Int(field::kOutsideCpuNs, report.outside_ns);
  DescribeRecorded(archive, field::kOperators, report.facts.operators);
  DescribeRecorded(archive, field::kMemory, report.facts.memory);
  DescribeRecorded(archive, field::kDevice, report.facts.device);
  const UsualReasons usual(report.facts);
  archive.Objects(field::kOutside, report.outside, [&](Archive& each, auto& op, size_t) {
    DescribeModuleOperator(each, usual, op);
  });
  archive.Figure(field::kClockErrorNs, report.facts.clock_error_ns);
  archive.Objects(field::kNotCovered, report.facts.not_covered,
                  [](Archive& each, auto& hidden, size_t) {
                    each.Text(field::kWhat, hidden.what);
                    each.Text(field::kWhy, hidden.why);
                  });
}

// A summary and a list, or a status alone.
template <class Archive, class Modules>
void DescribeModules(Archive& archive, Modules& modules) {
  profile::ModuleReport report = modules ? *modules : profile::ModuleReport();
  profile::Metric<std::vector<profile::ModuleRow>> rows = report.rows;
  if (!modules) rows = modules.missing();
  const bool summary = archive.Optional(field::kModuleSummary, modules.has_value());
  if (summary) {
    archive.Object(field::kModuleSummary, [&] { DescribeModuleSummary(archive, report); });
  }
  const UsualReasons usual(report.facts);
  const bool operators = report.facts.operators.has_value();
  ModulesBefore before;
  archive.ObjectsOrStatus(field::kModules, rows, [&](Archive& each, auto& row, size_t) {
    DescribeModule(each, usual, operators, before, row);
    before.Add(row);
  });
  if constexpr (Archive::kReading) {
    if (rows && !summary) archive.Object(field::kModuleSummary, [] {});  // it is missing
    if (!rows && summary) archive.Refuse(field::kModuleSummary, "none, as modules is a status");
    if (rows) report.rows = *rows;
    modules = rows ? profile::Metric<profile::ModuleReport>(std::move(report)) : rows.missing();
  }
}

}  // namespace inferprobe::result_json
