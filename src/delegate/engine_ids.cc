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

namespace {

struct Ordinals {
  std::mutex mutex;
  std::unordered_map<std::string, unsigned> next;
};

Ordinals& TheOrdinals() {
  static auto* ordinals = new Ordinals;  // engines may be made after main()
  return *ordinals;
}

}  // namespace

std::string NextEngineId(const std::string& content_hash) {
  Ordinals& it = TheOrdinals();
  const std::lock_guard lock(it.mutex);
  return content_hash + "-" + std::to_string(it.next[content_hash]++);
}

void ReturnEngineId(const std::string& content_hash, const std::string& engine_id) {
  Ordinals& it = TheOrdinals();
  const std::lock_guard lock(it.mutex);
  unsigned& next = it.next[content_hash];
  if (next > 0 && engine_id == content_hash + "-" + std::to_string(next - 1)) --next;
}

}  // namespace delegate
}  // namespace inferprobe
