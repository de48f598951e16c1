// quern memory from outside: a log is imported and asked, turns are added and forgotten, files come back as they went
// in, and mistakes are named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

std::string log_file() { return std::string(QUERN_SOURCE_DIR) + "/tests/memory/log.jsonl"; }

TEST(CliMemory, ImportsAndAnswers) {
  ScratchFolder d;
  const std::string db = d / "m.db";
  Ran r = shell(fmt::format("quern memory import {} --db {} --json", log_file(), db));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json imported = Json::parse(r.out);
  EXPECT_EQ(imported.at("conversation").as_string(), "log");
  EXPECT_GT(imported.at("turns").as_int(), 200);

  const std::string now = "--now '2024-03-14 15:20'";
  r = shell(fmt::format("quern memory ask --db {} {} --json 'What did we discuss on May 8th, 2023?'", db, now));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json may = Json::parse(r.out);
  EXPECT_EQ(may.at("plan").at("chain").as_string(), "[f_value(Date,[2023-05-08])]");
  EXPECT_FALSE(may.at("responses").as_array().empty());
  EXPECT_TRUE(may.at("ranked").as_array().empty());

  write_file(
      d / "context.json",
      R"([{"speaker": "Ines", "text": "We talked on May 8th, 2023."}, {"speaker": "Tobias", "text": "Shall I sum it up?"}])");
  r = shell(
      fmt::format("quern memory ask --db {} {} --history {} --json 'Yes, please do.'", db, now, d / "context.json"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("responses"), may.at("responses"));

  write_file(
      d / "batch.jsonl",
      R"({"now": "2024-03-14 15:20", "context": [{"speaker": "Ines", "text": "We talked on May 8th, 2023."}], "question": "What was it we discussed?"})"
      "\n"
      R"({"now": "2024-03-14 15:20", "question": "What did Tobias say about the lighthouse walk?"})"
      "\n");
  r = shell(fmt::format("quern memory ask --db {} -k 2 --batch {} --json", db, d / "batch.jsonl"));
  ASSERT_EQ(r.code, 0) << r.err;
  const size_t cut = r.out.find('\n');
  EXPECT_EQ(Json::parse(r.out.substr(0, cut)).at("responses"), may.at("responses"));
  const Json topic = Json::parse(r.out.substr(cut + 1));
  EXPECT_EQ(topic.at("responses").as_array().size(), 2u);
  EXPECT_EQ(topic.at("ranked").as_array().size(), 2u);

  r = shell(fmt::format("quern memory plan --db {} {} 'What came up in our last two chats?'", db, now));
  EXPECT_NE(r.out.find("SELECT resp FROM turn WHERE conv = 1 AND session IN"), std::string::npos) << r.out;
  r = shell(fmt::format("quern memory import {} --db {}", log_file(), db));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("already"), std::string::npos) << r.err;
}

TEST(CliMemory, AddsForgetsAndExports) {
  ScratchFolder d;
  const std::string db = d / "m.db";
  Ran r =
      shell(fmt::format("quern memory add --db {} --zone Europe/Berlin --speaker Ada --time '2024-03-30 23:30' 'The "
                        "mill stands still.' --json",
                        db));
  if (r.code != 0 && r.err.find("zone") != std::string::npos) GTEST_SKIP() << r.err;
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "{\"response\":0,\"session\":1}\n");
  write_file(d / "more.jsonl",
             "{\"speaker\": \"Bo\", \"text\": \"Now it turns: \\\"'; DROP TABLE turn; --\", \"time\": \"2024-03-31 "
             "03:30\"}\n"
             "{\"speaker\": \"Ada\", \"text\": \"swordfish\", \"time\": \"2024-03-31T03:31:00+02:00\"}\n");
  ASSERT_EQ(shell(fmt::format("quern memory add --db {} < {}", db, d / "more.jsonl")).code, 0);
  r = shell(fmt::format("quern memory export --db {}", db));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("\"time\":\"2024-03-30 23:30:00+01:00\""), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\"time\":\"2024-03-31 03:30:00+02:00\""), std::string::npos) << r.out;
  // What is exported can be imported and gives the same again.
  write_file(d / "out.jsonl", r.out);
  ASSERT_EQ(
      shell(fmt::format("quern memory import {} --db {} --zone Europe/Berlin", d / "out.jsonl", d / "again.db")).code,
      0);
  EXPECT_EQ(shell(fmt::format("quern memory export --db {}", d / "again.db")).out, r.out);

  EXPECT_NE(read_file(db).find("swordfish"), std::string::npos);
  ASSERT_EQ(shell(fmt::format("quern memory forget --db {} --response 2", db)).code, 0);
  EXPECT_EQ(read_file(db).find("swordfish"), std::string::npos);
  r = shell(fmt::format("quern memory sessions --db {} --json", db));
  EXPECT_EQ(Json::parse(r.out).as_array().size(), 2u);
}

TEST(CliMemory, UsersLateTurnsAndAppendedImports) {
  ScratchFolder d;
  const std::string add = "quern memory add --db " + (d / "m.db") + " --conversation diary --speaker Ada --time ";
  ASSERT_EQ(shell(add + "'2100-01-01' 'from the future'").code, 0);
  const Ran late = shell(add + "'2024-03-30 10:00' 'The kiln cracked.'");
  EXPECT_EQ(late.code, 0) << late.err;
  EXPECT_EQ(late.out, "response 1 of session 1\n");
  EXPECT_NE(late.err.find("earlier than other turns"), std::string::npos) << late.err;
  ASSERT_EQ(shell(add + "'2024-03-30' 'hers alone' --user ada").code, 0);
  const std::string db = " --db " + (d / "m.db");
  EXPECT_EQ(shell("quern memory export --user ada" + db).out.find("kiln"), std::string::npos);
  const Json all = Json::parse(shell("quern memory sessions --json" + db).out);
  ASSERT_EQ(all.as_array().size(), 2u);
  EXPECT_EQ(all.as_array()[1].at("user").as_string(), "ada");
  EXPECT_NE(shell("quern memory ask 'What about the kiln?' --now 2024-05-01" + db).out.find("cracked"),
            std::string::npos);
  write_file(d / "more.jsonl", R"({"speaker": "Bo", "text": "before", "time": "2024-03-29 10:00"}
{"speaker": "Bo", "text": "after", "time": "2024-04-02 10:00"}
)");
  const std::string import = "quern memory import " + (d / "more.jsonl") + " --conversation diary" + db;
  const Ran refused = shell(import);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("--append"), std::string::npos) << refused.err;
  ASSERT_EQ(shell(import + " --append").code, 0);
  const Json sessions = Json::parse(shell("quern memory sessions --conversation diary --json" + db).out);
  std::vector<int64_t> first;
  for (const Json& s : sessions.as_array()) first.push_back(s.at("first_response").as_int());
  EXPECT_EQ(first, (std::vector<int64_t>{2, 1, 3, 0}));
}

TEST(CliMemory, ZonesAreKeptAndEmptyTurnsAndStrangersAreNamed) {
  ScratchFolder d;
  const std::string db = " --db " + (d / "m.db");
  const std::string add = "quern memory add --speaker Ada --time '2024-03-30 10:00' 'The kiln cracked.'" + db;
  ASSERT_EQ(shell(add + " --zone +02:00 --gap 10").code, 0);
  Ran r = shell(add + " --zone UTC");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("has the time zone +02:00"), std::string::npos) << r.err;
  EXPECT_EQ(shell(add + " --gap 20").code, 1);
  EXPECT_EQ(shell(add + " --zone +02:00 --gap 10").code, 0);
  EXPECT_EQ(shell(add).code, 0);
  write_file(d / "empty.jsonl", "{\"speaker\": \"Ada\", \"text\": \"  \", \"time\": \"2024-04-01\"}\n");
  for (const char* verb : {"quern memory add < ", "quern memory import --append --conversation main "}) {
    r = shell(verb + (d / "empty.jsonl") + db);
    EXPECT_EQ(r.code, 1) << verb;
    EXPECT_NE(r.err.find("empty"), std::string::npos) << r.err;
  }
  r = shell("quern memory ask 'What about the kiln?' --as Adda --now 2024-05-01" + db);
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.err.find("--as Adda: no speaker"), std::string::npos) << r.err;
  r = shell("quern memory ask 'What did we say about the boat in March?' -k 2 --now 2024-05-01" + db);
  EXPECT_EQ(r.code, 1) << "nothing matches";
  EXPECT_NE(r.err.find("none of which matches"), std::string::npos) << r.err;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 2) << r.out;
}

TEST(CliMemory, ImportsMakeTheSameSessionsInAnyOrder) {
  ScratchFolder d;
  const std::string lines[] = {R"({"speaker": "Bo", "text": "one", "time": "2024-04-02 10:00"})",
                               R"({"speaker": "Bo", "text": "two", "time": "2024-04-02 10:15"})",
                               R"({"speaker": "Bo", "text": "three", "time": "2024-04-02 10:30"})",
                               R"({"speaker": "Bo", "text": "four", "time": "2024-04-02 11:30"})"};
  std::vector<size_t> order = {0, 1, 2, 3};
  std::set<std::string> exports;
  do {
    std::string text;
    for (const size_t i : order) text += lines[i] + "\n";
    write_file(d / "turns.jsonl", text);
    std::filesystem::remove(d / "m.db");
    const Ran r = shell("quern memory import --json " + (d / "turns.jsonl") + " --db " + (d / "m.db"));
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(Json::parse(r.out).at("sessions").as_int(), 2) << text;
    exports.insert(shell("quern memory export --db " + (d / "m.db")).out);
  } while (order[0] == 0 && std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(exports.size(), 1u);
}

TEST(CliMemory, EveryRankingFindsTheTurnThatSaysIt) {
  ScratchFolder d;
  ASSERT_EQ(shell(fmt::format("quern memory add --db {} --speaker Ada --time '2024-03-30 10:00' 'The kiln cracked "
                              "twice'",
                              d / "m.db"))
                .code,
            0);
  ASSERT_EQ(shell(fmt::format("quern memory add --db {} --speaker Bo --time '2024-03-30 10:01' 'I bought pears'",
                              d / "m.db"))
                .code,
            0);
  std::set<double> best;
  for (const char* rank : {"auto", "bm25", "mixpr", "both"}) {
    const Ran r = shell(fmt::format(
        "quern memory ask --db {} --now '2024-04-02 09:00' --rank {} --json 'What was said about the kiln?'",
        d / "m.db", rank));
    ASSERT_EQ(r.code, 0) << r.err;
    const Json j = Json::parse(r.out);
    ASSERT_FALSE(j.at("ranked").as_array().empty()) << rank << ": " << r.out;
    EXPECT_EQ(j.at("ranked").as_array()[0].at("response").as_int(), 0) << rank << ": " << r.out;
    best.insert(j.at("ranked").as_array()[0].at("score").as_double());
  }
  EXPECT_EQ(best.size(), 3u) << "three ways to rank, and the usual one is one of them";
}

TEST(CliMemory, MistakesAreNamed) {
  ScratchFolder d;
  EXPECT_EQ(shell("quern memory").code, 2);
  EXPECT_EQ(shell("quern memory aks").code, 2);
  EXPECT_EQ(shell("quern memory ask 'when?'").code, 2);
  EXPECT_EQ(shell(fmt::format("quern memory ask --db {} 'when?'", d / "none.db")).code, 1);
  ASSERT_EQ(shell(fmt::format("quern memory import {} --db {}", log_file(), d / "m.db")).code, 0);
  Ran r = shell(fmt::format("quern memory ask --db {} --now 'next tuesday' 'when?'", d / "m.db"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("--now"), std::string::npos) << r.err;
  r = shell(fmt::format("quern memory ask --db {} --rank best 'when?'", d / "m.db"));
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--rank: ranking 'best', expected auto, bm25, mixpr or both"), std::string::npos) << r.err;
  write_file(d / "bad.jsonl", "{\"speaker\": \"a\", \"text\": \"b\", \"time\": \"2024-02-31\"}\n");
  r = shell(fmt::format("quern memory import {} --db {}", d / "bad.jsonl", d / "b.db"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("bad.jsonl:1"), std::string::npos) << r.err;
  r = shell(
      fmt::format("quern memory ask --db {} --now '2024-03-14 15:20' --json 'What did we discuss on February 31st?'",
                  d / "m.db"));
  ASSERT_EQ(r.code, 1) << r.err;  // nothing was found
  EXPECT_TRUE(Json::parse(r.out).at("responses").as_array().empty());
  EXPECT_NE(r.out.find("there is no such date"), std::string::npos) << r.out;
  write_file(d / "tmd.json", R"({"session_1": [{"speaker": "A", "text": "x", "date_time": "yesterday"}]})");
  r = shell(fmt::format("quern memory import --format tmd {} --db {}", d / "tmd.json", d / "t.db"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("session_1[0]"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern
