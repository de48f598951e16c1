// HTTP routes of the server: authentication, CORS, dispatch to the APIs, counters, and one log line per request.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/mcp/client/servers.h"
#include "quern/serve/api/adapters_api.h"
#include "quern/serve/app/live_settings.h"
#include "quern/serve/batch/batch_runner.h"
#include "quern/serve/chat/grounding.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/http/origin.h"
#include "quern/serve/keep/response_store.h"
#include "quern/serve/keep/session_files.h"
#include "quern/serve/limits/admission.h"
#include "quern/serve/models/model_manager.h"
#include "quern/serve/models/served_model.h"
#include "quern/serve/ollama/ollama_reply.h"
#include "quern/serve/telemetry/gen_ai.h"
#include "quern/serve/telemetry/otlp.h"

namespace quern::serve {

struct ModelNames;

struct AppOptions {
  std::vector<std::string> api_keys = {};  // without limits; no key of either kind: anybody who reaches the port
  std::string keys_file = {};              // keys with limits (serve/limits/client_key.h); empty: none
  LiveSettings live = {};                  // at first
  std::string prefix = {};                 // "/llm": everything lies below it
  int64_t max_requests = 256;              // in work at once; more get 429
  GroundingOptions grounding{};            // memory of conversations, documents
  AdapterOptions adapters{};               // what may be loaded while it runs
  std::shared_ptr<mcp::Servers> mcp = {};  // whose tools chats may use; null: none
  std::string sessions{};                  // a folder for saved sessions and stored responses; empty: none
  TurnRule batch_turn{};                   // while requests of clients wait
  std::string runs{};                      // a folder of training runs that clients may follow; empty: none
  bool slots_text = false;                 // /slots may show what is said to whom asks for it
  std::string otlp{};                      // a collector that takes traces over OTLP/HTTP; empty: none
  bool otlp_content = false;               // with prompts and answers
  bool log = true;                         // a line of JSON a request, to stderr; never what was said
};

class App {
 public:
  App(std::unique_ptr<ModelManager> models, AppOptions options);
  App(std::vector<std::unique_ptr<ServedModel>> models, AppOptions options);
  ~App();
  void handle(Exchange& e);

  void configure(LiveSettings settings);                // from the next request on
  size_t reload_keys() { return admission_.reload(); }  // throws Error, and all stays as it was; how many there are
  ModelManager& manager() { return *models_; }
  // Stopping: drain() makes it unready and refuses new work with 503, end_requests() ends what still runs with what it
  // has; lines of batches are left for the next server. busy(): requests that are being worked on, those that only read
  // left out.
  void drain();
  void end_requests();
  int64_t busy() const { return working_; }

  struct Route {
    const char *method, *path;  // a path that ends in '/': whatever lies below it
    void (App::*serve)(Exchange&);
    const char* about = nullptr;  // for the OpenAPI document (quern/serve/describe)
    bool open = false;            // without a key
    bool control = false;         // of what runs: no request of its own, and also taken when no other one is
  };
  static const std::vector<Route> kRoutes;
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
  std::shared_ptr<const LiveSettings> live() const;
  struct ModelName {
    std::string id, plan;  // of the name's end, empty: none
  };
  std::optional<ModelName> served_as(const std::string& name) const;
  bool may_use(const Caller& caller, std::string_view model) const;
  bool may_name(const Caller& caller, const std::string& name) const;  // in a request
  bool may_see(const Caller& caller,
               const std::string& id) const;  // in lists: it may use the model, by whatever name
  std::string meant(const std::string& name) const;
  ModelNames names_for(const Caller& caller, const LiveSettings& live) const;  // of both while it is in use
  void allow_model(const Caller& caller, Json& body) const;                    // or 403
  void refuse_change_of_adapters(const Exchange& e) const;                     // with 403
  void refuse_when_busy() const;                                               // with 429
  void refuse_when_stopping(Exchange& e) const;                                // with 503
  std::vector<std::string> unready() const;                                    // reasons; none: it is ready
  // The model a body names, and the plan its name carries ("name:mrsa").
  std::string model_name(const Json& body, std::string* plan = nullptr) const;
  std::shared_ptr<ServedModel> model_for(const Json& body, std::string* plan = nullptr);
  std::shared_ptr<ServedModel> language_model_for(const Json& body, std::string* plan = nullptr);  // not an encoder
  std::shared_ptr<ServedModel> model_with_room(const Json& body, std::string* plan = nullptr);     // or 429
  static void refuse_encoder(const ServedModel& m);
  static void refuse_full(const ServedModel& m);
  Json parse_body(Exchange& e) const;
  Json read_body(Exchange& e) const;  // and the model that it names is one that its caller may use

  void chat(Exchange& e);
  void complete(Exchange& e);
  void embed(Exchange& e);
  void rank(Exchange& e);
  void score(Exchange& e);
  void messages(Exchange& e);
  void count_tokens(Exchange& e);
  void responses(Exchange& e);
  void input_tokens(Exchange& e);
  void end_thinking(Exchange& e);
  void response(Exchange& e);
  void delete_response(Exchange& e);
  void sessions(Exchange& e);
  void session(Exchange& e);
  void post_session(Exchange& e);
  void delete_session(Exchange& e);
  void list_mcp(Exchange& e);
  void call_mcp(Exchange& e);
  const mcp::Servers& mcp_servers(const Exchange& e) const;  // throws ApiError
  void models(Exchange& e);
  void adapters(Exchange& e);
  void add_adapter(Exchange& e);
  void remove_adapter(Exchange& e);
  void tokenize(Exchange& e);
  void detokenize(Exchange& e);
  void apply_template(Exchange& e);
  void show_web_ui(Exchange& e);
  void runs(Exchange& e);
  void health(Exchange& e);
  void ready(Exchange& e);
  void usage(Exchange& e);
  void props(Exchange& e);
  void version(Exchange& e);
  void metrics(Exchange& e);
  void slots(Exchange& e);
  void openapi(Exchange& e);
  void llama_complete(Exchange& e);
  void infill(Exchange& e);
  void llama_embed(Exchange& e);
  using OllamaServe = std::function<void(ServedModel& m, const OllamaCall& call)>;
  std::string ollama_model(const Json& body) const;  // the id of the model that it names
  void ollama_run(const Caller& caller, const Json& body, const OllamaServe& serve);
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
  // A line of a batch, for the key that made it.
  LineEnd serve_inside(Exchange& e, const std::string& key, LineStart start);
  void cache(Exchange& e);
  void add_memory(Exchange& e);
  void search_memory(Exchange& e);
  void memory_conversations(Exchange& e);
  void memory_turns(Exchange& e);
  void memory_export(Exchange& e);
  void delete_memory_turn(Exchange& e);
  void delete_memory_conversation(Exchange& e);
  void search_recall(Exchange& e);
  void index_recall(Exchange& e);
  void delete_recall(Exchange& e);
  void refuse_foreign_page(const Exchange& e, const char* what) const;
  void refuse_foreign_memory(const Exchange& e, const Json& body) const;
  void refuse_foreign_page(const Exchange& e, const char* what, HostNames names) const;
  BatchRunner& batch_runner();  // made when it is first needed

  struct Working {  // counts one while it lives
    explicit Working(std::atomic<int64_t>& n) : count(n) { ++count; }
    ~Working() { --count; }
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;
    std::atomic<int64_t>& count;
  };

  Admission admission_;  // before the models, whose engines tell it what is spent
  std::unique_ptr<ModelManager> models_;
  int64_t started_;
  AppOptions o_;
  Grounding grounding_;
  SessionFiles sessions_;
  ResponseStore responses_;
  std::atomic<int64_t> running_ = 0, working_ = 0;
  std::atomic<bool> draining_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<const LiveSettings> live_;
  std::map<std::pair<std::string, int>, int64_t> answered_;  // path and status → count
  GenAiMetrics generation_;
  std::unique_ptr<OtlpExporter> exporter_;  // of traces; null: none
  std::unique_ptr<BatchRunner> batches_;    // last: its threads use the others
};

}  // namespace quern::serve
