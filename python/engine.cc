#include "engine.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <tuple>

#include "base/files.h"
#include "formats/npy/npy.h"
#include "from_python.h"
#include "measure/engine.h"
#include "measure/engine_registry.h"
#include "measure/model_name.h"
#include "measure/worker.h"
#include "publish_operators.h"
#include "record/ring_writer.h"

namespace nb = nanobind;

namespace inferprobe::python {
namespace {

using profile::Status;

// As Python has them: name, type, shape.
using SpecTuple = std::tuple<std::string, std::string, std::vector<int64_t>>;

ErrorCode CodeNamed(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    if (name == ErrorCodeName(static_cast<ErrorCode>(i))) return static_cast<ErrorCode>(i);
  }
  return ErrorCode::kInternal;
}

// `prefix` says what raised it, before an exception that is not ours.
Error ErrorOf(nb::handle exception, const char* prefix) {
  try {
    const nb::object parts =
        nb::module_::import_("inferprobe._worker").attr("error_parts")(exception);
    Error error{CodeNamed(nb::cast<std::string>(parts[0])), nb::cast<std::string>(parts[1]),
                nb::cast<std::string>(parts[2])};
    if (error.code == ErrorCode::kEngine && *prefix != '\0') {
      error.message = std::string(prefix) + error.message;
    }
    return error;
  } catch (nb::python_error&) {  // a text that cannot be had: __str__ raises, too
    return {ErrorCode::kEngine, std::string(prefix) + "an exception that has no text", ""};
  } catch (const std::exception& error) {
    return {ErrorCode::kInternal, std::string(prefix) + error.what(), ""};
  }
}

// What `body` returns, or the exception that it ended by.
template <typename Body>
auto Catch(const char* prefix, const Body& body) -> Result<decltype(body())> {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (nb::python_error& error) {
    return tl::unexpected(ErrorOf(error.value(), prefix));
  } catch (const std::exception& error) {  // nanobind: a value of another type
    return MakeError(ErrorCode::kInternal, std::string(prefix) + error.what());
  }
}

ScalarType TypeNamed(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(ScalarType::kQint32); ++i) {
    if (name == ScalarTypeName(static_cast<ScalarType>(i))) return static_cast<ScalarType>(i);
  }
  throw std::runtime_error("there is no type " + name);
}

std::vector<TensorSpec> SpecsFrom(nb::handle list) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, type, shape] : nb::cast<std::vector<SpecTuple>>(list)) {
    specs.push_back({name, TypeNamed(type), shape, false, false, {}});
  }
  return specs;
}

std::vector<Tensor> TensorsFrom(nb::handle list) {
  std::vector<Tensor> tensors;
  for (nb::handle one : list) {
    Tensor tensor;
    tensor.type = TypeNamed(nb::cast<std::string>(one[0]));
    tensor.shape = nb::cast<std::vector<int64_t>>(one[1]);
    const auto bytes = nb::cast<nb::bytes>(one[2]);
    tensor.data.resize(bytes.size());
    if (bytes.size() > 0) std::memcpy(tensor.data.data(), bytes.c_str(), bytes.size());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

nb::list ListOf(const std::vector<Tensor>& tensors) {
  nb::list list;
  for (const Tensor& tensor : tensors) {
    list.append(nb::make_tuple(ScalarTypeName(tensor.type), nb::cast(tensor.shape),
                               nb::bytes(tensor.data.data(), tensor.data.size())));
  }
  return list;
}

class PythonEngine final : public measure::Engine {
 public:
  explicit PythonEngine(nb::object model) : loaded_(std::move(model)) {}

  Result<void> Start();
  void TakeModuleFacts();

  [[nodiscard]] const profile::ModelFacts& model() const override { return model_; }
  [[nodiscard]] const profile::EngineFacts& engine() const override { return engine_; }
  [[nodiscard]] profile::MemoryFacts memory() const override;
  Result<void> ExpectInputs(const std::vector<std::string>& files,
                            const std::vector<std::string>& shapes) override;
  [[nodiscard]] std::vector<TensorSpec> inputs() const override { return inputs_; }
  [[nodiscard]] std::vector<measure::BundledCase> bundled_cases() const override { return cases_; }
  Result<void> SetInputs(std::vector<Tensor> inputs) override;
  Result<void> PrepareObserved() override { return {}; }
  Result<void> BeforeObservedRun() override;
  Result<void> AfterObservedRun() override;
  Result<void> Run(const measure::RunView& view) override;
  Result<std::vector<Tensor>> Outputs(bool observed) override;

 private:
  nb::object loaded_;  // a LoadedModel
  // What a run calls, and with what.
  nb::object function_, arguments_, keywords_, synchronize_;
  nb::object results_[2];    // of the last run that was not observed, and of the last that was
  uint64_t run_begins_ = 0;  // in the ring, of the observed run that goes on
  profile::ModelFacts model_;
  profile::EngineFacts engine_;
  std::vector<TensorSpec> inputs_;
  std::vector<measure::BundledCase> cases_;
};

Result<void> PythonEngine::Start() {
  auto started = Catch("", [&] {
    model_.path = nb::cast<std::string>(loaded_.attr("path"));
    model_.format = nb::cast<std::string>(loaded_.attr("format"));
    model_.method = nb::cast<std::string>(loaded_.attr("method"));
    model_.methods = nb::cast<std::vector<std::string>>(loaded_.attr("methods"));
    const nb::object facts = loaded_.attr("engine_facts")();
    engine_.name = "torch";
    engine_.title = "PyTorch";
    engine_.version = nb::cast<std::string>(facts[0]);
    engine_.backends = nb::cast<std::vector<std::string>>(facts[1]);
    engine_.threads = nb::cast<int64_t>(facts[2]);
    model_.notes = nb::cast<std::vector<std::string>>(loaded_.attr("notes"));
    for (const nb::handle node : loaded_.attr("tree")) {
      model_.modules.tree.push_back(ModuleOf(node));
    }
    TakeModuleFacts();
    return nb::cast<std::string>(loaded_.attr("file"));
  });
  if (!started) return tl::unexpected(started.error());
  auto file = base::MappedFile::Open(*started);
  if (!file) return tl::unexpected(file.error());
  model_.bytes = file->bytes().size();
  model_.sha256 = base::Sha256Hex(file->bytes());
  model_.instructions = {Status::kUnsupported, "PyTorch has no list of them"};
  return file->Whole();
}

void PythonEngine::TakeModuleFacts() {
  profile::ModuleFacts& facts = model_.modules;
  facts.operators = MetricOf(nb::cast<StatusPair>(loaded_.attr("operators")));
  facts.device = MetricOf(nb::cast<StatusPair>(loaded_.attr("device")));
  facts.memory = {Status::kNotRequested, "inferprobe.profile(model, memory=True) records it"};
  facts.not_covered.clear();
  for (const auto& [what, why] : nb::cast<std::vector<StatusPair>>(loaded_.attr("not_covered"))) {
    facts.not_covered.push_back({what, why});
  }
}

Result<void> PythonEngine::BeforeObservedRun() {
  record::ThreadRing* ring = record::AttachThread();
  run_begins_ = ring == nullptr ? 0 : ring->head;
  return Catch("", [&] { loaded_.attr("before_observed")(); });
}

// Which modules were called is read back from the ring: what the tables say of the others.
Result<void> PythonEngine::AfterObservedRun() {
  return Catch("", [&] {
    const nb::object recorded = loaded_.attr("end_observed")();
    record::ThreadRing* ring = record::AttachThread();
    std::set<uint32_t> called;
    for (uint64_t at = run_begins_; ring != nullptr && at < ring->head; ++at) {
      const record::Cell& cell = ring->cells[at & ring->mask];
      if (record::TypeOf(cell) != record::CellType::kModuleCall) continue;
      called.insert(record::Info24(cell) & ~record::kModuleRaised);
    }
    if (!recorded.is_none() && ring != nullptr) {
      const Columns columns(recorded);
      const std::optional<double> error_ns = PublishOperators(columns.columns, ring);
      profile::Metric<double>& known = model_.modules.clock_error_ns;
      if (error_ns) known = known ? std::max(*known, *error_ns) : *error_ns;
      loaded_.attr("placed")(error_ns.has_value());
    }
    if (nb::cast<bool>(loaded_.attr("says_more")(std::vector(called.begin(), called.end())))) {
      for (size_t i = 0; const nb::handle node : loaded_.attr("tree")) {
        model_.modules.tree[i++] = ModuleOf(node);
      }
      TakeModuleFacts();
    }
  });
}

profile::MemoryFacts PythonEngine::memory() const {
  profile::MemoryFacts facts;
  facts.planned_bytes = {Status::kUnsupported, "PyTorch plans none"};
  facts.method_allocations =
      facts.method_bytes = {Status::kUnsupported, "PyTorch does not count them at load"};
  facts.run_allocations = facts.run_bytes = {
      Status::kNotRequested, "inferprobe.profile(model, memory=True) counts them by module"};
  return facts;
}

Result<void> PythonEngine::ExpectInputs(const std::vector<std::string>& files,
                                        const std::vector<std::string>& shapes) {
  return Catch("", [&] {
    loaded_.attr("expect_inputs")(files, shapes);
    inputs_ = SpecsFrom(loaded_.attr("inputs")());
    cases_.clear();
    std::vector<Tensor> example = TensorsFrom(loaded_.attr("example")());
    if (!example.empty()) cases_.push_back({std::move(example), {}, "the function's example"});
  });
}

Result<void> PythonEngine::SetInputs(std::vector<Tensor> inputs) {
  return Catch("", [&] {
    loaded_.attr("set_inputs")(ListOf(inputs));
    function_ = loaded_.attr("function");
    arguments_ = loaded_.attr("arguments");
    keywords_ = loaded_.attr("keywords");
    synchronize_ = loaded_.attr("synchronize");
    if (keywords_.is_none()) keywords_.reset();
    if (synchronize_.is_none()) synchronize_.reset();
  });
}

Result<void> PythonEngine::Run(const measure::RunView& view) {
  PyObject* result = PyObject_Call(function_.ptr(), arguments_.ptr(), keywords_.ptr());
  if (result != nullptr && synchronize_.is_valid()) {
    // What runs on a device is part of the run.
    PyObject* waited = PyObject_CallNoArgs(synchronize_.ptr());
    if (waited == nullptr) Py_CLEAR(result);
    Py_XDECREF(waited);
  }
  if (result == nullptr) {
    nb::python_error error;
    return tl::unexpected(ErrorOf(error.value(), "the model raised "));
  }
  // The one before goes now, as in `y = model(x)`.
  results_[view.observed ? 1 : 0] = nb::steal(result);
  return {};
}

Result<std::vector<Tensor>> PythonEngine::Outputs(bool observed) {
  return Catch("the outputs: ", [&] {
    std::vector<Tensor> tensors = TensorsFrom(loaded_.attr("tensors")(results_[observed ? 1 : 0]));
    model_.outputs = SpecsFrom(loaded_.attr("outputs"));
    return tensors;
  });
}

class PythonPlugin final : public measure::EnginePlugin {
 public:
  explicit PythonPlugin(nb::object plugin) : plugin_(std::move(plugin)) {}

  Result<measure::EngineDescription> Describe() override {
    return Catch("", [&] {
      const nb::object said = plugin_.attr("describe")();
      measure::EngineDescription description;
      description.name = "torch";
      description.title = "PyTorch";
      description.version = nb::cast<std::string>(said[0]);
      description.suffixes = {".py", ".pt2", ".pt"};
      description.notes = nb::cast<std::vector<std::string>>(said[1]);
      return description;
    });
  }

  Result<std::unique_ptr<measure::Engine>> Load(const measure::LoadOptions& options) override {
    if (!options.data_files.empty()) {
      return MakeError(ErrorCode::kInvalidArgument,
                       "data files (.ptd) are of ExecuTorch's programs, and this is PyTorch's");
    }
    if (!options.delegate_choices.empty() || !options.delegate_levels.empty()) {
      return MakeError(ErrorCode::kInvalidArgument,
                       "delegates are chosen in ExecuTorch's programs, and PyTorch has none");
    }
    auto loaded = Catch("", [&] {
      return plugin_.attr("load")(options.path, options.method, options.threads,
                                  ProfileLevelName(options.delegates.level));
    });
    if (!loaded) return tl::unexpected(loaded.error());
    auto engine = std::make_unique<PythonEngine>(std::move(*loaded));
    INFERPROBE_RETURN_IF_ERROR(engine->Start());
    return engine;
  }

 private:
  nb::object plugin_;
};

}  // namespace

int RunPythonWorker(nb::object plugin) {
  // Not destroyed: the registry keeps it as long as the process.
  auto* registered = new PythonPlugin(std::move(plugin));
  measure::RegisterPlugin("torch", registered);
  return measure::RunWorker();
}

std::optional<std::pair<std::string, std::vector<int64_t>>> NpySpec(const std::string& path) {
  auto tensor = npy::ReadNpy(path);
  if (!tensor) return std::nullopt;
  return std::pair(std::string(ScalarTypeName(tensor->type)), tensor->shape);
}

}  // namespace inferprobe::python
