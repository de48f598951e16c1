// --draft through the binary: the same answers, guessed by a model of the same tokens, and what is no such model.
#include <gtest/gtest.h>

#include "quern/base/json.h"
#include "tests/cli/running_server.h"
#include "tests/cli/shell.h"
#include "tests/serve/raw_client.h"

namespace quern {
namespace {

class Draft : public testing::Test {
 protected:
  Draft() {
    EXPECT_EQ(shell("quern new --family llama --size tiny --seed 3 " + large_).code, 0);
    EXPECT_EQ(shell("quern new --family zamba2 --size tiny --seed 4 " + small_).code, 0);
  }
  Json answer(const std::string& flags) const {
    const Ran r = shell("quern run " + large_ + " -p Once -n 40 --json --dtype f32 --temp 1 --seed 2 " + flags);
    EXPECT_EQ(r.code, 0) << flags << r.err;
    return r.code == 0 ? Json::parse(r.out) : Json::object();
  }
  ScratchFolder folder_;
  const std::string large_ = folder_ / "large", small_ = folder_ / "small";
};

TEST_F(Draft, GuessesForRun) {
  const Json plain = answer("");
  EXPECT_FALSE(plain.find("drafted"));
  const Json itself = answer("--draft " + large_ + " --speculate draft:4"), other = answer("--draft " + small_);
  EXPECT_EQ(itself.at("tokens"), plain.at("tokens"));
  EXPECT_GT(itself.at("accepted").as_int(), 0);
  EXPECT_EQ(other.at("tokens"), plain.at("tokens"));
  EXPECT_GT(other.at("drafted").as_int(), 0);
  const Json packed = answer("--draft q4 --speculate draft:4");
  EXPECT_EQ(packed.at("tokens"), plain.at("tokens"));
  EXPECT_GT(packed.at("drafted").as_int(), 0);
  const Ran thought =
      shell("quern run " + large_ + " -p 'What is 1 + 1?' -n 20 --json --think vote:2 --seed 3 --draft " + small_ +
            " --speculate draft");
  EXPECT_EQ(thought.code, 0) << thought.err;
}

TEST_F(Draft, IsBenched) {
  const Ran r = shell("quern bench draft " + large_ + " --quant f32 --draft q4 --reps 1 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json rows = Json::parse(r.out);
  ASSERT_EQ(rows.as_array().size(), 4u);
  for (const Json& row : rows.as_array()) EXPECT_GT(row.at("accepted").as_int(), 0);
  EXPECT_EQ(shell("quern bench draft " + large_).code, 2) << "--draft is missing";
}

TEST_F(Draft, IsRefusedWithoutTheSameTokens) {
  const std::string run = "quern run " + large_ + " -p x ";
  const Ran other = shell(run + "--draft " + std::string(QUERN_SOURCE_DIR) + "/models/zaya-nano");
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("same tokenizer"), std::string::npos) << other.err;
  const Ran none = shell(run + "--speculate draft");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("--draft"), std::string::npos) << none.err;
  EXPECT_EQ(shell(run + "--draft " + (folder_ / "absent")).code, 1);
  EXPECT_EQ(shell(run + "--shard-context --draft " + small_).code, 2);
}

TEST_F(Draft, GuessesForTheFirstModelOfAServer) {
  RunningServer server(folder_, large_ + " " + small_ + " --dtype f32 --draft " + large_ + " --speculate draft");
  ASSERT_GT(server.port(), 0) << server.log();
  const auto complete = [&](const std::string& more) {
    return http(
        server.port(), "POST", "/v1/completions",
        R"({"prompt": "Once", "max_tokens": 40, "temperature": 1, "seed": 2, "ignore_eos": true)" + more + "}");
  };
  const auto drafted = [](const RawAnswer& a) {
    EXPECT_EQ(a.status, 200) << a.body;
    const Json j = Json::parse(a.body);
    const Json* n = j.at("timings").find("draft_n");
    return n ? n->as_int() : 0;
  };
  EXPECT_GT(drafted(complete("")), 0);
  EXPECT_EQ(drafted(complete(R"(, "speculative": false)")), 0);
  const auto text = [](const RawAnswer& a) { return Json::parse(a.body).at("choices").as_array()[0].at("text"); };
  EXPECT_EQ(text(complete(R"(, "speculative": {"kind": "both", "max": 2})")),
            text(complete(R"(, "speculative": false)")));
  EXPECT_EQ(drafted(complete(R"(, "model": "small")")), 0);
  const RawAnswer without = complete(R"(, "model": "small", "speculative": {"kind": "draft"})");
  EXPECT_EQ(without.status, 400) << without.body;
  EXPECT_NE(without.body.find("no draft model"), std::string::npos) << without.body;
}

}  // namespace
}  // namespace quern
