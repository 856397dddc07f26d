#include "measure/inputs/inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "formats/npy/npy.h"
#include "measure/inputs/random_fill.h"

namespace inferprobe::measure {
namespace {

TensorSpec Spec(std::string name, ScalarType type, std::vector<int64_t> shape,
                bool dynamic = false) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.type = type;
  spec.shape = std::move(shape);
  spec.dynamic = dynamic;
  return spec;
}

template <typename T>
Tensor Of(ScalarType type, std::vector<int64_t> shape, const std::vector<T>& values) {
  Tensor tensor{type, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T)), false};
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

template <typename T>
std::vector<T> Values(const Tensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

class Inputs : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/inputs_test." + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Save(const std::string& name, const Tensor& tensor) {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(npy::WriteNpy(path, tensor, base::Overwrite::kForce));
    return path;
  }

  std::string folder_;
  std::vector<TensorSpec> specs_ = {Spec("image", ScalarType::kFloat32, {1, 2}),
                                    Spec("", ScalarType::kInt64, {3})};
  Tensor image_ = Of<float>(ScalarType::kFloat32, {1, 2}, {0.5F, 2});
  Tensor ids_ = Of<int64_t>(ScalarType::kInt64, {3}, {1, 2, 3});
};

TEST_F(Inputs, AreFoundByNameIndexAndOrder) {
  const std::string image = Save("image.npy", image_);
  const std::string ids = Save("ids=x.npy", ids_);  // a file name with an "="
  for (const std::vector<std::string>& given :
       {std::vector<std::string>{"image=" + image, "1=" + ids},
        {"1=" + ids, "0=" + image},
        {image, ids},
        {"1=" + ids, image},
        {"image=" + image, ids}}) {
    auto resolved = ResolveInputs(specs_, {given, {}, 0});
    ASSERT_TRUE(resolved) << resolved.error().message;
    EXPECT_TRUE(SameBits(resolved->tensors, {image_, ids_}));
    EXPECT_EQ(resolved->sources, (std::vector<std::string>{image, ids}));
  }
}

TEST_F(Inputs, ThatAreNotGivenAreSeeded) {
  auto resolved = ResolveInputs(specs_, {{Save("i.npy", image_)}, {}, 7});
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->sources[1], "seed 7");
  EXPECT_TRUE(CheckInputs(specs_, resolved->tensors));
  for (const int64_t id : Values<int64_t>(resolved->tensors[1])) {
    EXPECT_GE(id, 0);
    EXPECT_LT(id, 4);
  }
}

TEST_F(Inputs, WrongOnesAreRefusedWithWhatIsExpected) {
  const std::string image = Save("image.npy", image_);
  const std::string ids = Save("ids.npy", ids_);
  const auto message = [&](const InputRequest& request) {
    auto resolved = ResolveInputs(specs_, request);
    return resolved ? "accepted" : resolved.error().message + " | " + resolved.error().hint;
  };
  EXPECT_NE(message({{"picture=" + image}, {}, 0}).find("there is no input \"picture\""),
            std::string::npos);
  EXPECT_NE(message({{"picture=" + image}, {}, 0}).find("input 0 \"image\" is f32[1,2]"),
            std::string::npos);
  EXPECT_NE(message({{"2=" + image}, {}, 0}).find("there is no input \"2\""), std::string::npos);
  EXPECT_NE(message({{"0=" + ids}, {}, 0}).find("is f32[1,2]; " + ids + " holds i64[3]"),
            std::string::npos);
  EXPECT_NE(message({{image, ids, image}, {}, 0}).find("one input too many"), std::string::npos);
  EXPECT_NE(message({{image, "0=" + image}, {}, 0}).find("is given twice"), std::string::npos);
  EXPECT_NE(message({{"0=/nowhere.npy"}, {}, 0}).find("/nowhere.npy"), std::string::npos);
  const std::string tall = Save("tall.npy", Of<float>(ScalarType::kFloat32, {2, 1}, {1, 2}));
  EXPECT_NE(message({{tall}, {}, 0}).find("holds f32[2,1]"), std::string::npos);
}

TEST_F(Inputs, ShapesOfDynamicInputsAreChosenUpToTheBound) {
  specs_ = {Spec("x", ScalarType::kFloat32, {8, 4}, true)};
  for (const char* text : {"x=3x4", "0=3x4", "3x4", "3,4"}) {
    auto resolved = ResolveInputs(specs_, {{}, {text}, 0});
    ASSERT_TRUE(resolved) << resolved.error().message;
    EXPECT_EQ(resolved->tensors[0].shape, (std::vector<int64_t>{3, 4}));
  }
  auto bound = ResolveInputs(specs_, {});
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->tensors[0].shape, (std::vector<int64_t>{8, 4}));
  for (const char* text : {"x=9x4", "x=3", "x=3x", "x=axb", "x=-1x4", "y=3x4", "x="}) {
    EXPECT_FALSE(ResolveInputs(specs_, {{}, {text}, 0})) << text;
  }
  specs_[0].dynamic = false;
  EXPECT_FALSE(ResolveInputs(specs_, {{}, {"x=3x4"}, 0}));
}

TEST_F(Inputs, Bfloat16AndQuantizedComeFromTheirIntegers) {
  const std::string path = Save("b.npy", Of<uint16_t>(ScalarType::kUint16, {1}, {0x3f80}));
  auto resolved = ResolveInputs({Spec("x", ScalarType::kBfloat16, {1})}, {{path}, {}, 0});
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_EQ(resolved->tensors[0].type, ScalarType::kBfloat16);
  const std::string bytes = Save("q.npy", Of<int8_t>(ScalarType::kInt8, {1}, {-3}));
  EXPECT_TRUE(ResolveInputs({Spec("x", ScalarType::kQint8, {1})}, {{bytes}, {}, 0}));
}

TEST_F(Inputs, FixedScalarsTakeTheirValueOnly) {
  TensorSpec spec = Spec("n", ScalarType::kInt64, {});
  spec.is_scalar = true;
  spec.fixed_value = Of<int64_t>(ScalarType::kInt64, {}, {3}).data;
  auto resolved = ResolveInputs({spec}, {});
  ASSERT_TRUE(resolved);
  EXPECT_EQ(Values<int64_t>(resolved->tensors[0]), std::vector<int64_t>{3});
  EXPECT_EQ(resolved->sources[0], "fixed by the program");
  EXPECT_TRUE(resolved->tensors[0].is_scalar);
  const std::string three = Save("3.npy", Of<int64_t>(ScalarType::kInt64, {1}, {3}));
  const std::string four = Save("4.npy", Of<int64_t>(ScalarType::kInt64, {}, {4}));
  EXPECT_TRUE(ResolveInputs({spec}, {{three}, {}, 0}));
  EXPECT_FALSE(ResolveInputs({spec}, {{four}, {}, 0}));
}

TEST(CheckInputs, RefusesCountAndBytes) {
  const std::vector<TensorSpec> specs = {Spec("x", ScalarType::kFloat32, {2})};
  EXPECT_FALSE(CheckInputs(specs, {}));
  Tensor shorter = Of<float>(ScalarType::kFloat32, {2}, {1});
  EXPECT_FALSE(CheckInputs(specs, {shorter}));
  EXPECT_TRUE(CheckInputs(specs, {Of<float>(ScalarType::kFloat32, {2}, {1, 2})}));
}

// The values are part of every result that says "seed 0": they must never change.
TEST(RandomTensor, IsTheSameEverywhere) {
  const auto hash = [](ScalarType type) {
    const Tensor tensor = RandomTensor(Spec("", type, {5, 7}), 0, 1);
    return base::Sha256Hex({reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()})
        .substr(0, 16);
  };
  EXPECT_EQ(hash(ScalarType::kFloat32), "098f495b4ea98c8d");
  EXPECT_EQ(hash(ScalarType::kFloat16), "f42a8fc5978bb09f");
  EXPECT_EQ(hash(ScalarType::kInt64), "8aa6ff7d5623bf62");
  EXPECT_EQ(hash(ScalarType::kBool), "7ae842633a53dc10");
}

TEST(RandomTensor, IsTheGeneratorThatItSays) {
  // First output of xoshiro256** with a state from SplitMix64(0), as other implementations have it.
  const Tensor tensor = RandomTensor(Spec("", ScalarType::kFloat64, {1}), 0, 0);
  EXPECT_EQ(Values<double>(tensor)[0], static_cast<double>(0x99EC5F36CB75F2B4 >> 11) * 0x1p-53);
}

TEST(RandomTensor, FloatsAreUniformFromZeroToOne) {
  for (const uint64_t seed : {0ULL, 1ULL, 12345ULL}) {
    const auto values =
        Values<float>(RandomTensor(Spec("", ScalarType::kFloat32, {10000}), seed, 0));
    double sum = 0;
    for (const float value : values) {
      ASSERT_GE(value, 0);
      ASSERT_LT(value, 1);
      sum += value;
    }
    EXPECT_NEAR(sum / 10000, 0.5, 0.02);
  }
}

TEST(RandomTensor, SeedsAndInputsHaveStreamsOfTheirOwn) {
  const TensorSpec spec = Spec("", ScalarType::kFloat32, {16});
  EXPECT_EQ(RandomTensor(spec, 1, 0).data, RandomTensor(spec, 1, 0).data);
  EXPECT_NE(RandomTensor(spec, 1, 0).data, RandomTensor(spec, 2, 0).data);
  EXPECT_NE(RandomTensor(spec, 1, 0).data, RandomTensor(spec, 1, 1).data);
}

TEST(RandomTensor, NarrowFloatsAreExact) {
  const Tensor half = RandomTensor(Spec("", ScalarType::kFloat16, {2000}), 3, 0);
  const Tensor zeros{ScalarType::kFloat16, {2000}, std::vector<std::byte>(4000), false};
  const OutputComparison range = CompareOutputs({half}, {zeros});
  ASSERT_TRUE(range.max_abs_error);
  EXPECT_LT(*range.max_abs_error, 1.0);
  EXPECT_GT(*range.max_abs_error, 0.9);
  const double steps = *range.max_abs_error * 2048;
  EXPECT_EQ(steps, std::floor(steps));
}

TEST(CompareOutputs, FloatsWithinToleranceMatch) {
  const Tensor expected = Of<float>(ScalarType::kFloat32, {2}, {1, NAN});
  EXPECT_TRUE(
      CompareOutputs({Of<float>(ScalarType::kFloat32, {2}, {1.0005F, NAN})}, {expected}).match);
  const auto far = CompareOutputs({Of<float>(ScalarType::kFloat32, {2}, {1.01F, NAN})}, {expected});
  EXPECT_FALSE(far.match);
  EXPECT_NE(far.text.find("output 0: element 0 is 1.01, 1 was expected"), std::string::npos);
  EXPECT_NEAR(far.max_abs_error.value(), 0.01, 1e-6);
  EXPECT_FALSE(CompareOutputs({Of<float>(ScalarType::kFloat32, {2}, {1, 2})}, {expected}).match);
}

TEST(CompareOutputs, IntegersMatchExactly) {
  const Tensor expected = Of<int32_t>(ScalarType::kInt32, {2}, {1, 2});
  EXPECT_TRUE(CompareOutputs({expected}, {expected}).match);
  EXPECT_FALSE(CompareOutputs({Of<int32_t>(ScalarType::kInt32, {2}, {1, 3})}, {expected}).match);
  EXPECT_FALSE(CompareOutputs({Of<int32_t>(ScalarType::kInt32, {1, 2}, {1, 2})}, {expected}).match);
  EXPECT_FALSE(CompareOutputs({}, {expected}).match);
}

TEST(SameBits, SeesOneBit) {
  Tensor a = Of<float>(ScalarType::kFloat32, {1}, {0.0F});
  Tensor b = Of<float>(ScalarType::kFloat32, {1}, {-0.0F});
  EXPECT_TRUE(SameBits({a}, {a}));
  EXPECT_FALSE(SameBits({a}, {b}));
}

}  // namespace
}  // namespace inferprobe::measure
