// What the tests of this engine share: the sample programs with their arrays, and the cells that a
// run recorded; backends that we do not know of.
#pragma once

#include <dlfcn.h>
#include <executorch/runtime/backend/interface.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "engines/executorch/engine.h"
#include "formats/npy/npy.h"
#include "inferprobe/recorder.h"
#include "measure/inputs/inputs.h"
#include "record/block_reader.h"
#include "regions/current_work.h"

namespace inferprobe::executorch_engine {

inline std::string SourcePath(const std::string& path) {
  return std::string(INFERPROBE_SOURCE_DIR) + "/" + path;
}
inline std::string Sample(const std::string& name) { return SourcePath("samples/" + name); }
inline std::string Fixture(const std::string& name) {
  return SourcePath("tests/fixtures/executorch/" + name);
}

// STEM.input0.npy, STEM.input1.npy, ... beside the program, in data/.
inline std::vector<Tensor> Arrays(const std::string& program, const std::string& kind) {
  const std::filesystem::path path(program);
  std::vector<Tensor> tensors;
  while (true) {
    const std::string file = (path.parent_path() / "data" / path.filename()).string() + "." + kind +
                             std::to_string(tensors.size()) + ".npy";
    if (!base::FileExists(file)) return tensors;
    auto tensor = npy::ReadNpy(file);
    EXPECT_TRUE(tensor) << file;
    tensors.push_back(std::move(*tensor));
  }
}

inline std::unique_ptr<ExecutorchEngine> LoadOrFail(const measure::LoadOptions& options) {
  auto engine = ExecutorchEngine::Load(options);
  EXPECT_TRUE(engine) << engine.error().message << " | " << engine.error().hint;
  return engine ? std::move(*engine) : nullptr;
}
inline measure::LoadOptions Options(std::string path, std::string method = "forward",
                                    std::vector<std::string> data = {}) {
  measure::LoadOptions options;
  options.path = std::move(path);
  options.method = std::move(method);
  options.data_files = std::move(data);
  return options;
}
// As perf has it unasked.
inline measure::LoadOptions AtDelegate(const std::string& path) {
  measure::LoadOptions options = Options(path);
  options.delegates.level = ProfileLevel::kDelegate;
  return options;
}

// By libexecutorch.so's own function, as a library that was there before us does it.
inline ::executorch::runtime::Error RegisterBehindOurBack(
    const ::executorch::runtime::Backend& backend) {
  using Register = ::executorch::runtime::Error (*)(const ::executorch::runtime::Backend&);
  void* library = dlopen("libexecutorch.so", RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return ::executorch::runtime::Error::NotFound;
  void* symbol = dlsym(library, "_ZN10executorch7runtime16register_backendERKNS0_7BackendE");
  dlclose(library);
  return reinterpret_cast<Register>(symbol)(backend);
}

// Numbers come out of numpy as tensors of shape (); the engine wants them marked as scalars, and
// bfloat16 is stored as uint16.
inline std::vector<Tensor> As(const std::vector<TensorSpec>& specs, std::vector<Tensor> tensors) {
  for (size_t i = 0; i < tensors.size() && i < specs.size(); ++i) {
    tensors[i].is_scalar = specs[i].is_scalar;
    if (specs[i].type == ScalarType::kBfloat16) tensors[i].type = ScalarType::kBfloat16;
  }
  return tensors;
}

// Everything that was recorded since the last call, oldest first, with names.
struct NamedCell {
  record::Cell cell;
  std::string name;
  [[nodiscard]] record::CellType type() const {
    return static_cast<record::CellType>(cell.info >> 24);
  }
  [[nodiscard]] uint32_t value() const { return cell.info & record::kInfoMask; }
};

class Recording {
 public:
  explicit Recording(const RecorderOptions& options = {}) {
    auto recorder = Recorder::Start(options);
    EXPECT_TRUE(recorder) << recorder.error().message;
    if (recorder) recorder_ = std::make_unique<Recorder>(std::move(*recorder));
    auto reader = record::BlockReader::Open(
        {static_cast<const std::byte*>(recorder_->memory()), recorder_->memory_bytes()}, "test",
        record::BlockReader::Access::kConsume);
    EXPECT_TRUE(reader) << reader.error().message;
    if (reader) reader_ = std::make_unique<record::BlockReader>(std::move(*reader));
  }

  std::vector<NamedCell> Take() {
    std::vector<NamedCell> cells;
    for (uint32_t ring = 0; ring < reader_->facts().ring_count; ++ring) {
      const record::BlockReader::Cells unread = reader_->Unread(ring);
      for (uint64_t at = unread.begin; at != unread.end; ++at) {
        const record::Cell cell = unread.At(at);
        cells.push_back({cell, std::string(reader_->Name(cell.name).value_or("(lost)"))});
      }
      reader_->Consume(ring, unread.end);
    }
    return cells;
  }

 private:
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<record::BlockReader> reader_;
};

// Looks at the calling thread's loops while it lives, as a session does for the time of a run.
class Looking {
 public:
  explicit Looking(ParallelRegionCollector& collector) { regions::t_work.hooked = &collector; }
  ~Looking() { regions::t_work.hooked = nullptr; }
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;
};

}  // namespace inferprobe::executorch_engine
