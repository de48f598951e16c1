// Fine-tuning rows in the forms of other tools, what is refused by line, and how they are split and masked.
#include "quern/train/finetune/finetune_rows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "quern/base/test_message.h"
#include "quern/data/indexed.h"
#include "quern/models/checkpoint.h"
#include "quern/train/finetune/finetune_data.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

// "user: a | assistant: b"
std::string told(const train::FinetuneRow& r) {
  if (!r.chat()) return r.prompt + " > " + r.text;
  std::string s;
  for (const Json& m : r.messages.as_array())
    s += (s.empty() ? "" : " | ") + m.at("role").as_string() + ": " + m.at("content").as_string();
  return s;
}

std::string row(const std::string& json, train::PromptForm form = train::PromptForm::chat) {
  return told(train::finetune_row(Json::parse(json), form, "x:1"));
}

TEST(FinetuneRows, TakesTheFormsOfOtherTools) {
  EXPECT_EQ(row(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})"),
            "user: a | assistant: b");
  EXPECT_EQ(row(R"({"prompt": "p", "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]},
                    {"role": "assistant", "content": "b"}]})"),
            "user: a | assistant: b");
  EXPECT_EQ(row(R"({"conversations": [{"from": "system", "value": "s"}, {"from": "human", "value": "a"},
                    {"from": "gpt", "value": "b"}, {"from": "human", "value": "c"}]})"),
            "system: s | user: a | assistant: b");
  EXPECT_EQ(row(R"({"instruction": "i", "input": "", "output": "o"})"), "user: i | assistant: o");
  EXPECT_EQ(row(R"({"instruction": "i", "input": "n", "output": "o", "system": "s"})"),
            "system: s | user: i\n\nn | assistant: o");
  EXPECT_EQ(row(R"({"question": "q", "answer": "a"})"), "user: q | assistant: a");
  EXPECT_EQ(row(R"({"prompt": "p", "completion": "c"})", train::PromptForm::plain), "p > c");
  EXPECT_EQ(
      row(R"({"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant", "content": "b"}]})"),
      "user: a | assistant: b");
  EXPECT_EQ(row(R"({"text": "t"})"), " > t");
}

TEST(FinetuneRows, RefusesWhatTeachesNothing) {
  auto refused = [](const std::string& json, const char* word) {
    const std::string message = message_of([&] { row(json); });
    EXPECT_TRUE(message.starts_with("x:1") && message.find(word) != std::string::npos) << message;
  };
  refused(R"({"id": 1, "body": "b"})", "found id, body");
  refused(R"([1])", "expected a JSON object");
  refused(R"({"messages": [{"role": "user", "content": "a"}]})", "no turn of the assistant");
  refused(R"({"messages": [{"role": "assistant", "content": " "}]})", "answer is empty");
  refused(R"({"messages": [{"role": "tool", "content": "a"}]})", "tool calls");
  refused(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})", "images");
  refused(R"({"messages": [{"content": "a"}]})", "turn 1: has no role");
  refused(R"({"prompt": "p", "chosen": "a", "rejected": "b"})", "has to be asked for");
  refused(R"({"instruction": "i"})", "no output");
  refused(R"({"prompt": "p", "completion": ""})", "answer is empty");
}

class FinetuneFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::vector<std::string> bad_;
  std::vector<train::FinetuneRow> read(const std::string& name) {
    bad_.clear();
    return train::read_finetune_rows({name}, train::PromptForm::chat,
                                     [&](const std::string& why) { bad_.push_back(why); });
  }
  fs::path folder_ = fs::temp_directory_path() / fmt::format("quern_finetune_{}", ::getpid());
};

TEST_F(FinetuneFiles, LinesAndArrays) {
  EXPECT_EQ(read(file("a.json", R"([{"text": "a"}, {"instruction": "i", "output": "o"}, 3])")).size(), 2u);
  ASSERT_EQ(bad_.size(), 1u);
  EXPECT_NE(bad_[0].find("a.json, row 3"), std::string::npos) << bad_[0];
  const auto rows = read(file("b.jsonl", "\n{\"text\": \"a\"}\n\n{\"text\": }\r\n{\"text\": \"c\"}"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[1].where.ends_with("b.jsonl:5")) << rows[1].where;
  ASSERT_EQ(bad_.size(), 1u);
  EXPECT_NE(bad_[0].find("b.jsonl:4"), std::string::npos) << bad_[0];
  EXPECT_NE(message_of([&] { read(file("o.json", "{\n \"data\": []\n}")); }).find("one JSON object"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read(file("c.csv", "a,b")); }).find("expected JSON lines"), std::string::npos);
  EXPECT_NE(message_of([&] { read(file("d.jsonl", " \n")); }).find("is empty"), std::string::npos);
  EXPECT_NE(message_of([&] { read(file("e.jsonl", "{\"text\": \"a\"}\n\xff\n")); }).find("e.jsonl:2: not UTF-8"),
            std::string::npos);
}

TEST_F(FinetuneFiles, SplitsWithoutALeak) {
  std::vector<train::FinetuneRow> rows;
  for (int i = 0; i < 40; ++i)
    rows.push_back({fmt::format("x:{}", i + 1), Json(), "", fmt::format("text {}", i % 20)});
  const train::FinetuneSplit a = train::split_rows(rows, {0.1, 100, 1}), b = train::split_rows(rows, {0.1, 100, 1});
  EXPECT_EQ(a.held_out.size(), 4u);
  for (const train::FinetuneRow& h : a.held_out)
    for (const train::FinetuneRow& l : a.learned) EXPECT_NE(h.key(), l.key());
  EXPECT_EQ(a.learned.size() + a.held_out.size() + static_cast<size_t>(a.repeated), rows.size());
  EXPECT_EQ(a.held_out[0].where, b.held_out[0].where);
  EXPECT_EQ(train::split_rows(rows, {0.5, 3, 1}).held_out.size(), 3u);
  EXPECT_NE(message_of([&] {
              train::split_rows(std::vector{rows[0]}, {0.1, 3, 1});
            }).find("at least 2"),
            std::string::npos);
}

TEST_F(FinetuneFiles, OnlyAnswersAreLearned) {
  const fs::path model = fs::path(QUERN_SOURCE_DIR) / "models" / "zaya-nano";
  const text::Tokenizer tokenizer = models::load_tokenizer(model);
  const text::ChatTemplate chat_template = models::load_chat_template(model, "zaya");
  std::vector<train::FinetuneRow> rows = {
      train::finetune_row(Json::parse(R"({"prompt": "What is 1 + 2?", "completion": "Answer: 3"})"),
                          train::PromptForm::chat, "x:1"),
      train::finetune_row(Json::parse(R"({"prompt": "What is 1 + 2?", "completion": " Answer: 3"})"),
                          train::PromptForm::plain, "x:2"),
      train::finetune_row(Json::parse(R"({"text": "Answer: 3"})"), train::PromptForm::chat, "x:3")};
  const train::FinetuneCounts n = write_shards(rows, {tokenizer, chat_template, 256}, folder_ / "set");
  EXPECT_EQ(n.rows, 3);
  const data::IndexedTokens tokens(folder_ / "set"), mask(folder_ / "set.mask");
  auto learned = [&](int64_t d) {
    std::vector<int32_t> ids(static_cast<size_t>(tokens.document_length(d))), keep(ids.size()), out;
    tokens.read(tokens.document_begin(d), ids), mask.read(mask.document_begin(d), keep);
    for (size_t i = 0; i < ids.size(); ++i)
      if (keep[i]) out.push_back(ids[i]);
    return tokenizer.decode(out);
  };
  const std::string chat = learned(0);
  EXPECT_NE(chat.find("Answer: 3"), std::string::npos) << chat;
  EXPECT_EQ(chat.find("What is"), std::string::npos) << chat;
  EXPECT_NE(learned(1).find("Answer: 3"), std::string::npos);
  EXPECT_EQ(learned(1).find("What is"), std::string::npos);
  EXPECT_NE(learned(2).find("Answer: 3"), std::string::npos);

  // A text that is too long is cut: every token but the first is a target once.
  const train::FinetuneRow text = train::finetune_row(Json::parse(R"({"text": "one two three four five six seven"})"),
                                                      train::PromptForm::chat, "x:4");
  const train::FinetuneCounts whole = train::write_shards({text}, {tokenizer, chat_template, 256}, folder_ / "whole"),
                              cut = train::write_shards({text}, {tokenizer, chat_template, 4}, folder_ / "cut");
  EXPECT_EQ(cut.cut, 1);
  EXPECT_LE(cut.longest, 5);
  const data::IndexedTokens pieces(folder_ / "cut");
  EXPECT_EQ(pieces.tokens() - pieces.documents(), whole.tokens - 1);
}

}  // namespace
}  // namespace quern
