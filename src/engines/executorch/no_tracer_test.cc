// The preset no-tracer: a production build, in which ExecuTorch's tracer helpers do nothing. Calls
// go to the recorder, files are written, and what has nowhere to go is refused when it is loaded.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/temporary_folder.h"
#include "engines/executorch/test_support.h"
#include "inferprobe/executorch_delegate.h"

#ifdef ET_EVENT_TRACER_ENABLED
#error "this test is of a build without ET_EVENT_TRACER_ENABLED"
#endif

namespace inferprobe::executorch_engine {
namespace {

using record::CellType;

std::unique_ptr<ExecutorchEngine> Prepared(const measure::LoadOptions& options) {
  auto engine = LoadOrFail(options);
  EXPECT_TRUE(engine->SetInputs(As(engine->inputs(), Arrays(Sample("vision_xnnpack"), "input"))));
  return engine;
}

TEST(NoTracer, CallsGoToTheRecorder) {
  Recording recording;
  measure::LoadOptions options = Options(Sample("vision_xnnpack.pte"));
  options.delegates.level = ProfileLevel::kDelegate;
  const auto engine = Prepared(options);
  ASSERT_TRUE(engine->PrepareObserved());
  recording.Take();
  ASSERT_TRUE(engine->Run(true));
  std::map<std::string, int> counts;
  for (const NamedCell& cell : recording.Take()) {
    if (cell.type() != CellType::kExtension && cell.type() != CellType::kBytes) ++counts[cell.name];
  }
  // Nothing of the runtime's, nothing of XNNPACK's own.
  EXPECT_EQ(counts,
            (std::map<std::string, int>{{"set_inputs", 1}, {"xnnpackbackend.delegate", 2}}));
}

TEST(NoTracer, LayersWithNowhereToGoAreRefusedWhenLoaded) {
  measure::LoadOptions options = Options(Sample("vision_xnnpack.pte"));
  options.delegates.level = ProfileLevel::kLayers;
  const auto engine = Prepared(options);
  const auto prepared = engine->PrepareObserved();
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().message.find("\"etdump\" has nowhere to go: this build has no event "
                                          "tracer (ET_EVENT_TRACER_ENABLED is off)"),
            std::string::npos)
      << prepared.error().message;
}

TEST(NoTracer, FilesAreWritten) {
  const base::TemporaryFolder folder;
  measure::LoadOptions options = Options(Sample("vision_xnnpack.pte"));
  options.delegates.level = ProfileLevel::kDelegate;
  options.delegates.format = ProfileFormat::kPerfetto;
  options.delegates.path_prefix = folder.path();
  {
    const auto engine = Prepared(options);
    ASSERT_TRUE(engine->PrepareObserved());
    ASSERT_TRUE(engine->Run(true));
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_GT(entry.file_size(), 0U);
    ++files;
  }
  EXPECT_EQ(files, 2);
}

}  // namespace
}  // namespace inferprobe::executorch_engine
