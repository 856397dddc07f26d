#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/result_json/sample_parts.h"

namespace inferprobe::result_json::samples {

using profile::Metric;
using profile::ModuleOperator;
using profile::ModuleReport;
using profile::ModuleRow;
using profile::PerfResult;
using profile::Status;

namespace {

const profile::Missing kNoMemory{Status::kNotRequested, "memory=True"};
const profile::Missing kNoDevice{Status::kUnavailable, "there is no device"};

// Adds rows of a tree that adds up: what a module took goes into those above it.
class Tree {
 public:
  explicit Tree(ModuleReport& report) : report_(report) {}

  // Returns its number.
  uint32_t Add(uint32_t parent, std::string_view path, std::string_view class_name, uint64_t calls,
               int64_t self_ns, std::vector<ModuleOperator> operators = {}) {
    ModuleRow row;
    row.module = static_cast<uint32_t>(report_.rows.size());
    row.facts.path = path;
    row.facts.class_name = class_name;
    row.facts.parent = parent;
    row.depth = parent == profile::kNone ? 0 : report_.rows[parent].depth + 1;
    row.calls = row.outermost_calls = calls;
    int64_t operators_ns = 0;
    for (const ModuleOperator& op : operators) operators_ns += op.self_ns;
    row.self_ns = self_ns;
    row.operators_ns = operators_ns;
    row.children_ns = int64_t{0};
    row.total_ns = self_ns + operators_ns;
    row.operators = std::move(operators);
    row.self_device_ns = row.total_device_ns = kNoDevice;
    row.self_cpu_bytes = row.total_cpu_bytes = kNoMemory;
    row.self_device_bytes = row.total_device_bytes = kNoMemory;
    row.allocated_bytes = row.freed_bytes = kNoMemory;
    report_.rows.push_back(std::move(row));
    for (uint32_t at = parent; at != profile::kNone; at = report_.rows[at].facts.parent) {
      ModuleRow& outer = report_.rows[at];
      outer.children_ns = *outer.children_ns + self_ns + operators_ns;
      outer.total_ns = *outer.total_ns + self_ns + operators_ns;
    }
    return report_.rows.back().module;
  }

  // Of what it allocated, it freed all but `kept`; also the modules above it.
  void Allocate(uint32_t module, int64_t bytes, int64_t kept) {
    for (uint32_t at = module; at != profile::kNone; at = report_.rows[at].facts.parent) {
      ModuleRow& row = report_.rows[at];
      const auto add = [](Metric<int64_t>& sum, int64_t more) { sum = (sum ? *sum : 0) + more; };
      add(row.self_cpu_bytes, at == module ? kept : 0);
      add(row.total_cpu_bytes, kept);
      add(row.allocated_bytes, bytes);
      add(row.freed_bytes, bytes - kept);
      row.self_device_bytes = row.total_device_bytes = kNoDevice;
    }
  }

  void Finish() {
    for (ModuleRow& row : report_.rows) {
      if (row.depth == 0) report_.total_ns += *row.total_ns;
    }
    for (ModuleRow& row : report_.rows) {
      row.share = static_cast<double>(*row.total_ns) / static_cast<double>(report_.total_ns);
    }
  }

 private:
  ModuleReport& report_;
};

ModuleOperator Operator(std::string_view name, uint64_t calls, int64_t self_ns, int64_t total_ns) {
  ModuleOperator op;
  op.name = name;
  op.calls = calls;
  op.self_ns = self_ns;
  op.total_ns = total_ns;
  op.self_device_ns = op.total_device_ns = kNoDevice;
  op.self_cpu_bytes = op.total_cpu_bytes = kNoMemory;
  op.self_device_bytes = op.total_device_bytes = kNoMemory;
  return op;
}

PerfResult TorchFacts() {
  PerfResult result;
  result.tool_version = "0.1.0";
  result.run_id = "0123456789abcdef0123456789abcdef";
  result.started_at = "2026-11-29T23:18:00Z";
  result.model.format = "pytorch";
  result.model.method = "forward";
  result.engine = {
      .name = "pytorch", .title = "PyTorch", .version = "2.13.0", .backends = {}, .threads = 2};
  result.clock.source = "tsc";
  result.clock.tick_ns = 0.4;
  result.source = profile::SourceFacts{};
  result.source->path = "run.pftrace";
  result.source->format = "perfetto";
  result.source->title = "Perfetto trace";
  result.source->bytes = 48'211;
  return result;
}

ModuleReport Report() {
  ModuleReport report;
  report.facts.operators = true;
  report.facts.memory = kNoMemory;
  report.facts.device = kNoDevice;
  report.facts.clock_error_ns = 310.0;
  return report;
}

// A convolution's operators, as they lie in each other.
std::vector<ModuleOperator> Convolution(int64_t ns) {
  return {Operator("aten::conv2d", 3, 4'200, ns + 13'100),
          Operator("aten::convolution", 3, 5'300, ns + 8'900),
          Operator("aten::_convolution", 3, 3'600, ns + 3'600),
          Operator("aten::mkldnn_convolution", 3, ns, ns)};
}

}  // namespace

PerfResult Modules() {
  PerfResult result = TorchFacts();
  ModuleReport report = Report();
  report.facts.memory = true;
  Tree tree(report);
  const uint32_t root = tree.Add(
      profile::kNone, "", "AlexNet", 3, 91'000,
      {Operator("aten::flatten", 3, 9'300, 14'200), Operator("aten::view", 3, 4'900, 4'900)});
  const uint32_t features = tree.Add(root, "features", "Sequential", 3, 42'000);
  const uint32_t first =
      tree.Add(features, "features.0", "Conv2d", 3, 21'000, Convolution(4'810'000));
  const uint32_t relu = tree.Add(features, "features.1", "ReLU", 6, 17'000,
                                 {Operator("aten::relu_", 6, 11'000, 131'000),
                                  Operator("aten::clamp_min_", 6, 120'000, 120'000)});
  tree.Add(features, "features.3", "Conv2d", 3, 19'500, Convolution(3'304'000));
  const uint32_t classifier = tree.Add(root, "classifier", "Sequential", 3, 30'000);
  tree.Add(classifier, "classifier.0", "Dropout", 3, 7'000,
           {Operator("aten::dropout", 3, 6'000, 6'000)});
  const uint32_t linear =
      tree.Add(classifier, "classifier.1", "Linear", 3, 12'000,
               {Operator("aten::linear", 3, 3'000, 1'633'000), Operator("aten::t", 3, 4'000, 9'000),
                Operator("aten::transpose", 3, 5'000, 5'000),
                Operator("aten::addmm", 3, 1'621'000, 1'621'000)});
  const uint32_t spare = tree.Add(classifier, "spare", "Linear", 0, 0);
  const uint32_t traced = tree.Add(root, "traced", "TopLevelTracedModule", 0, 0);
  tree.Allocate(root, 0, 0);
  tree.Allocate(first, 2'323'200, 774'400);
  tree.Allocate(relu, 0, 0);
  tree.Allocate(linear, 48'000, -4'000);
  tree.Finish();
  report.rows[relu].facts.also = {"features.4", "classifier.2"};
  report.rows[linear].raised = 1;
  report.rows[relu].outermost_calls = 4;
  report.rows[first].facts.parameters = 23'296;
  report.rows[linear].facts.parameters = 37'752'832;
  report.rows[features].facts.chosen = false;
  report.rows[spare].facts.parameters = 4'097'000;
  report.rows[traced].facts.not_covered = "traced: it has no forward of Python";
  for (ModuleRow& row : report.rows) {
    if (row.calls == 0) {
      const profile::Missing why =
          row.facts.not_covered.empty()
              ? profile::Missing{Status::kNotMeasured, "not called"}
              : profile::Missing{Status::kUnsupported, row.facts.not_covered};
      for (Metric<int64_t>* figure :
           {&row.self_ns, &row.operators_ns, &row.children_ns, &row.total_ns, &row.self_device_ns,
            &row.total_device_ns, &row.self_cpu_bytes, &row.total_cpu_bytes, &row.self_device_bytes,
            &row.total_device_bytes, &row.allocated_bytes, &row.freed_bytes}) {
        *figure = why;
      }
      row.share = why;
    } else if (!row.self_cpu_bytes) {
      row.self_cpu_bytes = row.total_cpu_bytes = int64_t{0};
      row.allocated_bytes = row.freed_bytes = int64_t{0};
      row.self_device_bytes = row.total_device_bytes = kNoDevice;
    }
    for (ModuleOperator& op : row.operators) {
      op.self_cpu_bytes = op.total_cpu_bytes = int64_t{0};
      op.self_device_bytes = op.total_device_bytes = kNoDevice;
    }
  }
  for (ModuleOperator& op : report.rows[first].operators) op.total_cpu_bytes = 774'400;
  report.rows[first].operators.back().self_cpu_bytes = 774'400;
  report.outside_ns = 61'000;
  report.outside = {Operator("aten::randn", 1, 21'000, 61'000),
                    Operator("aten::normal_", 1, 40'000, 40'000)};
  report.facts.not_covered = {
      {"thread 4712", "with memory, operators of other threads are not seen"}};
  result.modules = std::move(report);
  return result;
}

// Times on a device, and no allocations.
PerfResult ModulesOnDevice() {
  PerfResult result = TorchFacts();
  ModuleReport report = Report();
  report.facts.device = true;
  Tree tree(report);
  const uint32_t root = tree.Add(profile::kNone, "", "Net", 2, 31'000);
  for (const char* path : {"up", "down"}) {
    const uint32_t linear = tree.Add(
        root, path, "Linear", 2, 9'000,
        {Operator("aten::linear", 2, 8'000, 75'000), Operator("aten::addmm", 2, 67'000, 67'000)});
    ModuleRow& row = report.rows[linear];
    row.self_device_ns = row.total_device_ns = int64_t{412'000};
    row.operators[0].self_device_ns = int64_t{0};
    row.operators[0].total_device_ns = int64_t{412'000};
    row.operators[1].self_device_ns = row.operators[1].total_device_ns = int64_t{412'000};
  }
  report.rows[root].self_device_ns = int64_t{0};
  report.rows[root].total_device_ns = int64_t{824'000};
  tree.Finish();
  result.modules = std::move(report);
  return result;
}

// Calls alone, of more modules than a page has lines, at every depth.
PerfResult ManyModules() {
  PerfResult result = TorchFacts();
  ModuleReport report = Report();
  report.facts.operators = {Status::kNotRequested, "detail=\"ops\""};
  report.facts.clock_error_ns = {Status::kNotMeasured, ""};
  Tree tree(report);
  uint32_t deep = tree.Add(profile::kNone, "", "Stack", 1, 1'000);
  for (int i = 0; i < 60; ++i) {
    const std::string path = "layers." + std::to_string(i);
    const uint32_t layer = tree.Add(0, path, "Block", 1, 2'000 + i * 40);
    tree.Add(layer, path + ".norm", "LayerNorm", 1, i % 9 == 0 ? 90'000 : 700);
  }
  std::string path = "deep";
  for (int i = 0; i < 60; ++i) {
    deep = tree.Add(deep, path, "Nested", 1, 900);
    path += ".in";
  }
  tree.Finish();
  for (ModuleRow& row : report.rows) row.operators_ns = report.facts.operators.missing();
  result.modules = std::move(report);
  return result;
}

// Names that break lines, hide, or repeat; figures that are none.
PerfResult HostileModules() {
  PerfResult result = TorchFacts();
  ModuleReport report = Report();
  report.facts.memory = true;
  report.facts.device = true;
  report.facts.clock_error_ns = {Status::kOverflow, "line\nbreak"};
  Tree tree(report);
  const uint32_t root = tree.Add(profile::kNone, "", "quo\"te | pipe, comma", 1, 1);
  tree.Add(root, "line\nbreak\ttab", "=HYPERLINK(\"x\")", 1, 1, {Operator("", 1, 5, 5)});
  tree.Add(root, "bad\xff\xfe.bytes", "\x1b[31mred", 1, 1,
           {Operator("\xe2\x80\xae turned", 1, 5, 5)});
  tree.Add(root, "the.same", "", 1, 1);
  tree.Add(root, "the.same", "", 1, 1);
  tree.Finish();
  report.rows[1].facts.also = {"", ".", "..", "a.b.c", "the.same", "line\nbreak\ttab"};
  report.rows[2].facts.not_covered = "\xe2\x80\xae why";
  report.rows[3].total_ns = std::numeric_limits<int64_t>::max();
  report.rows[3].self_ns = std::numeric_limits<int64_t>::min();
  report.rows[3].share = std::numeric_limits<double>::quiet_NaN();
  report.rows[3].total_cpu_bytes = std::numeric_limits<int64_t>::min();
  report.rows[4].total_ns = {Status::kOverflow, ""};
  report.rows[4].share = 1e30;
  report.facts.not_covered = {{"\x1b[2J", "\n"}, {"", ""}};
  result.modules = std::move(report);
  return result;
}

}  // namespace inferprobe::result_json::samples
