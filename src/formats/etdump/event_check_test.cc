#include "formats/etdump/event_check.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "formats/etdump/made_etdump.h"

namespace inferprobe::etdump {
namespace {

bool VerifierSays(const std::string& bytes, size_t at) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return reinterpret_cast<const ::etdump::Event*>(bytes.data() + at)->Verify(verifier);
}

// Each shape several times, so that all but its first event take the quick way.
std::string ManyEvents() {
  std::vector<MadeEvent> events;
  for (uint64_t i = 0; i < 6; ++i) {
    events.push_back({.name = "operator", .start = 1 + i, .end = 5 + i, .chain = 0});
    events.push_back({.name = "by a delegate", .start = 9, .end = 10 + i, .metadata = "meta"});
    events.push_back({.start = 9, .end = 10 + i, .id = 3, .id_text = "identifier"});
    events.push_back({.profile = false, .allocation = true});
    events.push_back({.name = "both", .start = 1, .end = 2 + i, .debug = true});
  }
  return MakeEtdump({{"Execute", events}});
}

std::vector<size_t> PlacesOfEvents(const std::string& bytes) {
  const auto* dump = flatbuffers::GetSizePrefixedRoot<::etdump::ETDump>(bytes.data());
  std::vector<size_t> places;
  for (const auto* event : *dump->run_data()->Get(0)->events()) {
    places.push_back(static_cast<size_t>(reinterpret_cast<const char*>(event) - bytes.data()));
  }
  return places;
}

TEST(EventCheck, SaysWhatTheVerifierSaysOfDamagedEvents) {
  const std::string sound = ManyEvents();
  const std::vector<size_t> places = PlacesOfEvents(sound);
  std::mt19937 random(20240);
  size_t broken = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = sound;
    for (unsigned i = 0; i < 1 + random() % 3; ++i) {
      // Small values make offsets and sizes that are nearly right.
      bytes[random() % bytes.size()] =
          static_cast<char>(random() % 2 == 0 ? random() : random() % 8);
    }
    EventCheck check(bytes);
    for (const size_t at : places) {
      const bool expected = VerifierSays(bytes, at);
      broken += expected ? 0 : 1;
      ASSERT_EQ(check.IsSound(at), expected) << "round " << round << ", byte " << at;
    }
  }
  EXPECT_GT(broken, 4000U);
}

TEST(EventCheck, SaysWhatTheVerifierSaysAtEveryLength) {
  const std::string sound = ManyEvents();
  const std::vector<size_t> places = PlacesOfEvents(sound);
  for (size_t size = 8; size < sound.size(); ++size) {
    const std::string bytes(sound, 0, size);
    EventCheck check(bytes);
    for (const size_t at : places) {
      if (at >= size) continue;
      ASSERT_EQ(check.IsSound(at), VerifierSays(bytes, at)) << size << " bytes, byte " << at;
    }
  }
}

// The table of an event may stand anywhere, also where its fields are not aligned.
TEST(EventCheck, SaysWhatTheVerifierSaysOfEveryPlace) {
  const std::string bytes = ManyEvents();
  EventCheck check(bytes);
  for (size_t at = 0; at < bytes.size(); ++at) {
    ASSERT_EQ(check.IsSound(at), VerifierSays(bytes, at)) << "byte " << at;
  }
}

}  // namespace
}  // namespace inferprobe::etdump
