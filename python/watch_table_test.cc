#include "watch_table.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <random>
#include <vector>

namespace inferprobe::python {
namespace {

// Of objects that lie 16 bytes apart, as Python's do.
const void* Address(size_t n) {
  struct alignas(16) Object {
    char bytes[16];
  };
  static const std::vector<Object> objects(512);
  return &objects[n];
}

TEST(WatchTable, FindsWhatWasAdded) {
  WatchTable table;
  EXPECT_EQ(table.Find(Address(1)), nullptr);
  EXPECT_EQ(table.Find(nullptr), nullptr);
  table.Add(Address(1), Address(9), 7);
  ASSERT_NE(table.Find(Address(1)), nullptr);
  EXPECT_EQ(table.Find(Address(1))->number, 7U);
  EXPECT_EQ(table.Find(Address(1))->function, Address(9));
  EXPECT_EQ(table.Find(Address(2)), nullptr);
  EXPECT_EQ(table.Find(nullptr), nullptr);
}

TEST(WatchTable, IsThereUntilTheLastReferenceGoes) {
  WatchTable table;
  table.Add(Address(1), Address(9), 7);
  EXPECT_EQ(table.Add(Address(1), Address(8), 3).number, 7U);
  EXPECT_FALSE(table.Remove(Address(1)));
  EXPECT_NE(table.Find(Address(1)), nullptr);
  EXPECT_TRUE(table.Remove(Address(1)));
  EXPECT_EQ(table.Find(Address(1)), nullptr);
  EXPECT_FALSE(table.Remove(Address(1)));
  EXPECT_FALSE(table.Remove(nullptr));
  EXPECT_EQ(table.size(), 0U);
}

// Against std::map, with addresses that collide often.
TEST(WatchTable, RandomChangesAreThoseOfAMap) {
  std::mt19937 random(3);
  WatchTable table;
  std::map<const void*, uint32_t> references;
  for (int step = 0; step < 50'000; ++step) {
    // More and more of them, then fewer.
    const size_t range = step < 25'000 ? 400 : 40;
    const void* key = Address(1 + random() % range);
    if (random() % 2 == 0) {
      table.Add(key, nullptr, 0);
      ++references[key];
    } else {
      const auto found = references.find(key);
      const bool last = found != references.end() && found->second == 1;
      EXPECT_EQ(table.Remove(key), last);
      if (last) {
        references.erase(found);
      } else if (found != references.end()) {
        --found->second;
      }
    }
    if (step % 97 != 0) continue;
    ASSERT_EQ(table.size(), references.size());
    for (size_t n = 1; n <= 400; ++n) {
      const WatchTable::Entry* entry = table.Find(Address(n));
      const auto expected = references.find(Address(n));
      ASSERT_EQ(entry != nullptr, expected != references.end()) << step << " " << n;
      if (entry == nullptr) continue;
      ASSERT_EQ(entry->references, expected->second);
    }
  }
}

}  // namespace
}  // namespace inferprobe::python
