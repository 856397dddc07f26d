// Whether ExecuTorch's loops come to the functions of pool_hooks.cc: what the loader wrote into its
// libraries.
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "engines/executorch/pool_hooks.h"

namespace inferprobe::executorch_engine {
namespace {

constexpr std::string_view kLibraryPrefix = "libexecutorch_";
constexpr std::string_view kPthreadpoolPrefix = "pthreadpool_";
constexpr std::string_view kPoolLibrary = "libexecutorch_threadpool.so";  // calls itself

std::string_view FileName(const char* path) {
  const std::string_view whole = path != nullptr ? path : "";
  return whole.substr(whole.find_last_of('/') + 1);
}

// The dynamic section of a loaded library, as far as it is needed here. glibc has made its
// addresses absolute.
struct DynamicSection {
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  std::span<const ElfW(Rela)> calls;  // DT_JMPREL
  std::span<const ElfW(Rela)> data;   // DT_RELA

  static DynamicSection Read(const dl_phdr_info& info) {
    const auto at = [](ElfW(Addr) address) {
      return reinterpret_cast<const ElfW(Rela)*>(address);  // NOLINT(performance-no-int-to-ptr)
    };
    DynamicSection section;
    const ElfW(Rela)* calls = nullptr;
    const ElfW(Rela)* data = nullptr;
    size_t calls_bytes = 0;
    size_t data_bytes = 0;
    for (const ElfW(Phdr) & header : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
      if (header.p_type != PT_DYNAMIC) continue;
      const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(  // NOLINT(performance-no-int-to-ptr)
          info.dlpi_addr + header.p_vaddr);
      for (; entry->d_tag != DT_NULL; ++entry) {
        const ElfW(Rela)* address = at(entry->d_un.d_ptr);
        if (entry->d_tag == DT_JMPREL) calls = address;
        if (entry->d_tag == DT_RELA) data = address;
        if (entry->d_tag == DT_PLTRELSZ) calls_bytes = entry->d_un.d_val;
        if (entry->d_tag == DT_RELASZ) data_bytes = entry->d_un.d_val;
        if (entry->d_tag == DT_STRTAB) section.strings = reinterpret_cast<const char*>(address);
        if (entry->d_tag == DT_SYMTAB) {
          section.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
        }
      }
    }
    if (calls != nullptr) section.calls = {calls, calls_bytes / sizeof(ElfW(Rela))};
    if (data != nullptr) section.data = {data, data_bytes / sizeof(ElfW(Rela))};
    return section;
  }
};

struct Search {
  std::span<const HookedFunction> functions = HookedFunctions();
  // Where a call goes that is not bound yet: where the program's own scope says.
  std::vector<bool> binds_here_later;
  std::vector<std::string> unhooked;
};

int LookAt(dl_phdr_info* info, size_t /*bytes*/, void* context) {
  const std::string_view name = FileName(info->dlpi_name);
  if (name == kPoolLibrary) return 0;
  // Others have a pthreadpool of their own; who calls ExecuTorch's parallel_for is one of its
  // users.
  const bool of_executorch = name.starts_with(kLibraryPrefix);
  auto& search = *static_cast<Search*>(context);
  const DynamicSection section = DynamicSection::Read(*info);
  if (section.strings == nullptr || section.symbols == nullptr) return 0;
  // Addresses of the library itself: a call that is not bound yet.
  ElfW(Addr) library_end = info->dlpi_addr;
  for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (header.p_type != PT_LOAD) continue;
    library_end = std::max(library_end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  bool hooked = true;
  for (const std::span<const ElfW(Rela)> table : {section.calls, section.data}) {
    for (const ElfW(Rela) & relocation : table) {
      static_assert(sizeof(ElfW(Addr)) == 8);
      const auto symbol = relocation.r_info >> 32;
      if (symbol == 0) continue;
      const std::string_view wanted = section.strings + section.symbols[symbol].st_name;
      const auto found =
          std::find_if(search.functions.begin(), search.functions.end(),
                       [&](const HookedFunction& function) { return wanted == function.name; });
      if (found == search.functions.end()) continue;
      if (!of_executorch && wanted.starts_with(kPthreadpoolPrefix)) continue;
      ElfW(Addr) bound = 0;
      std::memcpy(&bound,
                  reinterpret_cast<const void*>(  // NOLINT(performance-no-int-to-ptr)
                      info->dlpi_addr + relocation.r_offset),
                  sizeof bound);
      const bool later = bound >= info->dlpi_addr && bound < library_end;
      hooked =
          hooked &&
          (later ? search.binds_here_later[static_cast<size_t>(found - search.functions.begin())]
                 : bound == reinterpret_cast<ElfW(Addr)>(found->address));
    }
  }
  if (!hooked) search.unhooked.emplace_back(name);
  return 0;
}

}  // namespace

std::vector<std::string> UnhookedLibraries() {
  Search search;
  for (const HookedFunction& function : search.functions) {
    search.binds_here_later.push_back(dlsym(RTLD_DEFAULT, function.name) == function.address);
  }
  dl_iterate_phdr(LookAt, &search);
  std::sort(search.unhooked.begin(), search.unhooked.end());
  return search.unhooked;
}

profile::Metric<std::string> RegionSources() {
  const std::vector<std::string> unhooked = UnhookedLibraries();
  if (unhooked.empty()) return std::string("parallel_for and pthreadpool");
  return {profile::Status::kUnsupported,
          fmt::format("the loops of {} do not come to inferprobe: it was loaded before, or another "
                      "library of the process has functions of the same names; load a program with "
                      "inferprobe first",
                      fmt::join(unhooked, ", "))};
}

}  // namespace inferprobe::executorch_engine
