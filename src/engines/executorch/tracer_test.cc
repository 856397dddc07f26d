#include "engines/executorch/tracer.h"

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <thread>

#include "engines/executorch/delegate_options.h"
#include "engines/executorch/loaded_program.h"
#include "engines/executorch/log_capture.h"
#include "engines/executorch/method_instance.h"
#include "engines/executorch/test_support.h"
#include "profile/loss.h"
#include "record/extended_cells.h"
#include "regions/current_work.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;
using record::CellType;

// What an event is to be compared by.
struct Event {
  std::string name;
  int64_t chain = -1;
  int64_t instruction = -1;
  bool operator==(const Event&) const = default;
};
void PrintTo(const Event& event, std::ostream* out) {
  *out << event.name << " chain " << event.chain << " instruction " << event.instruction;
}

// ETDumpGen as a peer: what it writes down, in its order. It is fed by the same hooks, so the calls
// are recorded on their way into it.
class ListingEtdump final : public ::executorch::etdump::ETDumpGen {
 public:
  std::vector<Event> events;

  et::EventTracerEntry start_profiling(const char* name, et::ChainID chain,
                                       et::DebugHandle handle) override {
    auto entry = ETDumpGen::start_profiling(name, chain, handle);
    open_[entry.event_id] = name;
    return entry;
  }
  void end_profiling(et::EventTracerEntry entry) override {
    const bool known = entry.chain_id != -1;
    events.push_back({open_[entry.event_id], entry.chain_id,
                      known ? static_cast<int64_t>(entry.debug_handle) : -1});
    ETDumpGen::end_profiling(entry);
  }
  et::EventTracerEntry start_profiling_delegate(const char* name,
                                                et::DelegateDebugIntId id) override {
    auto entry = ETDumpGen::start_profiling_delegate(name, id);
    open_delegates_.emplace_back(name);
    return entry;
  }
  void end_profiling_delegate(et::EventTracerEntry entry, const void* metadata,
                              size_t length) override {
    events.push_back({open_delegates_.back(), chain_id_, static_cast<int64_t>(debug_handle_)});
    open_delegates_.pop_back();
    ETDumpGen::end_profiling_delegate(entry, metadata, length);
  }
  void log_profiling_delegate(const char* name, et::DelegateDebugIntId id, et_timestamp_t start,
                              et_timestamp_t end, const void* metadata, size_t length) override {
    events.push_back({name, chain_id_, static_cast<int64_t>(debug_handle_)});
    ETDumpGen::log_profiling_delegate(name, id, start, end, metadata, length);
  }

 private:
  std::map<int64_t, std::string> open_;
  std::vector<std::string> open_delegates_;
};

std::vector<Event> EventsOf(const std::vector<NamedCell>& cells) {
  std::vector<Event> events;
  for (const NamedCell& cell : cells) {
    switch (cell.type()) {
      case CellType::kMethod:
      case CellType::kOperatorCall:
      case CellType::kKernel:
      case CellType::kDelegateCall:
      case CellType::kDelegateOp:
      case CellType::kOther: {
        const bool known = cell.value() != record::kNoInstruction;
        events.push_back(
            {cell.name, known ? 0 : -1, known ? static_cast<int64_t>(cell.value()) : -1});
        break;
      }
      default:
        break;
    }
  }
  return events;
}

class TracerOnSample : public testing::TestWithParam<const char*> {};

TEST_P(TracerOnSample, RecordsTheEventsOfEtdumpInItsOrder) {
  InstallLogCapture();
  const std::string path = Sample(GetParam());
  auto tables = ProgramTables::Open(path);
  ASSERT_TRUE(tables);
  auto program = LoadedProgram::Load(**tables);
  ASSERT_TRUE(program);
  const PlanFacts facts = ReadPlan(*(*tables)->FindPlan("forward"));
  auto memory = PlannedMemory::Make(facts.planned_buffers);
  ASSERT_TRUE(memory);
  ListingEtdump etdump;
  const auto level = DelegateLoadOptions::Make(facts.backends, AtDelegate(path).delegates, {});
  ASSERT_TRUE(level);
  auto instance = MethodInstance::Load(
      {program->get(), &facts, "forward", *memory, nullptr, &etdump, (*level)->map()});
  ASSERT_TRUE(instance);
  std::vector<TensorSpec> specs;
  for (const PlanValue& input : facts.inputs) specs.push_back(input.spec);
  const auto inputs = measure::ResolveInputs(specs, {})->tensors;
  ASSERT_TRUE((*instance)->SetInputs(inputs));
  etdump.events.clear();
  ASSERT_EQ((*instance)->Execute(), et::Error::Ok);

  Recording recording;
  auto engine = LoadOrFail(AtDelegate(path));
  ASSERT_TRUE(engine->SetInputs(inputs));
  ASSERT_TRUE(engine->PrepareObserved());
  recording.Take();  // what loading took
  ASSERT_TRUE(engine->Run(true));
  const auto cells = recording.Take();
  const std::vector<Event> events = EventsOf(cells);
  ASSERT_EQ(events.size(), etdump.events.size());
  for (size_t i = 0; i < events.size(); ++i)
    EXPECT_EQ(events[i], etdump.events[i]) << "event " << i;
  EXPECT_GT(etdump.events.size(), 5U);
  // And the same number in each run.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(engine->Run(true));
    EXPECT_EQ(recording.Take().size(), cells.size());
  }
}

TEST_P(TracerOnSample, CellsNestAsTheCallsDid) {
  Recording recording;
  auto engine = LoadOrFail(AtDelegate(Sample(GetParam())));
  ASSERT_TRUE(engine->SetInputs(measure::ResolveInputs(engine->inputs(), {})->tensors));
  ASSERT_TRUE(engine->PrepareObserved());
  recording.Take();  // what loading took
  // The caller's slice around the run becomes the parent.
  record::ThreadRing* ring = record::AttachThread();
  ASSERT_NE(ring, nullptr);
  const record::OpenedSlice run = record::OpenSlice(ring);
  ASSERT_TRUE(engine->Run(true));
  record::CloseSlice(ring, run);

  auto cells = recording.Take();
  std::erase_if(cells, [](const NamedCell& cell) {
    return cell.type() == CellType::kExtension || cell.type() == CellType::kBytes;
  });
  std::map<uint32_t, const NamedCell*> by_id;
  for (const NamedCell& cell : cells) {
    EXPECT_TRUE(by_id.emplace(cell.cell.id, &cell).second) << "an id twice";
  }
  for (const NamedCell& cell : cells) {
    ASSERT_LE(cell.cell.start, cell.cell.end) << cell.name;
    const auto parent = by_id.find(cell.cell.parent);
    switch (cell.type()) {
      case CellType::kSetInputs:
      case CellType::kMethod:
        EXPECT_EQ(cell.cell.parent, run.id);
        continue;
      case CellType::kOperatorCall:
      case CellType::kDelegateCall:
        ASSERT_NE(parent, by_id.end());
        EXPECT_EQ(parent->second->type(), CellType::kMethod);
        break;
      case CellType::kKernel:
        ASSERT_NE(parent, by_id.end());
        EXPECT_EQ(parent->second->type(), CellType::kOperatorCall);
        EXPECT_EQ(parent->second->value(), cell.value());
        break;
      case CellType::kOther:
        EXPECT_EQ(cell.name, "xnnpackbackend.delegate");
        ASSERT_NE(parent, by_id.end());
        EXPECT_EQ(parent->second->type(), CellType::kDelegateCall);
        EXPECT_EQ(parent->second->value(), cell.value());
        break;
      case CellType::kDelegateOp:
        ASSERT_NE(parent, by_id.end());
        EXPECT_EQ(parent->second->name, "xnnpackbackend.delegate");
        EXPECT_EQ(parent->second->value(), cell.value());
        continue;  // its times are another clock's
      default:
        FAIL() << "unexpected cell " << cell.name;
    }
    EXPECT_GE(cell.cell.start, parent->second->cell.start);
    EXPECT_LE(cell.cell.end, parent->second->cell.end);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, TracerOnSample,
                         testing::Values("vision_portable.pte", "vision_xnnpack.pte",
                                         "text_portable.pte", "text_xnnpack.pte",
                                         "regions50_xnnpack.pte", "vision_xnnpack.bpte"),
                         [](const auto& sample) {
                           std::string name = sample.param;
                           name[name.find('.')] = '_';
                           return name;
                         });

class Tracer : public testing::Test {
 protected:
  Tracer() { tracer_.BeginRun(record::AttachThread()); }
  std::vector<NamedCell> Finish() {
    tracer_.EndRun();
    return recording_.Take();
  }
  static uint64_t Losses(const std::vector<NamedCell>& cells, profile::Loss loss) {
    uint64_t count = 0;
    for (const NamedCell& cell : cells) {
      if (cell.type() == CellType::kLoss && cell.value() == static_cast<uint32_t>(loss)) {
        count += cell.cell.start;
      }
    }
    return count;
  }

  Recording recording_;
  RingTracer tracer_;
};

TEST_F(Tracer, TakesInstructionZeroForOneOnlyInsideAChain) {
  tracer_.end_profiling(tracer_.start_profiling("OPERATOR_CALL", -1, 0));
  tracer_.set_chain_debug_handle(0, 0);
  tracer_.end_profiling(tracer_.start_profiling("OPERATOR_CALL", -1, 0));
  tracer_.end_profiling(tracer_.start_profiling("OPERATOR_CALL", 0, 7));
  const auto cells = Finish();
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(cells[0].value(), record::kNoInstruction);
  EXPECT_EQ(cells[1].value(), 0U);
  EXPECT_EQ(cells[2].value(), 7U);
}

TEST_F(Tracer, BelievesTheTextAndNotThePointer) {
  char buffer[32] = "native_call_one";
  tracer_.end_profiling(tracer_.start_profiling(buffer, -1, 0));
  std::strcpy(buffer, "DELEGATE_CALL");
  tracer_.end_profiling(tracer_.start_profiling(buffer, -1, 0));
  std::strcpy(buffer, "native_call_one");
  tracer_.end_profiling(tracer_.start_profiling(buffer, -1, 0));
  tracer_.end_profiling(tracer_.start_profiling(nullptr, -1, 0));
  const auto cells = Finish();
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[0].name, "native_call_one");
  EXPECT_EQ(cells[0].type(), CellType::kKernel);
  EXPECT_EQ(cells[1].name, "DELEGATE_CALL");
  EXPECT_EQ(cells[1].type(), CellType::kDelegateCall);
  EXPECT_EQ(cells[2].name, "native_call_one");
  EXPECT_EQ(cells[3].name, "");
  EXPECT_EQ(cells[3].type(), CellType::kOther);
}

TEST_F(Tracer, KeepsThousandsOfNamesApart) {
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back("native_call_" + std::to_string(i));
  for (int round = 0; round < 2; ++round) {
    for (const std::string& name : names) {
      tracer_.end_profiling(tracer_.start_profiling(name.c_str(), -1, 0));
    }
  }
  const auto cells = Finish();
  ASSERT_EQ(cells.size(), 10000U);
  for (size_t i = 0; i < cells.size(); ++i) EXPECT_EQ(cells[i].name, names[i % 5000]);
}

TEST_F(Tracer, TranslatesADelegatesTimesToTheHostClock) {
  const auto before = static_cast<int64_t>(inferprobe::internal::SystemClockNs());
  const et_timestamp_t start = et::pal_current_ticks();
  const auto after = static_cast<int64_t>(inferprobe::internal::SystemClockNs());
  tracer_.log_profiling_delegate("Convolution", -1, start, start + 5000, nullptr, 0);
  const auto cells = Finish();
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].type(), CellType::kDelegateOp);
  EXPECT_EQ(cells[0].cell.end - cells[0].cell.start, 5000U);
  // The offset was measured to within a reading of the clock; a machine may stall in between.
  EXPECT_GT(static_cast<int64_t>(cells[0].cell.start), before - 1'000'000);
  EXPECT_LT(static_cast<int64_t>(cells[0].cell.start), after + 1'000'000);
}

TEST(EngineClock, ConvertsByRatioWithoutOverflow) {
  EngineClock clock;
  clock.numerator = 1000;
  clock.denominator = 3;
  clock.offset_ns = -5;
  EXPECT_EQ(clock.ToMonotonicNs(3), 995U);
  EXPECT_EQ(clock.ToMonotonicNs(3'000'000'000'000'000), 1'000'000'000'000'000'000U - 5);
}

TEST_F(Tracer, KeepsIntegerIdsAndMetadataOfDelegates) {
  const std::string metadata(61, 'm');
  tracer_.set_chain_debug_handle(0, 4);
  tracer_.log_profiling_delegate(nullptr, 17, 1000, 2000, metadata.data(), metadata.size());
  const auto cells = Finish();
  ASSERT_EQ(cells.size(), 2U + 3U);  // 61 bytes are three times up to 28
  EXPECT_EQ(cells[0].type(), CellType::kDelegateOp);
  EXPECT_EQ(cells[0].value(), 4U);
  EXPECT_EQ(cells[1].type(), CellType::kExtension);
  EXPECT_EQ(static_cast<int32_t>(cells[1].cell.start & 0xFFFFFFFF), 17);
  EXPECT_EQ(static_cast<int32_t>(cells[1].cell.start >> 32), 0);
  EXPECT_EQ(cells[1].cell.parent, 61U);
  std::string read;
  for (size_t i = 2; i < cells.size(); ++i) {
    EXPECT_EQ(cells[i].type(), CellType::kBytes);
    read.append(reinterpret_cast<const char*>(&cells[i].cell), 28);
  }
  EXPECT_EQ(read.substr(0, 61), metadata);
}

TEST_F(Tracer, CutsMetadataThatIsTooLongAndSaysSo) {
  const std::string metadata(record::kMaxMetadata + 1, 'm');
  tracer_.log_profiling_delegate("op", -1, 1000, 2000, metadata.data(), metadata.size());
  const auto cells = Finish();
  EXPECT_EQ(cells[1].cell.parent, record::kMaxMetadata);
  EXPECT_EQ(Losses(cells, profile::Loss::kMetadataCut), 1U);
}

TEST_F(Tracer, MeasuresLiveDelegateEventsItself) {
  tracer_.set_chain_debug_handle(0, 2);
  const auto call = tracer_.start_profiling("DELEGATE_CALL", -1, 0);
  const auto live = tracer_.start_profiling_delegate("conv1", -1);
  tracer_.end_profiling_delegate(live, "ab", 2);
  tracer_.end_profiling(call);
  const auto cells = Finish();
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[0].name, "conv1");
  EXPECT_EQ(cells[0].type(), CellType::kOther);
  EXPECT_EQ(cells[1].name, "conv1");
  EXPECT_EQ(static_cast<int32_t>(cells[1].cell.start & 0xFFFFFFFF), -1);
  EXPECT_EQ(cells[3].type(), CellType::kDelegateCall);
  EXPECT_EQ(cells[0].cell.parent, cells[3].cell.id);
  EXPECT_GE(cells[0].cell.start, cells[3].cell.start);
  EXPECT_LE(cells[0].cell.end, cells[3].cell.end);
}

TEST_F(Tracer, CountsWhatIsUnbalanced) {
  const auto outer = tracer_.start_profiling("Method::execute", -1, 0);
  tracer_.start_profiling("OPERATOR_CALL", -1, 0);  // never ended
  tracer_.end_profiling(outer);
  tracer_.end_profiling(outer);                     // twice
  tracer_.start_profiling("OPERATOR_CALL", -1, 0);  // open at the end
  const auto cells = Finish();
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].type(), CellType::kMethod);
  EXPECT_EQ(Losses(cells, profile::Loss::kUnbalancedEnd), 3U);
  // Nothing is left as a parent of what comes next.
  EXPECT_EQ(record::AttachThread()->current, 0U);
}

TEST_F(Tracer, ANewBlockEndsWhatWasOpen) {
  tracer_.start_profiling("OPERATOR_CALL", -1, 0);
  tracer_.create_event_block("Execute");
  tracer_.end_profiling(tracer_.start_profiling("Method::execute", -1, 0));
  const auto cells = Finish();
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].type(), CellType::kMethod);
  EXPECT_EQ(cells[0].cell.parent, 0U);
  EXPECT_EQ(Losses(cells, profile::Loss::kUnbalancedEnd), 1U);
}

TEST_F(Tracer, CountsEventsThatAreTooDeep) {
  std::vector<et::EventTracerEntry> entries;
  for (int i = 0; i < 70; ++i) entries.push_back(tracer_.start_profiling("deep", -1, 0));
  while (!entries.empty()) {
    tracer_.end_profiling(entries.back());
    entries.pop_back();
  }
  const auto cells = Finish();
  EXPECT_EQ(cells.size(), 65U);
  EXPECT_EQ(Losses(cells, profile::Loss::kUnbalancedEnd), 6U);
}

TEST_F(Tracer, CountsEventsOfOtherThreads) {
  std::thread([&] {
    tracer_.log_profiling_delegate("op", -1, 1000, 2000, nullptr, 0);
    tracer_.end_profiling(tracer_.start_profiling("op", -1, 0));
  }).join();
  const auto cells = Finish();
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(Losses(cells, profile::Loss::kForeignThread), 2U);
}

// What regions of this thread are told that they are in.
int32_t Instruction() { return regions::t_work.instruction; }

void CheckInstructions(RingTracer& tracer) {
  const auto method = tracer.start_profiling("Method::execute", -1, 0);
  EXPECT_EQ(Instruction(), -1);
  tracer.set_chain_debug_handle(0, 5);
  const auto call = tracer.start_profiling("OPERATOR_CALL", -1, 0);
  EXPECT_EQ(Instruction(), 5);
  tracer.end_profiling(tracer.start_profiling("native_call_mm", -1, 0));
  EXPECT_EQ(Instruction(), 5);
  tracer.set_chain_debug_handle(0, 6);
  const auto inner = tracer.start_profiling("DELEGATE_CALL", -1, 0);
  EXPECT_EQ(Instruction(), 6);
  tracer.end_profiling(inner);
  EXPECT_EQ(Instruction(), 5);
  tracer.end_profiling(call);
  EXPECT_EQ(Instruction(), -1);
  tracer.end_profiling(method);
}

TEST_F(Tracer, TellsRegionsTheirInstruction) {
  CheckInstructions(tracer_);
  Finish();
}

TEST_F(Tracer, TellsRegionsTheirInstructionAlsoWhereNothingRecords) {
  Finish();
  tracer_.BeginRun(nullptr);
  CheckInstructions(tracer_);
  tracer_.EndRun();
  EXPECT_TRUE(recording_.Take().empty());
}

TEST_F(Tracer, AnErrorLeavesNoInstructionBehind) {
  tracer_.set_chain_debug_handle(0, 5);
  tracer_.start_profiling("OPERATOR_CALL", -1, 0);  // open at the end
  EXPECT_EQ(Instruction(), 5);
  Finish();
  EXPECT_EQ(Instruction(), -1);
  tracer_.BeginRun(nullptr);
  tracer_.start_profiling("OPERATOR_CALL", -1, 0);
  tracer_.EndRun();
  EXPECT_EQ(Instruction(), -1);
}

TEST_F(Tracer, IsSilentOutsideARun) {
  Finish();
  tracer_.end_profiling(tracer_.start_profiling("op", -1, 0));
  tracer_.create_event_block("Default");
  tracer_.BeginRun(nullptr);
  tracer_.end_profiling(tracer_.start_profiling("op", -1, 0));
  tracer_.EndRun();
  EXPECT_TRUE(recording_.Take().empty());
}

}  // namespace
}  // namespace inferprobe::executorch_engine
