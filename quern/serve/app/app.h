// HTTP routes of the server: authentication, CORS, dispatch to the APIs, counters, and one log line per request.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quern/serve/api/adapters_api.h"
#include "quern/serve/batch/batch_runner.h"
#include "quern/serve/chat/grounding.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/keep/response_store.h"
#include "quern/serve/keep/session_files.h"
#include "quern/serve/models/model_manager.h"
#include "quern/serve/models/served_model.h"
#include "quern/serve/ollama/ollama_reply.h"
#include "quern/serve/telemetry/gen_ai.h"
#include "quern/serve/telemetry/otlp.h"

namespace quern::serve {

struct AppOptions {
  std::vector<std::string> api_keys = {};       // empty: anybody who reaches the port
  std::vector<std::string> allow_origins = {};  // of CORS, "*" for all; empty: pages of other origins may not call
  std::string allow_methods = "GET, POST, DELETE, OPTIONS";  // of these pages
  std::string allow_headers = {};                            // empty: those they ask for
  std::string prefix = {};                                   // "/llm": everything lies below it
  int64_t max_requests = 256;                                // in work at once; more get 429
  GroundingOptions grounding{};                              // memory of conversations, documents
  AdapterOptions adapters{};                                 // what may be loaded while it runs
  std::string sessions{};     // a folder for saved sessions and stored responses; empty: none
  bool slots_text = false;    // /slots may show what is said to whom asks for it
  std::string otlp{};         // a collector that takes traces over OTLP/HTTP; empty: none
  bool otlp_content = false;  // with prompts and answers
  bool log = true;            // a line of JSON a request, to stderr; never what was said
};

class App {
 public:
  App(std::unique_ptr<ModelManager> models, AppOptions options);
  App(std::vector<std::unique_ptr<ServedModel>> models, AppOptions options);
  ~App();
  void handle(Exchange& e);

  struct Route {
    const char *method, *path;  // a path that ends in '/': whatever lies below it
    void (App::*serve)(Exchange&);
    const char* about = nullptr;  // for the OpenAPI document (quern/serve/describe)
    bool open = false;            // without a key
  };
  static const std::vector<Route>& routes();
  static Json openapi_json(const AppOptions& options);

 private:
  static bool matches(const Route& r, const std::string& path);
  // The one method of a path below what a route serves, such as /v1/batches/ID/cancel; null: it is no such path.
  static const char* method_below(const std::string& path);
  void add_cors_headers(Exchange& e) const;
  bool enter(Exchange& e) const;  // below the prefix; false: it is answered
  void dispatch(Exchange& e);
  void measure(Exchange& e, const std::string& path, double seconds);  // after its answer
  bool requests_wait() const;                                          // in the queue of a model
  bool allowed(const HttpRequest& r) const;
  // The model a body names, and the plan its name carries ("name:mrsa").
  std::string model_name(const Json& body, std::string* plan = nullptr) const;
  std::shared_ptr<ServedModel> model_for(const Json& body, std::string* plan = nullptr);
  std::shared_ptr<ServedModel> language_model_for(const Json& body, std::string* plan = nullptr);  // not an encoder
  std::shared_ptr<ServedModel> model_with_room(const Json& body, std::string* plan = nullptr);     // or 429
  static void refuse_encoder(const ServedModel& m);
  static void refuse_full(const ServedModel& m);
  Json read_body(Exchange& e) const;

  void chat(Exchange& e);
  void complete(Exchange& e);
  void embed(Exchange& e);
  void rank(Exchange& e);
  void score(Exchange& e);
  void messages(Exchange& e);
  void count_tokens(Exchange& e);
  void responses(Exchange& e);
  void response(Exchange& e);
  void delete_response(Exchange& e);
  void sessions(Exchange& e);
  void session(Exchange& e);
  void post_session(Exchange& e);
  void delete_session(Exchange& e);
  void models(Exchange& e);
  void adapters(Exchange& e);
  void add_adapter(Exchange& e);
  void remove_adapter(Exchange& e);
  void tokenize(Exchange& e);
  void detokenize(Exchange& e);
  void apply_template(Exchange& e);
  void show_web_ui(Exchange& e);
  void health(Exchange& e);
  void props(Exchange& e);
  void version(Exchange& e);
  void metrics(Exchange& e);
  void slots(Exchange& e);
  void openapi(Exchange& e);
  void llama_complete(Exchange& e);
  void infill(Exchange& e);
  void llama_embed(Exchange& e);
  using OllamaServe = std::function<void(ServedModel& m, const OllamaCall& call)>;
  void ollama_run(const Json& body, const OllamaServe& serve);
  void ollama_write(Exchange& e, void (*answer)(ServedModel&, Exchange&, const Json&, const OllamaCall&));
  void ollama_chat(Exchange& e);
  void ollama_generate(Exchange& e);
  void ollama_tags(Exchange& e);
  void ollama_show(Exchange& e);
  void ollama_ps(Exchange& e);
  void ollama_embed(Exchange& e);
  void ollama_embeddings(Exchange& e);
  void ollama_refuse(Exchange& e);
  void post_file(Exchange& e);
  void files(Exchange& e);
  void file(Exchange& e);
  void delete_file(Exchange& e);
  void post_batch(Exchange& e);
  void batches(Exchange& e);
  void batch(Exchange& e);
  void post_batch_step(Exchange& e);
  void serve_inside(Exchange& e);  // a request of the server's own: a line of a batch
  void refuse_foreign_page(const Exchange& e) const;
  BatchRunner& batch_runner();  // made when it is first needed

  std::unique_ptr<ModelManager> models_;
  int64_t started_;
  AppOptions o_;
  Grounding grounding_;
  SessionFiles sessions_;
  ResponseStore responses_;
  std::atomic<int64_t> running_ = 0;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> answered_;  // path and status → count
  GenAiMetrics generation_;
  std::unique_ptr<OtlpExporter> exporter_;  // of traces; null: none
  std::unique_ptr<BatchRunner> batches_;    // last: its threads use the others
};

}  // namespace quern::serve
