// A program of its own: another library's OpenvinoBackend is there before ours.
#include <executorch/runtime/backend/interface.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/temporary_folder.h"
#include "engines/executorch/backend_registration.h"
#include "engines/executorch/test_support.h"

namespace inferprobe::executorch_engine {
namespace {

namespace et = ::executorch::runtime;

class Foreign final : public et::BackendInterface {
 public:
  ~Foreign() override = default;
  [[nodiscard]] bool is_available() const override { return true; }
  et::Result<et::DelegateHandle*> init(et::BackendInitContext& /*context*/,
                                       et::FreeableBuffer* /*processed*/,
                                       et::ArrayRef<et::CompileSpec> /*specs*/) const override {
    ADD_FAILURE() << "it was given a program";
    return et::Error::NotSupported;
  }
  et::Error execute(et::BackendExecutionContext& /*context*/, et::DelegateHandle* /*handle*/,
                    et::Span<et::EValue*> /*args*/) const override {
    return et::Error::NotSupported;
  }
};

class ForeignOpenvino : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static Foreign foreign;
    static const et::Error registered = RegisterBehindOurBack({"OpenvinoBackend", &foreign});
    ASSERT_EQ(registered, et::Error::Ok);
  }
};

// OpenVINO's programs are tied to the machine that exported them, and none is kept: one of
// XNNPACK's under the other name. In the file the longer name takes a byte of the padding.
std::string ProgramForOpenvino() {
  using namespace std::string_literals;
  std::string bytes = *base::ReadFile(Sample("vision_xnnpack.pte"));
  const std::string known = "\x0e\0\0\0XnnpackBackend\0\0"s;
  const std::string wanted = "\x0f\0\0\0OpenvinoBackend\0"s;
  for (size_t at = bytes.find(known); at != std::string::npos; at = bytes.find(known, at)) {
    bytes.replace(at, known.size(), wanted);
  }
  return bytes;
}

TEST_F(ForeignOpenvino, AProgramThatNeedsItIsRefusedInWords) {
  const base::TemporaryFolder folder;
  const std::string path = folder.File("openvino.pte");
  ASSERT_TRUE(base::WriteFileAtomically(path, ProgramForOpenvino(), base::Overwrite::kRefuse));
  const auto engine = ExecutorchEngine::Load(Options(path));
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(engine.error().message,
            "the OpenvinoBackend of this process is not inferprobe's: another library registered "
            "one first, which takes no setting of ours and whose calls would not be seen");
}

TEST_F(ForeignOpenvino, ItIsNamedAmongThoseThatAreNotSeen) {
  RegisterOwnBackends();
  EXPECT_FALSE(OwnOpenvinoIsRegistered());
  EXPECT_EQ(UnwrappedBackends(), std::vector<std::string>{"OpenvinoBackend"});
}

TEST_F(ForeignOpenvino, AProgramWithoutItRunsAsEver) {
  EXPECT_TRUE(ExecutorchEngine::Load(Options(Sample("vision_xnnpack.pte"))));
}

}  // namespace
}  // namespace inferprobe::executorch_engine
