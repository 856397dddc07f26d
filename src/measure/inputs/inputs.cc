#include "measure/inputs/inputs.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "base/files.h"
#include "formats/npy/npy.h"
#include "measure/inputs/random_fill.h"

namespace inferprobe::measure {
namespace {

// `input 0 "image"`, or `input 0` where it has no name.
std::string Called(const TensorSpec& spec, size_t index) {
  return spec.name.empty() ? fmt::format("input {}", index)
                           : fmt::format("input {} \"{}\"", index, spec.name);
}

std::string Expected(const TensorSpec& spec) {
  if (spec.is_scalar) return fmt::format("a number of type {}", ScalarTypeName(spec.type));
  return SpecText(spec.type, spec.shape) + (spec.dynamic ? " at most" : "");
}

std::string AllInputs(const std::vector<TensorSpec>& specs) {
  if (specs.empty()) return "the model has no inputs";
  std::string text = "the model's inputs: ";
  for (size_t i = 0; i < specs.size(); ++i) {
    text += fmt::format("{}{} is {}", i == 0 ? "" : "; ", Called(specs[i], i), Expected(specs[i]));
  }
  return text;
}

std::optional<size_t> FindInput(const std::vector<TensorSpec>& specs, std::string_view key) {
  if (key.empty()) return std::nullopt;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == key) return i;
  }
  size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (error != std::errc() || end != key.data() + key.size() || index >= specs.size()) {
    return std::nullopt;
  }
  return index;
}

// The integer types of numpy that hold a quantized or bfloat16 tensor's bits.
ScalarType StoredAs(ScalarType type) {
  switch (type) {
    case ScalarType::kBfloat16:
      return ScalarType::kUint16;
    case ScalarType::kQint8:
      return ScalarType::kInt8;
    case ScalarType::kQuint8:
      return ScalarType::kUint8;
    case ScalarType::kQint32:
      return ScalarType::kInt32;
    default:
      return type;
  }
}

bool ShapeFits(const TensorSpec& spec, const std::vector<int64_t>& shape) {
  if (shape.size() != spec.shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (spec.dynamic ? shape[i] < 0 || shape[i] > spec.shape[i] : shape[i] != spec.shape[i]) {
      return false;
    }
  }
  return true;
}

// `from` says where the tensor is from: "cat.npy holds".
Result<void> CheckOne(const TensorSpec& spec, size_t index, const Tensor& tensor,
                      std::string_view from) {
  const std::string got = SpecText(tensor.type, tensor.shape);
  if (tensor.type != spec.type) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is {}; {} {}", Called(spec, index), Expected(spec), from, got),
                     fmt::format("nothing is converted: save the array as {}",
                                 ScalarTypeName(StoredAs(spec.type))));
  }
  if (!ShapeFits(spec, tensor.shape)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{} is {}; {} {}", Called(spec, index), Expected(spec), from, got));
  }
  const size_t bytes = static_cast<size_t>(ElementCount(tensor.shape)) * ScalarTypeSize(spec.type);
  if (tensor.data.size() != bytes) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} needs {} bytes; {} {} bytes", Called(spec, index), bytes, from,
                                 tensor.data.size()));
  }
  if (!spec.fixed_value.empty() && tensor.data != spec.fixed_value) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} was fixed when the program was exported: it takes that one "
                                 "value",
                                 Called(spec, index)),
                     "leave the input out");
  }
  return {};
}

Result<Tensor> ReadInput(const TensorSpec& spec, size_t index, const std::string& file) {
  auto tensor = npy::ReadNpy(file);
  if (!tensor) return tl::unexpected(tensor.error());
  // numpy has a narrower choice of types; the bits are what the program wants.
  if (tensor->type == StoredAs(spec.type)) tensor->type = spec.type;
  tensor->is_scalar = spec.is_scalar;
  if (spec.is_scalar && tensor->shape == std::vector<int64_t>{1}) tensor->shape.clear();
  INFERPROBE_RETURN_IF_ERROR(CheckOne(spec, index, *tensor, file + " holds"));
  return tensor;
}

std::optional<std::vector<int64_t>> ParseShape(std::string_view text) {
  std::vector<int64_t> shape;
  while (true) {
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent < 0) return std::nullopt;
    shape.push_back(extent);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) return shape;
    if (text.front() != 'x' && text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
}

Result<std::vector<TensorSpec>> ApplyShapes(const std::vector<TensorSpec>& specs,
                                            const std::vector<std::string>& shapes) {
  std::vector<TensorSpec> chosen = specs;
  for (const std::string& text : shapes) {
    const size_t equals = text.find('=');
    const bool bare = equals == std::string::npos;
    const auto index = bare ? (specs.size() == 1 ? std::optional<size_t>(0) : std::nullopt)
                            : FindInput(specs, std::string_view(text).substr(0, equals));
    if (!index) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("--shape {}: {}", text,
                      bare ? "say which input, as in 0=1x3x224x224" : "there is no such input"),
          AllInputs(specs));
    }
    const auto shape = ParseShape(bare ? text : text.substr(equals + 1));
    if (!shape) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("--shape {}: not a shape; one looks like 1x3x224x224", text));
    }
    if (specs[*index].is_scalar || !ShapeFits(specs[*index], *shape)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("--shape {}: {} is {}", text, Called(specs[*index], *index),
                                   Expected(specs[*index])));
    }
    chosen[*index].shape = *shape;
    chosen[*index].dynamic = false;  // a file for it must now have this very shape
  }
  return chosen;
}

// Which input a "--input" value is for, and its file.
struct Assignment {
  size_t index;
  std::string file;
};
Result<Assignment> Assign(const std::vector<TensorSpec>& specs, const std::string& text,
                          const std::vector<bool>& taken) {
  const size_t equals = text.find('=');
  if (equals != std::string::npos) {
    if (const auto index = FindInput(specs, std::string_view(text).substr(0, equals))) {
      return Assignment{*index, text.substr(equals + 1)};
    }
    // The name of a file may have an "=" in it.
    if (!base::FileExists(text)) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("--input {}: there is no input \"{}\"", text, text.substr(0, equals)),
          AllInputs(specs));
    }
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!taken[i]) return Assignment{i, text};
  }
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("--input {}: one input too many", text),
                   AllInputs(specs));
}

}  // namespace

Result<ResolvedInputs> ResolveInputs(const std::vector<TensorSpec>& specs,
                                     const InputRequest& request) {
  auto chosen = ApplyShapes(specs, request.shapes);
  if (!chosen) return tl::unexpected(chosen.error());

  ResolvedInputs resolved;
  resolved.tensors.resize(specs.size());
  resolved.sources.resize(specs.size());
  std::vector<bool> taken(specs.size(), false);
  for (const std::string& text : request.inputs) {
    auto assignment = Assign(*chosen, text, taken);
    if (!assignment) return tl::unexpected(assignment.error());
    const size_t index = assignment->index;
    if (taken[index]) {
      return MakeError(ErrorCode::kInvalidArgument, fmt::format("--input {}: {} is given twice",
                                                                text, Called(specs[index], index)));
    }
    auto tensor = ReadInput((*chosen)[index], index, assignment->file);
    if (!tensor) return tl::unexpected(tensor.error());
    taken[index] = true;
    resolved.tensors[index] = std::move(*tensor);
    resolved.sources[index] = assignment->file;
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (taken[i]) continue;
    resolved.tensors[i] = RandomTensor((*chosen)[i], request.seed, i);
    resolved.sources[i] = specs[i].fixed_value.empty() ? fmt::format("seed {}", request.seed)
                                                       : "fixed by the program";
  }
  return resolved;
}

Result<void> CheckInputs(const std::vector<TensorSpec>& specs, const std::vector<Tensor>& tensors) {
  if (tensors.size() != specs.size()) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{} inputs were given, the model takes {}", tensors.size(), specs.size()),
        AllInputs(specs));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    INFERPROBE_RETURN_IF_ERROR(CheckOne(specs[i], i, tensors[i], "given was"));
  }
  return {};
}

}  // namespace inferprobe::measure
