// Memory and documents in front of a question: what is found, what is left out, what is kept, what is refused.
#include "quern/serve/chat/grounding.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "quern/memory/ask/memory.h"
#include "quern/recall/store/store.h"
#include "quern/serve/wire/api_error.h"
#include "quern/text/tokenizer/bpe_train.h"

namespace quern::serve {
namespace {

class GroundingTest : public testing::Test {
 protected:
  GroundingTest() {
    dir_ = std::filesystem::temp_directory_path() /
           fmt::format("quern_grounding_{}_{}", ::getpid(), testing::UnitTest::GetInstance()->random_seed());
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  ~GroundingTest() override { std::filesystem::remove_all(dir_); }

  std::string db() const { return (dir_ / "talks.db").string(); }
  static Json chat(const std::string& question, const char* extra) {
    Json m = Json::parse(R"([{"role": "system", "content": "Be kind."}, {"role": "user", "content": ""}])");
    m.items()[1].set("content", question);
    Json body = Json::parse(extra);
    body.set("messages", std::move(m));
    return body;
  }
  static std::string last(const Json& body) {
    return body.at("messages").as_array().back().at("content").as_string();
  }

  std::filesystem::path dir_;
  text::Tokenizer tokenizer_ = [] {
    text::BpeTrainOptions o;
    o.vocab_size = 300;
    text::BpeTrainer t(o);
    t.add("the mill by the river");
    return text::Tokenizer::from_json(t.train());
  }();
  static constexpr int64_t kMonday = 1683554160, kDay = 86400;  // 2023-05-08 13:56 UTC
};

TEST_F(GroundingTest, WhatWasSaidIsFoundByTopicAndByTime) {
  Grounding g({.memory = db(), .zone = "", .documents = ""});
  for (const auto& [utc, question, answer] :
       {std::tuple{kMonday, "The mill stands still on Sundays.", "Then the miller rests."},
        std::tuple{kMonday + kDay, "My cat is called Wheat.", "A good name for a cat."}}) {
    Grounded kept = g.ground(chat(question, R"({"x_memory": true})"), tokenizer_, utc, {});
    EXPECT_EQ(kept.body.find("x_memory"), nullptr);
    g.keep(kept, answer, utc);
  }
  const Grounded topic =
      g.ground(chat("What is my cat called?", R"({"x_memory": true})"), tokenizer_, kMonday + 3 * kDay, {});
  EXPECT_EQ(last(topic.body),
            "From earlier conversations:\n[2023-05-09 13:56] user: My cat is called Wheat.\n"
            "[2023-05-09 13:56] assistant: A good name for a cat.\n\nWhat is my cat called?");
  EXPECT_EQ(topic.body.at("messages").as_array()[0].at("content").as_string(), "Be kind.");
  EXPECT_EQ(topic.memory.at("route").as_string(), "topic");
  EXPECT_EQ(topic.memory.at("responses").as_array().size(), 2u);

  const Grounded time = g.ground(chat("What did we discuss on Monday?", R"({"x_memory": {"k": 5}})"), tokenizer_,
                                 kMonday + 3 * kDay, {});
  EXPECT_EQ(time.memory.at("route").as_string(), "time");
  EXPECT_NE(last(time.body).find("The mill stands still"), std::string::npos);
  EXPECT_EQ(last(time.body).find("Wheat"), std::string::npos);
}

TEST_F(GroundingTest, BudgetsOtherConversationsAndThePresentChatAreRespected) {
  Grounding g({.memory = db(), .zone = "Europe/Berlin", .documents = ""});
  g.keep(g.ground(chat("The mill by the river is old.", R"({"x_memory": {"conversation": "a"}})"), tokenizer_,
                  kMonday, {}),
         "It is.", kMonday);
  const Json ask = chat("How old is the mill by the river?", R"({"x_memory": {"conversation": "a"}})");
  EXPECT_NE(last(g.ground(ask, tokenizer_, kMonday + kDay, {}).body).find("15:56] user: The mill"), std::string::npos)
      << "on Berlin's clock";
  const Grounded tight =
      g.ground(chat("How old is the mill by the river?", R"({"x_memory": {"conversation": "a", "tokens": 1}})"),
               tokenizer_, kMonday + kDay, {});
  EXPECT_EQ(last(tight.body), "How old is the mill by the river?");
  EXPECT_NE(tight.memory.at("notes").dump().find("did not fit 1 tokens"), std::string::npos) << tight.memory.dump();
  const Grounded other =
      g.ground(chat("How old is the mill by the river?", R"({"x_memory": {"conversation": "b", "keep": false}})"),
               tokenizer_, kMonday + kDay, {});
  EXPECT_EQ(other.memory.at("responses").as_array().size(), 0u);
  EXPECT_EQ(other.conversation, "") << "keep: false";

  Json same = ask;  // already in the chat: not told again
  Json turn = Json::parse(R"({"role": "user", "content": "The mill by the river is old."})");
  same.members().back().second = Json(Json::Array{turn, same.at("messages").as_array().back()});
  EXPECT_EQ(last(g.ground(same, tokenizer_, kMonday + kDay, {}).body).find("user: The mill"), std::string::npos);
}

TEST_F(GroundingTest, DocumentsComeInTheirOrderWithNumbers) {
  std::ofstream(dir_ / "mill.txt")
      << "The lantern hangs in the mill.\nThe river is wide.\nThe miller took the lantern to "
         "the barn.\nBread is baked on Fridays.\n";
  recall::SourceOptions sentences;
  sentences.unit = recall::ChunkUnit::sentence;
  recall::RecallStore::open_or_create(dir_ / "index", {}).index({(dir_ / "mill.txt").string()}, sentences);
  Grounding g({.memory = "", .zone = "", .documents = (dir_ / "index").string()});
  const Grounded found =
      g.ground(chat("Where is the lantern?", R"({"x_documents": {"k": 2}})"), tokenizer_, kMonday, {});
  const std::string text = last(found.body);
  const size_t first = text.find("hangs in the mill"), second = text.find("to the barn");
  ASSERT_NE(first, std::string::npos) << text;
  ASSERT_NE(second, std::string::npos) << text;
  EXPECT_LT(first, second);
  EXPECT_LT(text.find("[1] ("), text.find("[2] ("));
  EXPECT_TRUE(text.ends_with("Where is the lantern?"));
  const Json& chunk = found.documents.at("chunks").as_array()[0];
  EXPECT_EQ(chunk.at("cite").as_int(), 1);
  EXPECT_TRUE(chunk.at("path").as_string().ends_with("mill.txt"));
}

TEST_F(GroundingTest, DocumentsAreThoseOfTheIndexAsItIsNow) {
  const auto folder = dir_ / "index";
  recall::RecallStore::open_or_create(folder, {}).put("mill.md", "The lantern hangs in the mill.", {});
  Grounding g({.memory = "", .zone = "", .documents = folder.string()});
  const Json ask = chat("Where is the lantern?", R"({"x_documents": true})");
  EXPECT_NE(last(g.ground(ask, tokenizer_, kMonday, {}).body).find("hangs in the mill"), std::string::npos);
  recall::RecallStore(folder).put("mill.md", "The lantern lies on the boat.", {});
  const std::string text = last(g.ground(ask, tokenizer_, kMonday, {}).body);
  EXPECT_NE(text.find("on the boat"), std::string::npos) << text;
  EXPECT_EQ(text.find("hangs in the mill"), std::string::npos) << text;
  // An index that cannot be read any more: the earlier one answers, and it is said.
  std::ofstream(folder / "manifest.json") << "{";
  const Grounded stale = g.ground(ask, tokenizer_, kMonday, {});
  EXPECT_NE(last(stale.body).find("on the boat"), std::string::npos);
  EXPECT_NE(stale.documents.at("notes").dump().find("cannot be read"), std::string::npos) << stale.documents.dump();
}

TEST_F(GroundingTest, NothingIsFilledInWhereNothingMatches) {
  recall::RecallStore::open_or_create(dir_ / "index", {}).put("mill.md", "The lantern hangs in the mill.", {});
  Grounding g({.memory = "", .zone = "", .documents = (dir_ / "index").string()});
  const Grounded none = g.ground(chat("zebra crossing", R"({"x_documents": true})"), tokenizer_, kMonday, {});
  EXPECT_EQ(last(none.body), "zebra crossing");
  EXPECT_TRUE(none.documents.at("chunks").as_array().empty());
  EXPECT_EQ(none.documents.at("fallback").as_string(), "none");
  EXPECT_NE(none.documents.at("notes").dump().find("nothing in the documents matches"), std::string::npos);
}

TEST_F(GroundingTest, RefusesWhatItHasNotAndWhatMakesNoSense) {
  Grounding none({});
  EXPECT_THROW(none.ground(chat("x", R"({"x_memory": true})"), tokenizer_, 0, {}), ApiError);
  EXPECT_THROW(none.ground(chat("x", R"({"x_documents": {}})"), tokenizer_, 0, {}), ApiError);
  EXPECT_EQ(
      none.ground(chat("x", R"({"x_memory": false, "x_documents": null})"), tokenizer_, 0, {}).body.find("x_memory"),
      nullptr);
  Grounding g({.memory = db(), .zone = "", .documents = ""});
  for (const char* wrong : {R"({"x_memory": 3})", R"({"x_memory": {"k": 0}})",
                            R"({"x_memory": {"conversation": ""}})", R"({"x_memory": {"size": 3}})"})
    EXPECT_THROW(g.ground(chat("x", wrong), tokenizer_, 0, {}), ApiError) << wrong;
  Json no_question = Json::parse(R"({"x_memory": true, "messages": [{"role": "assistant", "content": "x"}]})");
  EXPECT_THROW(g.ground(no_question, tokenizer_, 0, {}), ApiError);
  EXPECT_THROW(Grounding({.memory = (dir_ / "no/such/folder/x.db").string(), .zone = "", .documents = ""}), Error);
  EXPECT_THROW(Grounding({.memory = "", .zone = "Mars/Olympus", .documents = ""}), Error);
}

// A question about a topic of a long conversation that no index holds yet waits; those about others do not.
TEST_F(GroundingTest, OtherChatsGoOnWhileALongOneIsIndexed) {
  Grounding g({.memory = db(), .zone = "", .documents = ""});
  g.keep(g.ground(chat("The mill is old.", R"({"x_memory": {"conversation": "short"}})"), tokenizer_, kMonday, {}),
         "It is.", kMonday);
  {
    memory::ConversationStore store(db(), {});
    const memory::ConversationInfo c = store.create("long", "UTC", memory::kUsualGap);
    std::vector<memory::SpokenTurn> turns;
    for (int i = 0; i < 5'000; ++i) {
      std::string text;
      for (int w = 0; w < 250; ++w) text += fmt::format("word{} ", (i * 131 + w * w * 7) % 9973);
      turns.push_back({"user", text, kMonday - 13'000 + i, 0});
    }
    store.append_all(c.id, turns);
  }
  std::atomic<bool> answered = false;
  std::jthread other([&] {
    const Grounded a = g.ground(
        chat("What about word77 and word78?", R"({"x_memory": {"conversation": "long", "k": 1, "tokens": 100000}})"),
        tokenizer_, kMonday, {});
    EXPECT_FALSE(a.memory.at("responses").as_array().empty());
    answered = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // it has what it holds while it waits
  int meanwhile = 0;
  while (!answered) {
    const Grounded b = g.ground(chat("How old is the mill?", R"({"x_memory": {"conversation": "short"}})"),
                                tokenizer_, kMonday + kDay, {});
    EXPECT_FALSE(b.memory.at("responses").as_array().empty());
    meanwhile += !answered;
  }
  EXPECT_GT(meanwhile, 0);
}

}  // namespace
}  // namespace quern::serve
