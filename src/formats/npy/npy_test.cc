#include "formats/npy/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace inferprobe::npy {
namespace {

// A version-1 file with this header text and these bytes, as numpy lays it out (not padded).
std::string File(std::string_view header, std::string_view data, uint8_t major = 1) {
  std::string out("\x93NUMPY", 6);
  out.push_back(static_cast<char>(major));
  out.push_back('\0');
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    out.push_back(static_cast<char>(header.size() >> (8 * i) & 0xFF));
  }
  return out.append(header).append(data);
}

template <typename T>
std::vector<T> Values(const Tensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

TEST(Npy, ReadsWhatNumpyWrote) {
  // numpy.save("x.npy", numpy.array([[1, 2, 3]], dtype="<i4"))
  const std::string header =
      "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 3), }" + std::string(58, ' ') + "\n";
  auto tensor = ParseNpy(File(header, std::string_view("\1\0\0\0\2\0\0\0\3\0\0\0", 12)), "x.npy");
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(tensor->type, ScalarType::kInt32);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(Values<int32_t>(*tensor), (std::vector<int32_t>{1, 2, 3}));
}

TEST(Npy, ReadsVersionsTwoAndThree) {
  for (const uint8_t major : {uint8_t{2}, uint8_t{3}}) {
    auto tensor = ParseNpy(
        File("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", "ab", major), "x.npy");
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(Values<uint8_t>(*tensor), (std::vector<uint8_t>{'a', 'b'}));
  }
}

TEST(Npy, BigEndianIsSwappedAndComplexByHalves) {
  auto shorts = ParseNpy(File("{'descr': '>u2', 'fortran_order': False, 'shape': (2,)}",
                              std::string_view("\x01\x02\x03\x04", 4)),
                         "x.npy");
  ASSERT_TRUE(shorts);
  EXPECT_EQ(Values<uint16_t>(*shorts), (std::vector<uint16_t>{0x0102, 0x0304}));
  // 1+2j as big-endian complex64.
  auto complex = ParseNpy(File("{'descr': '>c8', 'fortran_order': False, 'shape': ()}",
                               std::string_view("\x3f\x80\0\0\x40\0\0\0", 8)),
                          "x.npy");
  ASSERT_TRUE(complex);
  EXPECT_EQ(Values<float>(*complex), (std::vector<float>{1, 2}));
}

TEST(Npy, FortranOrderBecomesCOrder) {
  // [[1, 2, 3], [4, 5, 6]] with the first index fastest.
  auto tensor = ParseNpy(File("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3)}",
                              std::string_view("\1\4\2\5\3\6", 6)),
                         "x.npy");
  ASSERT_TRUE(tensor);
  EXPECT_EQ(Values<int8_t>(*tensor), (std::vector<int8_t>{1, 2, 3, 4, 5, 6}));
  auto cube = ParseNpy(File("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 2, 2)}",
                            std::string_view("\0\4\2\6\1\5\3\7", 8)),
                       "x.npy");
  ASSERT_TRUE(cube);
  EXPECT_EQ(Values<int8_t>(*cube), (std::vector<int8_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Npy, EveryTypeGoesRoundTheTrip) {
  for (const ScalarType type :
       {ScalarType::kUint8, ScalarType::kInt8, ScalarType::kInt16, ScalarType::kInt32,
        ScalarType::kInt64, ScalarType::kFloat16, ScalarType::kFloat32, ScalarType::kFloat64,
        ScalarType::kBool, ScalarType::kUint16, ScalarType::kUint32, ScalarType::kUint64,
        ScalarType::kComplexFloat64, ScalarType::kComplexFloat128}) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, {3}, {2, 0, 4}, {2, 3, 1, 2}}) {
      Tensor tensor{type, shape, {}, false};
      tensor.data.resize(static_cast<size_t>(ElementCount(shape)) * ScalarTypeSize(type));
      for (size_t i = 0; i < tensor.data.size(); ++i) tensor.data[i] = std::byte(i * 37);
      auto bytes = NpyBytes(tensor);
      ASSERT_TRUE(bytes);
      auto back = ParseNpy(*bytes, "x.npy");
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(back->type, type);
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(back->data, tensor.data);
      EXPECT_EQ((bytes->size() - tensor.data.size()) % 64, 0U);
    }
  }
}

TEST(Npy, Bfloat16IsKeptAsTwoBytes) {
  Tensor tensor{ScalarType::kBfloat16, {1}, {std::byte{0x80}, std::byte{0x3f}}, false};
  auto back = ParseNpy(NpyBytes(tensor).value(), "x.npy");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->type, ScalarType::kUint16);
  EXPECT_EQ(back->data, tensor.data);
  auto raw = ParseNpy(File("{'descr': '|V2', 'fortran_order': False, 'shape': (1,)}", "ab"), "x");
  ASSERT_TRUE(raw);
  EXPECT_EQ(raw->type, ScalarType::kUint16);
}

struct WrongFile {
  const char* name;
  std::string bytes;
  const char* message;  // a part of it
};

class NpyRefuses : public testing::TestWithParam<WrongFile> {};

TEST_P(NpyRefuses, AndNamesFileAndByte) {
  auto tensor = ParseNpy(GetParam().bytes, "x.npy");
  ASSERT_FALSE(tensor);
  EXPECT_NE(tensor.error().message.find(GetParam().message), std::string::npos)
      << tensor.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, NpyRefuses,
    testing::Values(
        WrongFile{"Empty", "", "x.npy: byte 0: not a .npy file"},
        WrongFile{"Zip", "PK\3\4", "x.npy: byte 0: not a .npy file"},
        WrongFile{"Version", File("", "", 9), "byte 6: version 9"},
        WrongFile{"Object",
                  File("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "12345678"),
                  "byte 20: arrays of type '|O' cannot be read"},
        WrongFile{"Records",
                  File("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234"),
                  "byte 20: an array of records"},
        WrongFile{"NoShape", File("{'descr': '<f4', 'fortran_order': False}", ""),
                  "a dict with 'shape' was expected"},
        WrongFile{"Twice", File("{'descr': '<f4', 'descr': '<f4'}", ""), "'descr' once"},
        WrongFile{"Negative", File("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", ""),
                  "an extent"},
        WrongFile{"Huge",
                  File("{'descr': '<f4', 'fortran_order': False, "
                       "'shape': (9223372036854775807, 9223372036854775807)}",
                       ""),
                  "the shape is too large"},
        WrongFile{"Short", File("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234"),
                  "the file ends early: the array (2) has 8 bytes, 4 are here"},
        WrongFile{"Long", File("{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", "1234"),
                  "2 bytes follow the array"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Npy, EveryTruncationIsRefused) {
  Tensor tensor{ScalarType::kFloat32, {2, 3}, std::vector<std::byte>(24), false};
  const std::string bytes = NpyBytes(tensor).value();
  for (size_t length = 0; length < bytes.size(); ++length) {
    auto cut = ParseNpy(std::string_view(bytes).substr(0, length), "x.npy");
    ASSERT_FALSE(cut) << length;
    EXPECT_NE(cut.error().message.find("x.npy: byte "), std::string::npos);
  }
}

TEST(Npy, FlippedBytesNeverReadBeyondTheFile) {
  Tensor tensor{ScalarType::kInt16, {3, 2}, std::vector<std::byte>(12), false};
  const std::string bytes = NpyBytes(tensor).value();
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    // Its own allocation, so that a sanitizer sees a byte too far.
    std::vector<char> flipped(bytes.begin(), bytes.end());
    for (unsigned i = 0; i <= random() % 3; ++i) {
      flipped[random() % flipped.size()] = static_cast<char>(random());
    }
    auto read = ParseNpy({flipped.data(), flipped.size()}, "x.npy");
    if (!read) continue;
    EXPECT_EQ(read->data.size(),
              static_cast<size_t>(ElementCount(read->shape)) * ScalarTypeSize(read->type));
  }
}

TEST(Npy, FilesRoundTripAndMissingOnesAreNamed) {
  const std::string path = testing::TempDir() + "/npy_test.npy";
  std::filesystem::remove(path);
  Tensor tensor{ScalarType::kUint8, {2}, {std::byte{7}, std::byte{9}}, false};
  ASSERT_TRUE(WriteNpy(path, tensor, base::Overwrite::kRefuse));
  EXPECT_FALSE(WriteNpy(path, tensor, base::Overwrite::kRefuse));
  auto back = ReadNpy(path);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->data, tensor.data);
  std::filesystem::remove(path);
  auto missing = ReadNpy(path);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace inferprobe::npy
