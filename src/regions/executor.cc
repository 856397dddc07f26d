// CpuExecutor. Boost.Asio's thread_pool wakes and feeds the threads; which loop a thread works on
// is decided here, under one mutex.
//
// A loop stands in a list while it still has seats to give. A thread that is woken takes the first
// seat that it finds, whichever loop woke it, and looks for another when that loop is done. A
// caller whose loop has no chunk left takes the loop out of the list, so that nobody comes any
// more, and waits for those who came. It never waits for a thread that has not come: loops inside
// loops, and more callers than threads, cannot block each other.
//
// The rule that people break: a token (a posted wake-up) outlives the loop that posted it. It holds
// no loop; it only says "look".
#include "inferprobe/executor.h"

// Our mutex stands between a loop and its participants; ThreadSanitizer knows no fences.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "base/thread_identity.h"
#include "regions/frame.h"

namespace inferprobe {
namespace {

// More than this is a mistake, and would only ask the system until it refuses.
constexpr int kMostThreads = 4096;

std::atomic<uint64_t> g_last_executor_id{0};

// How often this process was forked off from one that had executors. Its threads stayed there, and
// its mutex may be locked for good.
std::atomic<uint32_t> g_forks{0};
uint32_t Forks() {
  static const bool told = [] {
    base::OnFork(nullptr, nullptr, [] { g_forks.fetch_add(1, std::memory_order_relaxed); });
    return true;
  }();
  (void)told;
  return g_forks.load(std::memory_order_relaxed);
}

// A loop that runs, on the stack of its caller.
struct Loop {
  Loop(uint64_t its_executor, int64_t its_total, int64_t its_grain, internal::RangeBody its_body,
       regions::Frame* its_frame, const Loop* its_outer)
      : executor(its_executor),
        total(its_total),
        grain(its_grain),
        chunks(its_total / its_grain + (its_total % its_grain != 0 ? 1 : 0)),
        body(its_body),
        frame(its_frame),
        outer(its_outer) {}

  const uint64_t executor;
  const int64_t total;
  const int64_t grain;
  const int64_t chunks;
  const internal::RangeBody body;
  regions::Frame* const frame;
  const Loop* const outer;  // in whose body it was met
  // The next chunk that nobody has taken. Unsigned: every participant once counts beyond the last.
  std::atomic<uint64_t> next{0};

  // Under the executor's mutex.
  int open_seats = 0;  // that may still be taken
  int promised = 0;    // of them, those that idle threads have been woken for
  int late = 0;        // participants beyond those, who came free in time
  int running = 0;     // participants that are not the caller
  std::exception_ptr error;
  std::condition_variable done;
  Loop* previous_open = nullptr;
  Loop* next_open = nullptr;
};

// The loop whose body the calling thread runs.
#if defined(_WIN32)
constinit thread_local const Loop* t_loop = nullptr;
#else
constinit thread_local const Loop* t_loop __attribute__((tls_model("initial-exec"))) = nullptr;
#endif

bool IsInside(uint64_t executor) {
  for (const Loop* loop = t_loop; loop != nullptr; loop = loop->outer) {
    if (loop->executor == executor) return true;
  }
  return false;
}

// Runs chunks until none is left. What the body throws comes out. `ran`: whether there was one.
void RunChunks(Loop* loop, bool* ran) {
  struct Inside {
    explicit Inside(const Loop* inner) : outer(t_loop) { t_loop = inner; }
    ~Inside() { t_loop = outer; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    const Loop* outer;
  } const inside(loop);
  const auto chunks = static_cast<uint64_t>(loop->chunks);
  for (;;) {
    const uint64_t chunk = loop->next.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= chunks) return;
    *ran = true;
    const int64_t begin = static_cast<int64_t>(chunk) * loop->grain;
    const int64_t end = loop->total - begin < loop->grain ? loop->total : begin + loop->grain;
    if (loop->frame == nullptr) {
      loop->body(begin, end);
    } else {
      regions::Chunk watched(loop->frame);
      loop->body(begin, end);
      watched.Ran(static_cast<uint64_t>(end - begin));
    }
  }
}

// The same for one of several participants: what the body throws is returned, and ends the loop for
// all.
std::exception_ptr RunShared(Loop* loop, bool* ran) {
  try {
    RunChunks(loop, ran);
  } catch (...) {
    loop->next.store(static_cast<uint64_t>(loop->chunks), std::memory_order_relaxed);
    return std::current_exception();
  }
  return nullptr;
}

// Memory for one posted handler: what Asio would allocate for it.
struct alignas(std::max_align_t) Token {
  std::byte memory[128];
  Token* next_free = nullptr;
};

template <typename T>
struct TokenAllocator {
  using value_type = T;  // NOLINT(readability-identifier-naming): the allocators' own names
  explicit TokenAllocator(Token* its_token) : token(its_token) {}
  template <typename U>
  TokenAllocator(const TokenAllocator<U>& other)  // NOLINT(google-explicit-constructor)
      : token(other.token) {}
  T* allocate(size_t count) {
    static_assert(sizeof(T) <= sizeof(Token::memory) && alignof(T) <= alignof(Token));
    return count == 1 ? reinterpret_cast<T*>(token->memory) : throw std::bad_alloc();
  }
  void deallocate(T*, size_t) {}
  template <typename U>
  bool operator==(const TokenAllocator<U>& other) const {
    return token == other.token;
  }
  Token* token;
};

}  // namespace

struct CpuExecutor::Impl {
  explicit Impl(int wanted) : tokens(static_cast<size_t>(wanted - 1)), pool(0) {
    for (Token& token : tokens) {
      token.next_free = free_tokens;
      free_tokens = &token;
    }
    threads.reserve(tokens.size());
    // Threads of our own that join Asio's pool: its constructor cannot be left safely when the
    // system refuses one of its threads.
    try {
      while (threads.size() < tokens.size()) threads.emplace_back([this] { pool.attach(); });
    } catch (...) {  // NOLINT(bugprone-empty-catch): threads() tells that there are fewer
    }
  }
  ~Impl() {
    pool.stop();
    for (std::thread& thread : threads) thread.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // What Asio runs.
  struct Handler {
    using allocator_type = TokenAllocator<void>;  // NOLINT(readability-identifier-naming): Asio's
    [[nodiscard]] allocator_type get_allocator() const { return allocator_type(token); }
    void operator()() const { impl->Work(token); }
    Impl* impl;
    Token* token;
  };

  [[nodiscard]] int workers() const { return static_cast<int>(threads.size()); }

  // Under the mutex.
  void OpenLoop(Loop* loop) {
    loop->previous_open = last_open;
    (last_open != nullptr ? last_open->next_open : first_open) = loop;
    last_open = loop;
  }
  void CloseLoop(Loop* loop) {
    (loop->previous_open != nullptr ? loop->previous_open->next_open : first_open) =
        loop->next_open;
    (loop->next_open != nullptr ? loop->next_open->previous_open : last_open) = loop->previous_open;
    loop->open_seats = 0;
    promised -= loop->promised;  // who was woken for them will look for another
  }
  // A loop with a seat that somebody has been woken for, else with any.
  Loop* FindSeat() {
    for (Loop* loop = first_open; loop != nullptr; loop = loop->next_open) {
      if (loop->promised > 0) return loop;
    }
    for (Loop* loop = first_open; loop != nullptr; loop = loop->next_open) {
      if (loop->open_seats > 0) return loop;
    }
    return nullptr;
  }
  // Wakes up to `count` threads; those that are on their way already will see the list, too.
  void Wake(int count) {
    for (; count > 0 && free_tokens != nullptr; --count) {
      Token* token = free_tokens;
      free_tokens = token->next_free;
      boost::asio::post(pool.get_executor(), Handler{this, token});
    }
  }

  // On a thread of the pool.
  void Work(Token* token) {
    std::unique_lock lock(mutex);
    token->next_free = free_tokens;
    free_tokens = token;
    while (Loop* loop = FindSeat()) {
      const bool is_promised = loop->promised > 0;
      --loop->open_seats;
      if (is_promised) {
        --loop->promised;
        --promised;
      }
      ++loop->running;
      ++busy;
      lock.unlock();
      bool ran = false;
      std::exception_ptr error = RunShared(loop, &ran);
      lock.lock();
      if (ran && !is_promised) ++loop->late;
      if (error != nullptr && loop->error == nullptr) loop->error = std::move(error);
      --busy;
      if (--loop->running == 0) loop->done.notify_one();  // under the mutex: then the loop is gone
    }
  }

  // Runs it here and on `helpers` threads at most. Returns how many participants were admitted.
  int Share(Loop* loop, int helpers) {
    int offered = 0;
    {
      const std::lock_guard lock(mutex);
      offered = std::clamp(workers() - busy - promised, 0, helpers);
      loop->open_seats = helpers;
      loop->promised = offered;
      promised += offered;
      OpenLoop(loop);
      Wake(offered);
    }
    bool ran = false;
    std::exception_ptr error = RunShared(loop, &ran);
    if (IsForeign()) {  // the body forked, and this is the child: nobody else is in the loop
      loop->error = std::move(error);
      return 1;
    }
    std::unique_lock lock(mutex);
    CloseLoop(loop);
    loop->done.wait(lock, [&] { return loop->running == 0; });
    if (loop->error == nullptr) loop->error = std::move(error);
    return 1 + offered + loop->late;
  }

  // Of another process: nothing of it works here.
  [[nodiscard]] bool IsForeign() const { return forks != g_forks.load(std::memory_order_relaxed); }

  const uint32_t forks = Forks();
  const uint64_t id = g_last_executor_id.fetch_add(1, std::memory_order_relaxed) + 1;
  std::mutex mutex;
  // Under the mutex.
  int busy = 0;      // threads that work on a loop
  int promised = 0;  // seats of all loops that idle threads have been woken for
  Loop* first_open = nullptr;
  Loop* last_open = nullptr;
  Token* free_tokens = nullptr;

  std::vector<Token> tokens;  // outlive the pool: handlers that were never run lie in them
  boost::asio::thread_pool pool;
  std::vector<std::thread> threads;
};

CpuExecutor::CpuExecutor(int threads)
    : impl_(std::make_unique<Impl>(
          std::clamp(threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency()),
                     1, kMostThreads))) {}

CpuExecutor::~CpuExecutor() {
  if (impl_->IsForeign()) (void)impl_.release();  // its threads cannot be joined here
}

int CpuExecutor::threads() const { return impl_->IsForeign() ? 1 : impl_->workers() + 1; }

uint64_t CpuExecutor::id() const { return impl_->id; }

void CpuExecutor::RunRange(int64_t total, int64_t grain, internal::RangeBody body, int limit,
                           regions::Frame* frame) {
  if (total <= 0) return;
  Loop loop(impl_->id, total, std::max<int64_t>(grain, 1), body, frame, t_loop);
  const bool nested = IsInside(impl_->id);
  const int most = limit > 0 ? std::min(limit, threads()) : threads();
  const auto participants = static_cast<int>(std::min<int64_t>(most, loop.chunks));
  if (frame != nullptr) {
    frame->nested_inline = nested;
    frame->admitted = 1;
  }
  if (nested || participants == 1) {
    bool ran = false;
    RunChunks(&loop, &ran);
    return;
  }
  const int admitted = impl_->Share(&loop, participants - 1);
  if (frame != nullptr) frame->admitted = admitted;
  if (loop.error != nullptr) std::rethrow_exception(loop.error);
}

}  // namespace inferprobe
