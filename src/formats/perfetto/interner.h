// Texts that are written once an epoch and referred to by number from then on.
//
// The rule that people break: numbers are forgotten at every Clear(), together with the reader's
// incremental state; a number of one epoch means nothing in the next.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/perfetto/fields.h"
#include "profile/model.h"

namespace inferprobe::perfetto {

// Names of our debug annotations; the number is the interned id.
enum class ArgName : uint32_t {
  kInstruction = 1,
  kChain,
  kDelegateDebugId,
  kDelegateDebugName,
  kMetadata,
  kRun,
  kMode,
  kKind,
  kGroup,
  kProcess,
  kIncomplete,
  kCall,
  kStartTicks,
  kTicks,
  kStart,
  kDur,
  kSlices,
  kWhy,
  kParent,
  // Of parallel regions and of their parts (region_args.h).
  kRegion,
  kOuterRegion,
  kSession,
  kSessionRun,
  kExecutor,
  kFile,
  kLine,
  kFunction,
  kCode,
  kIterations,
  kGrain,
  kRequested,
  kAdmitted,
  kObserved,
  kParticipantsDropped,
  kProcessCpuNs,
  kProcessCpu,
  kParticipants,
  kNestedInline,
  kFailed,
  kChunks,
  kMigrations,
  kFirstCpu,
  kLastCpu,
  kCpuNs,
  kCpu,
  // Of calls of modules.
  kModule,
  kRaised,
  // Of an allocation.
  kBytes,
};
constexpr uint32_t kArgNameCount = static_cast<uint32_t>(ArgName::kBytes) + 1;
const char* ArgNameText(ArgName name);

class Interner {
 public:
  void Clear();

  uint64_t Category(profile::Category category);
  uint64_t EventName(const profile::Profile& profile, profile::StringId id);
  uint64_t Arg(ArgName name);
  uint64_t DebugName(const profile::Profile& profile, profile::StringId id);
  uint64_t Metadata(const profile::Profile& profile, uint32_t index);  // as hex digits
  uint64_t Word(std::string_view literal);                             // a text of static storage

  // What is new since the last call, as the content of an InternedData message; "" if nothing is.
  const std::string& pending() const { return pending_; }
  void ClearPending() { pending_.clear(); }
  // Bytes of all that is known since the last Clear(): what a new epoch may have to write again.
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

  // `text` as it may stand in the file: UTF-8, without NUL.
  std::string Repaired(std::string_view text);
  // Distinct names repaired so far.
  [[nodiscard]] uint64_t repaired() const { return repaired_; }

 private:
  enum class ValueType : uint64_t { kName, kMetadata, kWord };
  void Add(InternedData field, uint64_t iid, std::string_view text);
  uint64_t Value(ValueType type, uint64_t key, bool& is_new);
  std::string RepairedName(const profile::Profile& profile, profile::StringId id);

  std::string pending_;
  uint64_t bytes_ = 0;
  std::vector<bool> categories_;
  std::vector<bool> args_;
  std::unordered_map<profile::StringId, uint64_t> names_;
  std::unordered_map<uint64_t, uint64_t> values_;
  std::unordered_set<profile::StringId> repaired_ids_;
  uint64_t repaired_ = 0;
};

}  // namespace inferprobe::perfetto
