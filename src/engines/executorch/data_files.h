// A program's data files (.ptd): weights that were exported apart from it.
#pragma once

#include <executorch/runtime/core/named_data_map.h>

#include <memory>
#include <string>
#include <vector>

#include "inferprobe/result.h"

namespace inferprobe::executorch_engine {

// Outlives the methods that were loaded with map().
class DataFiles {
 public:
  // Fails if a file is missing or no .ptd, or if two files have data of the same name.
  static Result<std::unique_ptr<DataFiles>> Open(const std::vector<std::string>& paths);
  ~DataFiles();
  DataFiles(const DataFiles&) = delete;
  DataFiles& operator=(const DataFiles&) = delete;

  // nullptr: there are no files.
  [[nodiscard]] const ::executorch::runtime::NamedDataMap* map() const;

 private:
  struct State;
  explicit DataFiles(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace inferprobe::executorch_engine
