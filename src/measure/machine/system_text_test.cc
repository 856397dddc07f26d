#include "measure/machine/system_text.h"

#include <gtest/gtest.h>

#include <random>

namespace inferprobe::measure {
namespace {

using profile::Status;

TEST(SystemText, SchedStatIsThreeNumbers) {
  const auto parsed = ParseSchedStat("1217894382 456789 42\n");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->running_ns, 1217894382);
  EXPECT_EQ(parsed->waiting_ns, 456789);
  EXPECT_EQ(parsed->slices, 42);
}

TEST(SystemText, PressureIsTheSomeLinesTotal) {
  const auto us = ParsePressureTotalUs(
      "some avg10=0.12 avg60=0.05 avg300=0.00 total=123456\n"
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
  ASSERT_TRUE(us);
  EXPECT_EQ(*us, 123456);
}

TEST(SystemText, StealIsTheEighthColumn) {
  const auto ticks = ParseStealTicks("cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 2 3 4 5 6 7 44 9 10\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(*ticks, 88);
}

TEST(SystemText, StealIsMissingOnKernelsWithoutTheColumn) {
  const auto ticks = ParseStealTicks("cpu  1 2 3 4 5 6 7\n");
  ASSERT_FALSE(ticks);
  EXPECT_EQ(ticks.missing().status, Status::kUnavailable);
}

TEST(SystemText, ThrottledTimeOfBothGroupVersions) {
  EXPECT_EQ(*ParseThrottledUs("usage_usec 9\nnr_throttled 3\nthrottled_usec 1500\n"), 1500);
  EXPECT_EQ(*ParseThrottledUs("nr_periods 0\nthrottled_time 77999\n"), 77);
}

TEST(SystemText, AGroupWithoutQuotaHasNoThrottledTime) {
  const auto ns = ParseThrottledUs("usage_usec 9\nuser_usec 5\n");
  ASSERT_FALSE(ns);
  EXPECT_EQ(ns.missing().status, Status::kUnsupported);
}

TEST(SystemText, CpuStatPathOfEachKindOfGroup) {
  EXPECT_EQ(*ParseCpuStatPath("0::/\n"), "/sys/fs/cgroup/cpu.stat");
  EXPECT_EQ(*ParseCpuStatPath("0::/a.slice/b:c\n"), "/sys/fs/cgroup/a.slice/b:c/cpu.stat");
  EXPECT_EQ(*ParseCpuStatPath("5:cpuset:/x\n4:cpu,cpuacct:/docker/1\n0::/y\n"),
            "/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.stat");
  EXPECT_EQ(ParseCpuStatPath("").missing().status, Status::kUnsupported);
}

TEST(SystemText, CpuLists) {
  EXPECT_EQ(ParseCpuList("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(ParseCpuList("0"), (std::vector<int>{0}));
  for (const char* bad : {"", "a", "1-", "-1", "3-1", "0,,1", "0-99999999", "1 2"}) {
    EXPECT_TRUE(ParseCpuList(bad).empty()) << bad;
  }
}

TEST(SystemText, KeysAreWholeWords) {
  const char* const text = "MemTotalX: 1 kB\nMemTotal:\t  24 kB\r\nMemFree: 3 kB\n";
  EXPECT_EQ(ValueOfKey(text, "MemTotal"), "24 kB");
  EXPECT_EQ(ValueOfKey(text, "Mem"), "");
}

TEST(SystemText, OsNameLosesItsQuotes) {
  EXPECT_EQ(ParseOsName("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(ParseOsName("PRETTY_NAME='Arch Linux'\n"), "Arch Linux");
  EXPECT_EQ(ParseOsName("PRETTY_NAME=Plain\n"), "Plain");
  EXPECT_EQ(ParseOsName("NOT_PRETTY_NAME=x\n"), "");
}

TEST(SystemText, CpuNames) {
  EXPECT_EQ(ParseCpuName("processor\t: 0\nmodel name\t: AMD EPYC 9B45: odd\n"),
            "AMD EPYC 9B45: odd");
  EXPECT_EQ(ParseCpuName("processor : 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"),
            "Arm implementer 0x41 part 0xd0c");
  EXPECT_EQ(ParseCpuName("nothing"), "");
  EXPECT_EQ(CountProcessors("processor : 0\nx\nprocessor\t: 1\nprocessors: 9\n"), 2);
}

// Whatever a file holds, a parser gives a figure or a reason, and no figure below zero.
TEST(SystemText, GarbageGivesAReasonNeverANegativeFigure) {
  std::mt19937 random(7);
  const std::string alphabet = std::string("0123456789 -+.eE:=,\n\tcpusometotal\xff") + '\0';
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    if (round % 3 == 0) text = "some total=";
    if (round % 3 == 1) text = "cpu 1 2 3 4 5 6 7 ";
    const size_t length = random() % 40;
    for (size_t i = 0; i < length; ++i) text += alphabet[random() % alphabet.size()];
    const auto check = [&](const auto& metric) {
      if (metric) {
        EXPECT_GE(*metric, 0) << text;
      } else {
        EXPECT_FALSE(metric.missing().hint.empty()) << text;
      }
    };
    check(ParseInteger(text));
    check(ParsePressureTotalUs(text));
    check(ParseStealTicks(text));
    check(ParseLoadAverage(text));
    check(ParseThrottledUs(text));
    if (const auto stat = ParseSchedStat(text)) {
      EXPECT_GE(stat->waiting_ns, 0) << text;
    }
    ParseCpuList(text);
    ParseCpuName(text);
    ParseOsName(text);
    ParseCpuStatPath(text);
  }
}

TEST(SystemText, NumbersTooLargeAreNoFigures) {
  EXPECT_FALSE(ParseInteger("99999999999999999999"));
  EXPECT_FALSE(ParsePressureTotalUs("some total=9223372036854775808\n"));
  EXPECT_FALSE(ParseLoadAverage("nan"));
  EXPECT_FALSE(ParseLoadAverage("inf"));
}

}  // namespace
}  // namespace inferprobe::measure
