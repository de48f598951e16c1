// Sessions on disk: a later server goes on where an earlier one was, with the same words; and what is refused.
#include <filesystem>
#include <fstream>

#include "quern/base/mmap.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

constexpr const char* kChat = "/v1/chat/completions";

class Sessions : public Serving {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("quern-sessions-{}", getpid());
    std::filesystem::remove_all(folder_);
    chat_template_ =
        "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt "
        "%}<s>assistant: "
        "{% endif %}";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void begin(const std::string& weights = "one") {
    serve::AppOptions options;
    options.sessions = folder_.string();
    start(options);
    model_->fingerprint = weights;
  }
  void again(const std::string& weights = "one") {
    server_->stop();
    thread_.join();
    server_.reset(), app_.reset();
    begin(weights);
  }
  Json asked(const std::string& messages) { return ok(post(kChat, messages)); }
  std::filesystem::path folder_;
};

const Json& message_of(const Json& answer) { return answer.at("choices").as_array()[0].at("message"); }

TEST_F(Sessions, PagesOfOtherOriginsSaveNothing) {
  begin();
  const std::string body = R"({"prompt": "What is the answer? Answer: 4"})";
  refused(post("/v1/sessions/a", body, "Origin: https://page.example\r\n"), 403, "foreign_origin");
  refused(post("/v1/load_lora_adapter", "{}", "Origin: https://page.example\r\n"), 403, "foreign_origin");
  ok(post("/v1/sessions/a", body, "Origin: http://localhost\r\n"));  // the server's own
  app_->configure({.cors = {"https://page.example"}});
  ok(post("/v1/sessions/a", body, "Origin: https://page.example\r\n"));
}

TEST_F(Sessions, GoOnAfterARestart) {
  begin();
  const std::string question = R"({"role": "user", "content": "What is the answer? What is the answer?"})";
  const Json first = asked(R"({"messages": [)" + question + R"(], "max_tokens": 12, "seed": 3})");
  const std::string so_far = R"({"messages": [)" + question + "," + message_of(first).dump();
  const Json saved = ok(post("/v1/sessions/kitchen-1", so_far + "]}"));
  EXPECT_GT(saved.at("tokens").as_int(), first.at("usage").at("prompt_tokens").as_int());
  EXPECT_GT(saved.at("cached_tokens").as_int(), 0);
  EXPECT_LT(saved.at("cached_tokens").as_int(), saved.at("tokens").as_int());  // the end of the turn was read for it
  const std::string next = so_far + R"(, {"role": "user", "content": "And now?"}], "max_tokens": 16, "seed": 4})";
  const Json here = asked(next);

  again();
  const Json list = ok(http(port(), "GET", "/v1/sessions"));
  ASSERT_EQ(list.at("data").as_array().size(), 1u);
  EXPECT_EQ(list.at("data").as_array()[0].at("name").as_string(), "kitchen-1");
  EXPECT_EQ(list.at("data").as_array()[0].at("model").as_string(), "tiny");
  const Json back = ok(post("/v1/sessions/kitchen-1/restore", ""));
  EXPECT_EQ(back.at("tokens"), saved.at("tokens"));
  EXPECT_EQ(back.at("messages"), Json::parse(so_far + "]}").at("messages"));
  const Json there = asked(next);
  EXPECT_EQ(message_of(there), message_of(here));
  EXPECT_EQ(there.at("usage").at("prompt_tokens_details").at("cached_tokens"), saved.at("tokens"));

  EXPECT_EQ(ok(http(port(), "DELETE", "/v1/sessions/kitchen-1")).at("deleted"), Json(true));
  refused(post("/v1/sessions/kitchen-1/restore", ""), 404, "kitchen-1");
  EXPECT_TRUE(std::filesystem::is_empty(folder_) || !std::filesystem::exists(folder_ / "kitchen-1.session"));
}

TEST_F(Sessions, OfAnotherModelOrDamagedAreRefused) {
  begin();
  ok(post("/v1/sessions/a", R"({"prompt": "What is the answer? user: What is the answer?"})"));
  EXPECT_EQ(std::filesystem::status(folder_ / "a.session").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  again("another");
  refused(post("/v1/sessions/a/restore", ""), 400, "another model");
  again();
  std::string bytes = read_file(folder_ / "a.session");
  bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 1);
  write_file(folder_ / "a.session", bytes);
  refused(post("/v1/sessions/a/restore", ""), 400, "checksum");
  write_file(folder_ / "a.session", bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(post("/v1/sessions/a/restore", "").status, 400);
  EXPECT_NE(ok(http(port(), "GET", "/v1/sessions")).at("data").as_array()[0].find("error"), nullptr);
  EXPECT_EQ(asked(R"({"messages": [{"role": "user", "content": "x"}], "max_tokens": 1})").at("object").as_string(),
            "chat.completion");
}

TEST_F(Sessions, SavesAtOnceDoNotMix) {
  begin();
  const std::string body = R"({"prompt": "What is the answer? user: What is the answer?"})";
  std::vector<std::jthread> savers;
  for (int i = 0; i < 4; ++i)
    savers.emplace_back([&] {
      for (int k = 0; k < 5; ++k) EXPECT_EQ(post("/v1/sessions/a", body).status, 200);
    });
  savers.clear();
  ok(post("/v1/sessions/a/restore", ""));
  for (const auto& f : std::filesystem::directory_iterator(folder_))
    EXPECT_EQ(f.path().filename().string().find(".part"), std::string::npos) << f.path();
}

TEST_F(Sessions, NamesStayInTheFolder) {
  begin();
  const std::string body = R"({"prompt": "What is the answer?"})";
  for (const char* path : {"/v1/sessions/..", "/v1/sessions/../x", "/v1/sessions/.hidden", "/v1/sessions/a%2fb",
                           "/v1/sessions/a/b/restore"})
    EXPECT_EQ(post(path, body).status, 400) << path;
  refused(post(("/v1/sessions/" + std::string(65, 'x')).c_str(), body), 400, "name");
  refused(post("/v1/sessions/both", R"({"prompt": "x", "messages": []})"), 400, "messages");
  refused(http(port(), "GET", "/v1/sessions/none"), 404, "none");
}

TEST_F(Sessions, NeedAFolder) {
  start();
  refused(post("/v1/sessions/a", R"({"prompt": "What is the answer?"})"), 400, "this server saves no sessions");
  refused(http(port(), "GET", "/v1/sessions"), 400, "this server saves no sessions");
}

TEST_F(Sessions, StoredResponsesOutliveTheServer) {
  begin();
  const Json first =
      ok(post("/v1/responses", R"({"input": "What is the answer?", "max_output_tokens": 8, "seed": 3})"));
  const std::string id = first.at("id").as_string();
  const std::string next =
      R"({"previous_response_id": ")" + id + R"(", "input": "And now?", "max_output_tokens": 8, "seed": 4})";
  const Json here = ok(post("/v1/responses", next));
  again();
  EXPECT_EQ(ok(http(port(), "GET", "/v1/responses/" + id)), first);
  const Json there = ok(post("/v1/responses", next));
  EXPECT_EQ(there.at("output").as_array()[0].at("content"), here.at("output").as_array()[0].at("content"));
  const std::string word = "What is the answer?";
  EXPECT_NE(read_file(folder_ / "responses.db").find(word), std::string::npos);
  for (const Json& r : {first, here, there}) ok(http(port(), "DELETE", "/v1/responses/" + r.at("id").as_string()));
  refused(http(port(), "GET", "/v1/responses/" + id), 404, id);
  EXPECT_EQ(read_file(folder_ / "responses.db").find(word), std::string::npos) << "deleted, and still in the file";
  again();
  refused(http(port(), "GET", "/v1/responses/" + id), 404, id);
}

}  // namespace
}  // namespace quern
