// The calls of one engine as a profile: each a run, with its phases, its layers and device times on
// tracks of their own.
//
// The rule that people break: a call's events come one after another, in the order of their ends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profile/model.h"

namespace inferprobe::delegate {

class TraceOfCalls {
 public:
  TraceOfCalls(const std::string& engine_id, const std::string& device_clock);

  void AddLayer(std::string_view name, const std::string& note);
  // Times in ticks of our clock. `whole`: it is the call itself.
  void PutHost(uint32_t call, const std::string& name, uint64_t start, uint64_t end,
               const std::string& note, bool whole);
  void PutLayer(uint32_t call, uint32_t layer, uint64_t call_start, int64_t ns);
  void PutDevice(const std::string& name, uint64_t call_start, int64_t ns, const std::string& note);
  // `runs`: the calls are runs.
  profile::Profile& Finish(bool runs);

 private:
  uint32_t ArgsOf(const std::string& note);
  void Extend(uint32_t call, int64_t start_ns, int64_t end_ns);

  struct Call {
    uint32_t first_slice = 0;
    uint32_t slices = 0;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
  };
  profile::Profile profile_;
  std::map<uint32_t, Call> calls_;
  std::vector<uint32_t> inside_;  // slices of the open call that the whole will enclose
  uint32_t ended_ = 0;            // call whose whole event is there
  uint32_t whole_ = 0;            // which slice that is
  std::vector<profile::StringId> layer_names_;
  std::vector<uint32_t> layer_args_;
  std::map<uint32_t, int64_t> layer_at_;  // of each call: where its next layer is drawn
  std::map<std::string, uint32_t> args_;
};

}  // namespace inferprobe::delegate
