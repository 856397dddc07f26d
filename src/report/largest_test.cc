#include "report/largest.h"

#include <gtest/gtest.h>

namespace inferprobe::report {
namespace {

std::vector<int> Kept(std::vector<int> items, size_t most) {
  KeepLargest(items, most, [](int item) { return item; });
  return items;
}

TEST(KeepLargest, KeepsThemInTheOrderOfTheList) {
  EXPECT_EQ(Kept({5, 1, 9, 2, 7, 3}, 3), (std::vector<int>{5, 9, 7}));
}

TEST(KeepLargest, OneTooManyStays) {
  EXPECT_EQ(Kept({5, 1, 9, 2}, 3), (std::vector<int>{5, 1, 9, 2}));
  EXPECT_EQ(Kept({5, 1, 9, 2, 4}, 3), (std::vector<int>{5, 9, 4}));
}

TEST(KeepLargest, OfEqualOnesTheFirst) {
  std::vector<std::pair<int, int>> items = {{1, 0}, {1, 1}, {2, 2}, {1, 3}};
  KeepLargest(items, 2, [](const auto& item) { return item.first; });
  EXPECT_EQ(items, (std::vector<std::pair<int, int>>{{1, 0}, {2, 2}}));
}

TEST(KeepLargest, ShortListsStay) {
  EXPECT_EQ(Kept({}, 3), std::vector<int>{});
  EXPECT_EQ(Kept({1}, 3), std::vector<int>{1});
}

}  // namespace
}  // namespace inferprobe::report
