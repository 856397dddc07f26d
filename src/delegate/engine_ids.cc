#include "delegate/engine_ids.h"

#include <mutex>
#include <unordered_map>

#include "base/files.h"
#include "inferprobe/delegate.h"

namespace inferprobe {

std::string EngineContentHash(std::span<const std::byte> bytes) {
  constexpr size_t kDigits = 16;
  return base::Sha256Hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()})
      .substr(0, kDigits);
}

namespace delegate {

std::string NextEngineId(const std::string& content_hash) {
  struct Ordinals {
    std::mutex mutex;
    std::unordered_map<std::string, unsigned> next;
  };
  static auto* ordinals = new Ordinals;  // engines may be made after main()
  const std::lock_guard lock(ordinals->mutex);
  return content_hash + "-" + std::to_string(ordinals->next[content_hash]++);
}

}  // namespace delegate
}  // namespace inferprobe
