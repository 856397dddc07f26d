#include "engines/executorch/wrapped_backend.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/temporary_folder.h"
#include "engines/executorch/null_backend.h"
#include "engines/executorch/null_tracer.h"
#include "inferprobe/executorch_delegate.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;

et::Result<et::DelegateHandle*> Load(const WrappedBackend& backend, const std::string& folder) {
  ProfileConfig config;
  config.level = ProfileLevel::kDelegate;
  config.format = ProfileFormat::kPerfetto;
  config.path_prefix = folder;
  auto options = executorch_delegate::OptionsOf("nullbackend", config);
  EXPECT_TRUE(options);
  et::BackendInitContext context(nullptr, nullptr, "forward", nullptr,
                                 {options->data(), options->size()});
  et::FreeableBuffer processed("engine", 6, nullptr);
  return backend.init(context, &processed, {});
}

// Files are named by it: the same program has the same ones in the next process.
TEST(WrappedBackend, ALoadThatFailsTakesNoIdentity) {
  const base::TemporaryFolder folder;
  NullBackend null(et::Error::InvalidProgram);
  const WrappedBackend wrapped("NullBackend", &null);
  const auto refused = Load(wrapped, folder.path());
  EXPECT_EQ(refused.error(), et::Error::InvalidProgram);
  null.of_init = et::Error::Ok;
  auto loaded = Load(wrapped, folder.path());
  ASSERT_TRUE(loaded.ok());
  NullTracer tracer;
  et::BackendExecutionContext context(&tracer, nullptr, "forward");
  EXPECT_EQ(wrapped.execute(context, *loaded, {}), et::Error::Ok);
  wrapped.destroy(*loaded);
  std::string name;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    name = entry.path().filename().string();
  }
  EXPECT_TRUE(name.ends_with("-0.trace.pftrace")) << name;
}

}  // namespace
}  // namespace inferprobe::executorch_engine
