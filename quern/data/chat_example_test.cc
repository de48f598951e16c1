// Chat examples: what is learned, where reasoning lies, every rule of answer-preserving trimming and its properties on
// random conversations; and building shards from files, good and bad.
#include <algorithm>

#include "quern/data/chat_example.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/base/threads.h"
#include "quern/data/build.h"
#include "quern/data/curriculum.h"
#include "quern/data/samples.h"
#include "quern/text/tokenizer/bpe_train.h"

namespace quern::data {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("quern_chat_{}", ::getpid());
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
};

text::Tokenizer tokenizer() {
  static const text::Tokenizer t = [] {
    Folder f;
    text::BpeTrainOptions o;
    o.vocab_size = 500;
    o.special_tokens = {"<pad>", "<|im_end|>", "<bos>", "<|im_start|>"};
    o.bos_token = "<bos>";
    text::BpeTrainer trainer(o);
    for (uint64_t i = 0; i < 200; ++i) trainer.add(curriculum_text(Split::train, i));
    write_file(f.path / "tokenizer.json", trainer.train());
    write_file(f.path / "tokenizer_config.json", R"({"bos_token": "<bos>", "eos_token": "<|im_end|>"})");
    return text::Tokenizer::load(f.path);
  }();
  return t;
}

Json messages(std::initializer_list<std::pair<const char*, const char*>> turns) {
  Json m = Json::array();
  for (auto [role, content] : turns) {
    Json t = Json::object();
    t.set("role", role), t.set("content", content);
    m.push(std::move(t));
  }
  return m;
}

// A question, one or a few sums of reasoning, a sum as the answer.
std::string chat_with_reasoning(uint64_t i) {
  std::string content = "<think>";
  for (uint64_t k = 0; k <= i % 13; ++k) content += "\n" + curriculum_sum(Split::train, 13 * i + k);
  content += "\n</think>\n\n" + curriculum_sum(Split::train, i);
  Json j = Json::object();
  j.set("messages",
        messages({{"user", curriculum_story(Split::held_out, i).c_str()}, {"assistant", content.c_str()}}));
  return j.dump() + "\n";
}

ChatExample encoded(const Json& m, const char* source = text::plain_chat_template()) {
  return encode_chat(m, text::ChatTemplate::parse(source), tokenizer(), "line 1");
}

std::string text_of(const ChatExample& x, int learned) {  // of the tokens with this mark, gaps as |
  std::string s;
  for (size_t i = 0; i < x.tokens.size();) {
    size_t end = i;
    while (end < x.tokens.size() && x.learned[end] == x.learned[i]) ++end;
    if (x.learned[i] == learned)
      s += (s.empty() ? "" : "|") + tokenizer().decode(std::span(x.tokens).subspan(i, end - i));
    i = end;
  }
  return s;
}

std::string reasoning(const ChatExample& x, size_t turn) {
  const auto [begin, end] = x.reasonings[turn];
  return tokenizer().decode(
      std::span(x.tokens).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
}

const Json kTwoTurns = messages({{"system", "Be kind."},
                                 {"user", "What is <think>?"},
                                 {"assistant", "<think>\nIt is a tag.\n</think>\n\nA tag."},
                                 {"user", "Thanks."},
                                 {"assistant", "<think>\nPolite.\n</think>\n\nYou are welcome."}});

TEST(ChatExample, LearnsWhatTheAssistantWrites) {
  const ChatExample x = encoded(kTwoTurns);
  EXPECT_EQ(
      text_of(x, 1),
      "<think>\nIt is a tag.\n</think>\n\nA tag.<|im_end|>|<think>\nPolite.\n</think>\n\nYou are welcome.<|im_end|>");
  EXPECT_EQ(
      text_of(x, 0),
      "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nWhat is <think>?<|im_end|>\n<|im_start|>assistant\n|"
      "\n<|im_start|>user\nThanks.<|im_end|>\n<|im_start|>assistant\n|\n");
  ASSERT_EQ(x.reasonings.size(), 2u);
  EXPECT_EQ(reasoning(x, 0), "\nIt is a tag.\n");
  EXPECT_EQ(reasoning(x, 1), "\nPolite.\n");
}

// The generation prompt opens the reasoning: the tag is context, as it will be when the model speaks.
TEST(ChatExample, ZayaTemplateOpensTheReasoning) {
  const ChatExample x = encoded(kTwoTurns, text::zaya_chat_template());
  EXPECT_TRUE(text_of(x, 1).starts_with("It is a tag.\n</think>\n\nA tag.<|im_end|>|Polite."));
  EXPECT_TRUE(text_of(x, 0).starts_with("<bos><|im_start|>system\nBe kind."));
  EXPECT_EQ(reasoning(x, 1), "Polite.\n");
  const ChatExample plain = encoded(messages({{"user", "Hi."}, {"assistant", "Hello."}}), text::zaya_chat_template());
  EXPECT_EQ(text_of(plain, 1), "</think>\n\nHello.<|im_end|>");
  EXPECT_EQ(plain.reasonings[0].size(), 0);
}

TEST(ChatExample, PiecesAreWhatGenerationMeets) {
  const ChatExample x = encoded(kTwoTurns);
  const std::string prompt =
      "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nWhat is <think>?<|im_end|>\n<|im_start|>assistant\n";
  const std::vector<int32_t> ids = tokenizer().encode(prompt, {.add_special_tokens = false});
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), x.tokens.begin()));
  EXPECT_EQ(x.learned[ids.size() - 1], 0);
  EXPECT_EQ(x.learned[ids.size()], 1);
}

TEST(ChatExample, MistakesAreNamed) {
  auto message = [](const Json& m, const char* t = text::plain_chat_template()) {
    return message_of([&] { encoded(m, t); });
  };
  EXPECT_NE(message(messages({{"assistant", "a"}, {"user", "b"}})).find("expected assistant"), std::string::npos);
  EXPECT_NE(message(Json::array()).find("no messages"), std::string::npos);
  EXPECT_NE(message(Json::parse(R"([{"role": "user"}])")).find("line 1"), std::string::npos);
  // A template that rewrites earlier turns gives no single text.
  EXPECT_NE(
      message(kTwoTurns, "{% for m in messages %}{{ loop.last }}{{ m.content }}{% endfor %}").find("differently"),
      std::string::npos);
}

// Token 1000·turn + position tells what was kept; reasoning tokens are negative.
ChatExample random_conversation(Rng& r) {
  ChatExample x;
  auto add = [&](uint64_t n, bool learned, int32_t sign) {
    for (uint64_t i = 0; i < n; ++i)
      x.tokens.push_back(sign * (static_cast<int32_t>(x.tokens.size()) + 1)), x.learned.push_back(learned);
  };
  const uint64_t turns = 1 + r.below(4);
  for (uint64_t t = 0; t < turns; ++t) {
    add(1 + r.below(8), false, 1);
    add(1, true, 1);
    const int64_t begin = x.size();
    add(r.below(3) ? r.below(30) : 0, true, -1);
    x.reasonings.push_back({begin, x.size()});
    add(2 + r.below(8), true, 1);
  }
  return x;
}

bool is_subsequence(const std::vector<int32_t>& part, const std::vector<int32_t>& whole) {
  size_t at = 0;
  for (int32_t t : whole)
    if (at < part.size() && part[at] == t) ++at;
  return at == part.size();
}

TEST(ApTrim, PropertiesOfRandomConversations) {
  Rng r(12);
  int kept = 0, cut = 0, stripped = 0, dropped = 0;
  for (int k = 0; k < 400; ++k) {
    const ChatExample x = random_conversation(r);
    int64_t answers = 0, before = 0;
    for (int32_t t : x.tokens) answers += t > 0;
    for (int64_t budget = 0; budget <= x.size() + 3; ++budget) {
      const auto y = ap_trim(x, budget);
      if (!y) {
        ASSERT_LT(budget, answers);  // answers and questions alone exceed it
        ++dropped;
        continue;
      }
      ASSERT_GE(budget, answers);
      ASSERT_LE(y->size(), std::max(budget, std::min(budget, x.size())));
      ASSERT_EQ(y->tokens.size(), y->learned.size());
      ASSERT_GE(y->size(), before) << "a larger budget keeps less";
      before = y->size();
      std::vector<int32_t> spoken, want;
      for (int32_t t : y->tokens)
        if (t > 0) spoken.push_back(t);
      for (int32_t t : x.tokens)
        if (t > 0) want.push_back(t);
      ASSERT_EQ(spoken, want);  // every answer and question, the last answer among them
      ASSERT_TRUE(is_subsequence(y->tokens, x.tokens));
      ASSERT_EQ(y->reasonings.size(), x.reasonings.size());
      bool earlier_whole = true, earlier_gone = true;
      for (size_t j = 0; j < x.reasonings.size(); ++j) {
        const auto &a = x.reasonings[j], &b = y->reasonings[j];
        ASSERT_LE(b.size(), a.size());
        for (int64_t i = 0; i < b.size(); ++i)  // a beginning of what there was
          ASSERT_EQ(y->tokens[static_cast<size_t>(b.begin + i)], x.tokens[static_cast<size_t>(a.begin + i)]);
        if (j + 1 < x.reasonings.size())
          earlier_whole = earlier_whole && b.size() == a.size(), earlier_gone = earlier_gone && b.size() == 0;
      }
      ASSERT_TRUE(earlier_whole || earlier_gone);
      const auto again = ap_trim(*y, budget);
      ASSERT_TRUE(again && again->tokens == y->tokens);
      ASSERT_EQ(y->size() == x.size(), x.size() <= budget);
      kept += x.size() <= budget, cut += x.size() > budget && earlier_whole, stripped += !earlier_whole;
    }
  }
  for (int rule : {kept, cut, stripped, dropped}) EXPECT_GT(rule, 300);
}

TEST(ApTrim, EachRule) {
  ChatExample x;
  x.tokens = {1, 2, -3, -4, -5, 6, 7, -8, -9, -10, 11};
  x.learned.assign(11, 1);
  x.reasonings = {{2, 5}, {7, 10}};
  auto tokens = [&](int64_t budget) { return ap_trim(x, budget)->tokens; };
  EXPECT_EQ(tokens(11), x.tokens);
  EXPECT_EQ(tokens(9), (std::vector<int32_t>{1, 2, -3, -4, -5, 6, 7, -8, 11}));
  EXPECT_EQ(tokens(8), (std::vector<int32_t>{1, 2, -3, -4, -5, 6, 7, 11}));
  EXPECT_EQ(tokens(7), (std::vector<int32_t>{1, 2, 6, 7, -8, -9, 11}));
  EXPECT_EQ(tokens(5), (std::vector<int32_t>{1, 2, 6, 7, 11}));
  EXPECT_FALSE(ap_trim(x, 4));
}

BuildReport run_build(const fs::path& in, const fs::path& out, BuildOptions o) {
  return build_shards({in.string()}, tokenizer(), text::ChatTemplate::parse(text::plain_chat_template()), out, o,
                      [](const BuildReport&) {});
}

TEST(Build, TextsBecomeShards) {
  Folder f;
  write_file(f.path / "t.txt", "One day.\nTwo days.\n\nThree days.\n");
  for (auto [split, n] :
       {std::pair{BuildOptions::Split::file, 1}, {BuildOptions::Split::blank, 2}, {BuildOptions::Split::line, 3}}) {
    const BuildReport r = run_build(f.path / "t.txt", f.path / "o", {.split = split});
    IndexedTokens t(f.path / "o");
    ASSERT_EQ(t.documents(), n);
    EXPECT_EQ(r.documents, n);
    EXPECT_EQ(r.tokens, t.tokens());
    std::vector<int32_t> ids(static_cast<size_t>(t.document_length(n - 1)));
    t.read(t.document_begin(n - 1), ids);
    EXPECT_EQ(ids.back(), tokenizer().eos_id());
    const std::string text = tokenizer().decode(ids, text::SpecialTokens::skip);
    EXPECT_TRUE(text.find("Three days.") != text.npos && (n == 1) == (text.find("One") != text.npos)) << text;
  }
  EXPECT_EQ(Json::read(f.path / "o.json").at("documents").as_int(), 3);
}

TEST(Build, BadLinesStopOrAreCounted) {
  Folder f;
  write_file(
      f.path / "t.jsonl",
      "{\"text\": \"good\"}\n{\"text\": 3}\n{broken\n{\"text\": \"\xff\"}\n{\"text\": \"\"}\n{\"text\": \"fine\"}\n");
  EXPECT_NE(message_of([&] { run_build(f.path / "t.jsonl", f.path / "o", {}); }).find("t.jsonl:2"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(f.path / "o.idx"));
  const BuildReport r = run_build(f.path / "t.jsonl", f.path / "o", {.skip_bad = true});
  EXPECT_EQ(r.documents, 2);
  EXPECT_EQ(r.bad, 3);
  EXPECT_EQ(r.empty, 1);
  write_file(f.path / "bad.txt", "fine\nno\xc3\n");
  EXPECT_NE(message_of([&] { run_build(f.path / "bad.txt", f.path / "p", {}); }).find("1 lines further down"),
            std::string::npos);
  EXPECT_THROW(run_build(f.path / "nowhere", f.path / "p", {}), Error);
}

TEST(Build, ChatsAreMaskedTrimmedAndPacked) {
  Folder f;
  std::string lines;
  for (uint64_t i = 0; i < 300; ++i) lines += chat_with_reasoning(i);
  write_file(f.path / "c.jsonl", lines);
  const BuildOptions o{.form = BuildOptions::Form::chat, .max_tokens = 150};
  const int before = thread_count();
  std::string bytes[2];
  BuildReport r;
  for (int run = 0; run < 2; ++run) {
    set_thread_count(run ? 3 : 1);
    r = run_build(f.path / "c.jsonl", f.path / "o", o);
    bytes[run] = read_file(f.path / "o.bin") + read_file(f.path / "o.mask.bin") + read_file(f.path / "o.idx");
  }
  set_thread_count(before);
  EXPECT_EQ(bytes[0], bytes[1]);
  EXPECT_GT(r.trimmed, 0);
  EXPECT_EQ(r.documents + r.dropped, 300);
  EXPECT_GT(r.kept_reasoning, 0.5);
  EXPECT_LT(r.kept_reasoning, 1);
  PackedSamples s(f.path / "o", 256);
  TokenBatch b;
  for (int64_t i = 0; i < s.count(); ++i) s.append(i, b);
  EXPECT_EQ(b.loss_tokens, r.learned);
  EXPECT_GT(s.packing().fill_ratio(), 0.8);
  // Another set under the same name takes the mask away.
  write_file(f.path / "t.txt", "One day.\n");
  run_build(f.path / "t.txt", f.path / "o", {});
  EXPECT_FALSE(fs::exists(f.path / "o.mask.idx"));
}

}  // namespace
}  // namespace quern::data
