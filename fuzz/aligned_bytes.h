// A fuzzer's input as a reader gets a mapped file: on the start of a page.
//
// The rule that people break: libFuzzer's own buffer lies anywhere, and readers that cast would
// fail there on what no file can bring about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace inferprobe::fuzz {

class AlignedBytes {
 public:
  AlignedBytes(const uint8_t* data, size_t size) : size_(size) {
    // Exactly as long as the input, so that the first byte behind it is poisoned.
    void* memory = nullptr;
    if (posix_memalign(&memory, 4096, size == 0 ? 1 : size) != 0) std::abort();
    memory_.reset(static_cast<char*>(memory));
    if (size != 0) std::memcpy(memory_.get(), data, size);
  }

  [[nodiscard]] std::string_view view() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  size_t size_;
};

}  // namespace inferprobe::fuzz
