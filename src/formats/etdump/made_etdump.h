// ETDumps made by hand for tests, also such as no ExecuTorch writes.
#pragma once

#include <etdump_schema_flatcc_generated.h>

#include <cstdint>
#include <string>
#include <vector>

namespace inferprobe::etdump {

struct MadeEvent {
  const char* name = nullptr;
  uint64_t start = 0;
  uint64_t end = 0;
  int32_t chain = -1;
  int32_t instruction = 0;
  int32_t id = -1;                // delegate_debug_id_int
  const char* id_text = nullptr;  // delegate_debug_id_str
  const char* metadata = nullptr;
  bool profile = true;
  bool allocation = false;
  bool debug = false;
};

struct MadeBlock {
  const char* name = nullptr;
  std::vector<MadeEvent> events;
};

inline std::string MakeEtdump(const std::vector<MadeBlock>& blocks, uint32_t version = 0,
                              bool size_prefixed = true) {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = [&](const char* value) {
    return value == nullptr ? flatbuffers::Offset<flatbuffers::String>(0)
                            : builder.CreateString(value);
  };
  std::vector<flatbuffers::Offset<::etdump::RunData>> runs;
  for (const MadeBlock& block : blocks) {
    std::vector<flatbuffers::Offset<::etdump::Event>> events;
    for (const MadeEvent& it : block.events) {
      const auto name = text(it.name);
      const auto id_text = text(it.id_text);
      flatbuffers::Offset<flatbuffers::Vector<uint8_t>> metadata = 0;
      if (it.metadata != nullptr) {
        const std::string bytes = it.metadata;
        metadata =
            builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      }
      flatbuffers::Offset<::etdump::ProfileEvent> profile = 0;
      if (it.profile) {
        profile = ::etdump::CreateProfileEvent(builder, name, it.chain, it.instruction, it.id,
                                               id_text, metadata, it.start, it.end);
      }
      flatbuffers::Offset<::etdump::AllocationEvent> allocation = 0;
      if (it.allocation) allocation = ::etdump::CreateAllocationEvent(builder, 1, 64);
      flatbuffers::Offset<::etdump::DebugEvent> debug = 0;
      if (it.debug) debug = ::etdump::CreateDebugEvent(builder, 0, 1);
      events.push_back(::etdump::CreateEvent(builder, profile, allocation, debug));
    }
    runs.push_back(
        ::etdump::CreateRunData(builder, text(block.name), -1, 0, builder.CreateVector(events)));
  }
  const auto dump = ::etdump::CreateETDump(builder, version, builder.CreateVector(runs));
  if (size_prefixed) {
    builder.FinishSizePrefixed(dump, ::etdump::ETDumpIdentifier());
  } else {
    builder.Finish(dump, ::etdump::ETDumpIdentifier());
  }
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

}  // namespace inferprobe::etdump
