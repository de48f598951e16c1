// What the machine refuses: memory that is not there, a disk that is full, a file that stops in the middle. Each is a
// message and exit code 1, never a signal, and a later try with room succeeds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/cli/shell.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitised = true;
#else
constexpr bool kSanitised = false;
#endif

// A model of 36 M parameters: 71 MB in bf16, 143 in f32.
class Limits : public testing::Test {
 protected:
  void SetUp() override {
    Ran r = shell("quern new --family llama --size small " + model_);
    ASSERT_EQ(r.code, 0) << r.err;
  }
  ScratchFolder scratch_;
  const std::string model_ = scratch_ / "m", packed_ = scratch_ / "q";
};

TEST_F(Limits, MemoryThatIsNotThereIsAMessage) {
  if (kSanitised) GTEST_SKIP() << "AddressSanitizer needs all addresses";
  int refused = 0, answered = 0;
  for (int megabytes : {100, 140, 180, 220, 260, 300, 340, 380, 460, 2000}) {
    Ran r = shell(
        fmt::format("ulimit -c 0; ulimit -v {}; quern run {} --dtype f32 -p Once -n 3", megabytes * 1024, model_));
    ASSERT_TRUE(r.code == 0 || r.code == 1) << megabytes << " MB: " << r.code << " " << r.err;
    r.code == 0 ? ++answered : ++refused;
    const bool named = r.err.find("memory") != std::string::npos || r.err.find("emporarily") != std::string::npos;
    EXPECT_EQ(named, r.code == 1) << megabytes << " MB: " << r.err;
  }
  EXPECT_GT(refused, 3);
  EXPECT_GT(answered, 0);
}

TEST_F(Limits, AFullDiskLeavesNothingBehind) {
  for (int blocks : {1, 64, 1000, 20000, 30000}) {
    Ran r = shell(fmt::format("ulimit -f {}; quern quantize {} {} --scheme q8", blocks, model_, packed_));
    EXPECT_EQ(r.code, 1) << blocks << " blocks: " << r.code;
    EXPECT_FALSE(fs::exists(packed_));
    for (const fs::directory_entry& e : fs::directory_iterator(fs::path(packed_).parent_path()))
      EXPECT_EQ(e.path().string(), model_);
  }
  EXPECT_EQ(shell("quern quantize " + model_ + " " + packed_ + " --scheme q8").code, 0);
  EXPECT_EQ(shell("quern run " + packed_ + " -p Once -n 3").code, 0);
}

TEST_F(Limits, AHalfWrittenFolderSaysWhatIsMissing) {
  ASSERT_EQ(shell("quern quantize " + model_ + " " + packed_ + " --scheme q4").code, 0);
  const fs::path weights = packed_ + "/model.safetensors";
  auto refusal = [&] {
    Ran r = shell("quern run " + packed_ + " -p Once -n 3");
    EXPECT_EQ(r.code, 1) << r.err;
    return r.err;
  };
  for (uintmax_t divisor : {2, 100, 100000}) {
    fs::resize_file(weights, fs::file_size(weights) / divisor);
    const std::string message = refusal();
    EXPECT_NE(message.find("model.safetensors"), std::string::npos) << message;
  }
  fs::remove(weights);
  EXPECT_NE(refusal().find("found neither model.safetensors"), std::string::npos);
  fs::remove(packed_ + "/config.json");
  EXPECT_EQ(shell("quern info " + packed_).code, 1);
}

}  // namespace
}  // namespace quern
