// Pairs of answers in the forms of TRL: what is a prompt, what is learned, and what is refused by line.
#include "quern/train/finetune/preference_rows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "quern/base/test_message.h"
#include "quern/models/checkpoint.h"
#include "quern/train/finetune/finetune_data.h"
#include "quern/train/preference/preference_data.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using train::PromptForm;

std::string told(const train::FinetuneRow& r) {
  if (!r.chat()) return r.prompt + " > " + r.text;
  std::string s;
  for (const Json& m : r.messages.as_array())
    s += (s.empty() ? "" : " | ") + m.at("role").as_string() + ": " + m.at("content").as_string();
  return s;
}

std::string row(const std::string& json, PromptForm form = PromptForm::chat) {
  const train::PreferenceRow r = train::preference_row(Json::parse(json), form, "x:1");
  return fmt::format("{} / {} / {}", told(r.chosen), told(r.rejected), r.answers_before);
}

TEST(PreferenceRows, TakesTheFormsOfTrl) {
  EXPECT_EQ(row(R"({"prompt": "q", "chosen": "a", "rejected": "b"})"),
            "user: q | assistant: a / user: q | assistant: b / 0");
  EXPECT_EQ(row(R"({"prompt": "q", "system": "s", "chosen": "a", "rejected": "b"})"),
            "system: s | user: q | assistant: a / system: s | user: q | assistant: b / 0");
  EXPECT_EQ(row(R"({"prompt": "q ", "chosen": "a", "rejected": "b"})", PromptForm::plain), "q  > a / q  > b / 0");
  EXPECT_EQ(row(R"({"prompt": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "r"},
                               {"role": "user", "content": "s"}],
                    "chosen": [{"role": "assistant", "content": "a"}],
                    "rejected": [{"role": "assistant", "content": "b"}]})"),
            "user: q | assistant: r | user: s | assistant: a / user: q | assistant: r | user: s | assistant: b / 1");
  EXPECT_EQ(row(R"({"prompt": "q",
                    "chosen": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
                    "rejected": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "b"}]})"),
            "user: q | assistant: a / user: q | assistant: b / 0")
      << "as data sets of binarized feedback have it";
  EXPECT_EQ(row(R"({"chosen": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "r"},
                               {"role": "user", "content": "s"}, {"role": "assistant", "content": "a"}],
                    "rejected": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "r"},
                                 {"role": "user", "content": "s"}, {"role": "assistant", "content": "b"}]})"),
            "user: q | assistant: r | user: s | assistant: a / user: q | assistant: r | user: s | assistant: b / 1");
  EXPECT_EQ(row(R"({"chosen": "The sky is blue.", "rejected": "The sky is green."})"),
            "The sky is >  blue. / The sky is >  green. / 0");
  EXPECT_EQ(row("{\"chosen\": \"ein \xc3\xa4\", \"rejected\": \"ein \xc3\xb6\"}"),
            "ein >  \xc3\xa4 / ein >  \xc3\xb6 / 0");
}

TEST(PreferenceRows, RefusesWhatTeachesNothing) {
  auto refused = [](const std::string& json, const char* word) {
    const std::string message = message_of([&] { row(json); });
    EXPECT_TRUE(message.starts_with("x:1") && message.find(word) != std::string::npos) << message;
  };
  refused(R"({"prompt": "q", "completion": "a"})", "chosen and a rejected");
  refused(R"({"prompt": "q", "chosen": "a", "rejected": "a"})", "are the same");
  refused(R"({"prompt": "q", "chosen": "a", "rejected": " "})", "rejected: the answer is empty");
  refused(R"({"prompt": "q", "chosen": 1, "rejected": "a"})", "neither text nor");
  refused(R"({"prompt": {"a": 1}, "chosen": "b", "rejected": "a"})", "prompt is neither");
  refused(R"({"chosen": [{"role": "user", "content": "q"}], "rejected": "a"})", "one answer is a text");
}

TEST(PreferenceRows, OnlyTheLastAnswersAreLearned) {
  const fs::path model = fs::path(QUERN_SOURCE_DIR) / "models" / "zaya-nano",
                 prefix = fs::temp_directory_path() / fmt::format("quern_pairs_{}", ::getpid()) / "set";
  fs::create_directories(prefix.parent_path());
  const text::Tokenizer tokenizer = models::load_tokenizer(model);
  const text::ChatTemplate chat_template = models::load_chat_template(model, "zaya");
  const std::string prompt = R"([{"role": "user", "content": "What is 1 + 1?"}, {"role": "assistant",
      "content": "Answer: 2"}, {"role": "user", "content": "What is 1 + 2?"}])";
  std::vector<train::PreferenceRow> rows = {
      train::preference_row(
          Json::parse(fmt::format(R"({{"prompt": {}, "chosen": [{{"role": "assistant", "content": "Answer: 3"}}],
                                      "rejected": [{{"role": "assistant", "content": "Answer: 4"}}]}})",
                                  prompt)),
          PromptForm::chat, "x:1"),
      train::preference_row(
          Json::parse(R"({"prompt": "What is 1 + 2?", "chosen": " Answer: 3", "rejected": " No."})"),
          PromptForm::plain, "x:2")};
  const train::FinetuneCounts n = train::write_pair_shards(rows, {tokenizer, chat_template, 256}, prefix);
  EXPECT_EQ(n.rows, 2);
  const train::PreferenceData data(prefix);
  ASSERT_EQ(data.pairs(), 2);
  auto learned = [&](int64_t pair) {
    train::PreferenceData::Rows r;
    data.append(pair, r);
    std::string all;
    for (size_t at = 0; int64_t length : r.lengths) {
      std::vector<int32_t> ids;
      for (size_t end = at + static_cast<size_t>(length); at < end; ++at)
        if (r.targets[at] >= 0) ids.push_back(r.targets[at]);
      all += tokenizer.decode(ids) + "/";
    }
    return all;
  };
  const std::string chat = learned(0), plain = learned(1);
  EXPECT_EQ(chat.find("Answer: 2"), std::string::npos) << chat;
  EXPECT_LT(chat.find("Answer: 3"), chat.find("Answer: 4")) << chat;
  EXPECT_NE(chat.find("Answer: 4"), std::string::npos) << chat;
  EXPECT_EQ(plain.find("What"), std::string::npos) << plain;
  EXPECT_NE(plain.find("No."), std::string::npos) << plain;
  EXPECT_EQ(train::write_pair_shards({rows[1]}, {tokenizer, chat_template, 256}, prefix).rows, 1);
  EXPECT_NE(message_of([&] {
              train::write_pair_shards(rows, {tokenizer, chat_template, 4}, prefix);
            }).find("fits into"),
            std::string::npos);
  fs::remove_all(prefix.parent_path());
}

}  // namespace
}  // namespace quern
