// A program that works on its caller's own arrays: a key-value cache is updated where it lies, with
// a tracer and without, at every level. By ExecuTorch's own Method, as the engine keeps copies.
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "engines/executorch/counting_allocator.h"
#include "engines/executorch/delegate_options.h"
#include "engines/executorch/loaded_program.h"
#include "engines/executorch/method_instance.h"
#include "engines/executorch/program_tables.h"
#include "engines/executorch/test_support.h"
#include "engines/executorch/tracer.h"
#include "engines/executorch/values.h"
#include "record/ring_writer.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;

enum Argument : size_t { kInput, kPosition, kKeys, kValues, kArguments };
constexpr size_t kSteps = 3;

// One array of the caller's, and ExecuTorch's view of it.
class CallersArray {
 public:
  explicit CallersArray(Tensor tensor)
      : tensor_(std::move(tensor)),
        sizes_(tensor_.shape.begin(), tensor_.shape.end()),
        dim_order_(sizes_.size()) {
    for (size_t i = 0; i < dim_order_.size(); ++i) dim_order_[i] = static_cast<uint8_t>(i);
    strides_ = StridesOf(sizes_, dim_order_);
    view_.emplace(ToExecutorch(tensor_.type), static_cast<ssize_t>(sizes_.size()), sizes_.data(),
                  tensor_.data.data(), dim_order_.data(), strides_.data());
  }
  CallersArray(const CallersArray&) = delete;
  CallersArray& operator=(const CallersArray&) = delete;
  ~CallersArray() = default;

  et::EValue value() { return {::executorch::aten::Tensor(&*view_)}; }
  std::vector<std::byte>& bytes() { return tensor_.data; }

 private:
  Tensor tensor_;
  std::vector<int32_t> sizes_;
  std::vector<uint8_t> dim_order_;
  std::vector<int32_t> strides_;
  std::optional<::executorch::aten::TensorImpl> view_;
};

struct Way {
  bool traced;
  ProfileLevel level;
};

struct After {
  std::vector<std::byte> keys, values, result;
  bool operator==(const After&) const = default;
};

// The caller's cache after each of kSteps steps, at positions 0, 1, ...
std::vector<After> StepsOf(const Way& way) {
  const auto tables = ProgramTables::Open(Sample("kv_cache.pte"));
  const auto program = LoadedProgram::Load(**tables);
  const auto meta = (*program)->program().method_meta("forward");
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    sizes.push_back(*meta->memory_planned_buffer_size(i));
  }
  const auto memory = PlannedMemory::Make(sizes);
  et::HierarchicalAllocator planned((*memory)->spans());
  CountingAllocator method_allocator;
  CountingAllocator temp_allocator;
  et::MemoryManager manager(&method_allocator, &planned, &temp_allocator);
  ProfileConfig config;
  config.level = way.level;
  config.level_is_given = true;
  const auto options = DelegateLoadOptions::Make({}, config, {});
  const Recording recording;
  RingTracer tracer;
  auto method = (*program)->program().load_method(
      "forward", &manager, way.traced ? &tracer : nullptr, nullptr, (*options)->map());
  EXPECT_TRUE(method.ok());
  if (!method.ok()) return {};

  std::vector<Tensor> given = Arrays(Sample("kv_cache"), "input");
  EXPECT_EQ(given.size(), kArguments);
  std::deque<CallersArray> arrays;
  for (Tensor& tensor : given) arrays.emplace_back(std::move(tensor));
  const std::byte* keys = arrays[kKeys].bytes().data();
  const std::byte* values = arrays[kValues].bytes().data();
  std::vector<After> steps;
  for (int64_t step = 0; step < static_cast<int64_t>(kSteps); ++step) {
    std::memcpy(arrays[kPosition].bytes().data(), &step, sizeof step);
    for (size_t i = 0; i < kArguments; ++i) {
      EXPECT_EQ(method->set_input(arrays[i].value(), i), et::Error::Ok);
    }
    if (way.traced) tracer.BeginRun(record::AttachThread());
    EXPECT_EQ(method->execute(), et::Error::Ok);
    if (way.traced) tracer.EndRun();
    temp_allocator.reset();
    // The program's outputs are the caller's arrays, not copies.
    EXPECT_EQ(method->get_output(0).toTensor().const_data_ptr(), keys);
    EXPECT_EQ(method->get_output(1).toTensor().const_data_ptr(), values);
    const ::executorch::aten::Tensor& result = method->get_output(2).toTensor();
    const auto* bytes = static_cast<const std::byte*>(result.const_data_ptr());
    steps.push_back({arrays[kKeys].bytes(), arrays[kValues].bytes(),
                     std::vector<std::byte>(bytes, bytes + result.nbytes())});
  }
  return steps;
}

float At(const std::vector<std::byte>& bytes, size_t index) {
  float value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

// PyTorch adds in another order.
void ExpectNear(const std::vector<std::byte>& found, const Tensor& expected) {
  ASSERT_EQ(found.size(), expected.data.size());
  for (size_t i = 0; i < found.size() / sizeof(float); ++i) {
    ASSERT_NEAR(At(found, i), At(expected.data, i), 1e-5) << i;
  }
}

TEST(KvCache, TheCallersStorageIsUpdatedInPlace) {
  const std::vector<After> steps = StepsOf({false, ProfileLevel::kOff});
  ASSERT_EQ(steps.size(), kSteps);
  const std::vector<Tensor> expected = Arrays(Sample("kv_cache"), "expected");
  ASSERT_EQ(expected.size(), 3U);
  ExpectNear(steps[0].keys, expected[0]);
  ExpectNear(steps[0].values, expected[1]);
  ExpectNear(steps[0].result, expected[2]);
  // A later step adds its row and leaves the rows before it.
  const size_t row = 32 * sizeof(float);
  for (size_t step = 1; step < kSteps; ++step) {
    const auto& before = steps[step - 1].keys;
    const auto& after = steps[step].keys;
    EXPECT_EQ(std::memcmp(before.data(), after.data(), step * row), 0);
    EXPECT_NE(std::memcmp(before.data() + step * row, after.data() + step * row, row), 0);
  }
}

TEST(KvCache, ItIsTheSameBitForBitWithATracerAndAtEveryLevel) {
  const std::vector<After> plain = StepsOf({false, ProfileLevel::kOff});
  for (const Way way : {Way{true, ProfileLevel::kOff}, Way{true, ProfileLevel::kDelegate},
                        Way{true, ProfileLevel::kPhases}, Way{true, ProfileLevel::kLayers},
                        Way{false, ProfileLevel::kDelegate}}) {
    EXPECT_EQ(StepsOf(way), plain) << way.traced << ProfileLevelName(way.level);
  }
}

}  // namespace
}  // namespace inferprobe::executorch_engine
