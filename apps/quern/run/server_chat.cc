// A turn is a chat completion of the server, without a connection: its stream is printed as it comes.
#include "apps/quern/run/server_chat.h"

#include <unistd.h>

#include <set>

#include "apps/quern/cli/interrupt.h"
#include "apps/quern/cli/line_editor.h"
#include "apps/quern/run/chat_command.h"
#include "apps/quern/run/mcp_servers.h"
#include "apps/quern/run/served_folder.h"
#include "quern/mcp/protocol/event_reader.h"
#include "quern/serve/api/mcp_chat.h"
#include "quern/serve/http/memory_exchange.h"

namespace quern::cli {
namespace {

constexpr size_t kMaxShown = 300;  // bytes of a result

// What servers write, without what a terminal would obey.
std::string shown(std::string_view text) {
  std::string out(text);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]),
               next = static_cast<unsigned char>(i + 1 < out.size() ? out[i + 1] : 0);
    if ((c < ' ' && c != '\n' && c != '\t') || c == 127) out[i] = '?';
    if (c == 0xc2 && next >= 0x80 && next < 0xa0) out[i] = out[i + 1] = '?';  // control characters of Latin-1
  }
  return out;
}

class ServerChat {
 public:
  explicit ServerChat(const ServerChatOptions& o) : o_(o), servers_(read_mcp_servers(o.servers)) {
    model_ = load_served_folder(model_id(o.dir), o.dir, o.load);
    model_->defaults.do_sample = true, model_->defaults.sampling = o.generate.sampling;
    infer::EngineOptions engine = o.engine;
    engine.tokenizer = &model_->tokenizer, engine.speculate = o.generate.speculate.value_or(engine.speculate);
    model_->host = std::make_unique<serve::EngineHost>(*model_->model, engine, 4);
    seed_ = static_cast<int64_t>(o.generate.sampling.seed & 0xffff'ffff);
    reset();
  }

  int run() {
    rounds_.listing = mcp::Servers::list_tools(servers_->chosen({}));
    rounds_.permission = [this](const mcp::NamedTool& t, const Json& arguments) { return ask(t, arguments); };
    for (const mcp::UnreadServer& e : rounds_.listing.errors) fmt::print(stderr, "{}\n", shown(e.message));
    fmt::print(stderr, "{} tools of {} servers\n", rounds_.listing.tools.size(),
               servers_->chosen({}).size() - rounds_.listing.errors.size());
    if (terminal_)
      fmt::print(stderr,
                 "Ctrl-C stops the response, Ctrl-D quits; /new starts a new chat, /tools lists the tools.\n");
    while (auto line = editor_.read("> ")) {
      if (line->empty()) continue;
      if (*line == "/exit" || *line == "/quit") break;
      if (*line == "/new")
        reset();
      else if (*line == "/tools")
        list_tools();
      else if (*line == "/help")
        fmt::print(stderr, "/new  start a new chat    /tools  list the tools    /exit  quit\n");
      else if (const std::string unknown = unknown_command(*line); !unknown.empty())
        fmt::print(stderr, "{}\n", unknown);
      else
        turn(*line);
    }
    return 0;
  }

 private:
  void reset() {
    messages_ = Json::array();
    if (!o_.system.empty()) add("system", o_.system);
  }
  void add(const char* role, const std::string& text) {
    Json m = Json::object();
    m.set("role", role), m.set("content", text);
    messages_.push(std::move(m));
  }
  void list_tools() const {
    for (const mcp::NamedTool& t : rounds_.listing.tools)
      fmt::print(stderr, "{}  {}\n", shown(t.full_name()),
                 shown(t.tool.description.substr(0, t.tool.description.find('\n'))));
  }

  serve::ToolPermission ask(const mcp::NamedTool& tool, const Json& arguments) {
    const std::string name = tool.full_name();
    fmt::print(stderr, "\ncall {} {}\n", shown(name), shown(arguments.dump()));
    if (always_.contains(name)) return serve::ToolPermission::run;
    if (!terminal_) {
      fmt::print(stderr, "not run: without a terminal, no one can permit it\n");
      return serve::ToolPermission::refuse;
    }
    while (const auto answer = editor_.read("run it? y: yes, n: no, a: always this tool > ")) {
      if (*answer == "a") always_.insert(name);
      if (*answer == "y" || *answer == "a") return serve::ToolPermission::run;
      if (*answer == "n" || answer->empty()) break;  // Ctrl-C gives an empty line
    }
    return serve::ToolPermission::refuse;
  }

  Json body() {
    Json body = Json::object(), stop = Json::array();
    for (const std::string& s : o_.generate.stop) stop.push(s);
    body.set("messages", messages_), body.set("stream", true), body.set("seed", seed_++);
    body.set("max_tokens", o_.generate.max_tokens);
    if (!stop.as_array().empty()) body.set("stop", std::move(stop));
    return body;
  }

  void turn(const std::string& question) {
    add("user", question);
    Interrupt interrupt;
    said_.clear();
    Json between = Json::array();  // turns of the rounds of calls
    mcp::EventReader events;
    const Json request = body();
    serve::MemoryExchange e(request.dump(), [&](std::string_view data) {
      events.feed(data);
      while (const auto event = events.next())
        if (event->data != "[DONE]") take(Json::parse(event->data, "the stream"), between);
      return !interrupt.raised();
    });
    try {
      serve::chat_with_tools(*model_, e,
                             {.body = request, .memory = {}, .documents = {}, .conversation = {}, .question = {}}, "",
                             rounds_);
    } catch (const Error& x) {
      fmt::print(stderr, "{}\n", x.what());  // too long, say: the chat continues
      messages_.items().pop_back();
      return;
    }
    fmt::print("\n");
    std::fflush(stdout);
    for (const Json& m : between.as_array()) messages_.push(m);
    add("assistant", said_);
  }

  void take(const Json& chunk, Json& between) {
    if (const Json* error = chunk.find("error")) fmt::print(stderr, "{}\n", error->at("message").as_string());
    if (const Json* x = chunk.find("x_mcp")) return take_event(*x, between);
    const Json* choices = chunk.find("choices");
    if (!choices || choices->as_array().empty()) return;
    const Json& delta = choices->as_array()[0].at("delta");
    for (const char* key : {"reasoning_content", "content"})
      if (const Json* t = delta.find(key); t && t->is_string()) {
        fmt::print("{}", t->as_string());
        if (key == std::string_view("content")) said_ += t->as_string();
      }
    std::fflush(stdout);
  }

  void take_event(const Json& x, Json& between) {
    const std::string& event = x.at("event").as_string();
    if (event == "result") {
      const std::string& text = x.at("text").as_string();
      fmt::print(stderr, "{}{}{}\n", x.at("is_error") == Json(true) ? "error: " : "",
                 shown(text.substr(0, kMaxShown)), text.size() > kMaxShown ? " …" : "");
      said_.clear();  // what was said before a call stands in the messages of its round
    }
    if (event != "done") return;
    for (const Json& m : x.at("messages").as_array()) between.push(m);
    if (!x.at("pending").as_array().empty())
      fmt::print(stderr, "stopped after {} rounds of calls\n", x.at("rounds").as_int());
  }

  const ServerChatOptions& o_;
  std::shared_ptr<mcp::Servers> servers_;
  std::unique_ptr<serve::ServedModel> model_;
  serve::ToolRounds rounds_ = {};
  Json messages_;
  std::string said_;
  std::set<std::string> always_;
  LineEditor editor_;
  const bool terminal_ = isatty(STDIN_FILENO) != 0;
  int64_t seed_ = 0;
};

}  // namespace

int chat_with_servers(const ServerChatOptions& options) { return ServerChat(options).run(); }

}  // namespace quern::cli
