// Which engines there are, and how their plugins are found.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "inferprobe/result.h"
#include "measure/engine.h"

namespace inferprobe::measure {

// What is known of an engine without its plugin. A new engine is one line in the table of
// engine_registry.cc.
struct EngineInfo {
  std::string_view name;
  std::string_view title;
  std::string_view files;    // "ExecuTorch programs (.pte, .bpte)"
  std::string_view install;  // what to do when the plugin is there and its runtime is not
  // There is no plugin to be found: its worker is Python, `python -m inferprobe worker`, which
  // registers one.
  bool in_python = false;
};
INFERPROBE_API const std::vector<EngineInfo>& KnownEngines();

// nullptr: not known, which a plugin's name may be.
INFERPROBE_API const EngineInfo* KnownEngine(std::string_view name);

// The engine for a model (measure/model_name.h), by the file's content; an error that says what is
// recognised.
INFERPROBE_API Result<std::string> EngineForFile(const std::string& path);

// Folders in which plugins are looked for, in order.
INFERPROBE_API std::vector<std::string> PluginFolders();

// Path of an engine's plugin; kNotFound says where it was looked for.
INFERPROBE_API Result<std::string> FindPlugin(const std::string& engine);

// From now on LoadPlugin finds this one, before any file. It lives as long as the process.
INFERPROBE_API void RegisterPlugin(const std::string& engine, EnginePlugin* plugin);

// Loads the plugin into this process, for the life of the process.
INFERPROBE_API Result<EnginePlugin*> LoadPlugin(const std::string& engine);

}  // namespace inferprobe::measure
