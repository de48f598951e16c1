// The rounds: each is a chat completion whose messages have the calls and results so far.
#include "quern/serve/api/mcp_chat.h"

#include <algorithm>
#include <future>
#include <span>

#include "quern/base/nearest.h"
#include "quern/base/stopwatch.h"
#include "quern/serve/api/chat_api.h"
#include "quern/serve/api/chat_round.h"
#include "quern/serve/api/mcp_api.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

constexpr std::chrono::seconds kKeepAlive{10};
constexpr size_t kMaxAtOnce = 16;  // calls of a round that run at the same time

// Numbers of `more` are added to those of `sum`, by name.
void add_usage(Json& sum, const Json& more) {
  if (sum.is_null()) {
    sum = more;
    return;
  }
  if (!more.is_object()) return;
  for (const auto& [name, value] : more.as_object()) {
    const Json* had = sum.find(name);
    if (!had) {
      sum.set(name, value);
    } else if (value.is_int() && had->is_int()) {
      sum.set(name, had->as_int() + value.as_int());
    } else if (value.is_object() && had->is_object()) {
      Json inner = *had;
      add_usage(inner, value);
      sum.set(name, std::move(inner));
    }
  }
}

Json function_json(const mcp::NamedTool& t) {
  Json j = Json::object(), function = Json::object();
  function.set("name", t.function);
  function.set("description", t.tool.description.empty() ? t.tool.title : t.tool.description);
  if (!t.tool.input_schema.is_null()) function.set("parameters", t.tool.input_schema);
  j.set("type", "function"), j.set("function", std::move(function));
  return j;
}

struct RoundCall {                       // one call of a round, and what came of it
  const mcp::NamedTool* tool = nullptr;  // null: of the client's own
  std::string id, function;
  Json arguments = Json::object();
  ToolPermission permission = ToolPermission::hand_back;
  mcp::RemoteResult result = {};
  double ms = 0;

  Json json() const {
    Json j = Json::object();
    j.set("id", id), j.set("function", function);
    if (tool) j.set("server", tool->server->name()), j.set("tool", tool->tool.name);
    j.set("arguments", arguments);
    return j;
  }
};

class ToolChat {
 public:
  ToolChat(ServedModel& m, Exchange& e, const Grounded& g, const std::string& plan, const ToolRounds& rounds)
      : m_(m), e_(e), g_(g), plan_(plan), rounds_(rounds), stream_(e) {}

  std::optional<std::string> run() {
    prepare();
    for (int64_t round = 1;; ++round) {
      ChatRound x(e_, stream_, round == 1 ? ChatRound::Place::first : ChatRound::Place::later);
      std::optional<std::string> said;
      try {
        said = chat_completions(m_, x, g_, plan_);
      } catch (const ApiError& error) {
        if (!stream_.begun()) throw;
        return end_with(error);
      } catch (const Error& error) {
        if (!stream_.begun()) throw;
        return end_with(ApiError(error.what()));
      }
      add_usage(usage_, x.usage());
      if (e_.gone() || x.failed()) return fail_with(x);
      std::vector<RoundCall> calls = calls_of(x);
      if (!x.wants_calls() || calls.empty() || round > rounds_.max_rounds || !may_run(calls)) {
        finish(x, calls);
        return calls.empty() ? said : std::nullopt;
      }
      run_calls(round, calls);
      if (e_.gone()) return fail_with(x);
      remember(x, calls);
    }
  }

 private:
  void prepare() {
    const Json* stream = g_.body.find("stream");
    streams_ = stream && *stream == Json(true);
    if (const Json* n = g_.body.find("n"); n && !n->is_null() && *n != Json(1)) bad_field("n", "one choice with mcp");
    if (const Json* o = g_.body.find("stream_options"))
      include_usage_ = Fields(*o).boolean("include_usage").value_or(false);
    if (streams_) {  // the sum of all rounds needs the usage of each
      Json options = Json::object();
      options.set("include_usage", true), g_.body.set("stream_options", std::move(options));
    }
    Json tools = Json::array();
    if (const Json* own = g_.body.find("tools"); own && own->is_array()) tools = *own;
    for (const mcp::NamedTool& t : rounds_.listing.tools) tools.push(function_json(t));
    if (!tools.as_array().empty()) g_.body.set("tools", std::move(tools));
  }

  // A stream may end with a call that was cut off: it is none of a server's, and goes to the client as it is.
  std::vector<RoundCall> calls_of(const ChatRound& x) const {
    std::vector<RoundCall> calls;
    for (const ToolCall& c : x.calls()) {
      RoundCall one{.tool = rounds_.listing.find(c.name), .id = c.id, .function = c.name};
      try {
        one.arguments = Json::parse(c.arguments, "the arguments of a call");
      } catch (const Error&) {
        one.tool = nullptr;
      }
      calls.push_back(std::move(one));
    }
    return calls;
  }

  bool may_run(std::vector<RoundCall>& calls) const {
    for (RoundCall& c : calls) {
      if (c.tool) c.permission = rounds_.permission(*c.tool, c.arguments);
      if (c.permission == ToolPermission::hand_back) return false;
    }
    return true;
  }

  void run_calls(int64_t round, std::span<RoundCall> calls) {
    for (; !calls.empty(); calls = calls.subspan(std::min(kMaxAtOnce, calls.size())))
      run_together(round, calls.first(std::min(kMaxAtOnce, calls.size())));
  }

  void run_together(int64_t round, std::span<RoundCall> calls) {
    std::vector<std::future<void>> running;
    for (RoundCall& c : calls) {
      tell("call", round, c.json());
      running.push_back(std::async(std::launch::async, [this, &c] { run_call(c); }));
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      while (running[i].wait_for(kKeepAlive) != std::future_status::ready)
        if (streams_) stream_.send_raw(": still working\n\n");
      const RoundCall& c = calls[i];
      Json result = Json::object();
      result.set("id", c.id), result.set("text", c.result.text);
      result.set("is_error", c.result.is_error), result.set("ms", c.ms);
      tell("result", round, result);
      Json both = Json::object();
      both.set("round", round);
      const Json call = c.json();
      for (const auto& [name, value] : call.as_object()) both.set(name, value);
      both.set("text", c.result.text), both.set("is_error", c.result.is_error), both.set("ms", c.ms);
      ran_.push(std::move(both));
    }
  }

  void run_call(RoundCall& c) const {
    const Stopwatch watch;
    auto failed = [&](const std::string& why) {
      c.result = {.content = Json::array(), .structured = {}, .text = why, .is_error = true};
    };
    if (c.permission == ToolPermission::refuse) return failed("the user did not permit this call");
    try {
      c.result = c.tool->server->call(
          c.tool->tool.name, c.arguments,
          {.seconds = c.tool->server->call_seconds(), .cancelled = [this] { return e_.gone(); }});
    } catch (const Error& x) {
      failed(x.what());
    }
    c.ms = 1e3 * watch.seconds();
  }

  void tell(const char* event, int64_t round, const Json& what) {
    if (!streams_) return;
    Json j = Json::object();
    j.set("event", event), j.set("round", round);
    for (const auto& [name, value] : what.as_object()) j.set(name, value);
    stream_.tell(std::move(j));
  }

  // The round becomes a part of the conversation.
  void remember(const ChatRound& x, const std::vector<RoundCall>& calls) {
    ++ran_rounds_;
    auto add = [&](const Json& message) {
      history_.push(message);
      for (auto& [key, value] : g_.body.members())
        if (key == "messages") value.push(message);
    };
    add(x.message());
    for (const RoundCall& c : calls) {
      Json m = Json::object();
      m.set("role", "tool"), m.set("tool_call_id", c.id);
      m.set("content", (c.result.is_error ? "Error: " : "") + c.result.text);
      add(m);
    }
    if (const Json* choice = g_.body.find("tool_choice"); choice && *choice != Json("none"))
      g_.body.erase("tool_choice");
    g_.body.erase("continue_final_message");  // the first round has continued it
  }

  Json outcome(const std::vector<RoundCall>& left) const {
    Json j = Json::object(), pending = Json::array();
    for (const RoundCall& c : left)
      if (c.tool) pending.push(c.json());
    j.set("rounds", ran_rounds_), j.set("calls", ran_), j.set("pending", std::move(pending));
    j.set("messages", history_), j.set("errors", unread_servers_json(rounds_.listing.errors));
    return j;
  }

  void finish(const ChatRound& x, const std::vector<RoundCall>& left) {
    if (!streams_) {
      Json j = Json::parse(x.body(), "the answer of a round");
      j.set("usage", usage_), j.set("x_mcp", outcome(left));
      return e_.answer(200, "application/json", j.dump());
    }
    for (const Json& chunk : x.held()) stream_.send(chunk);
    Json done = Json::object();
    const Json what = outcome(left);
    done.set("event", "done");
    for (const auto& [name, value] : what.as_object()) done.set(name, value);
    stream_.tell(std::move(done));
    if (include_usage_) {
      Json chunk = Json::object();
      if (!x.held().empty()) chunk = x.held().back();
      chunk.set("choices", Json::array()), chunk.set("usage", usage_);
      stream_.send(std::move(chunk));
    }
    stream_.done();
  }

  std::optional<std::string> end_with(const ApiError& error) {
    stream_.send(error_json(error));
    stream_.done();
    return std::nullopt;
  }

  std::optional<std::string> fail_with(const ChatRound& x) {
    if (stream_.begun())
      stream_.done();
    else if (x.status() != 0)
      e_.answer(x.status(), "application/json", x.body());
    return std::nullopt;
  }

  ServedModel& m_;
  Exchange& e_;
  Grounded g_;
  const std::string& plan_;
  const ToolRounds& rounds_;
  RoundsStream stream_;
  bool streams_ = false, include_usage_ = false;
  int64_t ran_rounds_ = 0;
  Json ran_ = Json::array(), history_ = Json::array(), usage_;
};

}  // namespace

std::optional<ToolRounds> read_tool_rounds(const Json& body, const mcp::Servers* servers) {
  const Json* field = body.find("mcp");
  if (!field || field->is_null() || *field == Json(false)) return std::nullopt;
  if (!servers) bad_field("mcp", "this server has no MCP servers: it was started without a file that names them");
  const Json asked = *field == Json(true) ? Json::object() : *field;
  if (!asked.is_object()) bad_field("mcp", "expected true or an object");
  const std::vector<std::string> known = {"servers", "tools", "allow", "max_rounds"};
  for (const auto& [key, value] : asked.as_object())
    if (std::find(known.begin(), known.end(), key) == known.end())
      bad_field("mcp." + key, "not known; expected {}{}", fmt::join(known, ", "), did_you_mean(key, known));
  const Fields f(asked);
  const std::vector<std::string> names = f.texts("servers"), only = f.texts("tools"), allow = f.texts("allow");
  for (const std::string& name : names) mcp_server_named(*servers, name, "mcp.servers");
  ToolRounds rounds{.listing = mcp::Servers::list_tools(servers->chosen(names)), .permission = {}};
  rounds.max_rounds = f.integer("max_rounds", 0, 64).value_or(8);
  if (!only.empty()) {
    std::vector<std::string> all;
    for (const mcp::NamedTool& t : rounds.listing.tools) all.push_back(t.full_name());
    for (const std::string& name : only)
      if (std::find(all.begin(), all.end(), name) == all.end() && rounds.listing.errors.empty())
        bad_field("mcp.tools", "there is no tool '{}'{}", name, did_you_mean(name, all));
    std::erase_if(rounds.listing.tools, [&](const mcp::NamedTool& t) {
      return std::find(only.begin(), only.end(), t.full_name()) == only.end();
    });
  }
  rounds.permission = [allow](const mcp::NamedTool& t, const Json&) {
    return mcp::permits(allow, t) ? ToolPermission::run : ToolPermission::hand_back;
  };
  return rounds;
}

std::optional<std::string> chat_with_tools(ServedModel& m, Exchange& e, const Grounded& g, const std::string& plan,
                                           const ToolRounds& rounds) {
  return ToolChat(m, e, g, plan, rounds).run();
}

std::optional<std::string> chat_as_asked(ServedModel& m, Exchange& e, Grounded g, const std::string& plan,
                                         const mcp::Servers* servers) {
  const std::optional<ToolRounds> rounds = read_tool_rounds(g.body, servers);
  if (!rounds) return chat_completions(m, e, g, plan);
  g.body.erase("mcp");
  return chat_with_tools(m, e, g, plan, *rounds);
}

}  // namespace quern::serve
