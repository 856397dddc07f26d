#include "base/code_address.h"

#if !defined(_WIN32)
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#endif

namespace inferprobe::base {

#if defined(_WIN32)
std::string CodeAddressText(const void* /*code*/) { return {}; }
#else
std::string CodeAddressText(const void* code) {
  Dl_info info{};
  if (code == nullptr || dladdr(code, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string_view path = info.dli_fname;
  return fmt::format(
      "{}+{:#x}", path.substr(path.find_last_of('/') + 1),
      reinterpret_cast<uintptr_t>(code) - reinterpret_cast<uintptr_t>(info.dli_fbase));
}
#endif

}  // namespace inferprobe::base
