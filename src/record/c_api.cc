#include <mutex>
#include <optional>
#include <string>

#include "base/text.h"
#include "inferprobe/inferprobe.h"
#include "inferprobe/recorder.h"
#include "inferprobe/scope.h"

namespace {

using inferprobe::ErrorCode;
using inferprobe::Recorder;
using inferprobe::RecorderOptions;
using inferprobe::Site;

// A C site is a C++ site: the id is read and written by one processor instruction in both.
static_assert(sizeof(inferprobe_site) == sizeof(Site));
static_assert(offsetof(inferprobe_site, id) == offsetof(Site, id));
Site& SiteOf(inferprobe_site* site) { return *reinterpret_cast<Site*>(site); }

// Without a name there is nothing to record.
bool HasName(const inferprobe_site* site) { return site != nullptr && site->name != nullptr; }

thread_local std::string t_error;

std::mutex& RecorderLock() {
  static auto* lock = new std::mutex;
  return *lock;
}
// Never destroyed: threads may record until the process is gone.
std::optional<Recorder>& TheRecorder() {
  static auto* recorder = new std::optional<Recorder>;
  return *recorder;
}

int CodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return INFERPROBE_INVALID_ARGUMENT;
    case ErrorCode::kNotFound:
      return INFERPROBE_NOT_FOUND;
    case ErrorCode::kAlreadyExists:
      return INFERPROBE_ALREADY_EXISTS;
    case ErrorCode::kIo:
      return INFERPROBE_IO;
    default:
      return INFERPROBE_OTHER;
  }
}

}  // namespace

int inferprobe_start(const char* file) {
  const inferprobe_options options = {file, 0, 0, 0};
  return inferprobe_start_with(&options);
}

int inferprobe_start_with(const inferprobe_options* options) {
  RecorderOptions wanted;
  if (options != nullptr) {
    if (options->file != nullptr) wanted.file = options->file;
    if (options->events_per_thread != 0) wanted.events_per_thread = options->events_per_thread;
    if (options->max_threads != 0) wanted.max_threads = options->max_threads;
    if (options->name_bytes != 0) wanted.name_bytes = options->name_bytes;
  }
  const std::lock_guard lock(RecorderLock());
  inferprobe::Result<Recorder> recorder = Recorder::Start(wanted);
  if (!recorder) {
    const inferprobe::Error& error = recorder.error();
    t_error = inferprobe::ErrorCodeName(error.code) + (": " + inferprobe::base::ErrorLine(error));
    return CodeOf(error.code);
  }
  TheRecorder().emplace(*std::move(recorder));
  return INFERPROBE_OK;
}

void inferprobe_stop(void) {
  const std::lock_guard lock(RecorderLock());
  TheRecorder().reset();
}

const char* inferprobe_error(void) { return t_error.c_str(); }

inferprobe_scope inferprobe_scope_begin_recording(inferprobe_site* site) {
  namespace internal = inferprobe::internal;
  inferprobe_scope scope = {nullptr, 0, 0, 0, 0};
  if (!HasName(site)) return scope;
  const uint32_t generation = internal::inferprobe_generation.load(std::memory_order_relaxed);
  internal::ThreadRing* ring = generation == 0 ? nullptr : internal::RingOf(generation);
  if (ring == nullptr) return scope;
  scope.name = internal::NameOf(SiteOf(site));
  const internal::OpenedSlice slice = internal::OpenSlice(ring);
  scope.id = slice.id;
  scope.parent = slice.parent;
  scope.ring = ring;
  scope.start = inferprobe::NowTicks();
  return scope;
}

void inferprobe_scope_end_recording(inferprobe_scope* scope) {
  namespace internal = inferprobe::internal;
  const uint64_t end = inferprobe::NowTicks();
  auto* ring = static_cast<internal::ThreadRing*>(scope->ring);
  if (ring == nullptr) return;
  internal::CloseSlice(ring, {scope->id, scope->parent});
  internal::Publish(ring, {scope->start, end, scope->name, scope->id, scope->parent,
                           inferprobe::record::kScopeInfo});
  scope->ring = nullptr;
}

void inferprobe_counter_recording(inferprobe_site* site, double value) {
  if (HasName(site)) inferprobe::PublishCounter(SiteOf(site), value);
}
