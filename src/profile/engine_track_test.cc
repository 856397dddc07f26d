#include "profile/engine_track.h"

#include <gtest/gtest.h>

#include <string>

namespace inferprobe::profile {
namespace {

TEST(EngineTrack, ItsNameTellsDelegateAndKindAndTheDelegateIsFoundAgain) {
  for (const std::string delegate : {"DELEGATE_CALL@3", "a (device) of mine", "", "b (x"}) {
    for (const Kind kind :
         {Kind::kHostCpu, Kind::kDevice, Kind::kEngineReported, Kind::kEngineMeanSinceCompile}) {
      for (const char* detail : {"", "cuda event"}) {
        const std::string name = NameOfEngineTrack(delegate, kind, detail);
        EXPECT_NE(name.find(KindText(kind)), std::string::npos) << name;
        EXPECT_EQ(DelegateOfTrack(name), delegate) << name;
      }
    }
  }
  EXPECT_EQ(NameOfEngineTrack("X #0", Kind::kDevice, "cuda event"), "X #0 (device, cuda event)");
  EXPECT_EQ(DelegateOfTrack("X #0"), "X #0");
}

TEST(EngineTrack, AClockOfAFileIsShortAndHarmless) {
  EXPECT_EQ(ShortClockName("cuda event"), "cuda event");
  EXPECT_EQ(ShortClockName("\x1b[31m"), "\\x1b[31m");
  EXPECT_LE(ShortClockName(std::string(4000, 'c')).size(), 50U);
}

}  // namespace
}  // namespace inferprobe::profile
