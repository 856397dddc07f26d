// Messages between a parent and its worker, over a socket pair: whole, in order, of any bytes.
//
//   auto pair = MessageChannel::CreatePair();            // in the parent
//   ... Spawn({.fds = {{pair->second.fd(), 3}}}) ...; pair->second.Close();
//   auto channel = MessageChannel::FromFd(3);            // in the child
//   auto got = channel.Receive(1000);
//   if (!got) ... broken; else switch (got->what) ...
//
// The rule that people break: a parent that keeps the child's end open never sees the child's death
// as kClosed. Close it right after Spawn().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/owned_fd.h"
#include "inferprobe/result.h"

namespace inferprobe::base {

class Process;

struct Received {
  enum class What : uint8_t {
    kMessage,
    kTimeout,
    kClosed,  // the other side has closed, between two messages
  };
  What what = What::kTimeout;
  std::string message;
};

class MessageChannel {
 public:
  // Both ends are close-on-exec: one is handed to a child by number (SpawnOptions::fds).
  static Result<std::pair<MessageChannel, MessageChannel>> CreatePair();
  // Takes over the descriptor; kInvalidArgument when it is no socket.
  static Result<MessageChannel> FromFd(int fd);

  // Blocks while the other side does not read, at most `timeout_ms` (-1: for ever). kCrashed when
  // the other side is gone; no signal is raised. After an error the channel is of no more use.
  Result<void> Send(std::string_view message, int timeout_ms = -1);
  // Waits at most `timeout_ms` (-1: for ever, 0: only looks). Drains `child`'s output meanwhile.
  // A message that has come only in part stays for the next call. kCrashed when the other side
  // went in the middle of a message.
  Result<Received> Receive(int timeout_ms, Process* child = nullptr);

  [[nodiscard]] int fd() const { return fd_.get(); }
  void Close() { fd_.Reset(); }

  static constexpr size_t kMaxMessageBytes = size_t{256} << 20;

 private:
  explicit MessageChannel(OwnedFd fd) : fd_(std::move(fd)) {}

  OwnedFd fd_;
  std::string incoming_;  // header and bytes of a message that has not come in whole
};

}  // namespace inferprobe::base
