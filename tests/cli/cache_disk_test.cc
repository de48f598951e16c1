// The prefix cache on disk through the server: one that was killed, and what its successor answers, against a server
// without any cache that ever saw the same requests.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>

#include "quern/base/json.h"
#include "tests/cli/running_server.h"
#include "tests/serve/raw_client.h"

namespace quern {
namespace {

std::string text_of(int from, int words) {
  std::string text;
  for (int i = 0; i < words; ++i) text += fmt::format("word {} and ", (from + i) * 37 % 1000);
  return text;
}

std::string completion(const std::string& prompt) {
  return fmt::format(R"({{"prompt": "{}", "max_tokens": 24, "temperature": 0, "logprobs": 2}})", prompt);
}

// Tokens, and their log-probabilities to the last bit.
std::string answer(const RunningServer& server, const std::string& prompt, int64_t* cached = nullptr) {
  const RawAnswer a = http(server.port(), "POST", "/v1/completions", completion(prompt));
  EXPECT_EQ(a.status, 200) << a.body;
  if (a.status != 200) return {};
  const Json j = Json::parse(a.body);
  if (cached) *cached = j.at("usage").at("prompt_tokens_details").at("cached_tokens").as_int();
  return j.at("choices").as_array()[0].at("logprobs").dump() + j.at("choices").as_array()[0].at("text").dump();
}

int64_t metric(const RunningServer& server, const std::string& name) {
  const std::string body = http(server.port(), "GET", "/metrics").body;
  const size_t at = body.find("\n" + name + "{");
  return at == body.npos ? -1 : std::stoll(body.substr(body.find("} ", at) + 2));
}

class CacheDisk : public testing::TestWithParam<const char*> {};

TEST_P(CacheDisk, AKilledServersSuccessorAnswersLikeAColdOne) {
  ScratchFolder folder;
  const std::string model = folder / "model", disk = folder / "cache";
  ASSERT_EQ(shell(fmt::format("quern new --family {} --size tiny --seed 5 {}", GetParam(), model)).code, 0);
  const std::string first = text_of(0, 110), second = first + text_of(500, 20),
                    edited = text_of(0, 100) + text_of(9, 10);
  std::string cold[3];
  {
    RunningServer server(folder, model + " --exact --cache-mib 0");
    ASSERT_GT(server.port(), 0) << server.log();
    cold[0] = answer(server, first), cold[1] = answer(server, second), cold[2] = answer(server, edited);
  }
  const std::string flags = fmt::format("{} --exact --cache-disk {}:0.5", model, disk);
  {
    RunningServer server(folder, flags);
    ASSERT_GT(server.port(), 0) << server.log();
    EXPECT_EQ(answer(server, first), cold[0]);
    for (int i = 0; i < 200 && metric(server, "quern_cache_disk_bytes") < 10'000; ++i)
      answer(server, fmt::format("{}", i));
    server.kill();  // whatever it is writing
  }
  RunningServer server(folder, flags);
  ASSERT_GT(server.port(), 0) << server.log();
  int64_t cached = 0;
  EXPECT_EQ(answer(server, second, &cached), cold[1]);
  EXPECT_GE(cached, 512);
  EXPECT_GE(metric(server, "quern_cache_disk_read_tokens_total"), 512);
  EXPECT_EQ(answer(server, edited, &cached), cold[2]);
  EXPECT_GE(cached, 512);
  EXPECT_EQ(answer(server, first), cold[0]);
  const Json tree = Json::parse(http(server.port(), "GET", "/v1/cache").body).at("models").as_array().at(0);
  EXPECT_GT(tree.at("disk").at("bytes").as_int(), 10'000);
  EXPECT_EQ(tree.at("trees").as_array().at(0).at("children").as_array().at(0).at("where"), Json("both"));
  server.stop();
  EXPECT_EQ(server.log().find("damaged"), std::string::npos) << server.log();

  RunningServer other(folder, flags + " --kv f32");
  ASSERT_GT(other.port(), 0) << other.log();
  answer(other, first, &cached);
  EXPECT_EQ(cached, 0) << "states of another KV cache type";
  EXPECT_NE(other.log().find("KV cache type bf16 there, f32 here"), std::string::npos) << other.log();
}

INSTANTIATE_TEST_SUITE_P(Families, CacheDisk, testing::Values("zaya", "zamba2", "llama"));

TEST(CacheDiskFlags, AreCheckedBeforeAModelIsLoaded) {
  for (const char* wrong :
       {"--cache-disk :3", "--cache-disk x:y", "--cache-disk x:0", "--cache-disk x --cache-mib 0"}) {
    const Ran r = shell(fmt::format("quern serve {}", wrong));
    EXPECT_EQ(r.code, 2) << wrong;
    EXPECT_NE(r.err.find("--cache-disk"), std::string::npos) << r.err;
  }
}

}  // namespace
}  // namespace quern
