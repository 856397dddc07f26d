// The stable names of the model's enumerations: as JSON keys and values, and as people read them.
#include "profile/loss.h"
#include "profile/metric.h"
#include "profile/model.h"
#include "profile/result.h"
#include "profile/tune_result.h"

namespace inferprobe::profile {

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kHostWall:
      return "host_wall";
    case Kind::kHostCpu:
      return "host_cpu";
    case Kind::kDevice:
      return "device";
    case Kind::kEngineReported:
      return "engine_reported";
    case Kind::kEngineMeanSinceCompile:
      return "engine_mean_since_compile";
    case Kind::kDerived:
      return "derived";
  }
  return "unknown";
}

const char* KindText(Kind kind) {
  switch (kind) {
    case Kind::kHostWall:
      return "host wall";
    case Kind::kHostCpu:
      return "host CPU";
    case Kind::kDevice:
      return "device";
    case Kind::kEngineReported:
      return "engine-reported";
    case Kind::kEngineMeanSinceCompile:
      return "engine-reported mean since compile";
    case Kind::kDerived:
      return "derived";
  }
  return "unknown";
}

std::optional<Kind> MeasuredKind(std::string_view name) {
  for (const Kind kind : {Kind::kHostWall, Kind::kHostCpu, Kind::kDevice, Kind::kEngineReported,
                          Kind::kEngineMeanSinceCompile}) {
    if (name == KindName(kind)) return kind;
  }
  return std::nullopt;
}

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kRepair:
      return "repair";
    case Severity::kDataLoss:
      return "data_loss";
  }
  return "info";
}

const char* BlameName(Blame blame) {
  switch (blame) {
    case Blame::kInferprobe:
      return "inferprobe";
    case Blame::kEngine:
      return "engine";
    case Blame::kInput:
      return "input";
    case Blame::kMachine:
      return "machine";
  }
  return "input";
}

const LossInfo& InfoOf(Loss loss) {
  static constexpr LossInfo kTable[] = {
#define INFERPROBE_LOSS_ROW(id, name, severity, blame, advice) \
  {name, Severity::severity, Blame::blame, advice},
      INFERPROBE_LOSS_TABLE(INFERPROBE_LOSS_ROW)
#undef INFERPROBE_LOSS_ROW
  };
  return kTable[static_cast<size_t>(loss)];
}

bool LossCounts::AnyDataLoss() const {
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0 && InfoOf(static_cast<Loss>(i)).severity == Severity::kDataLoss)
      return true;
  }
  return false;
}

std::optional<Loss> LossNamed(std::string_view name) {
  for (size_t i = 0; i < static_cast<size_t>(Loss::kCount); ++i) {
    const auto loss = static_cast<Loss>(i);
    if (InfoOf(loss).name == name) return loss;
  }
  return std::nullopt;
}

void LossCounts::Merge(const LossCounts& other) {
  for (size_t i = 0; i < counts_.size(); ++i) Add(static_cast<Loss>(i), other.counts_[i]);
}

const char* CategoryName(Category category) {
  switch (category) {
    case Category::kScope:
      return "scope";
    case Category::kRun:
      return "run";
    case Category::kSetInputs:
      return "set_inputs";
    case Category::kMethod:
      return "method";
    case Category::kOperatorCall:
      return "operator_call";
    case Category::kKernel:
      return "kernel";
    case Category::kDelegateCall:
      return "delegate_call";
    case Category::kDelegateOp:
      return "delegate_op";
    case Category::kLoad:
      return "load";
    case Category::kOther:
      return "other";
    case Category::kRegion:
      return "region";
    case Category::kRegionPart:
      return "region_part";
    case Category::kModuleCall:
      return "module_call";
    case Category::kOperator:
      return "operator";
    case Category::kDeviceWork:
      return "device_work";
  }
  return "other";
}

const char* RunModeName(RunMode mode) {
  switch (mode) {
    case RunMode::kFirst:
      return "first";
    case RunMode::kWarmup:
      return "warmup";
    case RunMode::kWarmupOn:
      return "warmup_profiled";
    case RunMode::kLatency:
      return "latency";
    case RunMode::kSettle:
      return "settle";
    case RunMode::kSettleOn:
      return "settle_profiled";
    case RunMode::kPairOff:
      return "pair_off";
    case RunMode::kPairNull:
      return "pair_null";
    case RunMode::kPairOn:
      return "pair_on";
    case RunMode::kProfiled:
      return "profiled";
  }
  return "latency";
}

const char* CallModeName(CallMode mode) {
  switch (mode) {
    case CallMode::kUnknown:
      return "unknown";
    case CallMode::kBlocking:
      return "blocking";
    case CallMode::kSynchronized:
      return "synchronized";
    case CallMode::kAsynchronous:
      return "asynchronous";
  }
  return "unknown";
}

const char* RowTypeName(RowType type) {
  switch (type) {
    case RowType::kMethod:
      return "method";
    case RowType::kSetInputs:
      return "set_inputs";
    case RowType::kOperatorCall:
      return "operator_call";
    case RowType::kKernel:
      return "kernel";
    case RowType::kDelegateCall:
      return "delegate_call";
    case RowType::kDelegateOp:
      return "delegate_op";
    case RowType::kScope:
      return "scope";
    case RowType::kModule:
      return "module";
    case RowType::kOperator:
      return "operator";
    case RowType::kOther:
      return "other";
    case RowType::kBetween:
      return "between_instructions";
    case RowType::kUnattributed:
      return "unattributed";
  }
  return "other";
}

namespace {
struct VerdictWords {
  const char* name;
  const char* text;
};
VerdictWords WordsOf(TuneVerdict verdict) {
  switch (verdict) {
    case TuneVerdict::kBaseline:
      return {"baseline", "baseline"};
    case TuneVerdict::kFaster:
      return {"faster", "faster"};
    case TuneVerdict::kSlower:
      return {"slower", "slower"};
    case TuneVerdict::kNoDifference:
      return {"no_difference", "no difference shown"};
    case TuneVerdict::kWrongOutputs:
      return {"wrong_outputs", "wrong outputs"};
    case TuneVerdict::kFailed:
      return {"failed", "failed"};
    case TuneVerdict::kTooFewRounds:
      return {"too_few_rounds", "too few rounds"};
  }
  return {"failed", "failed"};
}
}  // namespace

const char* TuneVerdictName(TuneVerdict verdict) { return WordsOf(verdict).name; }
const char* TuneVerdictText(TuneVerdict verdict) { return WordsOf(verdict).text; }

}  // namespace inferprobe::profile
