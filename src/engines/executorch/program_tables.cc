#include "engines/executorch/program_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/saturating.h"
#include "base/text.h"
#include "bundled_program_schema_generated.h"
#include "engines/executorch/machine_memory.h"
#include "flat_tensor_generated.h"
#include "program_generated.h"

namespace inferprobe::executorch_engine {
namespace {

// The offsets in it have 32 bits, one of them for the sign; the verifier asserts less.
constexpr uint64_t kLargestFlatbuffer = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
// Behind the last segment: exporters align segments, by default to 128 bytes.
constexpr uint64_t kMostPadding = uint64_t{1} << 20;

uint64_t ReadLittleEndian(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  }
  return value;
}

// What a file is that is no program, from the four bytes at 4 (or 8: size-prefixed).
std::string_view OtherKind(std::string_view bytes) {
  if (bytes.substr(4, 4) == "FT01") return "a data file (.ptd): give it with --data";
  if (bytes.substr(8, 4) == "ED00") return "an ETDump: open it with `inferprobe show`";
  if (bytes.substr(0, 4) == "PK\x03\x04") return "a zip archive (a PyTorch .pt or .pt2?)";
  return {};
}

}  // namespace

tl::unexpected<Error> ProgramTables::Malformed(uint64_t byte, std::string_view what) const {
  return MakeError(ErrorCode::kMalformed, fmt::format("{}: byte {}: {}", path_, byte, what));
}

Result<std::unique_ptr<ProgramTables>> ProgramTables::Open(const std::string& path) {
  auto file = base::MappedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  std::unique_ptr<ProgramTables> opened(new ProgramTables(path, std::move(*file)));
  auto verified = opened->Verify();
  INFERPROBE_RETURN_IF_ERROR(opened->file_.Whole());
  INFERPROBE_RETURN_IF_ERROR(verified);
  return opened;
}

Result<void> ProgramTables::Verify() {
  INFERPROBE_RETURN_IF_ERROR(FindProgram());
  INFERPROBE_RETURN_IF_ERROR(VerifyProgram());
  return CheckSize();
}

Result<void> ProgramTables::FindProgram() {
  const std::string_view bytes = file_.bytes();
  if (bytes.size() < 12) {
    return Malformed(bytes.size(), "the file ends before an ExecuTorch program's header");
  }
  const std::string_view identifier = bytes.substr(4, 4);
  if (identifier == executorch_flatbuffer::ProgramIdentifier()) {
    program_bytes_ = bytes;
    return {};
  }
  if (identifier == bundled_program_flatbuffer::BundledProgramIdentifier()) {
    if (bytes.size() > kLargestFlatbuffer) {
      return Malformed(0,
                       fmt::format("a bundled program of {} bytes; no flatbuffer has more than {}",
                                   bytes.size(), kLargestFlatbuffer));
    }
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    if (!bundled_program_flatbuffer::VerifyBundledProgramBuffer(verifier)) {
      return Malformed(0, "a bundled program whose offsets do not hold: cut off or damaged");
    }
    bundle_ = bundled_program_flatbuffer::GetBundledProgram(bytes.data());
    const auto* program = bundle_->program();
    if (program == nullptr || program->size() < 12) {
      return Malformed(0, "a bundled program without a program");
    }
    program_bytes_ = {reinterpret_cast<const char*>(program->data()), program->size()};
    if (program_bytes_.substr(4, 4) != executorch_flatbuffer::ProgramIdentifier()) {
      return Malformed(static_cast<uint64_t>(program_bytes_.data() - bytes.data()) + 4,
                       "the program in the bundle does not have the identifier ET12");
    }
    return {};
  }
  if (const std::string_view kind = OtherKind(bytes); !kind.empty()) {
    return MakeError(ErrorCode::kMalformed, fmt::format("{}: this is {}", path_, kind));
  }
  return Malformed(4, fmt::format("not an ExecuTorch program: its identifier is \"{}\", not ET12 "
                                  "(.pte) or BP08 (.bpte)",
                                  base::TerminalText(base::RepairUtf8(identifier).text)));
}

Result<void> ProgramTables::VerifyProgram() {
  const auto start = static_cast<uint64_t>(program_bytes_.data() - file_.bytes().data());
  flatbuffer_bytes_ = program_bytes_.size();
  // The extended header, schema/extended_header.h: "eh00", its length, then program size, segment
  // base offset and, if it is long enough, segment data size.
  if (program_bytes_.size() >= 32 && program_bytes_.substr(8, 4) == "eh00") {
    const uint64_t length = ReadLittleEndian(program_bytes_, 12, 4);
    const uint64_t program_size = ReadLittleEndian(program_bytes_, 16, 8);
    segment_base_ = ReadLittleEndian(program_bytes_, 24, 8);
    if (program_size > program_bytes_.size()) {
      return Malformed(file_.bytes().size(),
                       fmt::format("the file ends early: its program has {} bytes, {} are here",
                                   program_size, program_bytes_.size()));
    }
    if (segment_base_ > program_bytes_.size()) {
      return Malformed(
          file_.bytes().size(),
          fmt::format("the file ends early: its data starts at byte {}", start + segment_base_));
    }
    if (length >= 32 && program_bytes_.size() >= 40) {
      const uint64_t data_size = ReadLittleEndian(program_bytes_, 32, 8);
      if (data_size > program_bytes_.size() - segment_base_) {
        return Malformed(file_.bytes().size(),
                         fmt::format("the file ends early: {} bytes of data start at byte {}",
                                     data_size, start + segment_base_));
      }
    }
    flatbuffer_bytes_ = program_size;
  }
  if (flatbuffer_bytes_ > kLargestFlatbuffer) {
    return Malformed(start, fmt::format("an ExecuTorch program of {} bytes; no flatbuffer has more "
                                        "than {}",
                                        flatbuffer_bytes_, kLargestFlatbuffer));
  }
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(program_bytes_.data()),
                                 flatbuffer_bytes_);
  if (!executorch_flatbuffer::VerifyProgramBuffer(verifier)) {
    return Malformed(start, "an ExecuTorch program whose offsets do not hold: cut off or damaged");
  }
  program_ = executorch_flatbuffer::GetProgram(program_bytes_.data());
  return {};
}

// What is loaded is also hashed, all of it: a sparse file can say that it has a terabyte.
Result<void> ProgramTables::CheckSize() const {
  const uint64_t bytes = file_.bytes().size();
  if (const auto memory = static_cast<uint64_t>(MachineMemoryBytes()); bytes > memory) {
    return MakeError(
        ErrorCode::kUnsupported,
        fmt::format("{} has {} bytes; this machine has {} bytes of memory", path_, bytes, memory),
        "a program that does not fit into memory cannot be measured");
  }
  if (bundle_ != nullptr) return {};
  uint64_t end = flatbuffer_bytes_;
  if (const auto* segments = program_->segments(); segments != nullptr && segment_base_ != 0) {
    for (uint32_t i = 0; i < segments->size(); ++i) {
      const std::string_view segment = Segment(i);
      if (segment.empty()) continue;
      end = std::max(
          end, static_cast<uint64_t>(segment.data() + segment.size() - program_bytes_.data()));
    }
  }
  if (bytes - end > kMostPadding) {
    return Malformed(end, fmt::format("the program and its data end here, and {} bytes follow: "
                                      "`truncate -s {}` cuts them off",
                                      bytes - end, end));
  }
  return {};
}

std::vector<std::string> ProgramTables::Methods() const {
  std::vector<std::string> methods;
  const auto* plans = program_->execution_plan();
  if (plans == nullptr) return methods;
  for (const auto* plan : *plans) {
    if (plan != nullptr && plan->name() != nullptr) methods.push_back(plan->name()->str());
  }
  return methods;
}

const executorch_flatbuffer::ExecutionPlan* ProgramTables::FindPlan(
    const std::string& method) const {
  const auto* plans = program_->execution_plan();
  if (plans == nullptr) return nullptr;
  for (const auto* plan : *plans) {
    if (plan != nullptr && plan->name() != nullptr && plan->name()->string_view() == method) {
      return plan;
    }
  }
  return nullptr;
}

std::string_view ProgramTables::Segment(uint64_t index) const {
  const auto* segments = program_->segments();
  if (segments == nullptr || index >= segments->size() || segment_base_ == 0) return {};
  const auto* segment = segments->Get(static_cast<uint32_t>(index));
  if (segment == nullptr) return {};
  const uint64_t room = program_bytes_.size() - segment_base_;
  if (segment->offset() > room || segment->size() > room - segment->offset()) return {};
  return program_bytes_.substr(segment_base_ + segment->offset(), segment->size());
}

namespace {

// The flatbuffer at the head of a data file, without the segments that follow. The header,
// extension/flat_tensor/serialize/flat_tensor_header.h: "FH01", its length, then flatbuffer offset
// and size, segment base offset and size.
Result<void> VerifyDataBytes(std::string_view bytes, const std::string& path) {
  const auto malformed = [&](uint64_t byte, std::string_view what) {
    return MakeError(ErrorCode::kMalformed, fmt::format("{}: byte {}: {}", path, byte, what));
  };
  if (bytes.size() < 12 || bytes.substr(4, 4) != flat_tensor_flatbuffer::FlatTensorIdentifier()) {
    return malformed(std::min<size_t>(4, bytes.size()), "not an ExecuTorch data file (.ptd)");
  }
  if (const auto memory = static_cast<uint64_t>(MachineMemoryBytes()); bytes.size() > memory) {
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("{} has {} bytes; this machine has {} bytes of memory", path,
                                 bytes.size(), memory),
                     "data that does not fit into memory cannot be measured");
  }
  uint64_t flatbuffer_bytes = bytes.size();
  if (bytes.size() >= 48 && bytes.substr(8, 4) == "FH01") {
    const uint64_t offset = ReadLittleEndian(bytes, 16, 8);
    const uint64_t size = ReadLittleEndian(bytes, 24, 8);
    const uint64_t base = ReadLittleEndian(bytes, 32, 8);
    const uint64_t data = ReadLittleEndian(bytes, 40, 8);
    if (offset > bytes.size() || size > bytes.size() - offset) {
      return malformed(bytes.size(), fmt::format("the file ends early: its tables end at byte {}",
                                                 base::SaturatingAdd(offset, size)));
    }
    if (base > bytes.size() || data > bytes.size() - base) {
      return malformed(bytes.size(), fmt::format("the file ends early: its data ends at byte {}",
                                                 base::SaturatingAdd(base, data)));
    }
    flatbuffer_bytes = offset + size;
    const uint64_t end = std::max(flatbuffer_bytes, base + data);
    if (bytes.size() - end > kMostPadding) {
      return malformed(end, fmt::format("the data ends here, and {} bytes follow: `truncate -s {}` "
                                        "cuts them off",
                                        bytes.size() - end, end));
    }
  }
  if (flatbuffer_bytes > kLargestFlatbuffer) {
    return malformed(0, fmt::format("the tables of a data file in {} bytes; no flatbuffer has more "
                                    "than {}",
                                    flatbuffer_bytes, kLargestFlatbuffer));
  }
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), flatbuffer_bytes);
  if (!flat_tensor_flatbuffer::VerifyFlatTensorBuffer(verifier)) {
    return malformed(0, "a data file whose offsets do not hold: cut off or damaged");
  }
  return {};
}

}  // namespace

Result<void> VerifyDataFile(const std::string& path) {
  auto file = base::MappedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  auto verified = VerifyDataBytes(file->bytes(), path);
  INFERPROBE_RETURN_IF_ERROR(file->Whole());
  return verified;
}

}  // namespace inferprobe::executorch_engine
