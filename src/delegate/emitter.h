// Where a delegate's events go: the runtime's tracer, else our recorder's ring of this thread, and
// beside either the log of a sidecar. One emitter serves one call.
//
// The rule that people break: the tracer has the events or the recorder has, never both. Our own
// tracer for ExecuTorch writes into the recorder's ring, and would find each event twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "delegate/event_log.h"
#include "inferprobe/delegate.h"
#include "record/ring_writer.h"

namespace inferprobe::delegate {

// A name, and its number in the recorder's table once it was needed there.
class EventName {
 public:
  EventName() = default;
  explicit EventName(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const char* c_str() const { return text_.c_str(); }
  [[nodiscard]] const std::string& text() const { return text_; }
  uint32_t Id() {
    if (id_ == 0) [[unlikely]]
      id_ = record::InternName(text_);
    return id_;
  }

 private:
  std::string text_;
  uint32_t id_ = 0;
};

class Emitter {
 public:
  struct Open {
    EventSink::Token token{};
    record::OpenedSlice slice{};
    uint64_t start = 0;
    EventName* name = nullptr;  // nullptr: not open
    uint32_t logged_as = 0;
  };

  // False: nobody takes events.
  bool Choose(EventSink* sink, EventLog* log);
  void Stop() { *this = {}; }

  [[nodiscard]] bool active() const {
    return sink_ != nullptr || ring_ != nullptr || log_ != nullptr;
  }
  void Begin(EventName& name, uint32_t log_name, Open* open);
  // `note`: what the sidecar's log keeps of the metadata (EventLog::Event).
  void End(Open* open, std::string_view metadata, uint64_t note = 0);
  // The time on the sink's clock that Log() counts from.
  void MarkStart();
  // What the engine reported: `ns` long, drawn `after_ns` behind the mark.
  void Log(EventName& name, int64_t after_ns, int64_t ns, std::string_view metadata);

 private:
  EventSink* sink_ = nullptr;
  record::ThreadRing* ring_ = nullptr;
  EventLog* log_ = nullptr;
  uint64_t mark_ = 0;
};

}  // namespace inferprobe::delegate
