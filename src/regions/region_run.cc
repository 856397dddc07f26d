// Whose regions these are: sessions, their runs, and the operators in them.
#include "inferprobe/region.h"
#include "regions/current_work.h"

namespace inferprobe {
namespace {
std::atomic<uint64_t> g_last_session_id{0};
}

RegionSession::RegionSession()
    : id_(g_last_session_id.fetch_add(1, std::memory_order_relaxed) + 1) {}

RegionRun::RegionRun(RegionSession& session)
    : id_(session.runs_.fetch_add(1, std::memory_order_relaxed) + 1),
      outer_session_(regions::t_work.session_id),
      outer_run_(regions::t_work.run_id) {
  regions::t_work.session_id = session.id_;
  regions::t_work.run_id = id_;
}

RegionRun::~RegionRun() {
  regions::t_work.session_id = outer_session_;
  regions::t_work.run_id = outer_run_;
}

RegionOperator::RegionOperator(int32_t instruction) : outer_(regions::t_work.instruction) {
  regions::t_work.instruction = instruction;
}

RegionOperator::~RegionOperator() { regions::t_work.instruction = outer_; }

}  // namespace inferprobe
