// The server's routes: who may ask, what each path answers, and one line of log a request.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quern/serve/http_server.h"
#include "quern/serve/served_model.h"

namespace quern {

struct AppOptions {
  std::vector<std::string> api_keys;  // empty: anybody who reaches the port
  std::string allow_origin;           // of CORS; empty: pages of other origins may not call
  int64_t most_requests = 256;        // in work at once; more get 429
  bool log = true;                    // a line of JSON a request, to stderr; never what was said
};

class App {
 public:
  App(std::vector<std::unique_ptr<ServedModel>> models, AppOptions options);
  ~App();
  void handle(Exchange& e);

 private:
  struct Route {
    const char *method, *path;
    void (App::*serve)(Exchange&);
    bool open = false;  // without a key
  };
  static const std::vector<Route>& routes();
  void dispatch(Exchange& e);
  bool allowed(const HttpRequest& r) const;
  // The model a body names, and the plan its name carries ("name:mrsa").
  ServedModel& model_for(const Json& body, std::string* plan = nullptr);
  Json read_body(Exchange& e) const;

  void chat(Exchange& e);
  void complete(Exchange& e);
  void models(Exchange& e);
  void tokenize(Exchange& e);
  void detokenize(Exchange& e);
  void apply_template(Exchange& e);
  void show_page(Exchange& e);
  void health(Exchange& e);
  void props(Exchange& e);
  void metrics(Exchange& e);

  std::vector<std::unique_ptr<ServedModel>> models_;
  AppOptions o_;
  std::atomic<int64_t> in_work_ = 0;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> answered_;  // path and status → count
};

}  // namespace quern
