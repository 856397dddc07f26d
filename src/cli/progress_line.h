// One line on a terminal that says what goes on; nothing in a pipe, but what the user must know.
#pragma once

#include "measure/perf.h"

namespace inferprobe::cli {

class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const measure::Progress& progress);
  void Clear();

 private:
  bool shown_;
  bool dirty_ = false;
};

}  // namespace inferprobe::cli
