// Reads back what the writer writes, for the tests: the wire by protozero's reader, then begins and
// ends paired on a stack for each track, after a stable sort by time, as Perfetto's reader does.
//
// The rule that people break: this knows only what the writer uses. Whether Perfetto agrees is
// tested by tests/e2e/test_perfetto.py.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace inferprobe::perfetto {

struct DecodedTrack {
  std::string name;  // of the track, the thread or the process
  uint64_t parent = 0;
  int64_t pid = 0;
  int64_t tid = 0;
  bool is_process = false;
  bool is_counter = false;
  std::string unit;
};

struct DecodedSlice {
  uint64_t track = 0;
  int64_t start_ns = 0;
  int64_t dur_ns = -1;  // -1: never ended
  int parent = -1;      // index
  int depth = 0;
  std::string name;
  std::string category;
  std::map<std::string, std::string> args;
};

struct DecodedTrace {
  std::vector<std::string> errors;
  std::map<uint64_t, DecodedTrack> tracks;
  std::vector<DecodedSlice> slices;  // in order of their begin
  std::vector<DecodedSlice> instants;
  struct Counter {
    uint64_t track;
    int64_t time_ns;
    double value;
  };
  std::vector<Counter> counters;
  std::map<uint32_t, uint64_t> first_clocks;  // of the first snapshot
  std::vector<int64_t> epochs;                // starts
  uint64_t uuid_high = 0;
  uint64_t uuid_low = 0;
  size_t events = 0;       // begin and end
  size_t event_bytes = 0;  // of their packets
};

DecodedTrace DecodeTrace(std::string_view bytes);

}  // namespace inferprobe::perfetto
