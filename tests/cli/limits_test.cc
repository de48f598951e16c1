// What the machine refuses: memory that is not there, a disk that is full, a file that stops in the middle. Each is a
// message and exit code 1, never a signal, and a later try with room succeeds. A server answers the request with the
// message and goes on with the others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "quern/base/json.h"
#include "tests/cli/running_server.h"
#include "tests/serve/raw_client.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
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
  if (kSanitized) GTEST_SKIP() << "AddressSanitizer needs all addresses";
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
    Ran r = shell(fmt::format("ulimit -f {}; quern quantize {} {} --quant q8", blocks, model_, packed_));
    EXPECT_EQ(r.code, 1) << blocks << " blocks: " << r.code;
    EXPECT_FALSE(fs::exists(packed_));
    for (const fs::directory_entry& e : fs::directory_iterator(fs::path(packed_).parent_path()))
      EXPECT_EQ(e.path().string(), model_);
  }
  EXPECT_EQ(shell("quern quantize " + model_ + " " + packed_ + " --quant q8").code, 0);
  EXPECT_EQ(shell("quern run " + packed_ + " -p Once -n 3").code, 0);
}

TEST_F(Limits, AHalfWrittenFolderSaysWhatIsMissing) {
  ASSERT_EQ(shell("quern quantize " + model_ + " " + packed_ + " --quant q4").code, 0);
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

RawAnswer complete(const RunningServer& server, int max_tokens, const std::string& model = "") {
  return http(server.port(), "POST", "/v1/completions",
              fmt::format(R"({{"prompt": "Once", "max_tokens": {}, "temperature": 0, "seed": 1{}}})", max_tokens,
                          model.empty() ? "" : fmt::format(R"(, "model": "{}")", model)));
}

std::string text_of(const RawAnswer& a) {
  EXPECT_EQ(a.status, 200) << a.body;
  if (a.status != 200) return "";
  return Json::parse(a.body).at("choices").as_array()[0].at("text").as_string();
}

// A long prompt's caches and intermediates want more than is left beside the weights; a short one's fit again
// afterwards.
TEST_F(Limits, ARequestThatNeedsMoreMemoryThanThereIsFailsAlone) {
  if (kSanitized) GTEST_SKIP() << "AddressSanitizer needs all addresses";
  std::string tale;
  for (int i = 0; i < 800; ++i) tale += "the wheel turns ";
  int refused = 0;
  for (int megabytes = 300; megabytes <= 600 && refused == 0; megabytes += 25) {  // what fits hangs on the machine
    ScratchFolder folder;
    RunningServer server(folder, model_ + " --cache-mib 0",
                         fmt::format("export MALLOC_ARENA_MAX=1; ulimit -c 0; ulimit -v {};", megabytes * 1024));
    if (server.port() == 0) continue;  // not even room for the weights
    const RawAnswer before = complete(server, 5);
    if (before.status != 200) continue;
    const RawAnswer large =
        http(server.port(), "POST", "/v1/completions", fmt::format(R"({{"prompt": "{}", "max_tokens": 3}})", tale));
    if (large.status == 200) break;
    ++refused;
    EXPECT_EQ(large.status, 500) << large.body;
    EXPECT_NE(large.body.find("out of memory"), std::string::npos) << large.body;
    EXPECT_EQ(text_of(complete(server, 5)), text_of(before)) << megabytes << " MB: the server goes on";
  }
  EXPECT_GT(refused, 0) << "no limit at which a small request fits and a large one does not";
}

TEST_F(Limits, AServerOutlivesAFullDiskAndADamagedModel) {
  ASSERT_EQ(shell("quern quantize " + model_ + " " + packed_ + " --quant q4").code, 0);
  ScratchFolder folder;
  RunningServer server(folder, fmt::format("{} {} --session-dir {}", model_, packed_, folder / "kept"),
                       "ulimit -f 64;");
  ASSERT_GT(server.port(), 0) << server.log();
  const std::string text = text_of(complete(server, 5));
  const RawAnswer kept =
      http(server.port(), "POST", "/v1/sessions/tale", R"({"prompt": "Once upon a time there was a long tale"})");
  EXPECT_GE(kept.status, 500) << kept.body;
  EXPECT_NE(kept.body.find("cannot write"), std::string::npos) << kept.body;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(folder / "kept"))
    EXPECT_EQ(e.path().string().find("tale"), std::string::npos) << e.path();
  fs::resize_file(packed_ + "/model.safetensors", 100000);  // the second model is not loaded before it is asked for
  const RawAnswer damaged = complete(server, 5, "q");
  EXPECT_GE(damaged.status, 500) << damaged.body;
  EXPECT_NE(damaged.body.find("model.safetensors"), std::string::npos) << damaged.body;
  EXPECT_EQ(text_of(complete(server, 5)), text);
}

}  // namespace
}  // namespace quern
