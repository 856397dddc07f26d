// What the tests of a delegate's profiler share: a double's settings, and the files that it wrote.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "delegate/double_engine.h"
#include "formats/trex/trex.h"
#include "inferprobe/delegate.h"

namespace inferprobe::delegate {

using Way = DoubleEngine::Way;

inline DelegateOptions Options(DoubleEngine* engine, ProfileLevel level) {
  DelegateOptions options;
  options.prefix = "double";
  options.engine = "Double";
  options.engine_version = "1";
  options.method = "forward";
  options.content_hash = "0123456789abcdef";
  options.config.level = level;
  options.config.level_is_given = true;
  options.hooks = engine;
  return options;
}

inline DelegateOptions WithFiles(DoubleEngine* engine, ProfileFormat format,
                                 const std::string& folder, const std::string& hash) {
  DelegateOptions options = Options(engine, ProfileLevel::kLayers);
  options.content_hash = hash;
  options.config.format = format;
  options.config.path_prefix = folder;
  return options;
}

inline std::unique_ptr<DelegateProfiler> Made(DelegateOptions options) {
  auto profiler = DelegateProfiler::Create(std::move(options));
  EXPECT_TRUE(profiler) << profiler.error().message;
  return profiler ? std::move(*profiler) : nullptr;
}

inline std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline trex::LayerProfile ReadTrex(const std::string& path) {
  profile::LossCounts losses;
  auto parsed = trex::ParseProfile(*base::ReadFile(path), path, &losses);
  EXPECT_TRUE(parsed) << path;
  return parsed ? *parsed : trex::LayerProfile();
}

}  // namespace inferprobe::delegate
