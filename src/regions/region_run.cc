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
      outer_run_(regions::t_work.run_id),
      outer_drops_(regions::t_work.drops),
      outer_run_inside_(regions::t_work.run_inside),
      outer_instruction_(regions::t_work.instruction),
      outer_operator_inside_(regions::t_work.operator_inside) {
  regions::CurrentWork& work = regions::t_work;
  work.session_id = session.id_;
  work.run_id = id_;
  work.drops = nullptr;  // its session may ask for them, and the one around it does not
  work.run_inside = work.inside;
  work.instruction = -1;  // its operators are not those of what is around it
  work.operator_inside = work.inside;
}

RegionRun::~RegionRun() {
  regions::t_work.session_id = outer_session_;
  regions::t_work.run_id = outer_run_;
  regions::t_work.drops = outer_drops_;
  regions::t_work.run_inside = outer_run_inside_;
  regions::t_work.instruction = outer_instruction_;
  regions::t_work.operator_inside = outer_operator_inside_;
}

RegionOperator::RegionOperator(int32_t instruction)
    : outer_(regions::t_work.instruction), outer_inside_(regions::t_work.operator_inside) {
  regions::t_work.instruction = instruction;
  regions::t_work.operator_inside = regions::t_work.inside;
}

RegionOperator::~RegionOperator() {
  regions::t_work.instruction = outer_;
  regions::t_work.operator_inside = outer_inside_;
}

}  // namespace inferprobe
