#include "delegate/emitter.h"

#include "inferprobe/scope.h"
#include "record/extended_cells.h"

namespace inferprobe::delegate {

using record::CellType;

bool Emitter::Choose(EventSink* sink, EventLog* log) {
  sink_ = sink;
  ring_ = sink == nullptr ? record::AttachThread() : nullptr;
  log_ = log;
  return active();
}

void Emitter::Begin(EventName& name, uint32_t log_name, Open* open) {
  open->name = &name;
  open->logged_as = log_name;
  if (sink_ != nullptr) sink_->Begin(name.c_str(), &open->token);
  if (ring_ != nullptr) {
    name.Id();  // before the clock is read: the first time takes a lock
    open->slice = record::OpenSlice(ring_);
  }
  if (ring_ != nullptr || log_ != nullptr) open->start = NowTicks();
}

void Emitter::End(Open* open, std::string_view metadata, uint64_t note) {
  if (open->name == nullptr) return;
  const uint64_t end = ring_ != nullptr || log_ != nullptr ? NowTicks() : 0;
  if (sink_ != nullptr) sink_->End(open->token, metadata);
  if (ring_ != nullptr) {
    record::CloseSlice(ring_, open->slice);
    const uint32_t name = open->name->Id();
    record::PublishExtended(ring_,
                            {open->start, end, name, open->slice.id, open->slice.parent,
                             record::PackInfo(CellType::kOther, record::kNoInstruction)},
                            {.debug_name = name, .metadata = metadata});
  }
  if (log_ != nullptr) log_->Add(open->logged_as, open->start, end, note);
  open->name = nullptr;
}

void Emitter::MarkStart() {
  if (sink_ != nullptr) {
    mark_ = sink_->Now();
  } else if (ring_ != nullptr) {
    mark_ = static_cast<uint64_t>(Clock().ToNs(NowTicks()));
  }
}

void Emitter::Log(EventName& name, int64_t after_ns, int64_t ns, std::string_view metadata) {
  if (sink_ != nullptr) {
    const uint64_t start = mark_ + sink_->TicksOf(after_ns);
    sink_->Log(name.c_str(), start, start + sink_->TicksOf(ns), metadata);
  } else if (ring_ != nullptr) {
    const uint64_t start = mark_ + static_cast<uint64_t>(after_ns);
    const uint32_t id = name.Id();
    record::PublishExtended(
        ring_,
        {start, start + static_cast<uint64_t>(ns), id, ring_->next_id++, ring_->current,
         record::PackInfo(CellType::kDelegateOp, record::kNoInstruction)},
        {.debug_name = id, .metadata = metadata});
  }
}

}  // namespace inferprobe::delegate
