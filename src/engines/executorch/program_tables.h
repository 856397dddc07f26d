// The files of ExecuTorch as flatbuffers: .pte, .bpte (a program bundled with inputs and expected
// outputs) and .ptd, told apart by content, never by name. Verified before anything in them is
// followed.
//
// The rule that people break: nothing here includes ExecuTorch's executor headers. They declare
// flatbuffers::Vector as the newer flatbuffers inside the runtime has it, and the system's headers
// refuse that. The runtime's side of a program is loaded_program.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "inferprobe/result.h"

namespace executorch_flatbuffer {
struct Program;
struct ExecutionPlan;
}  // namespace executorch_flatbuffer
namespace bundled_program_flatbuffer {
struct BundledProgram;
}  // namespace bundled_program_flatbuffer

namespace inferprobe::executorch_engine {

// Everything read out of it points into the mapping.
class ProgramTables {
 public:
  static Result<std::unique_ptr<ProgramTables>> Open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string_view file_bytes() const { return file_.bytes(); }
  // The program: the whole of a .pte, a part of a .bpte.
  [[nodiscard]] std::string_view program_bytes() const { return program_bytes_; }
  [[nodiscard]] const executorch_flatbuffer::Program& program() const { return *program_; }
  // nullptr: no bundle.
  [[nodiscard]] const bundled_program_flatbuffer::BundledProgram* bundle() const { return bundle_; }

  // The names of its methods, in the program's order.
  [[nodiscard]] std::vector<std::string> Methods() const;
  // nullptr: there is no such method.
  [[nodiscard]] const executorch_flatbuffer::ExecutionPlan* FindPlan(
      const std::string& method) const;
  // Bytes of a segment; empty where the index leads nowhere.
  [[nodiscard]] std::string_view Segment(uint64_t index) const;

 private:
  ProgramTables(std::string path, base::MappedFile file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Result<void> Verify();
  Result<void> FindProgram();
  Result<void> VerifyProgram();
  Result<void> CheckSize() const;
  [[nodiscard]] tl::unexpected<Error> Malformed(uint64_t byte, std::string_view what) const;

  std::string path_;
  base::MappedFile file_;
  std::string_view program_bytes_;
  uint64_t flatbuffer_bytes_ = 0;  // of the program, without the segments that follow
  uint64_t segment_base_ = 0;      // 0: no segments
  const executorch_flatbuffer::Program* program_ = nullptr;
  const bundled_program_flatbuffer::BundledProgram* bundle_ = nullptr;
};

// A data file (.ptd) whose offsets hold, and that is no larger than its tables say. The runtime
// follows them without looking.
Result<void> VerifyDataFile(const std::string& path);

}  // namespace inferprobe::executorch_engine
