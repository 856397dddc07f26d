// What the packets of one writer's sequence refer to: numbers for names, and defaults.
//
// The rule that people break: all of it is void when a packet says that it was cleared, and when
// one says that packets before it were dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "formats/perfetto/interner.h"
#include "formats/perfetto/mix.h"
#include "profile/model.h"

namespace inferprobe::perfetto {

struct InternedTables {
  template <typename Value>
  using Table = std::unordered_map<uint64_t, Value, MixedHash>;
  Table<profile::StringId> names;
  Table<profile::Category> categories;  // those of ours
  Table<ArgName> args;                  // those of ours
  Table<profile::StringId> values;      // among the reader's other texts
};

struct Sequence {
  bool valid = false;  // cleared, and nothing dropped since
  uint32_t generation = 0;
  uint32_t default_clock = 0;
  uint64_t default_track = 0;
  bool has_thread = false;  // of old traces, whose events name no track
  int32_t pid = 0;
  int32_t tid = 0;
  int64_t reference_us = 0;
  std::unique_ptr<InternedTables> tables;

  // What a number stands for; nullptr: nothing.
  template <typename Value>
  const Value* Find(InternedTables::Table<Value> InternedTables::* table, uint64_t iid) const {
    if (!tables) return nullptr;
    const auto found = ((*tables).*table).find(iid);
    return found == ((*tables).*table).end() ? nullptr : &found->second;
  }
  InternedTables& Tables() {
    if (!tables) tables = std::make_unique<InternedTables>();
    return *tables;
  }
  void Clear() {
    valid = true;
    ++generation;
    default_clock = 0;
    default_track = 0;
    tables.reset();
  }
};

}  // namespace inferprobe::perfetto
