#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "base/message_channel.h"
#include "base/shared_memory.h"
#include "base/temporary_folder.h"

namespace inferprobe::base {
namespace {

SpawnOptions Shell(const std::string& script) {
  SpawnOptions options;
  options.program = "/bin/sh";
  options.args = {"-c", script};
  return options;
}

Process Spawned(const SpawnOptions& options) {
  auto process = Process::Spawn(options);
  EXPECT_TRUE(process) << process.error().message;
  return std::move(*process);
}

// "running": whether there is such a process that is no zombie.
bool Lives(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number;
  std::string name;
  std::string state;
  file >> number >> name >> state;
  return !state.empty() && state != "Z" && state != "X";
}

bool GoneWithinSeconds(pid_t pid, int seconds) {
  for (int i = 0; i < seconds * 100 && Lives(pid); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !Lives(pid);
}

TEST(Process, ExitCodesAndSignalsHaveWords) {
  Process good = Spawned(Shell("exit 0"));
  EXPECT_TRUE(good.Wait()->ok());

  Process bad = Spawned(Shell("exit 7"));
  const auto exit = bad.Wait();
  EXPECT_FALSE(exit->ok());
  EXPECT_EQ(exit->Text(), "exited with 7");
  EXPECT_EQ(bad.Wait()->Text(), "exited with 7");  // and again

  Process crashed = Spawned(Shell("kill -SEGV $$"));
  EXPECT_EQ(crashed.Wait()->Text(), "killed by signal 11 (Segmentation fault)");
}

TEST(Process, AProgramThatIsNotThereIsKnownAtOnce) {
  SpawnOptions options;
  options.program = "/no/such/program";
  const auto missing = Process::Spawn(options);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("/no/such/program"), std::string::npos);

  const TemporaryFolder folder;
  std::ofstream(folder.File("text")) << "not a program";
  options.program = folder.File("text");
  const auto refused = Process::Spawn(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
}

TEST(Process, ArgumentsEnvironmentAndFolderArrive) {
  const TemporaryFolder folder;
  SpawnOptions options = Shell("echo \"$0|$1|$INFERPROBE_TEST|$(pwd)\"");
  options.args.insert(options.args.end(), {"a b", "\"c'"});
  setenv("INFERPROBE_TEST", "old", 1);
  options.extra_env = {{"INFERPROBE_TEST", "new=value"}};
  options.working_directory = folder.path();
  Process process = Spawned(options);
  EXPECT_TRUE(process.Wait()->ok());
  unsetenv("INFERPROBE_TEST");
  EXPECT_EQ(process.Output(), "a b|\"c'|new=value|" + folder.path() + "\n");
}

TEST(Process, BothOutputsAreKept) {
  Process process = Spawned(Shell("echo out; echo err >&2"));
  ASSERT_TRUE(process.Wait()->ok());
  EXPECT_EQ(process.Output(), "out\nerr\n");
}

TEST(Process, ATalkativeChildNeitherBlocksNorFillsMemory) {
  Process process = Spawned(
      Shell("i=0; while [ $i -lt 4000 ]; do "
            "echo 'a line of about one hundred bytes, so that all of them are more than the pipe "
            "holds, many times over'; i=$((i+1)); done; echo the end"));
  ASSERT_TRUE(process.Wait()->ok());
  EXPECT_EQ(process.Output().size(), Process::kOutputBytes);
  EXPECT_TRUE(process.Output().ends_with("the end\n"));
  EXPECT_GT(process.output_bytes_dropped(), 100'000U);
}

TEST(Process, PollTellsRunningFromEnded) {
  Process process = Spawned(Shell("read x"));  // stdin is empty: ends at once
  EXPECT_EQ(process.Wait()->exit_code, 1);
  Process sleeper = Spawned(Shell("sleep 100"));
  const auto running = sleeper.Poll();
  ASSERT_TRUE(running);
  EXPECT_FALSE(running->has_value());
  EXPECT_FALSE(sleeper.Poll(20)->has_value());
  sleeper.Kill(SIGKILL);
  EXPECT_EQ(sleeper.Wait()->signal, SIGKILL);
  sleeper.Kill(SIGKILL);  // of no effect
}

TEST(Process, WhatAnEndedChildSaidIsThereAtTheFirstLook) {
  Process process = Spawned(Shell("echo last words"));
  ASSERT_TRUE(GoneWithinSeconds(process.pid(), 10));
  ASSERT_TRUE(process.Poll()->has_value());
  EXPECT_EQ(process.Output(), "last words\n");
}

TEST(Process, GoesWithItsObject) {
  pid_t pid = 0;
  {
    const Process process = Spawned(Shell("exec sleep 100"));
    pid = process.pid();
    EXPECT_TRUE(Lives(pid));
  }
  EXPECT_FALSE(Lives(pid));
}

TEST(Process, DiesWithItsParent) {
  std::array<int, 2> pipe_fds{};
  ASSERT_EQ(pipe(pipe_fds.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    auto child = Process::Spawn(Shell("exec sleep 100"));
    const pid_t pid = child ? child->pid() : -1;
    (void)!write(pipe_fds[1], &pid, sizeof(pid));
    pause();
    _exit(0);
  }
  pid_t child = -1;
  ASSERT_EQ(read(pipe_fds[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
  ASSERT_GT(child, 0);
  EXPECT_TRUE(Lives(child));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(GoneWithinSeconds(child, 10));
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST(Process, InheritsOnlyWhatItIsGiven) {
  const int leaked = open("/dev/null", O_RDONLY);  // not close-on-exec
  const int given = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  SpawnOptions options;
  options.program = "/bin/ls";
  options.args = {"-l", "/proc/self/fd"};
  options.fds = {{given, 9}};
  Process process = Spawned(options);
  ASSERT_TRUE(process.Wait()->ok()) << process.Output();
  close(leaked);
  close(given);
  size_t descriptors = 0;
  std::istringstream lines(process.Output());
  for (std::string line; std::getline(lines, line);) {
    descriptors += line.find("->") != std::string::npos ? 1 : 0;
  }
  EXPECT_NE(process.Output().find("9 -> /dev/zero"), std::string::npos) << process.Output();
  EXPECT_EQ(descriptors, 5U) << process.Output();  // 0, 1, 2, 9, and ls's own view of the folder
}

// One's number in the child may be the other's number here.
TEST(Process, DescriptorsMayTradeNumbers) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("a")) << "A";
  std::ofstream(folder.File("b")) << "B";
  const int a = open(folder.File("a").c_str(), O_RDONLY | O_CLOEXEC);
  const int b = open(folder.File("b").c_str(), O_RDONLY | O_CLOEXEC);
  SpawnOptions options = Shell("cat <&" + std::to_string(a) + "; cat <&" + std::to_string(b));
  options.fds = {{a, b}, {b, a}};
  Process process = Spawned(options);
  ASSERT_TRUE(process.Wait()->ok()) << process.Output();
  EXPECT_EQ(process.Output(), "BA");
  close(a);
  close(b);
}

TEST(Process, RefusesToReplaceTheStandardThree) {
  SpawnOptions options = Shell("exit 0");
  options.fds = {{0, 2}};
  const auto process = Process::Spawn(options);
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().code, ErrorCode::kInvalidArgument);
}

TEST(Process, LeavesSignalsToTheGroupToItsParentUnlessTold) {
  Process process = Spawned(Shell("kill -INT $$; kill -TERM $$; echo lived"));
  EXPECT_TRUE(process.Wait()->ok());
  EXPECT_EQ(process.Output(), "lived\n");

  for (const int signal : {SIGINT, SIGTERM}) {
    SpawnOptions options = Shell("kill -" + std::to_string(signal) + " $$; echo lived");
    options.ignore_interrupt = false;
    Process mortal = Spawned(options);
    EXPECT_EQ(mortal.Wait()->signal, signal);
  }
}

TEST(Process, WithoutDevNullTheErrorNamesIt) {
  const pid_t pid = fork();
  if (pid == 0) {
    closefrom(3);
    const rlimit limit{7, 7};  // the two pipes, and no more
    setrlimit(RLIMIT_NOFILE, &limit);
    const auto process = Process::Spawn(Shell("exit 0"));
    _exit(!process && process.error().message.find("/dev/null") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Process, WaitOrKillEndsWhatHangs) {
  Process good = Spawned(Shell("exit 3"));
  EXPECT_EQ(good.WaitOrKill(60'000)->Text(), "exited with 3");

  Process hanging = Spawned(Shell("echo stuck; exec sleep 100"));
  const auto exit = hanging.WaitOrKill(200);
  ASSERT_TRUE(exit);
  EXPECT_TRUE(exit->killed_for_hanging);
  EXPECT_EQ(exit->Text(), "did not end in time and was killed");
  EXPECT_TRUE(hanging.Wait()->killed_for_hanging);  // and again
  EXPECT_FALSE(Lives(hanging.pid()));
  EXPECT_EQ(hanging.Output(), "stuck\n");

  Process killed = Spawned(Shell("kill -KILL $$"));
  EXPECT_FALSE(killed.WaitOrKill(60'000)->killed_for_hanging);
}

std::pair<MessageChannel, MessageChannel> Channels() {
  auto pair = MessageChannel::CreatePair();
  EXPECT_TRUE(pair) << pair.error().message;
  return std::move(*pair);
}

TEST(MessageChannel, MessagesOfAnySizeArriveWholeAndInOrder) {
  auto [left, right] = Channels();
  const std::vector<std::string> sent = {"", "a", std::string("\0\xff\n", 3),
                                         std::string(10'000'000, 'x'), "after"};
  std::thread sender([&, &channel = left] {
    for (const std::string& message : sent) EXPECT_TRUE(channel.Send(message));
  });
  for (const std::string& message : sent) {
    const auto got = right.Receive(-1);
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_EQ(got->what, Received::What::kMessage);
    EXPECT_TRUE(got->message == message);
  }
  sender.join();
}

TEST(MessageChannel, ATimeoutIsNoErrorAndLosesNothing) {
  auto [left, right] = Channels();
  EXPECT_EQ(right.Receive(0)->what, Received::What::kTimeout);
  EXPECT_EQ(right.Receive(20)->what, Received::What::kTimeout);
  // Half a message is there when the time is up.
  const uint64_t length = 4;
  ASSERT_EQ(write(left.fd(), &length, sizeof(length)), static_cast<ssize_t>(sizeof(length)));
  ASSERT_EQ(write(left.fd(), "ab", 2), 2);
  EXPECT_EQ(right.Receive(10)->what, Received::What::kTimeout);
  ASSERT_EQ(write(left.fd(), "cd", 2), 2);
  EXPECT_EQ(right.Receive(10)->message, "abcd");
}

TEST(MessageChannel, AClosedEndIsTold) {
  auto [left, right] = Channels();
  ASSERT_TRUE(left.Send("last words"));
  left.Close();
  EXPECT_EQ(right.Receive(-1)->message, "last words");
  EXPECT_EQ(right.Receive(-1)->what, Received::What::kClosed);
  const auto sent = right.Send("anybody?");  // raises no SIGPIPE
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kCrashed);
}

TEST(MessageChannel, AnEndInTheMiddleOfAMessageIsAnError) {
  auto [left, right] = Channels();
  const uint64_t length = 4;
  ASSERT_EQ(write(left.fd(), &length, sizeof(length)), static_cast<ssize_t>(sizeof(length)));
  ASSERT_EQ(write(left.fd(), "ab", 2), 2);
  left.Close();
  const auto got = right.Receive(-1);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kCrashed);
}

TEST(MessageChannel, AnAbsurdLengthIsMalformed) {
  auto [left, right] = Channels();
  const uint64_t length = ~uint64_t{0};
  ASSERT_EQ(write(left.fd(), &length, sizeof(length)), static_cast<ssize_t>(sizeof(length)));
  const auto got = right.Receive(-1);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kMalformed);
}

TEST(MessageChannel, SendToOneWhoDoesNotReadTimesOut) {
  auto [left, right] = Channels();
  const auto sent = left.Send(std::string(10'000'000, 'x'), 20);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kCrashed);
}

TEST(MessageChannel, SignalsDoNotBreakAReceive) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  struct sigaction before = {};
  sigaction(SIGUSR1, &action, &before);
  auto [left, right] = Channels();
  const pthread_t receiver = pthread_self();
  std::thread sender([&, &channel = left] {
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      pthread_kill(receiver, SIGUSR1);
    }
    EXPECT_TRUE(channel.Send("through"));
  });
  const auto got = right.Receive(-1);
  sender.join();
  sigaction(SIGUSR1, &before, nullptr);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->message, "through");
}

TEST(MessageChannel, FromFdRefusesWhatIsNoSocket) {
  const OwnedFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto channel = MessageChannel::FromFd(file.get());
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().code, ErrorCode::kInvalidArgument);
}

TEST(Process, TellsWhetherItIsStopped) {
  Process sleeper = Spawned(Shell("exec sleep 1000"));
  EXPECT_FALSE(sleeper.Stopped());
  const auto becomes = [&](bool stopped) {
    for (int i = 0; i < 6000 && sleeper.Stopped() != stopped; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return sleeper.Stopped() == stopped;
  };
  for (int i = 0; i < 2; ++i) {
    sleeper.Kill(SIGSTOP);
    EXPECT_TRUE(becomes(true));
    EXPECT_TRUE(sleeper.Stopped());  // asking changes nothing
    EXPECT_FALSE(sleeper.Poll()->has_value());
    sleeper.Kill(SIGCONT);
    EXPECT_TRUE(becomes(false));
  }
  sleeper.Kill(SIGKILL);
  EXPECT_EQ(sleeper.Wait()->signal, SIGKILL);
  EXPECT_FALSE(sleeper.Stopped());
}

// The parent waits for a message while the child fills its stderr: both must come through.
TEST(MessageChannel, ReceiveDrainsTheChildMeanwhile) {
  auto [ours, theirs] = Channels();
  SpawnOptions options = Shell(
      "i=0; while [ $i -lt 3000 ]; do echo 'many bytes, more than a pipe holds, all of them on "
      "standard error' >&2; i=$((i+1)); done; printf '\\002\\000\\000\\000\\000\\000\\000\\000ok' "
      ">&3");
  options.fds = {{theirs.fd(), 3}};
  Process process = Spawned(options);
  theirs.Close();
  const auto got = ours.Receive(60'000, &process);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->message, "ok");
  EXPECT_EQ(ours.Receive(60'000, &process)->what, Received::What::kClosed);
  EXPECT_TRUE(process.Wait()->ok());
}

TEST(SharedMemory, IsSeenByWhoeverMapsIt) {
  auto memory = SharedMemory::Create(10'000);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->size(), 10'000U);
  auto* bytes = static_cast<char*>(memory->data());
  EXPECT_EQ(bytes[9'999], 0);
  auto other = SharedMemory::Map(memory->fd());
  ASSERT_TRUE(other);
  EXPECT_EQ(other->size(), 10'000U);
  bytes[7] = 'x';
  EXPECT_EQ(static_cast<char*>(other->data())[7], 'x');
  EXPECT_EQ(other->fd(), -1);
}

TEST(SharedMemory, CannotShrinkUnderAMapping) {
  auto memory = SharedMemory::Create(8192);
  ASSERT_TRUE(memory);
  EXPECT_NE(ftruncate(memory->fd(), 0), 0);
}

TEST(SharedMemory, KeepsWhatAKilledProcessWrote) {
  auto memory = SharedMemory::Create(4096);
  ASSERT_TRUE(memory);
  const pid_t pid = fork();
  if (pid == 0) {
    static_cast<char*>(memory->data())[0] = 'k';
    kill(getpid(), SIGKILL);
  }
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(static_cast<char*>(memory->data())[0], 'k');
}

TEST(SharedMemory, RefusesOtherDescriptors) {
  const OwnedFd file(open("/dev/zero", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(SharedMemory::Map(file.get()));
  EXPECT_FALSE(SharedMemory::Map(-1));
  EXPECT_FALSE(SharedMemory::Create(0));
  EXPECT_FALSE(SharedMemory::Create(~size_t{0} >> 1));
}

}  // namespace
}  // namespace inferprobe::base
