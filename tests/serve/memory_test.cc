// The memory over HTTP: what is added is found, listed, exported and deleted, each user sees its own, bad input is refused.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "quern/base/mmap.h"
#include "tests/cli/shell.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class MemoryService : public Serving {
 protected:
  void start_here(serve::AppOptions o = {}) {
    fs::create_directories(folder_ / "m");
    o.grounding.memory = folder_ / "m/talks.db", o.grounding.zone = "Europe/Berlin";
    start(o);
  }
  void start_with_keys() {
    std::ofstream(folder_ / "keys.toml")
        << "[[key]]\nname = \"ada\"\nkey = \"ada-secret\"\n\n[[key]]\nname = \"ben\"\nkey = \"ben-secret\"\n\n"
           "[[key]]\nname = \"root\"\nkey = \"root-secret\"\nadmin = true\n";
    serve::AppOptions o;
    o.keys_file = folder_ / "keys.toml";
    start_here(o);
  }
  static std::string as(const std::string& who) { return "Authorization: Bearer " + who + "-secret\r\n"; }
  Json add(const std::string& body, const std::string& headers = "") {
    return ok(post("/v1/memory/turns", body, headers.c_str()));
  }
  Json search(const std::string& body, const std::string& headers = "") {
    return ok(post("/v1/memory/search", body, headers.c_str()));
  }
  RawAnswer get(const std::string& path, const std::string& headers = "") {
    return http(port(), "GET", path, "", headers);
  }
  RawAnswer erase(const std::string& path, const std::string& headers = "") {
    return http(port(), "DELETE", path, "", headers);
  }
  static std::vector<std::string> texts(const Json& j) {
    std::vector<std::string> out;
    for (const Json& t : j.at("data").as_array()) out.push_back(t.at("text").as_string());
    return out;
  }
  // Every byte of every file of the memory, the log and the index of words among them.
  std::string bytes() const {
    std::string all;
    for (const auto& e : fs::recursive_directory_iterator(folder_ / "m"))
      if (e.is_regular_file()) all += read_file(e.path());
    return all;
  }
  ScratchFolder folder_;
};

constexpr const char* kKitchen = R"({"conversation": "kitchen", "turns": [
  {"speaker": "Ada", "text": "The mill stands still on Sundays.", "time": "2026-05-03 10:00"},
  {"speaker": "Ben", "text": "Then we bake on Monday.", "time": "2026-05-03 10:01"},
  {"speaker": "Ada", "text": "The bread was good.", "time": "2026-05-04 18:30"}]})";

TEST_F(MemoryService, AddsSearchesListsAndDeletes) {
  start_here();
  const Json added = add(kKitchen);
  ASSERT_EQ(added.at("data").as_array().size(), 3u);
  EXPECT_EQ(added.at("data").as_array()[2].at("session").as_int(), 2);
  EXPECT_TRUE(added.at("user").is_null());
  const std::string first = added.at("data").as_array()[0].at("id").as_string();

  const Json found = search(
      R"({"question": "What did Ada say about the mill yesterday?", "conversation": "kitchen", "now": "2026-05-04 12:00"})");
  EXPECT_EQ(texts(found), std::vector<std::string>{"The mill stands still on Sundays."}) << found.dump();
  const Json& hit = found.at("data").as_array()[0];
  EXPECT_EQ(hit.at("time").as_string(), "2026-05-03 10:00:00+02:00");
  EXPECT_EQ(hit.at("speaker").as_string(), "Ada");
  EXPECT_EQ(hit.at("id").as_string(), first);
  EXPECT_EQ(found.at("plans").as_array()[0].at("route").as_string(), "time and topic");
  // A time alone: all of it, in order. Nothing: said.
  EXPECT_EQ(texts(search(R"({"question": "What did we discuss on May 3?", "now": "2026-06-01"})")),
            (std::vector<std::string>{"The mill stands still on Sundays.", "Then we bake on Monday."}));
  const Json none = search(R"({"question": "What did we discuss in April 2025?", "now": "2026-06-01"})");
  EXPECT_EQ(none.at("found").as_int(), 0);
  EXPECT_NE(none.at("notes").dump().find("nothing found"), std::string::npos) << none.dump();

  const Json page = ok(get("/v1/memory/turns?conversation=kitchen&limit=2"));
  EXPECT_EQ(page.at("data").as_array().size(), 2u);
  EXPECT_TRUE(page.at("has_more").as_bool());
  EXPECT_EQ(page.at("total").as_int(), 3);
  const Json rest = ok(get("/v1/memory/turns?conversation=kitchen&limit=2&after=" + page.at("last_id").as_string()));
  EXPECT_EQ(texts(rest), std::vector<std::string>{"The bread was good."});
  EXPECT_FALSE(rest.at("has_more").as_bool());
  EXPECT_EQ(texts(ok(get("/v1/memory/turns?conversation=kitchen&limit=1&order=desc"))), texts(rest));

  EXPECT_TRUE(ok(erase("/v1/memory/turns/" + first)).at("deleted").as_bool());
  refused(erase("/v1/memory/turns/" + first), 404, first);
  EXPECT_EQ(ok(get("/v1/memory/conversations")).at("data").as_array()[0].at("turns").as_int(), 2);
  EXPECT_EQ(ok(erase("/v1/memory/conversations/kitchen")).at("turns").as_int(), 2);
  EXPECT_TRUE(ok(get("/v1/memory/conversations")).at("data").as_array().empty());
  refused(erase("/v1/memory/conversations/kitchen"), 404, "kitchen");
  EXPECT_NE(search(R"({"question": "What of the mill?"})").at("notes").dump().find("holds no turn"),
            std::string::npos);
}

TEST_F(MemoryService, TakesLateTurnsAndThoseOfTheFuture) {
  start_here();
  add(R"({"text": "in the year 2100", "time": "2100-01-01"})");
  const Json future = add(R"({"text": "once more", "time": "2100-01-02 12:00Z"})");
  EXPECT_NE(future.at("data").as_array()[0].at("notes").dump().find("ahead of this machine's clock"),
            std::string::npos)
      << future.dump();
  const Json now = add(R"({"text": "The key is under the mat."})");  // the conversation is not locked
  const Json late = add(R"({"text": "long before", "time": 1000000000})");
  EXPECT_NE(late.at("data").as_array()[0].at("notes").dump().find("earlier than other turns"), std::string::npos);
  EXPECT_EQ(texts(ok(get("/v1/memory/turns"))),
            (std::vector<std::string>{"long before", "The key is under the mat.", "in the year 2100", "once more"}));
  const Json found = search(R"({"question": "What did I say about the key today?"})");
  EXPECT_EQ(texts(found), std::vector<std::string>{"The key is under the mat."}) << found.dump();
  EXPECT_NE(found.at("notes").dump().find("2 turns are later"), std::string::npos) << found.dump();
  EXPECT_EQ(texts(search(R"({"question": "What did we discuss in September 2001?"})")),
            std::vector<std::string>{"long before"});
}

TEST_F(MemoryService, ForgettingLeavesNoBytes) {
  start_here();
  std::string turns;
  for (int i = 0; i < 300; ++i)
    turns += fmt::format(R"({}{{"speaker": "{}", "text": "{} number {}", "time": {}}})", i ? ", " : "",
                         i == 7 ? "Zaphodina" : "Ada", i == 7 ? "the combination is 48151623" : "an ordinary turn", i,
                         1'700'000'000 + 60 * i);
  const Json added = add(R"({"conversation": "safe", "turns": [)" + turns + "]}");
  add(R"({"conversation": "Cellardoor", "text": "somewhere else entirely"})");
  EXPECT_EQ(search(R"({"question": "What is the combination?", "conversation": "safe"})").at("found").as_int() > 0,
            true);
  EXPECT_NE(bytes().find("48151623"), std::string::npos);
  ok(erase("/v1/memory/turns/" + added.at("data").as_array()[7].at("id").as_string()));
  EXPECT_EQ(bytes().find("48151623"), std::string::npos);
  EXPECT_EQ(bytes().find("Zaphodina"), std::string::npos);
  EXPECT_EQ(search(R"({"question": "What is the combination?", "conversation": "safe"})").at("found").as_int(), 0);
  EXPECT_NE(bytes().find("ordinary turn"), std::string::npos);
  ok(erase("/v1/memory/conversations/safe"));
  EXPECT_EQ(bytes().find("ordinary turn"), std::string::npos);
  ok(erase("/v1/memory/conversations/Cellardoor"));
  EXPECT_EQ(bytes().find("Cellardoor"), std::string::npos);
  EXPECT_EQ(bytes().find("somewhere else"), std::string::npos);
}

TEST_F(MemoryService, KeysAreUsers) {
  start_with_keys();
  const std::string mine = R"({"conversation": "diary", "text": "Ada planted an almond tree."})";
  const Json added = add(mine, as("ada"));
  EXPECT_EQ(added.at("user").as_string(), "ada");
  const std::string id = added.at("data").as_array()[0].at("id").as_string();
  add(R"({"conversation": "diary", "text": "Ben sold his boat."})", as("ben"));
  const char* question = R"({"question": "What about the almond tree?"})";
  EXPECT_EQ(search(question, as("ada")).at("found").as_int(), 1);
  EXPECT_EQ(search(question, as("ben")).at("found").as_int(), 0);
  EXPECT_EQ(search(question, as("root")).at("found").as_int(), 1);
  EXPECT_EQ(ok(get("/v1/memory/conversations", as("ben"))).at("data").as_array().size(), 1u);
  EXPECT_EQ(ok(get("/v1/memory/conversations", as("root"))).at("data").as_array().size(), 2u);
  EXPECT_EQ(get("/v1/memory/export", as("ben")).body.find("almond"), std::string::npos);
  EXPECT_NE(get("/v1/memory/export", as("root")).body.find("almond"), std::string::npos);
  // Another's is not there, by whatever name it is asked for.
  refused(erase("/v1/memory/turns/" + id, as("ben")), 404, id);
  for (const char* path : {"/v1/memory/conversations?user=ada", "/v1/memory/export?user=ada",
                           "/v1/memory/turns?conversation=diary&user=ada", "/v1/memory/export?user="})
    refused(get(path, as("ben")), 403, "not_your_memory");
  refused(erase("/v1/memory/conversations/diary?user=ada", as("ben")), 403, "not_your_memory");
  refused(post("/v1/memory/turns", R"({"user": "ada", "text": "x"})", as("ben").c_str()), 403, "not_your_memory");
  refused(post("/v1/memory/search", R"({"user": "ada", "question": "x"})", as("ben").c_str()), 403,
          "not_your_memory");
  refused(post("/v1/chat/completions",
               R"({"messages": [{"role": "user", "content": "x"}], "x_memory": {"user": "ada"}, "max_tokens": 1})",
               as("ben").c_str()),
          403, "not_your_memory");
  const Json chat = ok(post("/v1/chat/completions",
                            R"({"messages": [{"role": "user", "content": "What about the almond tree?"}],
                                "x_memory": {"conversation": "diary"}, "max_tokens": 1})",
                            as("ben").c_str()));
  EXPECT_EQ(chat.at("x_memory").dump().find("planted"), std::string::npos);
  refused(post("/v1/memory/search", question), 401, "key");
  refused(get("/v1/memory/export"), 401, "key");
  // An admin acts for a user.
  EXPECT_EQ(add(R"({"conversation": "diary", "user": "ada", "text": "by an admin"})", as("root")).at("user"),
            Json("ada"));
  ok(erase("/v1/memory/turns/" + id, as("root")));
  EXPECT_EQ(search(question, as("ada")).at("found").as_int(), 0);
  ok(erase("/v1/memory/conversations/diary", as("ada")));
  EXPECT_EQ(ok(get("/v1/memory/conversations", as("ben"))).at("data").as_array().size(), 1u);
}

TEST_F(MemoryService, AnExportIsImported) {
  start_here();
  add(kKitchen);
  add(R"({"conversation": "hall", "user": "ada", "text": "quoted \"text\"\nin two lines", "time": "2026-01-01 10:00-05:00"})");
  add(R"({"conversation": "kitchen", "speaker": "Ben", "text": "a late one", "time": "2026-05-01"})");
  const RawAnswer a = get("/v1/memory/export");
  EXPECT_NE(a.head.find("application/x-ndjson"), std::string::npos);
  EXPECT_EQ(std::count(a.body.begin(), a.body.end(), '\n'), 5);
  std::ofstream(folder_ / "all.jsonl", std::ios::binary) << a.body;
  const Ran in = shell(fmt::format("quern memory import {} --db {}", folder_ / "all.jsonl", folder_ / "other.db"));
  EXPECT_EQ(in.code, 0) << in.err;
  const Ran kitchen = shell(fmt::format("quern memory export --db {} --conversation kitchen", folder_ / "other.db"));
  const Ran before = shell(fmt::format("quern memory export --db {} --conversation kitchen", folder_ / "m/talks.db"));
  EXPECT_EQ(kitchen.out, before.out) << kitchen.err << before.err;
  const Ran hall = shell(fmt::format("quern memory export --db {} --user ada", folder_ / "other.db"));
  EXPECT_NE(hall.out.find("2026-01-01 10:00:00-05:00"), std::string::npos) << hall.out << hall.err;
  EXPECT_EQ(get("/v1/memory/export?conversation=hall").body.find("mill"), std::string::npos);
  refused(get("/v1/memory/export?conversation=halll"), 404, "did you mean");
}

TEST_F(MemoryService, RefusesWhatIsWrong) {
  start_here();
  const std::pair<const char*, const char*> bad[] = {
      {"[]", "JSON object"},
      {"{}", "text"},
      {R"({"text": ""})", "text"},
      {R"({"text": 5})", "text"},
      {R"({"text": "x", "speeker": "Ada"})", "speeker"},
      {R"({"text": "x", "speaker": ""})", "speaker"},
      {R"({"text": "x", "time": "some day"})", "time"},
      {R"({"text": "x", "time": 1e18})", "time"},
      {R"({"text": "x", "time": 9223372036854775807})", "time"},
      {R"({"text": "x", "time": []})", "time"},
      {R"({"text": "x", "time": "2026-02-30"})", "time"},
      {R"({"text": "x", "conversation": ""})", "conversation"},
      {R"({"text": "x", "zone": "Nowhere/At_all"})", "Nowhere"},
      {R"({"text": "x", "zone": "../../etc/passwd"})", "zone"},
      {R"({"turns": []})", "turns"},
      {R"({"turns": {}})", "turns"},
      {R"({"turns": [1]})", "turns[0]"},
      {R"({"turns": [{"text": "good"}, {"text": "x", "time": "no"}]})", "turns[1].time"},
      {R"({"turns": [{"text": "x"}], "text": "y"})", "text"},
      {"{\"text\": \"\xff\xfe\"}", "UTF-8"}};
  for (const auto& [body, word] : bad) refused(post("/v1/memory/turns", body), 400, word);
  refused(post("/v1/memory/turns", R"({"text": "x", "conversation": ")" + std::string(201, 'n') + R"("})"), 400,
          "conversation");
  EXPECT_TRUE(ok(get("/v1/memory/conversations")).at("data").as_array().empty());  // nothing was left behind
  add(R"({"text": "x'); DROP TABLE turn; --", "conversation": "a/b ?&%'\""})");
  EXPECT_EQ(texts(ok(get("/v1/memory/turns?conversation=a/b%20%3F%26%25'%22"))).size(), 1u);
  ok(erase("/v1/memory/conversations/a/b%20%3F%26%25'%22"));
  add(R"({"text": "x"})");
  for (const auto& [body, word] : std::vector<std::pair<const char*, const char*>>{
           {"{}", "question"},
           {R"({"question": "  "})", "question"},
           {R"({"question": ["a"]})", "question"},
           {R"({"question": "x", "k": 0})", "k"},
           {R"({"question": "x", "k": 1.5})", "k"},
           {R"({"question": "x", "now": "soon"})", "now"},
           {R"({"question": "x", "rank": "best"})", "rank"},
           {R"({"question": "x", "context": [{}]})", "context"},
           {R"({"question": "x", "context": ["y"]})", "context"},
           {R"({"question": "x", "conversations": [1]})", "conversations"},
           {R"({"question": "x", "limit": 1})", "limit"}})
    refused(post("/v1/memory/search", body), 400, word);
  refused(post("/v1/memory/search", R"({"question": ")" + std::string(70'000, 'q') + R"("})"), 400, "question");
  refused(post("/v1/memory/search", R"({"question": "x", "conversations": ["chat", "chatt"]})"), 404, "chatt");
  for (const char* path : {"/v1/memory/turns?limit=0", "/v1/memory/turns?limit=1001", "/v1/memory/turns?limit=x",
                           "/v1/memory/turns?order=up", "/v1/memory/turns?conversation="})
    refused(get(path), 400, "expected");
  for (const char* id :
       {"0-0", "1", "-1", "1-", "1--1", "1-1x", "x", "99999999999999999999-1", "1-99999999999", "1-5"})
    refused(erase(std::string("/v1/memory/turns/") + id), 404, "turn");
  refused(get("/v1/memory/turns?after=1-77"), 400, "after");
  refused(post("/v1/memory/conversations", "{}"), 405, "GET");
  refused(http(port(), "PUT", "/v1/memory/turns", "{}"), 405, "expected");
}

TEST_F(MemoryService, ForeignPagesWriteNothing) {
  serve::AppOptions o;
  o.live.cors = {"https://good.example"};
  start_here(o);
  const Json added = add(R"({"text": "x"})", "Origin: https://good.example\r\n");
  const std::string id = added.at("data").as_array()[0].at("id").as_string();
  const char* evil = "Origin: https://evil.example\r\n";
  refused(post("/v1/memory/turns", R"({"text": "y"})", evil), 403, "pages of");
  refused(erase("/v1/memory/turns/" + id, evil), 403, "pages of");
  refused(erase("/v1/memory/conversations/chat", evil), 403, "pages of");
  const std::string chat = R"({"messages": [{"role": "user", "content": "y"}], "max_tokens": 2)";
  refused(post("/v1/chat/completions", chat + R"(, "x_memory": true})", evil), 403, "pages of");
  refused(post("/v1/messages", chat + R"(, "x_memory": {"conversation": "chat"}})", evil), 403, "pages of");
  refused(post("/v1/responses", R"({"input": "y", "x_memory": true})", evil), 403, "pages of");
  ok(post("/v1/chat/completions", chat + R"(, "x_memory": false})", evil));
  EXPECT_EQ(ok(get("/v1/memory/turns")).at("total").as_int(), 1);
}

TEST_F(MemoryService, RateLimitsAndNoMemory) {
  std::ofstream(folder_ / "keys.toml") << "[[key]]\nname = \"ada\"\nkey = \"ada-secret\"\nrequests_per_minute = 2\n";
  serve::AppOptions o;
  o.keys_file = folder_ / "keys.toml";
  start(o);  // without a memory
  refused(post("/v1/memory/turns", R"({"text": "x"})", as("ada").c_str()), 404, "no_memory");
  refused(post("/v1/memory/search", R"({"question": "x"})", as("ada").c_str()), 404, "no_memory");
  refused(post("/v1/memory/search", R"({"question": "x"})", as("ada").c_str()), 429, "requests");
  refused(get("/v1/memory/conversations", as("ada")), 404, "no_memory");
  refused(get("/v1/memory/export", as("ada")), 404, "no_memory");
}

// Many clients at once: every turn that was acknowledged is there, once.
TEST_F(MemoryService, ManyClients) {
  start_here();
  constexpr int kClients = 6, kTurns = 25;
  {
    std::vector<std::jthread> clients;
    for (int c = 0; c < kClients; ++c)
      clients.emplace_back([&, c] {
        for (int i = 0; i < kTurns; ++i) {
          const std::string body =
              fmt::format(R"({{"conversation": "talk {}", "text": "client {} turn {}"}})", c % 2, c, i);
          EXPECT_EQ(post("/v1/memory/turns", body).status, 200);
          if (i % 5 == 0) {
            EXPECT_EQ(post("/v1/memory/search", R"({"question": "Which client?", "k": 3})").status, 200);
          }
        }
      });
  }
  const Json::Array all = ok(get("/v1/memory/conversations")).at("data").as_array();
  ASSERT_EQ(all.size(), 2u);
  for (const Json& one : all) EXPECT_EQ(one.at("turns").as_int(), kClients / 2 * kTurns);
}

}  // namespace
}  // namespace quern
