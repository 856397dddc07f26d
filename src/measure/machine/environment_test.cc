#include "measure/machine/environment.h"

#include <gtest/gtest.h>

#include "measure/machine/fake_system.h"

namespace inferprobe::measure {
namespace {

using profile::Status;

void WriteMachine(const FakeSystem& fake) {
  fake.Write("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n");
  fake.Write("/proc/sys/kernel/osrelease", "6.12.0-1-amd64\n");
  fake.Write("/proc/cpuinfo", "processor : 0\nmodel name : CPU X\n\nprocessor : 1\n");
  fake.Write("/proc/self/status", "Cpus_allowed_list:\t0,2-127\n");
  fake.Write("/sys/devices/system/cpu/online", "0-3\n");
  for (const char* cpu : {"cpu0", "cpu2", "cpu3"}) {
    fake.Write(std::string("/sys/devices/system/cpu/") + cpu + "/cpufreq/scaling_governor",
               cpu[3] == '3' ? "powersave\n" : "performance\n");
  }
  fake.Write("/proc/loadavg", "1.25 0.50 0.40 1/100 4242\n");
  fake.Write("/proc/meminfo", "MemTotal:       24000 kB\nMemFree: 1 kB\n");
}

TEST(Environment, IsWhatTheFilesSay) {
  const FakeSystem fake;
  WriteMachine(fake);
  const auto facts = DescribeEnvironment(fake.root());
  EXPECT_EQ(facts.os, "Debian GNU/Linux 13 (trixie)");
  EXPECT_EQ(facts.kernel, "6.12.0-1-amd64");
  EXPECT_EQ(facts.cpu, "CPU X");
  EXPECT_EQ(facts.cpus_online, 4);
  EXPECT_EQ(facts.cpus, 3);  // allowed and online: 0, 2, 3
  EXPECT_EQ(*facts.governor, "performance, powersave");
  EXPECT_DOUBLE_EQ(*facts.load_average, 1.25);
  EXPECT_EQ(*facts.memory_bytes, 24'576'000);
}

TEST(Environment, WithoutFilesTheFactsAreMissing) {
  const FakeSystem fake;
  const auto facts = DescribeEnvironment(fake.root());
  EXPECT_EQ(facts.os, "");
  EXPECT_EQ(facts.cpus, 0);
  EXPECT_FALSE(facts.governor);
  EXPECT_FALSE(facts.load_average);
  EXPECT_FALSE(facts.memory_bytes);
}

TEST(Environment, WithoutCpufreqTheGovernorIsUnsupported) {
  const FakeSystem fake;
  fake.Write("/proc/self/status", "Cpus_allowed_list:\t0\n");
  const auto facts = DescribeEnvironment(fake.root());
  ASSERT_FALSE(facts.governor);
  EXPECT_EQ(facts.governor.missing().status, Status::kUnsupported);
  EXPECT_EQ(facts.governor.missing().hint, "no cpufreq in sysfs");
}

std::string TypesOf(const FakeSystem& fake) {
  std::string text;
  for (const profile::CoreType& type : DescribeEnvironment(fake.root()).core_types) {
    text += type.name + ":";
    for (const uint32_t cpu : type.cpus) text += " " + std::to_string(cpu);
    text += "; ";
  }
  return text;
}

TEST(Environment, CoreTypesAreTold) {
  const FakeSystem fake;
  EXPECT_EQ(TypesOf(fake), "");  // nothing is known
  fake.Write("/sys/devices/system/cpu/online", "0-3\n");
  EXPECT_EQ(TypesOf(fake), "all: 0 1 2 3; ");
  const auto capacity = [&](int cpu, const char* text) {
    fake.Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpu_capacity", text);
  };
  for (const int cpu : {0, 1, 2}) capacity(cpu, "446\n");
  EXPECT_EQ(TypesOf(fake), "all: 0 1 2 3; ");  // one does not tell
  capacity(3, "446\n");
  EXPECT_EQ(TypesOf(fake), "all: 0 1 2 3; ");
  capacity(2, "1024\n");
  EXPECT_EQ(TypesOf(fake), "capacity 1024: 2; capacity 446: 0 1 3; ");
  fake.Write("/sys/devices/cpu_core/cpus", "0-1\n");
  fake.Write("/sys/devices/cpu_atom/cpus", "2-3\n");
  EXPECT_EQ(TypesOf(fake), "performance: 0 1; efficient: 2 3; ");
}

TEST(Environment, GarbageIsUnavailable) {
  const FakeSystem fake;
  WriteMachine(fake);
  fake.Write("/proc/meminfo", "MemTotal: lots\n");
  fake.Write("/proc/loadavg", "high\n");
  const auto facts = DescribeEnvironment(fake.root());
  ASSERT_FALSE(facts.memory_bytes);
  EXPECT_EQ(facts.memory_bytes.missing().status, Status::kUnavailable);
  EXPECT_FALSE(facts.load_average);
}

TEST(Environment, ThisMachineHasACpu) {
  const auto facts = DescribeEnvironment();
  EXPECT_GT(facts.cpus, 0);
  EXPECT_GE(facts.cpus_online, facts.cpus);
  EXPECT_FALSE(facts.kernel.empty());
}

}  // namespace
}  // namespace inferprobe::measure
