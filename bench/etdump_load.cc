// How long our reader takes for an ETDump, and how much memory: etdump_load FILE [LOADS]
//
// Prints a line of JSON. "seconds": each load in a process of its own, from opening the file to the
// complete model; the file is in the page cache. "cpu_seconds": the same on the CPU's clock, for
// machines that do other work too. "anonymous_kb": what the process holds in anonymous pages then
// (RssAnon), the pages of before taken off; "peak_anonymous_kb": the most of it during a load,
// sampled by another thread of one more process, whose time does not count.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "formats/etdump/etdump_reader.h"

namespace {

struct Load {
  double seconds = 0;
  double cpu_seconds = 0;
  long anonymous_kb = 0;
  long peak_anonymous_kb = 0;
  size_t slices = 0;
};

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

long AnonymousKb() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) return 0;
  char line[256];
  long kb = 0;
  while (std::fgets(line, sizeof line, status) != nullptr) {
    if (std::sscanf(line, "RssAnon: %ld", &kb) == 1) break;
  }
  std::fclose(status);
  return kb;
}

Load LoadHere(const std::string& path, bool sample) {
  Load load;
  const long before = AnonymousKb();
  std::atomic<bool> done{false};
  std::thread sampler;
  if (sample) {
    sampler = std::thread([&] {
      while (!done.load(std::memory_order_relaxed)) {
        load.peak_anonymous_kb = std::max(load.peak_anonymous_kb, AnonymousKb() - before);
      }
    });
  }
  const double cpu_start = CpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  auto recording = inferprobe::etdump::ReadEtdump(path, {});
  load.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  load.cpu_seconds = CpuSeconds() - cpu_start;
  done = true;
  if (sampler.joinable()) sampler.join();
  if (!recording) {
    std::fprintf(stderr, "%s\n", recording.error().message.c_str());
    std::exit(1);
  }
  load.anonymous_kb = AnonymousKb() - before;
  load.slices = recording->profile.slices.size();
  return load;
}

Load LoadInChild(const std::string& path, bool sample) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    const Load load = LoadHere(path, sample);
    _exit(write(ends[1], &load, sizeof load) == sizeof load ? 0 : 1);
  }
  close(ends[1]);
  Load load;
  const bool complete = read(ends[0], &load, sizeof load) == sizeof load;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!complete || status != 0) std::exit(1);
  return load;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: etdump_load FILE [LOADS]\n", stderr);
    return 2;
  }
  const std::string path = argv[1];
  const int loads = argc == 3 ? std::atoi(argv[2]) : 1;
  if (!inferprobe::base::ReadFile(path)) return 1;  // into the page cache
  std::string seconds;
  std::string cpu_seconds;
  for (int i = 0; i < loads; ++i) {
    const Load load = LoadInChild(path, false);
    seconds += fmt::format("{}{:.6f}", i == 0 ? "" : ", ", load.seconds);
    cpu_seconds += fmt::format("{}{:.6f}", i == 0 ? "" : ", ", load.cpu_seconds);
  }
  const Load sampled = LoadInChild(path, true);
  fmt::print(
      "{{\"seconds\": [{}], \"cpu_seconds\": [{}], \"anonymous_kb\": {}, "
      "\"peak_anonymous_kb\": {}, \"slices\": {}}}\n",
      seconds, cpu_seconds, sampled.anonymous_kb, sampled.peak_anonymous_kb, sampled.slices);
  return 0;
}
