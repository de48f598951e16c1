// The C++ interface over the shared library: what is its own and not of the C interface below it.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <quern/quern.hpp>
#include <string>

#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

struct Interrupted {};

class CppApi : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(shell("quern new --family zaya --size tiny --seed 1 " + scratch_ / "model").code, 0);
    model_ = std::make_unique<Model>(scratch_ / "model", LoadOptions{.format = "f32"});
    greedy_ = std::make_unique<Sampling>(*model_);
    greedy_->set("temperature", "0").set("ignore_eos", "true").set("max_tokens", "64");
  }
  // Throws at the second piece.
  OnText interrupting() {
    return [pieces = 0](std::string_view) mutable {
      if (++pieces == 2) throw Interrupted();
      return true;
    };
  }

  ScratchFolder scratch_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Sampling> greedy_;
};

TEST_F(CppApi, AReplyWhoseCallbackThrowsLeavesTheMessages) {
  Session chat(*model_), whole(*model_);
  for (Session* s : {&chat, &whole}) s->add("user", "Say \"mill\"\nand\tsea");
  const std::string before = chat.messages();
  EXPECT_THROW(chat.reply(*greedy_, interrupting()), Interrupted);
  EXPECT_EQ(chat.messages(), before);
  // Nothing of it is left in what comes next.
  EXPECT_EQ(chat.reply(*greedy_).text, whole.reply(*greedy_).text);
  EXPECT_EQ(chat.messages(), whole.messages());
  // Stopping is no error: the reply so far is the message.
  chat.add("user", "Again");
  const Generation some = chat.reply(*greedy_, [](std::string_view) { return false; });
  EXPECT_NE(chat.messages().find("\"Again\"},{\"role\":\"assistant\""), std::string::npos) << chat.messages();
  EXPECT_LT(some.tokens, 64);
}

TEST_F(CppApi, AGenerationWhoseCallbackThrowsKeepsWhatWasGenerated) {
  Session text(*model_);
  text.append("Once");
  const std::int64_t before = text.length();
  EXPECT_THROW(text.generate(*greedy_, interrupting()), Interrupted);
  EXPECT_GT(text.length(), before);
  EXPECT_LT(text.length(), before + 64);
  EXPECT_EQ(text.messages(), "[]");
}

TEST_F(CppApi, ATokenizerIsTheModels) {
  const Tokenizer tokenizer(scratch_ / "model");
  const std::vector<std::int32_t> ids = tokenizer.encode("Once upon a mill");
  EXPECT_EQ(ids, model_->tokenize("Once upon a mill"));
  EXPECT_EQ(tokenizer.decode(ids), "Once upon a mill");
  EXPECT_GT(tokenizer.vocab_size(), 280);
  EXPECT_THROW(Tokenizer(scratch_ / "nothing"), Error);
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_F(CppApi, TrainingSaysWhatIsWrong) {
  EXPECT_NE(message([&] { Trainer(TrainRecipe(scratch_ / "no.toml"), {.out = scratch_ / "run"}); }).find("no.toml"),
            std::string::npos);
  EXPECT_EQ(message([&] { Trainer(TrainRecipe(scratch_ / "no.toml"), {}); }),
            "options, out: missing: expected the folder of the run");
  EXPECT_EQ(quern_trainer_new("r.toml", R"({"uot": "run"})"), nullptr);
  EXPECT_STREQ(quern_last_error(), "options: unknown key 'uot'; did you mean 'out'?");
  EXPECT_NE(message([&] { CorpusRecipe(scratch_ / "no.toml").build(scratch_ / "corpus"); }).find("no.toml"),
            std::string::npos);
}

// Two documents of which the second is a copy, and shards of what is kept.
TEST_F(CppApi, ACorpusThenARunOfOneStep) {
  std::string lines;
  for (const char* text : {"The mill by the sea ground salt all night.", "The mill by the sea ground salt all night.",
                           "Nobody asked it to stop, and so it went on."})
    lines += std::string(R"({"text": ")") + text + "\"}\n";
  write_file(scratch_ / "docs.jsonl", lines);
  write_file(scratch_ / "corpus.toml", R"(source = [{ name = "mill", paths = ["docs.jsonl"] }]
dedup = { preset = "exact" }
tokenize = { tokenizer = "model" }
)");
  const CorpusRecipe corpus(scratch_ / "corpus.toml");
  double last = -1;
  EXPECT_EQ(corpus.build(scratch_ / "corpus",
                         [&](std::string_view stage, double share) {
                           EXPECT_FALSE(stage.empty());
                           EXPECT_GE(share, 0);
                           EXPECT_LE(share, 1);
                           last = share;
                         }),
            2);
  EXPECT_GE(last, 0);
  EXPECT_THROW(corpus.build(scratch_ / "corpus"), Error) << "a finished corpus is not overwritten";
  EXPECT_THROW(corpus.build(scratch_ / "again", [](std::string_view, double) { throw Interrupted(); }), Interrupted);

  write_file(scratch_ / "train.toml", R"(name = "mill"
dtype = "f32"
model = { from = "model", fresh = true }
[[phase]]
steps = 9
sequence_length = 8
batch_size = 1
schedule = { peak = 1e-3 }
data = [{ path = "corpus/tokens" }]
)");
  TrainRecipe recipe(scratch_ / "train.toml");
  recipe.set("phase.0.steps", "2");
  double loss = 0;
  {
    Trainer trainer(recipe, {.out = scratch_ / "run"});
    EXPECT_EQ(trainer.steps(), 2);
    EXPECT_EQ(trainer.finished(), 0);
    ASSERT_TRUE(trainer.step());
    loss = trainer.metric("loss");
    EXPECT_GT(loss, 3);  // near the logarithm of the vocabulary
    EXPECT_LT(loss, 8);
    EXPECT_EQ(trainer.metric("step"), 1);
    EXPECT_NE(message([&] { trainer.metric("losss"); }).find("did you mean 'loss'"), std::string::npos);
    trainer.checkpoint();
  }
  Trainer resumed(recipe, {.out = scratch_ / "run", .resume = true});
  EXPECT_EQ(resumed.finished(), 1);
  EXPECT_TRUE(resumed.step());
  EXPECT_FALSE(resumed.step());
  EXPECT_THROW(resumed.export_model(scratch_ / "bad", "i8"), Error);
  resumed.export_model(scratch_ / "trained", "f32");
  EXPECT_EQ(Model(scratch_ / "trained", {.format = "f32"}).vocab_size(), model_->vocab_size());
}

}  // namespace
}  // namespace quern
