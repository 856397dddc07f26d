// Our declarations against OpenVINO's own headers, where the wheel is; and where it is looked for.
#include "engines/executorch/openvino/openvino_api.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"
#include "engines/executorch/openvino/openvino_search.h"

#ifdef INFERPROBE_OPENVINO_HEADERS
#include <openvino/c/openvino.h>
#endif

namespace inferprobe::openvino {
namespace {

using base::TemporaryFolder;

#ifdef INFERPROBE_OPENVINO_HEADERS

// Whether a caller of the one may be given the other: number of arguments, and of each its size and
// whether it is a pointer, a number or a struct.
template <typename A, typename B>
struct SameAbi {
  // A struct around each: a pointer's own size is meant.
  struct OfA {
    A value;
  };
  struct OfB {
    B value;
  };
  static constexpr bool kValue = sizeof(OfA) == sizeof(OfB) && alignof(OfA) == alignof(OfB) &&
                                 std::is_pointer_v<A> == std::is_pointer_v<B> &&
                                 std::is_class_v<A> == std::is_class_v<B>;
};
// Functions of different numbers of arguments; those of the same are below.
template <typename A, typename B>
  requires(std::is_function_v<A>)
struct SameAbi<A, B> {
  static constexpr bool kValue = false;
};
template <>
struct SameAbi<void, void> {
  static constexpr bool kValue = true;
};
template <typename A, typename B, typename... As, typename... Bs>
  requires(sizeof...(As) == sizeof...(Bs))
struct SameAbi<A(As...), B(Bs...)> {
  static constexpr bool kValue = SameAbi<A, B>::kValue && (SameAbi<As, Bs>::kValue && ...);
};
template <typename A, typename B, typename... As, typename... Bs>
  requires(sizeof...(As) == sizeof...(Bs))
struct SameAbi<A(As..., ...), B(Bs..., ...)> {
  static constexpr bool kValue = SameAbi<A, B>::kValue && (SameAbi<As, Bs>::kValue && ...);
};

#define INFERPROBE_OPENVINO_SAME(name, symbol, ...) \
  static_assert(SameAbi<__VA_ARGS__, decltype(::symbol)>::kValue, #symbol);
INFERPROBE_OPENVINO_FUNCTIONS(INFERPROBE_OPENVINO_SAME)
#undef INFERPROBE_OPENVINO_SAME

static_assert(sizeof(ProfilingInfo) == sizeof(ov_profiling_info_t));
static_assert(offsetof(ProfilingInfo, status) == offsetof(ov_profiling_info_t, status));
static_assert(offsetof(ProfilingInfo, real_time) == offsetof(ov_profiling_info_t, real_time));
static_assert(offsetof(ProfilingInfo, cpu_time) == offsetof(ov_profiling_info_t, cpu_time));
static_assert(offsetof(ProfilingInfo, node_name) == offsetof(ov_profiling_info_t, node_name));
static_assert(offsetof(ProfilingInfo, exec_type) == offsetof(ov_profiling_info_t, exec_type));
static_assert(offsetof(ProfilingInfo, node_type) == offsetof(ov_profiling_info_t, node_type));
static_assert(sizeof(NodeStatus) == sizeof(ov_profiling_info_t::Status));
static_assert(int{ov_profiling_info_t::NOT_RUN} == static_cast<int>(NodeStatus::kNotRun));
static_assert(int{ov_profiling_info_t::OPTIMIZED_OUT} ==
              static_cast<int>(NodeStatus::kOptimizedOut));
static_assert(int{ov_profiling_info_t::EXECUTED} == static_cast<int>(NodeStatus::kExecuted));

static_assert(offsetof(ProfilingInfoList, profiling_infos) ==
              offsetof(ov_profiling_info_list_t, profiling_infos));
static_assert(offsetof(ProfilingInfoList, size) == offsetof(ov_profiling_info_list_t, size));
static_assert(offsetof(Shape, rank) == offsetof(ov_shape_t, rank));
static_assert(offsetof(Shape, dims) == offsetof(ov_shape_t, dims));
static_assert(offsetof(Version, build_number) == offsetof(ov_version_t, buildNumber));
static_assert(offsetof(Version, description) == offsetof(ov_version_t, description));
static_assert(sizeof(Version) == sizeof(ov_version_t));

static_assert(kOk == Status{::OK});
static_assert(DYNAMIC == static_cast<uint32_t>(ElementType::kDynamic));
static_assert(BOOLEAN == static_cast<uint32_t>(ElementType::kBoolean));
static_assert(BF16 == static_cast<uint32_t>(ElementType::kBf16));
static_assert(F16 == static_cast<uint32_t>(ElementType::kF16));
static_assert(F32 == static_cast<uint32_t>(ElementType::kF32));
static_assert(F64 == static_cast<uint32_t>(ElementType::kF64));
static_assert(I8 == static_cast<uint32_t>(ElementType::kI8));
static_assert(I16 == static_cast<uint32_t>(ElementType::kI16));
static_assert(I32 == static_cast<uint32_t>(ElementType::kI32));
static_assert(I64 == static_cast<uint32_t>(ElementType::kI64));
static_assert(U8 == static_cast<uint32_t>(ElementType::kU8));
static_assert(U16 == static_cast<uint32_t>(ElementType::kU16));
static_assert(U32 == static_cast<uint32_t>(ElementType::kU32));
static_assert(U64 == static_cast<uint32_t>(ElementType::kU64));

TEST(OpenvinoApi, IsWhatTheWheelsHeadersDeclare) { SUCCEED() << "checked by the compiler"; }

#ifdef INFERPROBE_OPENVINO_LIBS
TEST(OpenvinoApi, OpensTheWheelsLibrary) {
  const std::vector<SearchPlace> places = OpenvinoPlaces(INFERPROBE_OPENVINO_LIBS, "", "");
  ASSERT_EQ(places.size(), 1U);
  ASSERT_FALSE(places[0].libraries.empty());
  auto api = OpenOpenvino(places[0].libraries[0]);
  ASSERT_TRUE(api) << api.error().message;
  EXPECT_TRUE(api->version.starts_with("202")) << api->version;
  EXPECT_TRUE(std::filesystem::equivalent(api->library, places[0].libraries[0])) << api->library;

  Core* core = nullptr;
  ASSERT_EQ(api->core_create(&core), kOk);
  ASSERT_EQ(api->core_set_property(core, "CPU", "PERF_COUNT", "YES"), kOk);
  char* value = nullptr;
  ASSERT_EQ(api->core_get_property(core, "CPU", "PERF_COUNT", &value), kOk);
  EXPECT_STREQ(value, "YES");
  api->free_text(value);
  CompiledModel* model = nullptr;
  EXPECT_LT(api->core_import_model(core, "no model", 8, "CPU", &model), 0);
  EXPECT_STRNE(api->get_last_err_msg(), "");
  api->core_free(core);
}
#endif

#else

TEST(OpenvinoApi, IsWhatTheWheelsHeadersDeclare) {
  GTEST_SKIP() << "no headers of OpenVINO: pip install openvino==2026.4.1 into .venv";
}

#endif

TEST(OpenvinoApi, ALibraryThatIsNoneOfOpenvinosIsRefusedWithItsMissingSymbol) {
  const auto api = OpenOpenvino("libm.so.6");
  ASSERT_FALSE(api);
  EXPECT_EQ(api.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(api.error().message, "libm.so.6 has no symbol ov_get_openvino_version");
}

class OpenvinoSearch : public testing::Test {
 protected:
  // An empty file.
  void Make(const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(folder_.File(path)).parent_path());
    std::ofstream file(folder_.File(path));
  }
  TemporaryFolder folder_;
};

TEST_F(OpenvinoSearch, TheEnvironmentNamesTheFileOrItsFolder) {
  Make("ov/libopenvino_c.so");
  Make("ov/libopenvino.so.2641");
  Make("ov/libopenvino_c.so.2501");
  Make("ov/libopenvino_c.so.2641");
  Make("site/openvino/libs/libopenvino_c.so.2641");
  const std::string site = folder_.File("site/executorch/lib/libexecutorch.so");
  auto places = OpenvinoPlaces(folder_.File("ov").c_str(), site, "");
  ASSERT_EQ(places.size(), 1U) << "the answer is final";
  EXPECT_EQ(places[0].libraries, (std::vector{folder_.File("ov/libopenvino_c.so.2641"),
                                              folder_.File("ov/libopenvino_c.so.2501"),
                                              folder_.File("ov/libopenvino_c.so")}));
  for (const char* file : {"ov/libopenvino_c.so.2501", "no/such"}) {
    places = OpenvinoPlaces(folder_.File(file).c_str(), site, "");
    ASSERT_EQ(places.size(), 1U);
    EXPECT_EQ(places[0].libraries, std::vector{folder_.File(file)});
    EXPECT_NE(places[0].name.find(file), std::string::npos) << places[0].name;
  }
}

TEST_F(OpenvinoSearch, WithoutItThePackagesNeighboursThenTheLoader) {
  Make("a/openvino/libs/libopenvino_c.so.2641");
  Make("b/openvino/libs/libopenvino_c.so.2601");
  for (const char* environment : {static_cast<const char*>(nullptr), ""}) {
    const auto places =
        OpenvinoPlaces(environment, folder_.File("a/executorch/lib/libexecutorch.so"),
                       folder_.File("b/inferprobe/lib/plugin.so"));
    ASSERT_EQ(places.size(), 3U);
    EXPECT_EQ(places[0].libraries,
              std::vector{folder_.File("a/openvino/libs/libopenvino_c.so.2641")});
    EXPECT_EQ(places[1].libraries,
              std::vector{folder_.File("b/openvino/libs/libopenvino_c.so.2601")});
    EXPECT_EQ(places[2].libraries.at(0), "libopenvino_c.so");
  }
  const auto places = OpenvinoPlaces(nullptr, "", folder_.File("c/inferprobe/lib/plugin.so"));
  EXPECT_TRUE(places[0].libraries.empty());
  EXPECT_NE(places[0].name.find("not loaded"), std::string::npos);
  EXPECT_TRUE(places[1].libraries.empty());
  EXPECT_NE(places[1].name.find(folder_.File("c/openvino/libs")), std::string::npos);
}

// In a process of its own: the answer is one for the whole process.
TEST(OpenvinoLoadDeathTest, TheErrorNamesThePlaceAndSaysWhatToDo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("OPENVINO_LIB_PATH", "/no/such/folder", 1);
        const auto api = LoadOpenvino();
        if (api || !OpenvinoLibraryPath().empty()) _exit(1);
        fprintf(stderr, "%s; %s\n", api.error().message.c_str(), api.error().hint.c_str());
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "OPENVINO_LIB_PATH \\(/no/such/folder\\): /no/such/folder does not exist; pip install "
      "openvino==2026.4.1, or set OPENVINO_LIB_PATH");
}

TEST(OpenvinoSearchPaths, ALoadedLibraryIsFoundByItsNameAndByAnAddress) {
  EXPECT_NE(PathOfLoadedLibrary("libc.so.6").find("libc.so.6"), std::string::npos);
  EXPECT_EQ(PathOfLoadedLibrary("libno_such.so"), "");
  EXPECT_NE(PathOfAddress(reinterpret_cast<const void*>(&OpenOpenvino)), "");
  EXPECT_EQ(PathOfAddress(nullptr), "");
}

}  // namespace
}  // namespace inferprobe::openvino
