// quern serve as a person runs it: the shipped model and an adapter on it, through every API, then stopped.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "quern/base/json.h"
#include "quern/tensor/safetensors.h"
#include "tests/cli/running_server.h"
#include "tests/serve/raw_client.h"

namespace quern {
namespace {

Json answered(const RawAnswer& a) {
  EXPECT_EQ(a.status, 200) << a.body;
  return a.status == 200 ? Json::parse(a.body) : Json::object();
}

const std::string kModel = std::string(QUERN_SOURCE_DIR) + "/models/zaya-nano";

TEST(Serve, TheShippedModelThroughEveryApi) {
  ScratchFolder folder;
  RunningServer server(folder, "");  // without a folder: the model that comes with Quern
  ASSERT_GT(server.port(), 0) << server.log();
  auto post = [&](const char* path, const std::string& body) { return http(server.port(), "POST", path, body); };
  const std::string ask = R"("messages": [{"role": "user", "content": "What is 3 + 4?"}])";
  EXPECT_EQ(answered(http(server.port(), "GET", "/v1/models")).at("data").as_array()[0].at("id"), Json("zaya-nano"));
  const Json chat = answered(post("/v1/chat/completions", "{" + ask + R"(, "max_tokens": 400, "temperature": 0})"));
  const Json whole = chat.at("choices").as_array()[0].at("message").at("content");
  const Json message = answered(post("/v1/messages", "{" + ask + R"(, "max_tokens": 400, "temperature": 0})"));
  const Json response =
      answered(post("/v1/responses", R"({"input": "What is 3 + 4?", "max_output_tokens": 400, "temperature": 0})"));
  const Json& last = message.at("content").as_array().back();
  EXPECT_EQ(last.at("text"), whole) << "one chat in two forms";
  EXPECT_EQ(response.at("output").as_array().back().at("content").as_array()[0].at("text"), whole) << "and a third";
  EXPECT_EQ(answered(post("/v1/messages/count_tokens", "{" + ask + "}")).at("input_tokens"),
            chat.at("usage").at("prompt_tokens"));
  const Json tool =
      answered(post("/v1/chat/completions", "{" + ask + R"(, "max_tokens": 300, "tool_choice": "required",
    "parallel_tool_calls": false, "tools": [{"type": "function", "function": {"name": "add", "parameters":
      {"type": "object", "properties": {"a": {"enum": [3, 4]}, "b": {"enum": [3, 4]}}, "required": ["a", "b"]}}}]})"));
  const Json& call = tool.at("choices").as_array()[0].at("message").at("tool_calls").as_array()[0].at("function");
  EXPECT_EQ(call.at("name"), Json("add"));
  EXPECT_EQ(Json::parse(call.at("arguments").as_string()).as_object().size(), 2u);
  const Json e = answered(post("/v1/embeddings", R"({"input": ["3 + 4", "3 + 4"]})"));
  EXPECT_EQ(e.at("data").as_array()[0].at("embedding"), e.at("data").as_array()[1].at("embedding"));
  server.stop();
  EXPECT_NE(server.log().find("stopped"), std::string::npos) << server.log();
}

// A hybrid of rows and snapshots: what a restarted server says after a restore is what the first would have said.
class ServeSessions : public testing::TestWithParam<const char*> {};

TEST_P(ServeSessions, OutliveTheServer) {
  const std::string kv = GetParam();
  ScratchFolder folder;
  const std::string flags = "--session-dir " + (folder / "kept") + " " + kv;
  const std::string asked = R"({"messages": [{"role": "user", "content": "What is 12 + 30?"},
    {"role": "assistant", "content": "Answer: 42"})",
                    next = asked + R"(, {"role": "user", "content": "What is 7 + 5?"}],
    "max_tokens": 60, "temperature": 0})";
  Json here, saved;
  {
    RunningServer server(folder, flags);
    ASSERT_GT(server.port(), 0) << server.log();
    saved = answered(http(server.port(), "POST", "/v1/sessions/sums", asked + "]}"));
    here = answered(http(server.port(), "POST", "/v1/chat/completions", next));
    // Known to the cache as the beginning of something longer, without a snapshot there: it is read again.
    answered(http(server.port(), "POST", "/v1/completions",
                  R"({"prompt": "What is 12 + 30? And what is 7 + 5 after that?", "max_tokens": 4})"));
    const Json part =
        answered(http(server.port(), "POST", "/v1/sessions/part", R"({"prompt": "What is 12 + 30? And what"})"));
    EXPECT_EQ(part.at("tokens"), part.at("prompt_tokens"));
  }
  RunningServer server(folder, flags);
  EXPECT_EQ(answered(http(server.port(), "POST", "/v1/sessions/sums/restore", "")).at("tokens"), saved.at("tokens"));
  const Json there = answered(http(server.port(), "POST", "/v1/chat/completions", next));
  EXPECT_EQ(there.at("choices"), here.at("choices"));
  EXPECT_EQ(there.at("usage").at("prompt_tokens_details").at("cached_tokens"), saved.at("tokens"));
  ScratchFolder elsewhere;  // for its output
  RunningServer other(elsewhere, kv.empty() ? flags + " --quant q8" : "--session-dir " + (folder / "kept"));
  const RawAnswer refused = http(other.port(), "POST", "/v1/sessions/sums/restore", "");
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_NE(refused.body.find(kv.empty() ? "saved by another model or weight format" : "saved with KV cache type q8"),
            std::string::npos)
      << refused.body;
}

INSTANTIATE_TEST_SUITE_P(Caches, ServeSessions, testing::Values("", "--kv q8"),
                         [](const auto& i) { return std::string(*i.param ? "q8" : "bf16"); });

TEST(Run, AChatIsKeptInAFile) {
  ScratchFolder folder;
  const std::string file = folder / "chat.session", run = "quern run " + kModel + " ";
  const Ran both = shell("printf 'What is 12 + 30?\nWhat is 7 + 5?\n' | " + run);
  const Ran first = shell("printf 'What is 12 + 30?\n' | " + run + "--chat-file " + file);
  ASSERT_EQ(first.code, 0) << first.err;
  const Ran second = shell("printf 'What is 7 + 5?\n' | " + run + "--chat-file " + file);
  EXPECT_EQ(first.out + second.out, both.out);
  EXPECT_NE(second.err.find("tokens"), std::string::npos) << second.err;
  EXPECT_EQ(shell("echo x | " + run + "--quant q8 --chat-file " + file).code, 1);
  EXPECT_EQ(shell("echo x | " + run + "--system hey --chat-file " + file).code, 2);
  EXPECT_EQ(shell(run + "-p x --chat-file " + file).code, 2);
}

// A chat whose process is killed between two questions has lost nothing that was answered.
TEST(Run, AKilledChatHasKeptItsAnswers) {
  ScratchFolder folder;
  const std::string file = folder / "chat.session", pipe = folder / "questions",
                    run = "quern run " + kModel + " --chat-file " + file + " ";
  const Ran killed =
      shell(fmt::format("mkfifo {0}; {1} < {0} & quern=$!; exec 3> {0}; echo 'What is 12 + 30?' >&3; "
                        "for i in $(seq 600); do [ -e {2} ] && break; sleep 0.05; done; kill -9 $quern; wait $quern",
                        pipe, run, file));
  EXPECT_EQ(killed.code, 137) << killed.err;
  const Ran after = shell("printf 'What is 7 + 5?\n' | " + run);
  ASSERT_EQ(after.code, 0) << after.err;
  const Ran both = shell("printf 'What is 12 + 30?\nWhat is 7 + 5?\n' | quern run " + kModel);
  EXPECT_EQ(killed.out + after.out, both.out);
}

// With B = 0 an adapter changes nothing; with another B it does.
TEST(Serve, AnAdapterIsAModelOfItsOwnAndLoadsOnDemand) {
  ScratchFolder folder;
  const SafetensorsFile weights(kModel + "/model.safetensors");
  std::string tensor;  // the first matrix of the first layer
  Shape shape;
  for (const auto& [name, entry] : weights.entries())
    if (shape.empty() && name.find("layers.0.") != name.npos && entry.shape.size() == 2 && name.ends_with(".weight"))
      tensor = name.substr(0, name.size() - 7), shape = entry.shape;
  ASSERT_EQ(shape.size(), 2u);
  for (const char* which : {"none", "some"}) {
    const std::string dir = folder / which;
    std::filesystem::create_directories(dir);
    std::ofstream(dir + "/adapter_config.json") << R"({"peft_type": "LORA", "r": 1, "lora_alpha": 8})";
    Tensor a = Tensor::full({1, shape[1]}, DType::f32, 0.5), b = Tensor::full({shape[0], 1}, DType::f32, 0);
    if (std::string_view(which) == "some")
      for (int64_t i = 0; i < shape[0]; ++i)
        b.data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    save_safetensors(dir + "/adapter_model.safetensors", {{"base_model.model." + tensor + ".lora_A.weight", a},
                                                          {"base_model.model." + tensor + ".lora_B.weight", b}});
  }
  const std::string twice = fmt::format("--lora none={} --lora some={} --lora half={}:0.5", folder / "none",
                                        folder / "some", folder / "some");
  RunningServer server(folder, fmt::format("{} {} --adapter-dir {}", kModel, twice, folder / "."));
  ASSERT_GT(server.port(), 0) << server.log();
  auto score = [&](const char* model, const std::string& more = "") {
    const Json j = answered(http(server.port(), "POST", "/v1/completions",
                                 fmt::format(R"({{"model": "{}",
      "prompt": "What is 3 + 4?", "max_tokens": 0, "echo": true, "logprobs": 0{}}})",
                                             model, more)));
    double sum = 0;
    for (const Json& x : j.at("choices").as_array()[0].at("logprobs").at("token_logprobs").as_array())
      sum += x.is_null() ? 0 : x.as_double();
    return sum;
  };
  auto loaded = [&] {
    int n = 0;
    const Json list = answered(http(server.port(), "GET", "/v1/models"));
    for (const Json& m : list.at("data").as_array()) n += m.at("loaded") == Json(true);
    return n;
  };
  EXPECT_EQ(loaded(), 1);
  const double base = score("zaya-nano");
  EXPECT_NEAR(score("none"), base, 1e-6);
  EXPECT_GT(std::abs(score("some") - base), 1e-3);
  EXPECT_EQ(loaded(), 3);

  // A request chooses itself, by name or number, several, with scales; the list is the whole choice.
  const double some = score("some"), half = score("half");
  EXPECT_EQ(score("zaya-nano", R"(, "lora": [{"id": "some"}])"), some);
  EXPECT_EQ(score("none", R"(, "lora": [{"id": 1, "scale": 1.0}])"), some);
  EXPECT_NEAR(score("zaya-nano", R"(, "lora": [{"id": "some", "scale": 0.5}])"), half, 1e-6);
  EXPECT_NEAR(score("zaya-nano", R"(, "lora": [{"id": "none"}, {"id": "some"}])"), some, 1e-4);
  EXPECT_NEAR(score("some", R"(, "lora": [])"), base, 1e-6);
  EXPECT_NEAR(score("some", R"(, "lora": [{"id": "some", "scale": 0}])"), base, 1e-6);
  EXPECT_GT(std::abs(half - some), 1e-4);
  EXPECT_GT(std::abs(half - base), 1e-4);
  for (const auto& [lora, word] : {std::pair{R"([{"id": "sum"}])", "is not one of"},
                                   {R"([{"id": 7}])", "numbered from 0"},
                                   {R"({"id": "some"})", "expected a list"},
                                   {R"([{"scale": 1}])", "expected"},
                                   {R"([{"id": "some"}, {"id": "some"}])", "twice"},
                                   {R"([{"id": "some", "scale": "x"}])", "scale"}}) {
    const RawAnswer r = http(server.port(), "POST", "/v1/completions",
                             fmt::format(R"({{"prompt": "x", "max_tokens": 1, "lora": {}}})", lora));
    EXPECT_EQ(r.status, 400) << lora;
    EXPECT_NE(r.body.find(word), std::string::npos) << r.body;
  }

  // One more while it runs, and away again; who names a folder elsewhere or a damaged one is told.
  auto post = [&](const char* path, const std::string& body) { return http(server.port(), "POST", path, body); };
  const char *load = "/v1/load_lora_adapter", *unload = "/v1/unload_lora_adapter";
  const Json added = answered(post(load, R"({"lora_name": "later", "lora_path": "some"})"));
  EXPECT_EQ(added.at("parent"), Json("zaya-nano"));
  EXPECT_EQ(added.at("loaded"), Json(true));
  EXPECT_EQ(score("later"), score("some"));
  const Json list = answered(http(server.port(), "GET", "/lora-adapters"));
  ASSERT_EQ(list.as_array().size(), 4u);
  EXPECT_EQ(list.as_array()[3].at("id"), Json("later"));
  EXPECT_EQ(list.as_array()[3].at("path"), Json("some"));  // not where on the disk
  EXPECT_EQ(answered(post(unload, R"({"lora_name": "later"})")).at("deleted"), Json(true));
  const std::string ask_later = R"({"model": "later", "prompt": "x", "max_tokens": 1})";
  EXPECT_EQ(post("/v1/completions", ask_later).status, 404);
  std::filesystem::create_directories(folder / "broken");
  std::ofstream(folder / "broken/adapter_config.json") << R"({"peft_type": "IA3"})";
  std::filesystem::create_directory_symlink(kModel, folder / "link");
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"lora_name": "x", "lora_path": "broken"})", "expected LORA"},
      {R"({"lora_name": "x", "lora_path": "../"})", "is not below"},
      {R"({"lora_name": "x", "lora_path": "/etc"})", "is not below"},
      {R"({"lora_name": "x", "lora_path": "link"})", "is not below"},
      {R"({"lora_name": "x", "lora_path": "nowhere"})", "adapter_config.json"},
      {R"({"lora_name": "some", "lora_path": "some"})", "served already"},
      {R"({"lora_name": "a:b", "lora_path": "some"})", "lora_name"},
      {R"({"lora_name": "x", "lora_path": "some", "base_model_name": "none"})", "base_model_name"}};
  for (const auto& [body, word] : wrong) {
    const RawAnswer r = post(load, body);
    EXPECT_EQ(r.status, 400) << body;
    EXPECT_NE(r.body.find(word), std::string::npos) << r.body;
  }
  EXPECT_EQ(post(unload, R"({"lora_name": "zaya-nano"})").status, 404) << "no adapter";
  EXPECT_EQ(post(unload, R"({"lora_name": "later"})").status, 404);
  EXPECT_NEAR(score("none"), base, 1e-6);
}

TEST(Serve, SaysWhatIsWrongWithItsArguments) {
  EXPECT_EQ(shell("quern serve --port 99999").code, 2);
  EXPECT_EQ(shell("quern serve x --lora y").code, 1);
  Ran r = shell("quern serve /nonexistent/model");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("/nonexistent/model"), std::string::npos) << r.err;
  r = shell("quern serve " + kModel + " --lora y");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("NAME=FOLDER"), std::string::npos) << r.err;
  r = shell("quern serve " + kModel + " --memory-mib 1 --port 0");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("--memory-mib"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern
