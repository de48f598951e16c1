// The lines of a batch are requests of the key that made it: its limits hold for them, and they are charged to it.
#include <map>

#include "tests/cli/shell.h"
#include "tests/serve/with_keys.h"

namespace quern {
namespace {

constexpr const char *kCi = "sk-of-ci-", *kOther = "sk-of-other";

class BatchOfAKey : public WithKeys {
 protected:
  void begin(const std::string& limits) {
    start_with("[[key]]\nname = \"ci\"\nkey = \"sk-of-ci-\"\n" + limits +
                   "\n[[key]]\nname = \"other\"\nkey = \"sk-of-other\"\n",
               {.sessions = folder_ / "kept"});
  }
  std::string batch(const char* key, int lines, const std::string& body) {
    std::string form =
        "--X\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
        "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n\r\n";
    for (int i = 0; i < lines; ++i)
      form +=
          fmt::format(R"({{"custom_id": "n{}", "method": "POST", "url": "/v1/completions", "body": {}}})", i, body) +
          "\n";
    const std::string file =
        ok(ask(key, "POST", "/v1/files", form + "\r\n--X--\r\n", "Content-Type: multipart/form-data; boundary=X\r\n"))
            .at("id")
            .as_string();
    return ok(ask(key, "POST", "/v1/batches",
                  R"({"endpoint": "/v1/completions", "completion_window": "24h", "input_file_id": ")" + file + "\"}"))
        .at("id")
        .as_string();
  }
  Json facts(const char* key, const std::string& id) { return ok(get("/v1/batches/" + id, key)); }
  Json ended(const char* key, const std::string& id) {
    eventually("a batch ends", [&] { return facts(key, id).at("status") == Json("completed"); });
    return facts(key, id);
  }
  // Of a result file: how often each status and error code is there; and the tokens of all usages.
  struct Results {
    std::map<std::string, int> how;
    int64_t prompt = 0, generated = 0;
  };
  Results results(const char* key, const Json& done) {
    Results out;
    for (const char* field : {"output_file_id", "error_file_id"}) {
      if (done.at(field).is_null()) continue;
      const std::string text = get("/v1/files/" + done.at(field).as_string() + "/content", key).body;
      for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        const Json r = Json::parse(text.substr(at, text.find('\n', at) - at)).at("response");
        const Json& body = r.at("body");
        const Json* error = body.find("error");
        ++out.how[fmt::format("{} {}", r.at("status_code").as_int(), error ? error->at("code").as_string() : "")];
        if (error) continue;
        out.prompt += body.at("usage").at("prompt_tokens").as_int();
        out.generated += body.at("usage").at("completion_tokens").as_int();
      }
    }
    return out;
  }
  Json usage(const char* key) { return ok(get("/v1/usage", key)).at("data").as_array()[0].at("since_start"); }
  ScratchFolder folder_;
};
using How = std::map<std::string, int>;

TEST_F(BatchOfAKey, CountsToIt) {
  begin("");
  const int64_t before = usage(kCi).at("requests").as_int();
  const Json done = ended(kCi, batch(kCi, 5, R"({"prompt": "x", "max_tokens": 4, "ignore_eos": true})"));
  const Results r = results(kCi, done);
  EXPECT_EQ(r.how, (How{{"200 ", 5}}));
  const Json used = usage(kCi);
  EXPECT_EQ(used.at("requests").as_int(), before + 2 + 5) << "the file, the batch, and its lines";
  EXPECT_EQ(used.at("prompt_tokens").as_int(), r.prompt);
  EXPECT_EQ(used.at("completion_tokens").as_int(), r.generated);
  EXPECT_EQ(usage(kOther).at("total_tokens").as_int(), 0);
}

TEST_F(BatchOfAKey, EndsWithItsBudget) {
  begin("tokens_per_day = 30");
  const Json done = ended(kCi, batch(kCi, 40, R"({"prompt": "x", "max_tokens": 8, "ignore_eos": true})"));
  const Results r = results(kCi, done);
  EXPECT_EQ(r.how.at("200 ") + r.how.at("429 insufficient_quota"), 40);
  EXPECT_GE(r.prompt + r.generated, 30);
  EXPECT_LE(r.how.at("200 "), 8) << "four or so, and those that ran beside the last of them";
  EXPECT_EQ(done.at("request_counts").at("failed").as_int(), r.how.at("429 insufficient_quota"));
  EXPECT_EQ(ok(get("/v1/usage", kCi)).at("data").as_array()[0].at("tokens_left_today").as_int(), 0);
  refused(chat(kCi), 429, "insufficient_quota");
  ok(chat(kOther));
}

TEST_F(BatchOfAKey, FollowsItsModelsAndLengths) {
  more_models_ = {"large"};
  begin("max_tokens = 3\nmodels = [\"tiny\"]");
  const Json done = ended(kCi, batch(kCi, 1, R"({"prompt": "x", "max_tokens": 9, "ignore_eos": true})"));
  EXPECT_EQ(results(kCi, done).generated, 3);
  const Json refused_ones = ended(kCi, batch(kCi, 2, R"({"prompt": "x", "model": "large"})"));
  EXPECT_EQ(results(kCi, refused_ones).how, (How{{"403 model_not_allowed", 2}}));
}

// Requests per minute make a batch slow, not wrong, and another key's batch does not wait for it.
TEST_F(BatchOfAKey, WaitsForItsRate) {
  begin("requests_per_minute = 5");
  const std::string body = R"({"prompt": "x", "max_tokens": 2})";
  const std::string slow = batch(kCi, 40, body);  // with the file and itself, three lines are left
  eventually("its rate is used up", [&] { return usage(kCi).at("refused").as_int() > 0; });
  EXPECT_EQ(results(kOther, ended(kOther, batch(kOther, 6, body))).how, (How{{"200 ", 6}}));
  const Json still = facts(kCi, slow);
  EXPECT_EQ(still.at("status"), Json("in_progress"));
  EXPECT_EQ(still.at("request_counts").at("failed").as_int(), 0);
  EXPECT_LE(still.at("request_counts").at("completed").as_int(), 5);
  EXPECT_LE(usage(kCi).at("refused").as_int(), 8) << "it does not try all the time";
}

TEST_F(BatchOfAKey, EndsWithTheKeyItself) {
  begin("requests_per_minute = 3");
  const std::string id = batch(kCi, 4, R"({"prompt": "x", "max_tokens": 2})");
  eventually("a line is done and its rate is used up", [&] {
    return usage(kCi).at("refused").as_int() > 0 && facts(kCi, id).at("request_counts").at("completed").as_int() == 1;
  });
  server_->stop();
  thread_.join();
  server_.reset(), app_.reset();
  start_with("[[key]]\nname = \"root\"\nkey = \"sk-of-root\"\nadmin = true\n", {.sessions = folder_ / "kept"});
  const char* root = "sk-of-root";
  EXPECT_EQ(results(root, ended(root, id)).how, (How{{"200 ", 1}, {"401 invalid_api_key", 3}}));
}

}  // namespace
}  // namespace quern
