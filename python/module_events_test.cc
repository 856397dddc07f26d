#include "module_events.h"

#include <gtest/gtest.h>

namespace inferprobe::python {
namespace {

using profile::Category;
using profile::kNone;
using profile::Profile;

// Module 0 from 0 to 100 calls "mm" 10..40, in it "add" 20..30, and module 1 50..90, which calls
// "relu" 60..70; then module 1 again 110..130 on its own, in which "relu" 110..130.
Profile Example() {
  Profile profile;
  profile.tracks.resize(1);
  profile.tracks[0].tid = 7;
  const auto add = [&](Category category, const char* name, int64_t start, int64_t end,
                       uint32_t parent, uint32_t module = kNone) {
    profile::Slice slice;
    slice.start_ns = start;
    slice.dur_ns = end - start;
    slice.name = profile.strings.Intern(name);
    slice.category = category;
    slice.parent = parent;
    if (module != kNone) slice.args = profile.AddArgs({.module = module});
    profile.slices.push_back(slice);
  };
  add(Category::kModuleCall, "b", 110, 130, kNone, 1);
  add(Category::kModuleCall, "b", 50, 90, 2, 1);
  add(Category::kModuleCall, "a", 0, 100, kNone, 0);
  add(Category::kOperator, "relu", 110, 130, 0);
  add(Category::kOperator, "add", 20, 30, 5);
  add(Category::kOperator, "mm", 10, 40, 2);
  add(Category::kOperator, "relu", 60, 70, 1);
  add(Category::kOperator, "alone", 200, 210, kNone);
  profile.allocations = {
      {15, 64, 5, false}, {25, 16, 4, false}, {35, -8, 5, false}, {36, 1024, 4, true}};
  return profile;
}

TEST(ModuleEvents, AreOfTheInnermostModuleByCallAndStart) {
  const ModuleEvents events = EventsOf(Example(), 3);
  EXPECT_EQ(events.names, (std::vector<std::string>{"mm", "add", "relu"}));
  EXPECT_EQ(events.module, (std::vector<uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(events.call, (std::vector<uint32_t>{0, 0, 0, 1}));
  EXPECT_EQ(events.name, (std::vector<uint32_t>{0, 1, 2, 2}));
  EXPECT_EQ(events.depth, (std::vector<uint32_t>{0, 1, 0, 0}));
  EXPECT_EQ(events.start_ns, (std::vector<int64_t>{10, 20, 60, 110}));
  EXPECT_EQ(events.self_ns, (std::vector<int64_t>{20, 10, 10, 20}));
  EXPECT_EQ(events.thread_id, (std::vector<int64_t>{7, 7, 7, 7}));
  EXPECT_EQ(events.calls, (std::vector<uint32_t>{1, 2, 0}));
}

TEST(ModuleEvents, BytesAreWithWhatIsInside) {
  EXPECT_EQ(EventsOf(Example(), 3).bytes, (std::vector<int64_t>{72, 16, 0, 0}));
}

TEST(ModuleEvents, ADevicesBytesAreApart) {
  EXPECT_EQ(EventsOf(Example(), 3).device_bytes, (std::vector<int64_t>{1024, 1024, 0, 0}));
}

TEST(ModuleEvents, ModulesBeyondTheTreeAreLeftOut) {
  const ModuleEvents events = EventsOf(Example(), 1);
  EXPECT_EQ(events.module, (std::vector<uint32_t>{0, 0}));
  EXPECT_EQ(events.calls, (std::vector<uint32_t>{1}));
}

}  // namespace
}  // namespace inferprobe::python
