// One line on a terminal that says what goes on; nothing in a pipe, but what the user must know.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

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

// While it lives: how long something has been going on, from the first half second on.
class WaitingLine {
 public:
  WaitingLine(std::string what, bool shown);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

 private:
  void Run();

  std::string what_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace inferprobe::cli
