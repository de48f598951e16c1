// For tests: a server on a tiny random model, and what to expect of its answers.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "quern/serve/app/app.h"
#include "tests/serve/raw_client.h"
#include "tests/serve/scripted_model.h"

namespace quern {

// Two layers of llama over about 320 tokens, `</s>` ends an answer; `chat_template` empty: a plain one.
std::unique_ptr<serve::ServedModel> tiny_model(int64_t max_waiting, const std::string& chat_template = {});

struct Event {
  std::string name;
  Json data;
};
std::vector<Event> events_of(const std::string& body);  // of a stream whose events have names, each its data's type

class Serving : public testing::Test {
 protected:
  void start(serve::AppOptions options = {}, serve::HttpServerOptions http_options = {}, int64_t max_waiting = 64) {
    options.log = false, http_options.port = 0;
    std::vector<std::unique_ptr<serve::ServedModel>> models;
    models.push_back(script_.empty() ? tiny_model(max_waiting, chat_template_)
                                     : scripted_model("scripted", script_, context_));
    model_ = models[0].get();
    for (const std::string& name : more_models_) models.push_back(tiny_model(max_waiting)), models.back()->id = name;
    app_ = std::make_unique<serve::App>(std::move(models), options);
    server_ = std::make_unique<serve::HttpServer>(http_options, [this](serve::Exchange& e) { app_->handle(e); });
    thread_ = std::jthread([this] { server_->run(); });
  }
  ~Serving() override {
    if (server_) server_->stop();
    if (thread_.joinable()) thread_.join();
    server_.reset();
  }
  int port() const { return server_->port(); }
  RawAnswer post(const char* path, const std::string& body, const char* headers = "") {
    return http(port(), "POST", path, body, headers);
  }
  Json ok(const RawAnswer& a) {
    EXPECT_EQ(a.status, 200) << a.body;
    return Json::parse(a.body);
  }
  // status, and the error's code and param.
  void refused(const RawAnswer& a, int status, const std::string& word) {
    EXPECT_EQ(a.status, status) << a.body;
    EXPECT_NE(a.body.find(word), a.body.npos) << a.body;
    EXPECT_TRUE(Json::parse(a.body).at("error").at("message").is_string());
  }
  template <class F>
  void eventually(const char* what, F&& f) {
    for (int i = 0; i < 1000; ++i) {
      if (f()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "never: " << what;
  }

  std::string chat_template_;             // of the model, set before start()
  std::vector<ScriptLine> script_;        // the model is a scripted one with this context
  std::vector<std::string> more_models_;  // served beside it: tiny ones of these names
  int64_t context_ = 200'000;
  serve::ServedModel* model_ = nullptr;
  std::unique_ptr<serve::App> app_;
  std::unique_ptr<serve::HttpServer> server_;
  std::jthread thread_;
};

}  // namespace quern
