// --context, --rope-scaling and --rope-theta as a person gives them: to the verbs that run a model, and to a server of
// two models.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/running_server.h"
#include "tests/serve/raw_client.h"

namespace quern {
namespace {

constexpr int64_t kTrained = 64;

// A tiny model of the family with random weights, trained on so many tokens as its config.json says.
std::string short_model(const ScratchFolder& d, const std::string& family, const std::string& name) {
  const std::string folder = d / name;
  const Ran r = shell("quern new --family " + family + " --size tiny " + folder);
  EXPECT_EQ(r.code, 0) << r.err;
  Json config = Json::read(folder + "/config.json");
  config.set("max_position_embeddings", kTrained);
  write_file(folder + "/config.json", config.dump(2));
  return folder;
}

std::string long_text() {  // a few hundred tokens
  std::string text;
  for (int i = 0; i < 40; ++i) text += fmt::format("{} + {} is {}. ", i, i, 2 * i);
  return text;
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Context, AFlagLengthensWhatRunReads) {
  ScratchFolder d;
  const std::string run = "quern run " + short_model(d, "llama", "m") + " --plain -n 4 -p '" + long_text() + "' ";
  Ran r = shell(run);
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_NE(r.err.find("limit is 64"), std::string::npos) << r.err;
  r = shell(run + "--context 2000");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(count(r.err, "a context of 2000 tokens is beyond the 64"), 1u) << r.err;
  r = shell(run + "--rope-scaling yarn:32");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err.find("warning"), std::string::npos) << r.err;
  r = shell(run + "--rope-scaling yarn:32 --context 100");
  EXPECT_NE(r.err.find("limit is 100"), std::string::npos) << r.err;
  r = shell(run + "--rope-scaling none --context 2000");
  EXPECT_NE(r.err.find("rope_scaling none changes nothing"), std::string::npos) << r.err;
}

TEST(Context, ModelsWithoutPositionsReadOnAndSayItOnce) {
  ScratchFolder d;
  const std::string run = "quern run " + short_model(d, "zamba", "m") + " --plain -n 8 -p '" + long_text() + "' ";
  Ran r = shell(run);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(count(r.err, "longer than the 64 tokens that it was trained on"), 1u) << r.err;
  r = shell("quern run " + (d / "m") + " --plain -n 8 -p x");
  EXPECT_EQ(count(r.err, "trained on"), 0u) << r.err;
  r = shell(run + "--rope-scaling yarn:4");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("no rotary positions"), std::string::npos) << r.err;
  r = shell(run + "--context 100");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("limit is 100"), std::string::npos) << r.err;
}

TEST(Context, EveryVerbTakesTheFlags) {
  ScratchFolder d;
  const std::string m = short_model(d, "llama", "m"), text = d / "text.txt";
  write_file(text, long_text());
  std::string ids = "1";
  for (int i = 0; i < 99; ++i) ids += fmt::format(",{}", 20 + i);
  const std::string logits = "quern logits " + m + " --ids " + ids + " --out " + (d / "x.npy");
  Ran r = shell(logits);
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("100 tokens, and this model accepts 64"), std::string::npos) << r.err;
  EXPECT_EQ(shell(logits + " --context 100").code, 0);
  EXPECT_EQ(shell(logits + " --rope-scaling linear:2 --rope-theta 500").code, 0);

  const auto perplexity = [&](const std::string& flags) {
    const Ran p = shell("quern ppl " + m + " " + text + " --json " + flags);
    EXPECT_EQ(p.code, 0) << p.err;
    return Json::parse(p.out).at("perplexity").as_double();
  };
  const double own = perplexity("");
  EXPECT_EQ(own, perplexity("--context 64")) << "the default window ends with the context";
  EXPECT_NE(own, perplexity("--context 200")) << "a longer one is a longer context";
  EXPECT_NE(perplexity("--context 200"), perplexity("--context 200 --rope-scaling yarn:4"));

  const std::string room = " --context 2000 --max-tokens 2";
  for (const std::string& verb : {"quern eval " + m + " --count 1 --level 1" + room,
                                  "quern gym eval " + m + " arithmetic --count 1 --difficulty 0" + room}) {
    r = shell(verb + " --rope-scaling yarn:32");
    EXPECT_EQ(r.code, 0) << verb << "\n" << r.err;
    EXPECT_EQ(r.err.find("warning"), std::string::npos) << r.err;
    EXPECT_EQ(r.out.find("too long for the model"), std::string::npos) << r.out;
  }
}

TEST(Context, WrongFlagsAreUsage) {
  ScratchFolder d;
  for (const char* verb : {"run", "serve", "logits --ids 1 --out x", "eval", "gym eval"})
    for (const char* flag : {"--rope-scaling yarn", "--rope-scaling ntk:2", "--rope-scaling linear:1", "--context 0",
                             "--rope-theta -1"}) {
      const Ran r = shell(fmt::format("quern {} zaya-nano {} < /dev/null", verb, flag));
      EXPECT_EQ(r.code, 2) << verb << " " << flag;
      EXPECT_NE(r.err.find("--"), std::string::npos) << r.err;
    }
  Ran r = shell(fmt::format("quern serve {}/quern/encoders/testdata/bert-mean --context 4096", QUERN_SOURCE_DIR));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("an encoder's context cannot be changed"), std::string::npos) << r.err;
  r = shell("quern logits zaya-nano --ids 1,2 --out " + (d / "x.npy") + " --rope-scaling yarn:2");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("family zaya have no scaled rotary positions"), std::string::npos) << r.err;
}

TEST(Context, AChatKeepsToItsPositions) {
  ScratchFolder d;
  const std::string chat =
      "echo x | quern run " + short_model(d, "llama", "m") + " -n 4 --chat-file " + (d / "c") + " ";
  ASSERT_EQ(shell(chat + "--rope-scaling yarn:8").code, 0);
  EXPECT_EQ(shell(chat + "--rope-scaling yarn:8 --context 200").code, 0) << "a length changes no state";
  EXPECT_EQ(shell(chat).code, 1);
  EXPECT_EQ(shell(chat + "--rope-scaling yarn:4").code, 1);
  EXPECT_EQ(shell(chat + "--rope-scaling yarn:8 --rope-theta 500").code, 1);
}

Json answered(const RawAnswer& a) {
  EXPECT_EQ(a.status, 200) << a.body;
  return a.status == 200 ? Json::parse(a.body) : Json::object();
}

TEST(Context, AServersFlagsAreOfItsFirstModel) {
  ScratchFolder d;
  const std::string a = short_model(d, "llama", "a"), b = short_model(d, "llama", "b");
  const std::string models = a + " " + b + " --session-dir " + (d / "kept") + " ";
  const auto ask = [](int port, const std::string& model, const std::string& prompt, const std::string& more = "") {
    return http(port, "POST", "/v1/completions",
                fmt::format(R"({{"model": "{}", "prompt": "{}", "max_tokens": 4{}}})", model, prompt, more));
  };
  {
    RunningServer server(d, models + "--context 1000 --rope-scaling yarn:32");
    ASSERT_GT(server.port(), 0) << server.log();
    EXPECT_NE(server.log().find("a: llama, context 1000"), std::string::npos) << server.log();
    EXPECT_EQ(answered(ask(server.port(), "a", long_text())).at("choices").as_array().size(), 1u);
    const RawAnswer refused = ask(server.port(), "b", long_text());
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_NE(refused.body.find("context is 64 tokens"), std::string::npos) << refused.body;
    const Json listed = answered(http(server.port(), "GET", "/v1/models")).at("data");
    EXPECT_EQ(listed.as_array()[0].at("context_length"), Json(1000));
    EXPECT_EQ(listed.as_array()[1].at("context_length"), Json(64));
    for (const char* model : {"a", "b"})
      answered(http(server.port(), "POST", fmt::format("/v1/sessions/of-{}", model),
                    fmt::format(R"({{"model": "{}", "prompt": "1 + 1"}})", model)));
  }
  RunningServer server(d, models);
  const auto restore = [&](const char* model) {
    return http(server.port(), "POST", fmt::format("/v1/sessions/of-{}/restore", model),
                fmt::format(R"({{"model": "{}"}})", model));
  };
  EXPECT_EQ(restore("b").status, 200) << restore("b").body;
  const RawAnswer other = restore("a");
  EXPECT_EQ(other.status, 400) << other.body;
  EXPECT_NE(other.body.find("saved by another model"), std::string::npos) << other.body;
}

TEST(Context, AServedModelWithoutPositionsGoesOn) {
  ScratchFolder d;
  RunningServer server(d, short_model(d, "zamba", "m"));
  ASSERT_GT(server.port(), 0) << server.log();
  for (int i = 0; i < 2; ++i) {
    const Json j = answered(http(server.port(), "POST", "/v1/completions",
                                 fmt::format(R"({{"prompt": "{} {}", "max_tokens": 4}})", i, long_text())));
    EXPECT_EQ(j.at("usage").at("completion_tokens"), Json(4));
  }
  // Without max_tokens: the rest of the context, and some tokens where there is none.
  const Json chat =
      answered(http(server.port(), "POST", "/v1/chat/completions",
                    fmt::format(R"({{"messages": [{{"role": "user", "content": "{}"}}]}})", long_text())));
  EXPECT_GT(chat.at("usage").at("completion_tokens").as_int(), 0);
  EXPECT_LE(chat.at("usage").at("completion_tokens").as_int(), 256);
  server.stop();
  EXPECT_EQ(count(server.log(), "longer than the 64 tokens that it was trained on"), 1u) << server.log();
}

}  // namespace
}  // namespace quern
