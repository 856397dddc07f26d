#include "formats/perfetto/interner.h"

#include <protozero/pbf_builder.hpp>

#include "base/text.h"

namespace inferprobe::perfetto {
namespace {

constexpr const char* kArgNames[] = {"",
                                     "instruction",
                                     "chain",
                                     "delegate_debug_id",
                                     "delegate_debug_name",
                                     "metadata",
                                     "run",
                                     "mode",
                                     "kind",
                                     "group",
                                     "process",
                                     "incomplete",
                                     "call",
                                     "start_ticks",
                                     "ticks",
                                     "start",
                                     "dur",
                                     "slices",
                                     "why",
                                     "parent",
                                     "region",
                                     "outer_region",
                                     "session",
                                     "session_run",
                                     "executor",
                                     "file",
                                     "line",
                                     "function",
                                     "code",
                                     "iterations",
                                     "grain",
                                     "requested",
                                     "admitted",
                                     "observed",
                                     "participants_dropped",
                                     "process_cpu_ns",
                                     "process_cpu",
                                     "participants",
                                     "nested_inline",
                                     "failed",
                                     "chunks",
                                     "migrations",
                                     "first_cpu",
                                     "last_cpu",
                                     "cpu_ns",
                                     "cpu",
                                     "module",
                                     "raised",
                                     "bytes"};
static_assert(sizeof(kArgNames) / sizeof(kArgNames[0]) == kArgNameCount);

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

}  // namespace

const char* ArgNameText(ArgName name) { return kArgNames[static_cast<uint32_t>(name)]; }

void Interner::Clear() {
  pending_.clear();
  bytes_ = 0;
  categories_.clear();
  args_.clear();
  names_.clear();
  values_.clear();
}

void Interner::Add(InternedData field, uint64_t iid, std::string_view text) {
  bytes_ += text.size();
  protozero::pbf_builder<InternedData> data{pending_};
  protozero::pbf_builder<InternedEntry> entry{data, field};
  entry.add_uint64(InternedEntry::kIid, iid);
  entry.add_bytes(InternedEntry::kText, text.data(), text.size());
}

uint64_t Interner::Category(profile::Category category) {
  const auto iid = static_cast<uint64_t>(category) + 1;
  if (categories_.size() <= iid) categories_.resize(iid + 1);
  if (!categories_[iid]) {
    categories_[iid] = true;
    Add(InternedData::kEventCategories, iid, profile::CategoryName(category));
  }
  return iid;
}

uint64_t Interner::Arg(ArgName name) {
  const auto iid = static_cast<size_t>(name);
  if (args_.empty()) args_.resize(kArgNameCount);
  if (!args_[iid]) {
    args_[iid] = true;
    Add(InternedData::kDebugAnnotationNames, iid, kArgNames[iid]);
  }
  return iid;
}

uint64_t Interner::EventName(const profile::Profile& profile, profile::StringId id) {
  const auto [at, is_new] = names_.try_emplace(id, names_.size() + 1);
  if (is_new) Add(InternedData::kEventNames, at->second, RepairedName(profile, id));
  return at->second;
}

uint64_t Interner::Value(ValueType type, uint64_t key, bool& is_new) {
  const auto [at, inserted] =
      values_.try_emplace(static_cast<uint64_t>(type) << 62 | key, values_.size() + 1);
  is_new = inserted;
  return at->second;
}

uint64_t Interner::DebugName(const profile::Profile& profile, profile::StringId id) {
  bool is_new = false;
  const uint64_t iid = Value(ValueType::kName, id, is_new);
  if (is_new) {
    Add(InternedData::kDebugAnnotationStringValues, iid, RepairedName(profile, id));
  }
  return iid;
}

uint64_t Interner::Metadata(const profile::Profile& profile, uint32_t index) {
  bool is_new = false;
  const uint64_t iid = Value(ValueType::kMetadata, index, is_new);
  if (is_new) {
    Add(InternedData::kDebugAnnotationStringValues, iid, Hex(profile.metadata[index]));
  }
  return iid;
}

uint64_t Interner::Word(std::string_view literal) {
  bool is_new = false;
  // Addresses of user space have their top bits clear.
  const uint64_t iid = Value(ValueType::kWord, reinterpret_cast<uint64_t>(literal.data()), is_new);
  if (is_new) Add(InternedData::kDebugAnnotationStringValues, iid, literal);
  return iid;
}

std::string Interner::Repaired(std::string_view text) {
  base::RepairedText result = base::RepairUtf8(text);
  // Perfetto's reader hands texts on as C strings: one with a NUL would come out cut.
  for (size_t at = 0; (at = result.text.find('\0', at)) != std::string::npos; at += 4) {
    result.text.replace(at, 1, "\\x00");
    ++result.bad_bytes;
  }
  if (result.bad_bytes > 0) ++repaired_;
  return std::move(result.text);
}

std::string Interner::RepairedName(const profile::Profile& profile, profile::StringId id) {
  const uint64_t before = repaired_;
  std::string text = Repaired(profile.strings.Get(id));
  if (repaired_ > before && !repaired_ids_.insert(id).second) repaired_ = before;
  return text;
}

}  // namespace inferprobe::perfetto
