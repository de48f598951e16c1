// What `quern mcp` offers: documents, memory and models, by the tools that a client calls.
#include <fstream>
#include <map>

#include "quern/mcp/offers/memory_offers.h"
#include "quern/mcp/offers/model_offers.h"
#include "quern/mcp/offers/recall_offers.h"
#include "quern/recall/store/store.h"
#include "tests/cli/shell.h"
#include "tests/serve/serving.h"

namespace quern::mcp {
namespace {

class Nowhere final : public Outlet {
 public:
  void notify(const Json& m) override { said.push_back(m); }
  void keep_alive() override {}
  bool gone() const override { return false; }
  std::vector<Json> said;
};

class McpOffers : public testing::Test {
 protected:
  McpOffers() : server_("0", ""), session_(server_) {}
  void begin() {
    ask("initialize",
        R"({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}})");
  }
  Json ask(const std::string& method, const std::string& params) {
    const auto reply = session_.handle(read_message(request_json(++id_, method, Json::parse(params))), out_);
    if (!reply || !reply->find("result")) return ADD_FAILURE() << (reply ? reply->dump() : "nothing"), Json::object();
    return reply->at("result");
  }
  Json call(const std::string& tool, const std::string& arguments) {
    const Json r = ask("tools/call", fmt::format(R"({{"name": "{}", "arguments": {}}})", tool, arguments));
    EXPECT_EQ(r.at("isError"), Json(false)) << r.dump();
    const Json* s = r.find("structuredContent");
    return s ? *s : Json::object();
  }
  void mistake(const std::string& word, const std::string& tool, const std::string& arguments) {
    const Json r = ask("tools/call", fmt::format(R"({{"name": "{}", "arguments": {}}})", tool, arguments));
    EXPECT_EQ(r.at("isError"), Json(true)) << r.dump();
    EXPECT_NE(r.dump().find(word), std::string::npos) << r.dump();
  }
  ScratchFolder folder_;
  Server server_;
  Session session_;
  Nowhere out_;
  int id_ = 0;
};

TEST_F(McpOffers, Documents) {
  const std::string text = folder_ / "docs";
  std::filesystem::create_directories(text);
  std::ofstream(text + "/the mill.md")
      << "# The mill\n\nThe old mill burned down in the spring.\n\nNo one rebuilt it.\n";
  std::ofstream(text + "/bread.txt") << "Bread needs flour, water and salt.\n";
  auto store = recall::RecallStore::open_or_create(folder_ / "index", {});
  store.index({text}, {});
  offer_documents(server_, folder_ / "index");
  begin();
  const Json hits = call("search_documents", R"({"query": "When did the mill burn?", "k": 1})").at("hits");
  ASSERT_EQ(hits.as_array().size(), 1u);
  const std::string path = hits.as_array()[0].at("path").as_string();
  EXPECT_TRUE(path.ends_with("the mill.md"));
  EXPECT_NE(hits.as_array()[0].at("text").as_string().find("burned down"), std::string::npos);
  const Json part = call("read_document", fmt::format(R"({{"path": "{}", "from_line": 3, "lines": 1}})", path));
  EXPECT_EQ(part.at("text"), Json("The old mill burned down in the spring.\n"));
  EXPECT_EQ(part.at("all_lines"), Json(5));
  mistake("did you mean", "read_document", fmt::format(R"({{"path": "{}"}})", path.substr(0, path.size() - 1)));
  mistake("after its end", "read_document", fmt::format(R"({{"path": "{}", "from_line": 9}})", path));
  mistake("/k", "search_documents", R"({"query": "x", "k": 51})");
  mistake("query", "search_documents", R"({"k": 5})");
  mistake("question", "search_documents", R"({"query": "x", "question": "y"})");
  const Json::Array list = ask("resources/list", "{}").at("resources").as_array();
  ASSERT_EQ(list.size(), 2u);
  const std::string uri = hits.as_array()[0].at("uri").as_string();
  EXPECT_NE(uri.find("the%20mill.md"), std::string::npos) << uri;
  const Json read = ask("resources/read", fmt::format(R"({{"uri": "{}"}})", uri)).at("contents").as_array()[0];
  EXPECT_EQ(read.at("mimeType"), Json("text/markdown"));
  EXPECT_NE(read.at("text").as_string().find("No one rebuilt it."), std::string::npos);
  const std::string prompt =
      ask("prompts/get", R"({"name": "answer_from_documents", "arguments": {"question": "What of the mill?"}})")
          .dump();
  EXPECT_NE(prompt.find("burned down"), std::string::npos);
  EXPECT_NE(prompt.find("What of the mill?"), std::string::npos);
  std::ofstream(text + "/tower.txt") << "The tower stands on the hill.\n";  // by another process, meanwhile
  recall::RecallStore(folder_ / "index").index({text}, {});
  EXPECT_EQ(call("search_documents", R"({"query": "tower hill", "k": 1})").at("hits").as_array().size(), 1u);
  std::ofstream out(text + "/long.txt");
  for (int i = 0; i < 160'000; ++i) out << "€€ ";
  out.close();
  recall::RecallStore(folder_ / "index").index({text}, {});
  const std::string long_uri = uri.substr(0, uri.rfind('/') + 1) + "long.txt";
  const std::string cut = ask("resources/read", fmt::format(R"({{"uri": "{}"}})", long_uri))
                              .at("contents")
                              .as_array()[0]
                              .at("text")
                              .as_string();
  const size_t end = cut.find("\n(the first ");
  ASSERT_NE(end, cut.npos);
  EXPECT_TRUE(cut[end - 1] == ' ' || cut.substr(end - 3, 3) == "€") << "whole characters";
}

TEST_F(McpOffers, Memory) {
  offer_memory(server_, folder_ / "memory.db", "Europe/Berlin");
  begin();
  mistake("no conversation", "memory_ask", R"({"question": "What?"})");
  call("memory_add", R"({"text": "I adopted a cat named Mina.", "time": "2026-03-02 10:00"})");
  call("memory_add", R"({"text": "I sold my bicycle.", "time": "2026-05-04 18:30", "speaker": "Ada"})");
  const Json added = call("memory_add", R"({"text": "The demo is on Friday.", "conversation": "work"})");
  EXPECT_EQ(added.at("conversation"), Json("work"));
  const Json::Array found =
      call("memory_ask", R"({"question": "What did I say in March 2026?", "now": "2026-06-01"})")
          .at("turns")
          .as_array();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].at("text"), Json("I adopted a cat named Mina."));
  EXPECT_EQ(found[0].at("time"), Json("2026-03-02 10:00:00"));
  EXPECT_EQ(call("memory_list", "{}").at("conversations").as_array().size(), 2u);
  const Json page = call("memory_list", R"({"scope": "user", "limit": 1})");
  EXPECT_EQ(page.at("turns").as_array()[0].at("speaker"), Json("Ada"));
  const int64_t before = page.at("earlier_before").as_int();
  EXPECT_EQ(
      call("memory_list", fmt::format(R"({{"scope": "user", "before": {}}})", before)).at("turns").as_array().size(),
      1u);
  const std::string all = ask("resources/read", R"({"uri": "quern-conversation:user"})").dump();
  EXPECT_LT(all.find("Mina"), all.find("bicycle"));
  EXPECT_NE(ask("prompts/get", R"({"name": "recall_conversation", "arguments": {"question": "Who is Mina?"}})")
                .dump()
                .find("cat"),
            std::string::npos);
  mistake("takes no name", "memory_list", R"({"scope": "user", "conversation": "work"})");
  mistake("needs the name", "memory_list", R"({"scope": "conversation"})");
  mistake("holds no conversation 'play'", "memory_ask", R"({"question": "x", "conversation": "play"})");
  mistake("time", "memory_add", R"({"text": "x", "time": "some day"})");
  mistake("exactly one", "memory_forget", "{}");
  mistake("exactly one", "memory_forget", R"({"response": 0, "session": 1})");
  mistake("nothing was deleted", "memory_forget", R"({"response": 99})");
  EXPECT_EQ(call("memory_forget", R"({"before": "2026-04-01"})").at("forgotten"), Json(1));
  EXPECT_EQ(call("memory_list", R"({"scope": "user"})").at("turns").as_array().size(), 1u);
  EXPECT_EQ(call("memory_forget", R"({"conversation": "work", "everything": true})").at("forgotten"), Json(1));
  EXPECT_EQ(call("memory_list", "{}").at("conversations").as_array().size(), 1u);
}

TEST_F(McpOffers, Models) {
  std::vector<std::unique_ptr<serve::ServedModel>> loaded;
  loaded.push_back(tiny_model(8));
  const text::Tokenizer& tokenizer = loaded[0]->tokenizer;
  serve::ModelManager models(std::move(loaded));
  offer_models(server_, models);
  begin();
  EXPECT_EQ(
      call("tokenize", R"({"text": "What is the answer?"})").at("count"),
      Json(static_cast<int64_t>(tokenizer.encode("What is the answer?", {.add_special_tokens = false}).size())));
  const std::string same = R"("max_tokens": 12, "temperature": 0})";
  const Json chat = call("chat", R"({"messages": [{"role": "user", "content": "What?"}], )" + same);
  EXPECT_EQ(chat.at("usage").at("completion_tokens"), Json(12));
  EXPECT_EQ(chat.at("finish_reason"), Json("length"));
  EXPECT_EQ(
      call("chat", R"({"model": "tiny", "messages": [{"role": "user", "content": "What?"}], )" + same).at("text"),
      chat.at("text"));
  const Json raw = call("generate", R"({"prompt": "user: ", )" + same);
  EXPECT_FALSE(raw.at("text").as_string().empty());
  const Json formed = call("chat", R"({"messages": [{"role": "user", "content": "?"}], "max_tokens": 200, "seed": 1,
    "json_schema": {"enum": ["red", "blue"]}})");
  const std::string color = formed.at("text").as_string();
  EXPECT_TRUE(color == "\"red\"" || color == "\"blue\"") << color;
  mistake("/model", "chat", R"({"model": "large", "messages": [{"role": "user", "content": "?"}]})");
  mistake("/messages", "chat", R"({"messages": []})");
  mistake("role", "chat", R"({"messages": [{"role": "tool", "content": "?"}]})");
  mistake("context is 200000 tokens", "generate", R"({"prompt": "x", "max_tokens": 500000})");
  out_.said.clear();
  ask("tools/call",
      R"({"name": "generate", "arguments": {"prompt": "x", "max_tokens": 40}, "_meta": {"progressToken": 1}})");
  ASSERT_FALSE(out_.said.empty());
  EXPECT_EQ(out_.said[0].at("method"), Json("notifications/progress"));
}

// The binary, as an MCP client starts it.
TEST(McpBinary, LinesInLinesOut) {
  ScratchFolder folder;
  std::ofstream(folder / "in")
      << R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
no message
[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"tools/list"}]
{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"memory_add","arguments":{"text":"kept"}}}
)";
  const Ran r = shell("quern mcp --memory '" + (folder / "m.db") + "' < '" + (folder / "in") + "'");
  EXPECT_EQ(r.code, 0) << r.err;
  std::map<std::string, Json> by_id;
  size_t lines = 0;
  for (size_t at = 0; at < r.out.size(); ++lines) {
    const size_t end = r.out.find('\n', at);
    const Json j = Json::parse(r.out.substr(at, end - at));
    for (const Json& one : j.is_array() ? j.as_array() : Json::Array{j}) by_id[one.at("id").dump()] = one;
    at = end + 1;
  }
  EXPECT_EQ(lines, 4u) << r.out;
  EXPECT_EQ(by_id["1"].at("result").at("protocolVersion"), Json("2025-03-26"));
  EXPECT_EQ(by_id["null"].at("error").at("code"), Json(-32700));
  EXPECT_EQ(by_id["2"].at("result"), Json::object());
  EXPECT_EQ(by_id["3"].at("result").at("tools").as_array().size(), 4u);
  EXPECT_EQ(by_id["\"x\""].at("result").at("isError"), Json(false)) << "asked before the end of the input";
}

TEST(McpBinary, WrongUsage) {
  const std::pair<const char*, const char*> cases[] = {
      {"quern mcp", "nothing to offer"},
      {"quern mcp --recall /no/such/index", "/no/such/index"},
      {"quern mcp --model /no/such/model", "no such model"},
      {"quern mcp --memory :memory: --http nowhere", "expected HOST:PORT"},
      {"quern mcp --memory :memory: --http 127.0.0.1:70000", "expected HOST:PORT"},
      {"QUERN_API_KEY= quern mcp --memory :memory: --http 0.0.0.0:0", "needs a key"}};
  for (const auto& [command, word] : cases) {
    const Ran r = shell(command);
    EXPECT_NE(r.code, 0) << command;
    EXPECT_NE(r.err.find(word), std::string::npos) << command << ": " << r.err;
    EXPECT_EQ(r.out, "") << command;
  }
}

}  // namespace
}  // namespace quern::mcp
