// Training runs as a client follows them: the list, lines after a place, a file that was rewritten, refusals; and the files
// of the web UI, which need no key.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "quern/serve/app/web_ui.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class Runs : public Serving {
 protected:
  Runs() : folder_(fs::temp_directory_path() / fmt::format("quern-runs-{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "sums");
    fs::create_directories(folder_ / "no-run");
  }
  ~Runs() override { fs::remove_all(folder_); }
  void write(const char* file, const std::string& text, std::ios::openmode mode = std::ios::app) const {
    std::ofstream(folder_ / "sums" / file, mode) << text;
  }
  static std::string step(int n) {
    return fmt::format("{{\"step\": {}, \"loss\": {}, \"tokens\": {}}}\n", n, 4.0 / n, 100 * n);
  }
  void start_with_runs() {
    serve::AppOptions o;
    o.runs = folder_.string();
    start(o);
  }
  Json follow(const std::string& after) { return ok(http(port(), "GET", ("/v1/runs/sums?after=" + after).c_str())); }
  fs::path folder_;
};

TEST_F(Runs, AreListedAndFollowed) {
  write("metrics.jsonl",
        step(1) + step(2) + "{\"step\": 2, \"event\": \"spike\", \"text\": \"x\"}\n{\"step\": 3, \"lo");
  write("rollouts.jsonl", "{\"step\": 1, \"answer\": \"a\"}\n{\"step\": 2, \"answer\": \"b\"}\n");
  start_with_runs();
  const Json list = ok(http(port(), "GET", "/v1/runs")).at("data");
  ASSERT_EQ(list.as_array().size(), 1u);
  EXPECT_EQ(list.as_array()[0].at("id").as_string(), "sums");
  EXPECT_EQ(list.as_array()[0].at("step").as_int(), 2);
  EXPECT_DOUBLE_EQ(list.as_array()[0].at("loss").as_double(), 2);
  EXPECT_TRUE(ok(http(port(), "GET", "/props")).at("runs").as_bool());

  const Json first = follow("0");
  EXPECT_TRUE(first.at("reset").as_bool());
  ASSERT_EQ(first.at("metrics").as_array().size(), 3u) << "the half-written line waits";
  EXPECT_EQ(first.at("samples").as_array()[0].at("answer").as_string(), "b") << "the newest first";

  write("metrics.jsonl", "ss\": 1.5}\nnot json\n" + step(4));
  const Json more = follow(first.at("next").as_string());
  EXPECT_FALSE(more.at("reset").as_bool());
  ASSERT_EQ(more.at("metrics").as_array().size(), 2u);
  EXPECT_DOUBLE_EQ(more.at("metrics").as_array()[0].at("loss").as_double(), 1.5);
  EXPECT_EQ(more.at("metrics").as_array()[1].at("step").as_int(), 4);
  EXPECT_TRUE(follow(more.at("next").as_string()).at("metrics").as_array().empty());

  fs::rename(folder_ / "sums" / "metrics.jsonl", folder_ / "sums" / "before.jsonl");  // training went back
  write("metrics.jsonl", step(1));
  const Json again = follow(more.at("next").as_string());
  EXPECT_TRUE(again.at("reset").as_bool());
  EXPECT_EQ(again.at("metrics").as_array().size(), 1u);
}

TEST_F(Runs, OfALongFileTheEndIsRead) {
  std::string text;
  for (int n = 1; text.size() < (size_t{5} << 20); ++n) text += step(n);
  write("metrics.jsonl", text);
  start_with_runs();
  const Json j = follow("0");
  const auto& lines = j.at("metrics").as_array();
  ASSERT_GT(lines.size(), 1000u);
  EXPECT_GT(lines.front().at("step").as_int(), 1);
  for (size_t i = 1; i < lines.size(); ++i)
    ASSERT_EQ(lines[i].at("step").as_int(), lines[i - 1].at("step").as_int() + 1) << "whole lines, none left out";
  EXPECT_TRUE(follow(j.at("next").as_string()).at("metrics").as_array().empty());
}

TEST_F(Runs, WhatIsNotThereIsRefused) {
  write("metrics.jsonl", step(1));
  start_with_runs();
  refused(http(port(), "GET", "/v1/runs/sum"), 404, "did you mean 'sums'");
  refused(http(port(), "GET", "/v1/runs/..%2fsums"), 404, "there is no run");
  refused(http(port(), "GET", "/v1/runs/no-run"), 404, "there is no run");
  for (const char* wrong : {"x", "1", "1.", ".1", "1.-5", "1.5x"})
    refused(http(port(), "GET", (std::string("/v1/runs/sums?after=") + wrong).c_str()), 400, "`next`");
}

TEST_F(Runs, NeedAFolder) {
  start();
  EXPECT_FALSE(ok(http(port(), "GET", "/props")).at("runs").as_bool());
  refused(http(port(), "GET", "/v1/runs"), 404, "without a folder of runs");
}

TEST_F(Runs, AreForThoseWithAKeyAndTheWebUiForAll) {
  serve::AppOptions o;
  o.runs = folder_.string(), o.api_keys = {"secret"};
  start(o);
  refused(http(port(), "GET", "/v1/runs"), 401, "API key");
  ASSERT_EQ(serve::web_files().size(), 4u);
  for (const serve::WebFile& f : serve::web_files()) {
    const RawAnswer a = http(port(), "GET", std::string(f.path).c_str());
    EXPECT_EQ(a.status, 200) << f.path;
    EXPECT_EQ(a.body, f.text) << f.path;
  }
  const Json manifest = Json::parse(std::string(serve::web_files()[1].text));
  EXPECT_EQ(manifest.at("icons").as_array()[0].at("src").as_string(), "icon.svg");
  EXPECT_EQ(manifest.at("start_url").as_string(), "./") << "relative, for a server behind a path prefix";
}

}  // namespace
}  // namespace quern
