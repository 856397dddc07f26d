// A double of an engine, for tests of what no real engine does on demand: crashing, hanging,
// failing, talking. Its "model" is a text file of lines "KEY VALUE":
//
//   spin_us 50          each run takes about that long
//   burn_us 50          each run takes that much CPU time, however long it waits for a CPU
//   sleep_us 50         each run takes that long without CPU time
//   ops 3               operators of an observed run
//   delegate_ops 4      operators that a delegate call reports (engine-reported)
//   crash_at N          SIGSEGV in run N (counted from 1, all runs)
//   exit_at N           exit(7) in run N
//   fail_at N           run N returns an error
//   fail_load TEXT      loading fails with TEXT
//   loops N             ParallelFor in each operator of a run: 64 iterations, grain 16
//   no_regions TEXT     its loops are not seen, because of TEXT
//   mark_at N PATH      in run N: creates PATH, then waits until it is killed or PATH.go is there
//   say TEXT            printed on stderr at load
//   hang_at_exit 1      the process does not end by itself
//   drift 1             outputs change from run to run
//   fast_with T         no spinning with a pool of T threads
//   wrong_with T        other outputs with a pool of T threads
//   crash_with T        SIGSEGV at the first run with a pool of T threads
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <sstream>

#include "base/files.h"
#include "inferprobe/parallel_for.h"
#include "inferprobe/region.h"
#include "measure/engine.h"
#include "record/ring_writer.h"
#include "regions/current_work.h"

namespace inferprobe::measure {
namespace {

class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(std::map<std::string, std::string> script) : script_(std::move(script)) {}

  Result<void> Start(const LoadOptions& options) {
    if (script_.contains("say")) std::fprintf(stderr, "%s\n", script_["say"].c_str());
    if (script_.contains("fail_load")) return MakeError(ErrorCode::kEngine, script_["fail_load"]);
    if (script_.contains("hang_at_exit")) {
      std::atexit([] {
        for (;;) pause();
      });
    }
    threads_ = options.threads;
    model_.path = options.path;
    model_.format = "fake";
    model_.method = options.method;
    model_.methods = {"forward"};
    model_.outputs = {{"y", ScalarType::kInt64, {1}, false, false, {}}};
    model_.instructions = Number("ops") + (Number("delegate_ops") > 0 ? 1 : 0);
    for (int64_t i = 0; i < Number("ops"); ++i) {
      model_.instruction_names.push_back("op" + std::to_string(i));
      model_.instruction_delegates.push_back(-1);
    }
    if (Number("delegate_ops") > 0) {
      model_.instruction_names.emplace_back();
      model_.instruction_delegates.push_back(0);
      model_.delegates = {{0, "FakeBackend", 0, "fake-0"}};
    }
    facts_.name = "fake";
    facts_.title = "Fake engine (a double for tests)";
    facts_.version = "1";
    facts_.backends = {"FakeBackend"};
    return {};
  }

  const profile::ModelFacts& model() const override { return model_; }
  const profile::EngineFacts& engine() const override { return facts_; }
  profile::MemoryFacts memory() const override { return {}; }
  profile::Metric<std::string> region_sources() const override {
    const auto why = script_.find("no_regions");
    if (why != script_.end()) return {profile::Status::kUnsupported, why->second};
    return std::string("ParallelFor");
  }
  std::vector<TensorSpec> inputs() const override {
    return {{"x", ScalarType::kFloat32, {2}, false, false, {}}};
  }
  Result<void> SetInputs(std::vector<Tensor> /*inputs*/) override { return {}; }
  Result<void> PrepareObserved() override {
    method_name_ = record::InternName("Method::execute");
    call_name_ = record::InternName("OPERATOR_CALL");
    delegate_name_ = record::InternName("DELEGATE_CALL");
    for (int64_t i = 0; i < Number("ops"); ++i) {
      kernel_names_.push_back(record::InternName("native_call_op" + std::to_string(i)));
    }
    for (int64_t i = 0; i < Number("delegate_ops"); ++i) {
      inner_names_.push_back(record::InternName("inner" + std::to_string(i)));
    }
    return {};
  }

  Result<void> Run(const RunView& view) override {
    ++run_;
    if (run_ == Number("crash_at") || IsWith("crash_with")) std::raise(SIGSEGV);
    if (run_ == Number("exit_at")) std::_Exit(7);
    if (run_ == Number("fail_at")) return MakeError(ErrorCode::kEngine, "the fake engine failed");
    if (script_.contains("mark_at")) Mark();
    if (Number("loops") > 0 && executor_ == nullptr) {
      executor_ = std::make_unique<CpuExecutor>(threads_ > 0 ? threads_ : 2);
    }
    view_ = view.executor;
    Burn(Number("burn_us"));
    if (Number("sleep_us") > 0) usleep(static_cast<useconds_t>(Number("sleep_us")));
    if (view.observed) {
      Observed();
    } else {
      Spin(IsWith("fast_with") ? 0 : Number("spin_us"));
      for (int64_t i = 0; i < Number("ops"); ++i) Loops(static_cast<int32_t>(i));
    }
    return {};
  }

  Result<std::vector<Tensor>> Outputs(bool /*observed*/) override {
    Tensor y;
    y.type = ScalarType::kInt64;
    y.shape = {1};
    y.data.resize(8);
    int64_t value = Number("drift") != 0 ? run_ : 42;
    if (IsWith("wrong_with")) value = -1;
    std::memcpy(y.data.data(), &value, sizeof(value));
    return std::vector<Tensor>{y};
  }

 private:
  int64_t Number(const std::string& key) const {
    const auto found = script_.find(key);
    return found == script_.end() ? 0 : std::strtoll(found->second.c_str(), nullptr, 10);
  }

  bool IsWith(const std::string& key) const { return threads_ > 0 && Number(key) == threads_; }

  void Mark() {
    std::istringstream line(script_["mark_at"]);
    int64_t run = 0;
    std::string path;
    line >> run >> path;
    if (run != run_) return;
    close(open(path.c_str(), O_CREAT | O_WRONLY, 0600));
    const std::string go = path + ".go";
    while (!base::FileExists(go)) usleep(1000);
  }

  static void Spin(int64_t us) {
    const int64_t until = Clock().ToNs(NowTicks()) + us * 1000;
    while (Clock().ToNs(NowTicks()) < until) {
    }
  }

  static void Burn(int64_t us) {
    const auto now_ns = [] {
      timespec now = {};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    };
    if (us <= 0) return;
    const int64_t until_ns = now_ns() + us * 1000;
    while (now_ns() < until_ns) {
    }
  }

  // On the executor that the run was given, or on one of its own, as a runtime with a pool has it.
  void Loops(int32_t instruction) {
    if (Number("loops") == 0) return;
    const RegionOperator op(instruction);
    const ExecutorView view =
        view_ != nullptr ? *view_ : ExecutorView(*executor_, regions::t_work.hooked);
    for (int64_t i = 0; i < Number("loops"); ++i) {
      ParallelFor(
          view, 64, 16,
          [this](int64_t begin, int64_t end) {
            iterations_.fetch_add(end - begin, std::memory_order_relaxed);
          },
          "fake_loop");
    }
  }

  void Slice(record::CellType type, uint32_t name, uint32_t info, auto&& inside) {
    internal::ThreadRing* ring = record::AttachThread();
    if (ring == nullptr) {  // a session that looks at regions alone
      inside();
      return;
    }
    const record::OpenedSlice slice = record::OpenSlice(ring);
    const uint64_t start = NowTicks();
    inside();
    const uint64_t end = NowTicks();
    record::CloseSlice(ring, slice);
    record::Publish(ring, {start, end, name, slice.id, slice.parent, record::PackInfo(type, info)});
  }

  void Observed() {
    Slice(record::CellType::kMethod, method_name_, record::kNoInstruction, [this] {
      uint32_t instruction = 0;
      for (const uint32_t kernel : kernel_names_) {
        Slice(record::CellType::kOperatorCall, call_name_, instruction, [&] {
          Slice(record::CellType::kKernel, kernel, instruction, [&] {
            Spin(Number("spin_us") / 4);
            Loops(static_cast<int32_t>(instruction));
          });
        });
        ++instruction;
      }
      if (inner_names_.empty()) return;
      Slice(record::CellType::kDelegateCall, delegate_name_, instruction, [&] {
        internal::ThreadRing* ring = record::AttachThread();
        if (ring == nullptr) return;
        const auto begin = static_cast<uint64_t>(Clock().ToNs(NowTicks()));
        Spin(Number("spin_us") / 4);
        for (size_t i = 0; i < inner_names_.size(); ++i) {
          const record::OpenedSlice slice = record::OpenSlice(ring);
          record::CloseSlice(ring, slice);
          record::Publish(
              ring, {begin + i * 1000, begin + (i + 1) * 1000, inner_names_[i], slice.id,
                     slice.parent, record::PackInfo(record::CellType::kDelegateOp, instruction)});
        }
      });
    });
  }

  std::map<std::string, std::string> script_;
  profile::ModelFacts model_;
  profile::EngineFacts facts_;
  uint32_t method_name_ = 0;
  uint32_t call_name_ = 0;
  uint32_t delegate_name_ = 0;
  std::vector<uint32_t> kernel_names_;
  std::vector<uint32_t> inner_names_;
  int64_t run_ = 0;
  int threads_ = 0;
  std::unique_ptr<CpuExecutor> executor_;
  const ExecutorView* view_ = nullptr;  // of the run
  std::atomic<int64_t> iterations_{0};
};

class FakePlugin final : public EnginePlugin {
 public:
  Result<EngineDescription> Describe() override {
    return EngineDescription{"fake",
                             "Fake engine (a double for tests)",
                             "1",
                             {".fake"},
                             {{"FakeBackend", std::string("from outside")}},
                             {},
                             std::string("ParallelFor")};
  }
  Result<std::unique_ptr<Engine>> Load(const LoadOptions& options) override {
    auto text = base::ReadFile(options.path);
    if (!text) return tl::unexpected(text.error());
    std::map<std::string, std::string> script;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      const size_t space = line.find(' ');
      if (space != std::string::npos) script[line.substr(0, space)] = line.substr(space + 1);
    }
    auto engine = std::make_unique<FakeEngine>(std::move(script));
    INFERPROBE_RETURN_IF_ERROR(engine->Start(options));
    return engine;
  }
};

}  // namespace
}  // namespace inferprobe::measure

extern "C" __attribute__((visibility("default")))
const inferprobe::measure::EngineEntry inferprobe_engine_entry = {
    inferprobe::measure::kEngineAbi, []() {
      return static_cast<inferprobe::measure::EnginePlugin*>(new inferprobe::measure::FakePlugin());
    }};
