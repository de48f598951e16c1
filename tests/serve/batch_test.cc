// The Batch API: upload, run, results, restart, cancel, limits; no id is a path.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "quern/serve/batch/batch_file.h"
#include "quern/serve/http/multipart.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

std::string form(const std::string& content, const std::string& purpose = "batch") {
  return "--X\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n" + purpose +
         "\r\n--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n"
         "Content-Type: application/jsonl\r\n\r\n" +
         content + "\r\n--X--\r\n";
}

std::string line(const std::string& id, const std::string& body, const char* url = "/v1/completions") {
  return fmt::format(R"({{"custom_id": "{}", "method": "POST", "url": "{}", "body": {}}})", id, url, body) + "\n";
}

class Batching : public Serving {
 protected:
  Batching() : folder_(fs::temp_directory_path() / fmt::format("quern_batch_{}", ::getpid())) {
    fs::remove_all(folder_);
  }
  ~Batching() override { fs::remove_all(folder_); }
  void start_here() {
    serve::AppOptions o;
    o.sessions = folder_.string();
    start(o);
  }
  void stop() {
    server_->stop();
    thread_.join();
    server_.reset(), app_.reset();
  }
  RawAnswer upload(const std::string& content, const std::string& purpose = "batch") {
    return post("/v1/files", form(content, purpose), "Content-Type: multipart/form-data; boundary=X\r\n");
  }
  std::string id_of(const RawAnswer& a) { return ok(a).at("id").as_string(); }
  RawAnswer create(const std::string& file, const char* endpoint = "/v1/completions") {
    return post(
        "/v1/batches",
        fmt::format(
            R"({{"input_file_id": "{}", "endpoint": "{}", "completion_window": "24h", "metadata": {{"a": "b"}}}})",
            file, endpoint));
  }
  Json batch(const std::string& id) { return ok(http(port(), "GET", "/v1/batches/" + id)); }
  Json ended(const std::string& id) {
    Json j;
    eventually("a batch ends", [&] {
      j = batch(id);
      const std::string s = j.at("status").as_string();
      return s == "completed" || s == "failed" || s == "cancelled" || s == "expired";
    });
    return j;
  }
  std::string content(const Json& file) {
    const RawAnswer a = http(port(), "GET", "/v1/files/" + file.as_string() + "/content");
    EXPECT_EQ(a.status, 200) << a.body;
    return a.body;
  }
  fs::path folder_;
};

TEST_F(Batching, RunsTheLinesOfAFile) {
  start_here();
  const std::string file = id_of(upload(line("one", R"({"prompt": "What", "max_tokens": 3, "seed": 1})") +
                                        line("two", R"({"prompt": "a", "max_tokens": 0})") + "\n" +
                                        line("three", R"({"prompt": "is", "max_tokens": 2})")));
  EXPECT_EQ(ok(http(port(), "GET", "/v1/files/" + file)).at("filename").as_string(), "in.jsonl");
  const std::string id = id_of(create(file));
  const Json done = ended(id);
  EXPECT_EQ(done.at("status").as_string(), "completed");
  EXPECT_EQ(done.at("request_counts").dump(), R"({"total":3,"completed":2,"failed":1})");
  EXPECT_EQ(done.at("metadata").at("a").as_string(), "b");
  const std::string out = content(done.at("output_file_id")), err = content(done.at("error_file_id"));
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 2);
  EXPECT_NE(out.find(R"("custom_id":"one")"), out.npos) << out;
  const Json failed = Json::parse(err);
  EXPECT_EQ(failed.at("custom_id").as_string(), "two");
  EXPECT_EQ(failed.at("response").at("status_code").as_int(), 400);
  EXPECT_EQ(failed.at("response").at("body").at("error").at("param").as_string(), "max_tokens");
  // The answer is the one that a client gets.
  const Json own = ok(post("/v1/completions", R"({"prompt": "What", "max_tokens": 3, "seed": 1})"));
  for (size_t at = 0; at < out.size(); at = out.find('\n', at) + 1) {
    const Json j = Json::parse(out.substr(at, out.find('\n', at) - at));
    if (j.at("custom_id").as_string() != "one") continue;
    EXPECT_EQ(j.at("response").at("body").at("choices"), own.at("choices"));
  }
  EXPECT_EQ(ok(http(port(), "GET", "/v1/batches?limit=1")).at("data").as_array().size(), 1u);
  EXPECT_EQ(ok(http(port(), "GET", "/v1/files?purpose=batch_output")).at("data").as_array().size(), 2u);
  refused(post(("/v1/batches/" + id + "/cancel").c_str(), ""), 409, "completed");
  EXPECT_TRUE(ok(http(port(), "DELETE", "/v1/files/" + file)).at("deleted").as_bool());
  refused(http(port(), "GET", "/v1/files/" + file), 404, "there is no file");
}

TEST_F(Batching, SurvivesARestart) {
  start_here();
  std::string text;
  for (int i = 0; i < 200; ++i) text += line(fmt::format("n{}", i), R"({"prompt": "a", "max_tokens": 20})");
  const std::string id = id_of(create(id_of(upload(text))));
  eventually("some lines are done", [&] { return batch(id).at("request_counts").at("completed").as_int() > 3; });
  stop();
  // As if the last write had been cut off.
  for (const auto& f : fs::directory_iterator(folder_ / "batch" / "batches"))
    if (f.path().extension() == ".out") fs::resize_file(f, fs::file_size(f) - 5);
  start_here();
  const Json done = ended(id);
  EXPECT_EQ(done.at("request_counts").dump(), R"({"total":200,"completed":200,"failed":0})");
  std::set<std::string> ids;
  const std::string out = content(done.at("output_file_id"));
  for (size_t at = 0; at < out.size(); at = out.find('\n', at) + 1)
    EXPECT_TRUE(ids.insert(Json::parse(out.substr(at, out.find('\n', at) - at)).at("custom_id").as_string()).second);
  EXPECT_EQ(ids.size(), 200u);
}

TEST_F(Batching, IsCancelled) {
  start_here();
  std::string text;
  for (int i = 0; i < 50; ++i) text += line(fmt::format("n{}", i), R"({"prompt": "a", "max_tokens": 100000})");
  const std::string id = id_of(create(id_of(upload(text))));
  eventually("it runs", [&] { return batch(id).at("status").as_string() == "in_progress"; });
  EXPECT_EQ(ok(post(("/v1/batches/" + id + "/cancel").c_str(), "")).at("status").as_string(), "cancelling");
  EXPECT_EQ(ended(id).at("status").as_string(), "cancelled");
  eventually("nothing runs", [&] { return model_->host->counts().running == 0; });
}

TEST_F(Batching, ClientsGoFirst) {
  start_here();
  std::string text;
  for (int i = 0; i < 8; ++i) text += line(fmt::format("n{}", i), R"({"prompt": "a", "max_tokens": 100000})");
  const std::string body = R"({"prompt": "b", "max_tokens": 100000, "stream": true})";
  RawClient client(port());  // whose request runs all the time
  client.send(
      fmt::format("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
  eventually("the client's runs", [&] { return model_->host->counts().running == 1; });
  const std::string id = id_of(create(id_of(upload(text))));
  eventually("a line runs", [&] { return model_->host->counts().running == 2; });
  for (int i = 0; i < 20; ++i) {
    EXPECT_LE(model_->host->counts().running, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  client.hang_up();
  eventually("more run", [&] { return model_->host->counts().running == serve::BatchRunner::kLines; });
  ok(post(("/v1/batches/" + id + "/cancel").c_str(), ""));
  ended(id);
}

TEST(Turn, ComesAfterAPauseThatGrowsWithTheLine) {
  using Seconds = std::chrono::duration<double>;
  const auto at = [start = serve::Turn::Clock::now()](double s) {
    return start + std::chrono::duration_cast<serve::Turn::Clock::duration>(Seconds(s));
  };
  serve::Turn turn({.min_pause = 10, .pause_factor = 7});
  EXPECT_FALSE(turn.due(at(9)));
  EXPECT_TRUE(turn.due(at(11)));
  turn.took(at(11), at(12));
  EXPECT_FALSE(turn.due(at(21.5)));
  EXPECT_TRUE(turn.due(at(22.5)));
  turn.took(at(30), at(34));
  EXPECT_FALSE(turn.due(at(61)));
  EXPECT_TRUE(turn.due(at(62.5)));
}

// More clients than sequences, each with its next request at once: the queue is never empty, and the batch ends.
TEST_F(Batching, HasItsTurnOnAFullServer) {
  serve::AppOptions o;
  o.sessions = folder_.string();
  o.batch_turn = {.min_pause = 0.02, .pause_factor = 1};
  start(o);
  std::atomic<bool> enough = false;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 12; ++i)
    clients.emplace_back([&] {
      while (!enough) post("/v1/completions", R"({"prompt": "b", "max_tokens": 300})");
    });
  eventually("requests wait", [&] { return model_->host->counts().waiting > 3; });
  std::string text;
  for (int i = 0; i < 5; ++i) text += line(fmt::format("n{}", i), R"({"prompt": "a", "max_tokens": 3})");
  const Json done = ended(id_of(create(id_of(upload(text)))));
  EXPECT_GT(model_->host->counts().waiting, 0);
  enough = true;
  EXPECT_EQ(done.at("request_counts").dump(), R"({"total":5,"completed":5,"failed":0})");
}

// A queue of one: lines that the server refuses are not failed lines.
TEST_F(Batching, TriesAgainWhatAFullServerRefuses) {
  serve::AppOptions o;
  o.sessions = folder_.string();
  o.batch_turn = {.min_pause = 0.01, .pause_factor = 0};
  start(o, {}, 1);
  std::atomic<bool> enough = false;
  std::atomic<int> refused_ones = 0;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&] {
      while (!enough) refused_ones += post("/v1/completions", R"({"prompt": "b", "max_tokens": 50})").status == 429;
    });
  eventually("the server is full", [&] { return refused_ones > 5; });
  std::string text;
  for (int i = 0; i < 5; ++i) text += line(fmt::format("n{}", i), R"({"prompt": "a", "max_tokens": 3})");
  const Json done = ended(id_of(create(id_of(upload(text)))));
  enough = true;
  EXPECT_EQ(done.at("request_counts").dump(), R"({"total":5,"completed":5,"failed":0})");
}

TEST_F(Batching, RefusesWhatItCannotRun) {
  start_here();
  refused(post("/v1/files", "{}"), 400, "multipart/form-data");
  refused(upload("x", "fine-tune"), 400, "only batch");
  refused(upload(""), 400, "empty");
  refused(create("file-nope"), 404, "there is no file");
  for (const char* path :
       {"..%2f..%2fetc%2fpasswd", "file-..%2f..%2f..%2f..%2f..%2fetc%2f", "%2e%2e", "responses.db"}) {
    EXPECT_EQ(http(port(), "GET", std::string("/v1/files/") + path).status, 404) << path;
    EXPECT_EQ(http(port(), "GET", std::string("/v1/files/") + path + "/content").status, 404) << path;
    EXPECT_EQ(http(port(), "DELETE", std::string("/v1/files/") + path).status, 404) << path;
    EXPECT_EQ(http(port(), "GET", std::string("/v1/batches/") + path).status, 404) << path;
  }
  const std::string file =
      id_of(upload(line("a", "{}") + "no json\n" + line("a", "{}") + line("b", "{}", "/v1/other")));
  refused(create(file, "/v1/files"), 400, "endpoint");
  const Json failed = ended(id_of(create(file)));
  EXPECT_EQ(failed.at("status").as_string(), "failed");
  const Json::Array& faults = failed.at("errors").at("data").as_array();
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[0].at("line").as_int(), 2);
  EXPECT_NE(faults[1].at("message").as_string().find("twice"), std::string::npos);
  EXPECT_NE(faults[2].at("message").as_string().find("/v1/other"), std::string::npos);
  refused(http(port(), "GET", "/v1/batches?limit=0"), 400, "limit");
  refused(http(port(), "GET", "/v1/batches?after=x"), 400, "after");
}

TEST_F(Serving, FilesWithoutAFolderEndWithTheServer) {
  start();
  const RawAnswer a = post("/v1/files", form("x"), "Content-Type: multipart/form-data; boundary=X\r\n");
  const std::string id = ok(a).at("id").as_string();
  EXPECT_EQ(http(port(), "GET", "/v1/files/" + id + "/content").body, "x");
}

TEST_F(Serving, PagesOfOtherOriginsUploadNothing) {
  serve::AppOptions o;
  o.live.cors = {"https://good.example"};
  start(o);
  const auto upload = [&](const std::string& origin) {
    return post("/v1/files", form("x"), ("Content-Type: multipart/form-data; boundary=X\r\n" + origin).c_str())
        .status;
  };
  EXPECT_EQ(upload("Origin: https://evil.example\r\n"), 403);
  EXPECT_EQ(upload("Origin: null\r\n"), 403);
  EXPECT_EQ(upload("Origin: https://good.example\r\n"), 200);
  EXPECT_EQ(upload(""), 200);
  refused(post("/v1/batches", "{}", "Origin: https://evil.example\r\n"), 403, "pages of");
}

TEST(Multipart, IsReadAsRfc7578Has) {
  EXPECT_EQ(serve::form_boundary("multipart/form-data; boundary=X"), "X");
  EXPECT_EQ(serve::form_boundary("Multipart/Form-Data; charset=utf-8; boundary=\"a b\""), "a b");
  EXPECT_FALSE(serve::form_boundary("application/json"));
  EXPECT_FALSE(serve::form_boundary("multipart/form-data"));
  const auto parts = serve::parse_form(form("a\r\n--Y\r\nb"), "X");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].content, "batch");
  EXPECT_EQ(parts[1].filename, "in.jsonl");
  EXPECT_EQ(parts[1].content, "a\r\n--Y\r\nb");
  EXPECT_EQ(
      serve::parse_form("--X\r\nContent-Disposition: form-data; name=\"a;\\\"b\"\r\n\r\n\r\n--X--", "X")[0].name,
      "a;\"b");
  for (const char* bad : {"", "x", "--X", "--X\r\n", "--X\r\nA: b\r\n\r\nc\r\n--X--", "--X\r\n\r\nc\r\n--X--",
                          "--X\r\nContent-Disposition: form-data; name=a\r\n\r\nc"})
    EXPECT_THROW(serve::parse_form(bad, "X"), Error) << bad;
}

TEST(BatchFile, FinishedLinesLoseWhatWasCutOff) {
  std::string text = "{\"custom_id\": \"a\"}\n{\"custom_id\": \"b\"}\n{\"custom";
  EXPECT_EQ(serve::finished_lines(text).size(), 2u);
  EXPECT_EQ(text, "{\"custom_id\": \"a\"}\n{\"custom_id\": \"b\"}\n");
  text = "{";
  EXPECT_TRUE(serve::finished_lines(text).empty());
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace quern
