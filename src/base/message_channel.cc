#include "base/message_channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/files.h"
#include "base/process.h"

namespace inferprobe::base {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A message is its length (8 bytes, this machine's order) and its bytes. A stream and not
// SOCK_SEQPACKET: one packet is limited by the socket's send buffer, about 200 kB.
constexpr size_t kHeaderBytes = sizeof(uint64_t);

// What is left of a time-out that began at `start`, for poll(): -1 for ever.
int Remaining(SteadyClock::time_point start, int timeout_ms) {
  if (timeout_ms < 0) return -1;
  const auto spent =
      std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start).count();
  return static_cast<int>(std::max<int64_t>(0, timeout_ms - spent));
}

tl::unexpected<Error> Gone() {
  return MakeError(ErrorCode::kCrashed, "the process at the other end is gone");
}

}  // namespace

Result<std::pair<MessageChannel, MessageChannel>> MessageChannel::CreatePair() {
  std::array<int, 2> fds{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("cannot create a socket pair: {}", SystemErrorText(errno)));
  }
  return std::make_pair(MessageChannel(OwnedFd(fds[0])), MessageChannel(OwnedFd(fds[1])));
}

Result<MessageChannel> MessageChannel::FromFd(int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode)) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("descriptor {} is no socket", fd));
  }
  return MessageChannel(OwnedFd(fd));
}

Result<void> MessageChannel::Send(std::string_view message, int timeout_ms) {
  if (message.size() > kMaxMessageBytes) {
    return MakeError(ErrorCode::kInternal, fmt::format("a message of {} bytes; at most {} go",
                                                       message.size(), kMaxMessageBytes));
  }
  const auto start = SteadyClock::now();
  const uint64_t length = message.size();
  std::array<char, kHeaderBytes> header{};
  std::memcpy(header.data(), &length, kHeaderBytes);
  for (std::string_view part : {std::string_view(header.data(), kHeaderBytes), message}) {
    while (!part.empty()) {
      const ssize_t n = send(fd_.get(), part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) {
        part.remove_prefix(static_cast<size_t>(n));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno == EPIPE || errno == ECONNRESET) return Gone();
      if (errno != EAGAIN) {
        return MakeError(ErrorCode::kIo,
                         fmt::format("cannot send a message: {}", SystemErrorText(errno)));
      }
      const int left = Remaining(start, timeout_ms);
      pollfd poll_fd{fd_.get(), POLLOUT, 0};
      if (left == 0 || (poll(&poll_fd, 1, left) == 0 && timeout_ms >= 0)) {
        return MakeError(ErrorCode::kCrashed, fmt::format("the process at the other end has not "
                                                          "read for {} ms",
                                                          timeout_ms));
      }
    }
  }
  return {};
}

Result<Received> MessageChannel::Receive(int timeout_ms, Process* child) {
  const auto start = SteadyClock::now();
  while (true) {
    uint64_t length = 0;
    size_t wanted = kHeaderBytes;
    if (incoming_.size() >= kHeaderBytes) {
      std::memcpy(&length, incoming_.data(), kHeaderBytes);
      if (length > kMaxMessageBytes) {
        return MakeError(ErrorCode::kMalformed,
                         fmt::format("a message says that it has {} bytes", length));
      }
      wanted += length;
      if (incoming_.size() == wanted) {
        Received received{Received::What::kMessage, incoming_.substr(kHeaderBytes)};
        incoming_.clear();
        return received;
      }
    }

    // Never more than this message, so that nothing is held back from somebody else's poll().
    const size_t have = incoming_.size();
    incoming_.resize(std::min(wanted, have + (size_t{1} << 20)));
    const ssize_t n =
        recv(fd_.get(), incoming_.data() + have, incoming_.size() - have, MSG_DONTWAIT);
    const int error = errno;
    incoming_.resize(have + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n > 0) continue;
    if (n == 0 || error == ECONNRESET) {
      if (have == 0) return Received{Received::What::kClosed, {}};
      return MakeError(ErrorCode::kCrashed,
                       "the process at the other end went in the middle of a message");
    }
    if (error == EINTR) continue;
    if (error != EAGAIN) {
      return MakeError(ErrorCode::kIo,
                       fmt::format("cannot receive a message: {}", SystemErrorText(error)));
    }

    const int left = Remaining(start, timeout_ms);
    std::array<pollfd, 2> poll_fds{pollfd{fd_.get(), POLLIN, 0},
                                   pollfd{child != nullptr ? child->output_fd() : -1, POLLIN, 0}};
    const int ready = poll(poll_fds.data(), poll_fds.size(), left);
    if (ready > 0 && poll_fds[1].revents != 0) child->DrainOutput();
    if (ready == 0 || (left == 0 && poll_fds[0].revents == 0)) {
      return Received{Received::What::kTimeout, {}};
    }
  }
}

}  // namespace inferprobe::base
