// Walks an ETDump without trusting it: each block and event is verified just before it is handed
// out, so that an error can name the byte at which the file stops being one.
//
//   auto walk = Walk::Open(bytes, path);
//   for (uint32_t b = 0; b < walk->blocks(); ++b) {
//     auto block = walk->OpenBlock(b);
//     for (uint32_t i = 0; i < block->events; ++i) {
//       const auto* event = walk->EventOf(*block, i);
//       if (event == nullptr) return walk->BrokenEvent(*block, i);
//     }
//   }
//
// The rule that people break: offsets may point anywhere, also twice at the same table. A file of a
// megabyte can thus claim billions of events; the walk hands out no more than its bytes can hold.
#pragma once

#include <etdump_schema_flatcc_generated.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/etdump/event_check.h"
#include "inferprobe/result.h"

namespace inferprobe::etdump {

// By content: an identifier like "ED00", behind a size or at the start.
bool LooksLikeEtdump(std::string_view head);

class Walk {
 public:
  struct Block {
    uint32_t index = 0;
    std::string_view name;
    uint32_t events = 0;
    size_t first = 0;  // byte of the first event's offset
  };

  // `bytes` must outlive the walk.
  static Result<Walk> Open(std::string_view bytes, std::string path);

  [[nodiscard]] uint32_t blocks() const { return blocks_; }
  // Events of all blocks together; bounded by the file's size.
  Result<uint64_t> CountEvents();
  Result<Block> OpenBlock(uint32_t index);
  // nullptr: it is none; BrokenEvent says where. (No Result: this is called a million times.)
  const ::etdump::Event* EventOf(const Block& block, uint32_t index);
  [[nodiscard]] tl::unexpected<Error> BrokenEvent(const Block& block, uint32_t index) const;
  [[nodiscard]] tl::unexpected<Error> Broken(size_t byte, std::string_view what) const;
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  Walk(std::string_view bytes, std::string path);

  Result<void> FindBlocks(uint32_t root_offset_at);
  template <typename Table>
  const Table* TableAt(size_t offset_at);

  std::string_view bytes_;
  std::string path_;
  flatbuffers::Verifier verifier_;
  EventCheck event_check_;
  uint32_t blocks_ = 0;
  size_t first_block_ = 0;  // byte of the first block's offset
};

}  // namespace inferprobe::etdump
